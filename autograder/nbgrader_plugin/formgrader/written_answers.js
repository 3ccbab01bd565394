// Appended to nbgrader's formgrade.js: a page opens at its first answer that a person marks, and Prev and Next lead to
// the same question of another student. So does Tab after its comment.
(function () {
    var fromUrl = FormGrader.prototype.setIndexFromUrl;
    FormGrader.prototype.setIndexFromUrl = function () {
        fromUrl.call(this);
        var first = $(".nbgrader_cell").has(".comment").find(".score").first();
        if (location.search.indexOf("index=") < 0 && first.length) {
            this.setCurrentIndex(this.getIndex(first));
            this.last_selected = first;
        }
    };

    var nextInput = FormGrader.prototype.selectNextInput;
    FormGrader.prototype.selectNextInput = function (event) {
        var last = this.last_selected;
        if (last.is(".comment") && last.parents(".nbgrader_cell").find(".score").length) {
            event.preventDefault();
            this.nextAssignment();
        } else {
            nextInput.call(this, event);
        }
    };

    var instead = function (link, go) {
        $(link).mousedown(function (event) {
            event.preventDefault();  // the field that is being filled in keeps the focus: it says which question
        }).click(function (event) {
            event.preventDefault();
            go.call(formgrader);
        });
    };
    $(document).ready(function () {
        instead("li.previous a", formgrader.prevAssignment);
        instead("li.next a", formgrader.nextAssignment);
    });
})();
