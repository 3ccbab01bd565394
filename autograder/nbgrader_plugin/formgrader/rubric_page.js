// Marks the answers of the page by keys. A group of equal answers is marked at once. The server computes points and
// comment, and refuses to save over a mark that this page has not shown.
(function () {
    "use strict";
    const part = (name) => document.querySelector(`[data-part="${name}"]`);
    const parts = (name) => [...document.querySelectorAll(`[data-part="${name}"]`)];
    const data = JSON.parse(part("data").textContent);
    const points = (value) => String(Math.round(value * 100) / 100);
    const KEYS = "autograder-rubric-keys";  // off for those whose speech input or screen reader types letters
    const change = part("change");
    const which = part("which"), note = part("note"), said = part("said"), question = part("question");
    let current = 0;
    let busy = false;
    let pressed = [];  // keys that came while the server was saving
    let answered = null;  // what to do at Yes and No

    const say = (text) => { said.textContent = text; };
    const marked = (row) => row.seen.points !== null || !row.waits;
    const given = (row) => row.seen.points !== null ? row.seen.points : row.auto;
    const waits = (group) => group.answers.some((row) => row.waits);
    const sum = (levels) =>
        Math.min(data.points, levels.reduce((total, level, index) => total + level * data.items[index].points, 0));

    // What is on the screen: the marks of the group's first marked answer, until somebody changes them.
    const reset = (group) => {
        const base = group.answers.find(marked) || group.answers[0];
        group.levels = base.levels && [...base.levels];
        group.note = base.note;
        group.byHand = base.byHand;
        group.chosen = group.noted = false;
    };

    const post = async (body) => {
        const token = (document.cookie.match(/\b_xsrf=([^;]*)/) || [])[1];
        const headers = {"Content-Type": "application/json", "X-XSRFToken": token || ""};
        const reply = await fetch(data.save, {method: "POST", headers, body: JSON.stringify({rubric: data.rubric, ...body})});
        const content = await reply.json().catch(() => ({}));
        const failed = `${reply.status} ${reply.statusText}. Is this page still logged in?`;
        return {fine: reply.ok, sentence: content.sentence || content.reason || failed, answers: content.answers || []};
    };

    const seen = (answers) => answers.map((row) => ({id: row.id, seen: row.seen}));

    const update = (rows) => {
        for (const group of data.groups) {
            group.answers = group.answers.map((row) => rows.find((one) => one.id === row.id) || row);
        }
    };

    const ask = (text, theirs, yes, no, then) => {
        part("asks").textContent = text;
        part("theirs").textContent = theirs;
        part("theirs").hidden = !theirs;
        part("yes").textContent = yes;
        part("no").textContent = no;
        answered = then;
        question.hidden = false;
        part("yes").focus();
    };

    const answer = (yes) => {
        const then = answered;
        answered = null;
        question.hidden = true;
        which.focus();
        if (then) then(yes);
    };

    const markOf = (row) => given(row) === null ? "no points" : `${points(given(row))} of ${points(data.points)}`;

    const stateOf = (group) => {
        const draft = group.chosen || group.noted ? " What you chose here is not saved yet." : "";
        const [row] = group.answers, done = group.answers.filter((one) => !one.waits);
        if (new Set(done.map(markOf)).size > 1) {
            return `Equal answers, different marks: ${done.map((one) => `${one.student} ${markOf(one)}`).join(", ")}.${draft}`;
        }
        if (done.length && done.length < group.answers.length) {
            return `${group.answers.length - done.length} of them wait for a mark; the others have ${markOf(done[0])}.${draft}`;
        }
        const mark = row.seen.points === null && !row.waits ? `${markOf(row)}, as nothing was written` : markOf(row);
        const typed = row.byHand ? ", typed in Formgrader" : "";
        return (row.waits ? (row.seen.points === null ? "Waits for a mark." : `Waits: the answer has changed since it got ${mark}${typed}.`)
            : `Marked: ${mark}${typed}.`) + (row.reason ? ` ${row.reason}` : "") + draft;
    };

    const draw = () => {
        const group = data.groups[current], levels = group.levels;
        parts("item").forEach((button, index) => {
            const level = levels ? levels[index] : 0;
            button.setAttribute("aria-pressed", level === 1 ? "true" : level > 0 ? "mixed" : "false");
            parts("half")[index].setAttribute("aria-pressed", level === 0.5 ? "true" : "false");
            const worth = data.items[index].points;
            parts("worth")[index].textContent = `${points(level * worth)} of ${points(worth)}`;
        });
        const shown = levels && (group.chosen || !group.byHand) ? points(sum(levels)) : "–";
        part("sum").textContent = `${shown} of ${points(data.points)} points`;
    };

    const show = (index) => {
        current = (index + data.groups.length) % data.groups.length;
        const group = data.groups[current], count = group.answers.length;
        parts("text").forEach((text, number) => { text.hidden = number !== current; });
        const kind = group.empty ? "empty" : "equal";
        const several = count > 1 ? `: ${count} ${kind} answers` : group.empty ? ": empty" : "";
        which.textContent = `Answer ${current + 1} of ${data.groups.length}${several}`;
        part("state").textContent = stateOf(group);
        part("who").open = false;
        part("students").replaceChildren(...group.answers.map((row) => {
            const entry = document.createElement("li"), link = document.createElement("a");
            link.href = `${data.submissions}${row.submission}/`;
            link.textContent = row.student;
            entry.append(link);
            return entry;
        }));
        note.value = group.note;
        say("");
        question.hidden = true;
        answered = null;
        const waiting = data.groups.filter(waits);
        const answers = waiting.reduce((total, one) => total + one.answers.filter((row) => row.waits).length, 0);
        part("progress").textContent = answers
            ? `${answers} of ${data.groups.reduce((total, one) => total + one.answers.length, 0)} answers wait for a mark`
            : "All answers are marked";
        draw();
        which.focus({preventScroll: true});
        window.scrollTo(0, 0);
    };

    const next = () => {
        for (let step = 1; step <= data.groups.length; step += 1) {
            const index = (current + step) % data.groups.length;
            if (waits(data.groups[index])) return show(index);
        }
        return show(Math.min(current + 1, data.groups.length - 1));
    };

    const choose = (index, level) => {
        const group = data.groups[current];
        group.levels = group.levels || data.items.map(() => 0);
        group.levels[index] = group.levels[index] === level ? 0 : level;
        group.chosen = true;
        say("");
        draw();
    };

    const none = () => {
        data.groups[current].levels = data.items.map(() => 0);
        data.groups[current].chosen = true;
        say("");
        draw();
    };

    const save = () => {
        const group = data.groups[current], count = group.answers.length;
        const agree = new Set(group.answers.map(markOf)).size === 1;
        if (!group.chosen && !group.noted && !waits(group) && agree) return next();
        if (!group.chosen && (!group.levels || group.byHand) && !group.answers.every(marked)) {
            return say(`Press 1 to ${data.items.length} for a line of the rubric, or 0 if the answer meets none.`);
        }
        if (count === 1) return write(group);
        const mark = group.levels && (group.chosen || !group.byHand)
            ? `${points(sum(group.levels))} of ${points(data.points)} points` : "This comment";
        const kind = group.empty ? "empty" : "equal";
        const students = group.answers.map((row) => row.student).sort().join(", ");
        const comments = new Set(group.answers.map((row) => row.seen.comment).filter(Boolean));
        const others = comments.size > 1 ? " Their comments differ now; all get this one." : "";
        return ask(`${mark} for these ${count} ${kind} answers: ${students}.${others}`, "",
            `Save for all ${count}`, "Go back", (yes) => { if (yes) write(group); });
    };

    const write = async (group) => {
        busy = true;
        const levels = group.chosen || !group.byHand ? group.levels : null;
        const reply = await post({answers: seen(group.answers), levels, note: group.note})
            .catch((error) => ({fine: false, sentence: `Not saved: ${error.message}`, answers: []}));
        busy = false;
        update(reply.answers);
        if (reply.fine) {
            reset(group);
            const mark = `${markOf(group.answers[0])} points`;
            next();
            say(`Saved: ${mark}${group.answers.length > 1 ? ` for ${group.answers.length} answers` : ""}.`);
        } else if (reply.answers.length) {
            const theirs = reply.answers.map((row) => `${row.student}: ${markOf(row)} points\n${row.seen.comment || ""}`);
            ask(reply.sentence, theirs.join("\n\n"), "Keep theirs", "Save mine over it", (keep) => {
                if (!keep) return write(group);
                reset(group);
                return show(current);
            });
        } else {
            say(reply.sentence);
        }
        const keys = pressed;
        pressed = [];
        keys.forEach(key);
    };

    const key = (event) => {
        const target = event.target;
        const number = /^(?:Digit|Numpad)(\d)$/.exec(event.code) || /^(\d)$/.exec(event.key);
        if (event.key === "Escape" && !question.hidden) return answer(!part("theirs").hidden);  // theirs stay
        if (target === note) {
            if (event.key === "Escape") which.focus();
            else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
            else return undefined;
        } else if (event.ctrlKey || event.metaKey || event.altKey || !question.hidden || !part("keys").checked) {
            return undefined;
        } else if (number && number[1] === "0") {
            none();
        } else if (number && number[1] <= data.items.length) {
            choose(number[1] - 1, event.shiftKey ? 0.5 : 1);
        } else if (event.key === "Enter" && !target.closest("button, a, summary")) {
            save();
        } else if (event.key.toLowerCase() === "c") {
            note.focus();
        } else if (event.key === "ArrowRight" && !target.closest('[tabindex="0"]')) {
            show(current + 1);
        } else if (event.key === "ArrowLeft" && !target.closest('[tabindex="0"]')) {
            show(current - 1);
        } else {
            return undefined;
        }
        return event.preventDefault();
    };

    const clicked = (element, act) => element.addEventListener("click", (event) => {
        if (busy) return;
        act();
        if (event.detail > 0 && question.hidden) which.focus({preventScroll: true});  // a mouse: keys go on from the answer
    });

    if (change) {
        clicked(change, async () => {
            busy = true;
            const rows = data.groups.flatMap((group) => group.answers).filter((row) => row.change);
            const reply = await post({answers: seen(rows), change: true})
                .catch((error) => ({fine: false, sentence: `Not saved: ${error.message}`}));
            busy = false;
            if (reply.fine) location.reload();
            else change.closest("section").append(`${reply.sentence} Reload the page to see the marks as they are.`);
        });
    }
    if (!which) return;
    data.groups.forEach(reset);
    parts("item").forEach((button, index) => clicked(button, () => choose(index, 1)));
    parts("half").forEach((button, index) => clicked(button, () => choose(index, 0.5)));
    part("keys").checked = localStorage.getItem(KEYS) !== "off";
    part("keys").addEventListener("change", (event) => localStorage.setItem(KEYS, event.target.checked ? "on" : "off"));
    clicked(part("none"), none);
    clicked(part("next"), save);
    clicked(part("back"), () => show(current - 1));
    clicked(part("forth"), () => show(current + 1));
    clicked(part("yes"), () => answer(true));
    clicked(part("no"), () => answer(false));
    note.addEventListener("input", () => {
        data.groups[current].note = note.value;
        data.groups[current].noted = true;
    });
    document.addEventListener("keydown", (event) => {
        if (!busy) return key(event);
        event.preventDefault();
        return pressed.push(event);
    });
    window.addEventListener("beforeunload", (event) => {
        if (data.groups.some((group) => group.chosen || group.noted)) event.preventDefault();
    });
    show(Math.max(0, data.groups.findIndex(waits)));
})();
