// Appended to nbgrader's manage_submissions.js: each row shows the progress of its marking, also of markings started from
// another page, or from this page before a reload. It uses that script's `SubmissionUI` and `views`, and gets progress
// from `marking_queue.MarkingQueue`.
(function () {
    var shown = {};  // by student: whether this page asked for it
    var timer = null;

    var show = function (view, progress) {
        var bar = $("<progress/>").attr("aria-label", "marked").css("width", "100%");
        var text = "getting ready …";  // the first time this takes a while
        if (progress.before > 0) {
            text = "waits for " + progress.before + " before it";
            bar = "";
        } else if (progress.of > 0) {
            text = "marking: " + progress.done + " of " + progress.of + " answers";
            bar.attr({value: progress.done, max: progress.of});
        }
        view.$status.empty().append($("<div/>").text(text), bar);
        view.$autograde.add(view.$generate_feedback).add(view.$release_feedback).empty();
    };

    var look = function () {
        timer = null;
        $.getJSON(base_url + "/formgrader/api/marking/" + encodeURIComponent(assignment_id)).done(function (found) {
            _.each(views, function (view) {
                var student = view.model.get("student");
                if (_.has(found, student)) {
                    show(view, found[student]);
                    shown[student] = shown[student] || false;
                } else if (shown[student] === false) {  // somebody else's: nobody tells this page that it is done
                    delete shown[student];
                    view.model.fetch();
                }
            });
            if (!_.isEmpty(found) || !_.isEmpty(shown)) again(300);
        }).fail(function () { again(5000); });  // the server may be starting anew
    };

    var again = function (milliseconds) {
        if (timer === null) timer = setTimeout(look, milliseconds);
    };

    var autograde = SubmissionUI.prototype.autograde;
    SubmissionUI.prototype.autograde = function () {
        var view = this, student = view.model.get("student");
        shown[student] = true;
        view.model.once("sync", function () { delete shown[student]; });  // nbgrader's script fetches it at the end
        autograde.call(view);
        view.render();  // nbgrader's script empties the row
        show(view, {});
        again(300);
    };

    $(window).on("load", function () { again(1000); });  // nbgrader's rows are there by then, or at the next look
})();
