"""Wrong and right answers to `greedy_decode`. The reference (11-translation):

@torch.no_grad()  # nothing is trained here: keep no graph
def greedy_decode(model, source_ids, bos_id, eos_id, max_len):
    B = len(source_ids)
    target_ids = torch.full((B, 1), bos_id, device=source_ids.device)  # (B, 1)
    ended = torch.zeros(B, dtype=torch.bool, device=source_ids.device)  # (B,)
    for _ in range(max_len):
        logits = model(source_ids, target_ids)  # (B, T, V)
        next_ids = logits[:, -1].argmax(dim=-1)  # (B,): the last position only
        target_ids = torch.cat([target_ids, next_ids[:, None]], dim=1)  # (B, T + 1)
        ended |= next_ids == eos_id
        if ended.all():
            break
    rows = target_ids[:, 1:].tolist()
    return [row[: row.index(eos_id)] if eos_id in row else row for row in rows]
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

CUT = "[row[: row.index(eos_id)] if eos_id in row else row for row in rows]"

# Right answers in other styles


class lists(RightAnswer):
    code = """
    results, active = [[] for _ in range(len(source_ids))], list(range(len(source_ids)))
    for _ in range(max_len):
        if not active: break
        targets = torch.tensor([[bos_id] + results[i] for i in active], device=source_ids.device)
        best = model(source_ids[active], targets)[:, -1].max(dim=-1).indices.tolist()
        for i, token in zip(active, best): results[i] += [token] * (token != eos_id)
        active = [i for i, token in zip(active, best) if token != eos_id]
    return results
    """


class one_by_one(RightAnswer):
    code = """
    def translate(row):
        tokens = [bos_id]
        while len(tokens) - 1 < max_len:
            logits = model(row, torch.tensor(tokens, device=row.device).unsqueeze(0))
            token = int(torch.argmax(logits[0, -1, :]))
            if token == eos_id: return tokens[1:]
            tokens.append(token)
        return tokens[1:]

    was = model.training; model.eval()
    results = [translate(source_ids[b : b + 1]) for b in range(source_ids.shape[0])]
    model.train(was); return results
    """


class columns(RightAnswer):
    edits = {
        "for _ in": "columns = []\nfor _ in",
        "ended |=": "columns.append(next_ids)\nended |=",
        "target_ids[:, 1:].tolist()": "torch.stack(columns, dim=1).tolist()",  # fails where max_len = 0
    }


class buffer(RightAnswer):
    code = """
    B = source_ids.shape[0]
    target = source_ids.new_zeros(B, max_len + 1)
    target[:, 0] = bos_id
    alive, length = source_ids.new_ones(B).bool(), source_ids.new_zeros(B)
    for t in range(max_len):
        target[:, t + 1] = model(source_ids, target)[:, t].detach().topk(1).indices.squeeze(-1)
        alive = alive & (target[:, t + 1] != eos_id)
        length += alive
        if not alive.any(): break
    return [target[b, 1 : 1 + int(length[b])].tolist() for b in range(B)]
    """


# Mistakes


class bos_kept(Minor):
    """bos_id is part of the result: leave it out."""

    variants = [{"[:, 1:]": ""}, {"[:, 1:]": "", "(max_len)": "(max_len - 1)"}]


class eos_kept(Minor):
    """eos_id is part of the result: a row ends before its first eos_id."""

    edits = {"(eos_id)": "(eos_id) + 1"}


class last_token_cut(Minor):
    """The last token is cut off too: only eos_id and what follows it is."""

    variants = [{"(eos_id)": "(eos_id) - 1"}, {"[: row.index(eos_id)] if eos_id in row else row": "[:-1]"}]


class eos_filtered(Minor):
    """eos_id is taken out, or a row is cut at its last one, so what follows the first stays: the first ends the row."""

    variants = [
        {"row[: row.index(eos_id)] if eos_id in row else row": "[token for token in row if token != eos_id]"},
        {"row.": "len(row) - 1 - row[::-1]."},
    ]


class not_cut(Misconception):
    """Rows are not cut at their eos_id: what follows it does not belong to them."""

    variants = [
        {CUT: "rows"},
        {"eos_id in row": "row and row[-1] == eos_id"},
        {"[: row.index(eos_id)] if eos_id in row": "[:-1] if row and row[-1] == eos_id"},
    ]


class first_row_to_end_stops_all(Misconception):
    """Decoding stops for all rows when one of them ends: go on until each has ended (`.all()`)."""

    edits = {".all()": [".any()", "[0]", "[-1]"]}


class all_at_the_same_time(Misconception):
    """It stops only if all rows write eos_id in one step: remember which have ended."""

    edits = {"ended |=": "ended ="}


class never_stops(Misconception):
    """The model is asked until max_len although all rows have ended."""

    edits = {"if ended.all():": "if False:"}


class wrong_position(Misconception):
    """Another position's logits are used: the next token follows the last, `logits[:, -1]`."""

    edits = {"[:, -1]": ["[:, 0]", "[:, max(logits.shape[1] - 2, 0)]", "[:, -2]", ".mean(dim=1)"]}


class unwritten_places_read(Misconception):
    """The model is given places that are not written yet, and the last of them is looked at: the next token follows
    the last one that is written.
    """

    based_on = buffer
    edits = {
        "[:, t].": "[:, -1].",
        "new_zeros(B, max_len + 1)": [
            "new_zeros(B, max_len + 1)",
            "new_full((B, max_len + 1), eos_id)",
            "new_full((B, max_len + 1), bos_id)",
        ],
    }


class new_tokens_do_not_fit(Fundamental):
    """The new tokens do not fit target_ids: one per row (B,), as a column (B, 1), along dim=1."""

    variants = [{"=-1": "=0"}, {":, -": "-"}, {"next_ids[:, None]], dim=1": "next_ids[:, None]], dim=0"}]


class wrong_dimension(Misconception):
    """The maximum is over the wrong dimension: take the vocabulary, the last one."""

    edits = {"argmax(dim=-1)": ["argmax().expand(B)", "softmax(dim=0).argmax(dim=-1)"]}


class first_row_for_all(Misconception):
    """All rows get the first row's token: each row has logits of its own."""

    edits = {"[:, -1].argmax(dim=-1)": "[0, -1].argmax(dim=-1).expand(B)"}


class one_row_only(Misconception):
    """The code is for one row (one beginning of shape (1, 1), `.item()`), and fails for several: each row has a token
    and an end of its own.
    """

    code = """
    target_ids, written = torch.full((1, 1), bos_id, device=source_ids.device), []
    for _ in range(max_len):
        token = model(source_ids, target_ids)[:, -1].argmax(dim=-1).item()
        if token == eos_id: break
        written.append(token)
        target_ids = torch.cat([target_ids, target_ids.new_tensor([[token]])], dim=1)
    return [written]
    """


class sampled(Misconception):
    """The tokens are drawn at random: greedy takes the likeliest one."""

    edits = {"logits[:, -1].argmax(dim=-1)": "torch.multinomial(logits[:, -1].softmax(dim=-1), 1)[:, 0]"}


class last_token_only(Misconception):
    """The model is given only the last token: give it everything written so far."""

    edits = {", target_ids": ", target_ids[:, -1:]"}


class not_appended(Fundamental):
    """What is written does not get longer: append each new token."""

    edits = {"torch.cat([target_ids, next_ids[:, None]], dim=1)": "next_ids[:, None]"}


class starts_with_eos(Minor):
    """target_ids begin with something else than bos_id."""

    variants = [
        {"full((B, 1), bos_id": ["full((B, 1), eos_id", "zeros(B, 1, dtype=torch.long"]},
        {"torch.full((B, 1), bos_id, device=source_ids.device)": "source_ids[:, :1]"},
    ]


class empty_start(Fundamental):
    """target_ids are empty at the start: the model is given bos_id first."""

    based_on = bos_kept
    edits = {"full((B, 1), bos_id,": "zeros(B, 0, dtype=torch.long,"}


class source_continued(Misconception):
    """The source is continued, as by a GPT: the translation begins anew, with bos_id."""

    variants = [
        {"torch.full((B, 1), bos_id, device=source_ids.device)": "source_ids", ", 1:": ", source_ids.shape[1] :"},
        {
            "torch.full((B, 1), bos_id, device=source_ids.device)": (
                "torch.cat([source_ids, torch.full((B, 1), bos_id, device=source_ids.device)], dim=1)"
            ),
            ", 1:": ", source_ids.shape[1] + 1 :",
        },
    ]


class model_arguments_swapped(Fundamental):
    """The model's arguments are swapped, or one is missing: model(source_ids, target_ids)."""

    edits = {"source_ids, target_ids": ["target_ids, source_ids", "target_ids", "target_ids, target_ids"]}


class one_too_many(Minor):
    """A row that never ends is one token too long or too short: max_len counts the new tokens, without bos_id."""

    edits = {"(max_len)": ["(max_len + 1)", "(max_len - 1)"]}


class max_len_ignored(Misconception):
    """Something else than max_len limits the rows (a fixed number, the source's length), or nothing does: at most
    max_len new tokens are written.
    """

    variants = [
        {"for _ in range(max_len)": ["for _ in range(100)", "while True"]},
        {"(max_len)": "(min(max_len, source_ids.shape[1]))"},
    ]


class fixed_ids(Misconception):
    """The ids of bos and eos (or of padding) stand in the code: use bos_id and eos_id."""

    variants = [
        {"== eos_id": "== 2", "[: row.index(eos_id)] if eos_id": "[: row.index(2)] if 2"},
        {"bos_id, device": "1, device"},
        {
            "row[: row.index(eos_id)] if eos_id in row else row": (
                "[token for token in (row[: row.index(eos_id)] if eos_id in row else row) if token != 0]"
            )
        },
    ]


class first_row_only(Misconception):
    """Only one row comes back, or all in one long list: a list for each row of source_ids is asked for."""

    edits = {CUT: [f"{CUT}[0]", f"{CUT}[:1]", f"sum(({CUT}), [])", f"{CUT}[0] if B == 1 else {CUT}"]}


class tensors(Minor):
    """Tensors or tuples are returned: a list of lists of ints is asked for (`.tolist()`)."""

    variants = [
        {
            CUT: [
                "target_ids[:, 1:]",
                f"[torch.tensor(x) for x in {CUT}]",
                f"[tuple(row) for row in {CUT}]",
                f"tuple({CUT})",
            ]
        },
        {"target_ids[:, 1:].tolist()": "[list(row) for row in target_ids[:, 1:]]"},
    ]


class shared_list(Minor):
    """All rows share one list (`[[]] * B`): use `[[] for _ in range(B)]`."""

    edits = {
        CUT: "[[row[t] for t in range(max_len) for row in rows if t < len(row) and eos_id not in row[: t + 1]]] * B"
    }


class training_mode(Misconception):
    """The model is put into training mode, so dropout is at work: leave its mode alone."""

    edits = {"source_ids)": "source_ids)\nmodel.train()"}


class eval_mode(Minor):
    """The model is left in eval mode: leave it as you found it, with `model.train(was_training)`."""

    edits = {"B =": "model.eval()\nB ="}


class graphs_kept(Minor):
    """The model keeps graphs for gradients that nobody needs: leave `@torch.no_grad()` in its place."""

    edits = {"@torch.no_grad()  # nothing is trained here: keep no graph": ""}


class padded_rows(Minor):
    """All rows come back equally long: each list ends where its row ends."""

    variants = [
        {"return": "rows =", "rows]": "rows]\nreturn [row + [0] * (max(map(len, rows)) - len(row)) for row in rows]"},
        {
            "return": "rows =",
            "rows]": """
                rows]
                return [row + [eos_id] * (max(map(len, rows)) - len(row)) for row in rows]
            """,
        },
    ]


class input_changed(Minor):
    """source_ids are changed in place: the caller's tensor stays as it is."""

    edits = {"== eos_id": "== eos_id\nsource_ids[ended] = 0"}


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {"bos_id, device=source_ids.device": "bos_id"}


class nothing_returned(common_mistakes.nothing_returned):
    edits = {"break": "return"}
