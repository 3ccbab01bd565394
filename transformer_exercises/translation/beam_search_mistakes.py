"""Wrong and right answers to `beam_search`. The reference (11-translation):

@torch.no_grad()
def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6):
    if beam_size < 1:
        raise ValueError(f"beam_size must be at least 1; got {beam_size}")
    beams, finished = [([bos_id], 0.0)], []  # pairs: tokens, and the log-probability of all of them together
    for _ in range(max_len):
        target_ids = torch.tensor([tokens for tokens, _ in beams], device=source_ids.device)  # (K, T)
        logits = model(source_ids.expand(len(beams), -1), target_ids)[:, -1]  # (K, V)
        so_far = torch.tensor([log_prob for _, log_prob in beams], device=logits.device)  # (K,)
        log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1)  # (K, V): of whole beginnings
        places_left = min(beam_size - len(finished), log_probs.numel())
        best = log_probs.flatten().topk(places_left)  # across all beams: one may have several heirs, another none

        candidates = []
        for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=True):
            beam, token = divmod(place, logits.shape[-1])
            candidates.append(([*beams[beam][0], token], log_prob))
        finished += [candidate for candidate in candidates if candidate[0][-1] == eos_id]
        beams = [candidate for candidate in candidates if candidate[0][-1] != eos_id]
        if not beams:
            break

    def score(candidate):
        tokens, log_prob = candidate
        return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty  # bos is not counted

    tokens, _ = max(finished or beams, key=score)
    return [token for token in tokens[1:] if token != eos_id]
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

WITHOUT_END = "[token for token in tokens[1:] if token != eos_id]"
BY_A_SORT = {  # of continuations that are equally likely, another sort prefers others
    "log_probs.flatten().topk(places_left)": "log_probs.flatten().sort(descending=True, stable=True)",
    "best.values.tolist(), best.indices.tolist(), strict=True": (
        "best.values[:places_left].tolist(), best.indices.tolist()"
    ),
}

# Right answers in other styles


class wide_until_enough(RightAnswer):
    edits = {
        "min(beam_size - len(finished), log_probs.numel())": "min(2 * beam_size, log_probs.numel())",
        "for candidate in candidates if candidate[0][-1] ==": (
            "for candidate in candidates[:beam_size] if candidate[0][-1] =="
        ),
        "] != eos_id]": "] != eos_id][:beam_size]",
        "not beams": "len(finished) >= beam_size",
        "torch.log_softmax(logits, dim=-1)": "logits - logits.logsumexp(-1, keepdim=True)",
    }


class without_bos(RightAnswer):
    edits = {
        "([bos_id], 0.0)": "([], 0.0)",
        "[tokens for tokens, _ in beams]": "[[bos_id, *tokens] for tokens, _ in beams]",
        "len(tokens) - 1": "len(tokens)",
        WITHOUT_END: "tokens[:-1] if tokens[-1] == eos_id else tokens",  # fails where max_len = 0
    }


class ended_beams_compete(RightAnswer):
    code = """
    import heapq
    if beam_size <= 0: raise ValueError(f"beam_size: {beam_size}")
    ended = lambda entry: eos_id in entry[1]
    entries = [(0.0, ())]
    for _ in range(max_len):
        open_ones = [entry for entry in entries if not ended(entry)]
        if not open_ones: break
        heirs = list(filter(ended, entries))
        targets = torch.tensor([[bos_id, *tokens] for _, tokens in open_ones]).to(source_ids.device)
        rows = model(torch.cat([source_ids] * len(open_ones)), targets)[:, -1].log_softmax(-1).tolist()
        for (log_p, tokens), row in zip(open_ones, rows):
            heirs.extend((log_p + new, (*tokens, token)) for token, new in enumerate(row))
        entries = heapq.nlargest(beam_size, heirs)
    best = max(list(filter(ended, entries)) or entries, key=lambda e: e[0] * (6 / (5 + len(e[1]))) ** length_penalty)
    return [token for token in best[1] if token != eos_id]
    """


class to_the_end(RightAnswer):
    code = """
    if not beam_size > 0: raise ValueError("beam_size")
    pool, running = {}, {(bos_id,): 0.0}
    for _ in range(max_len):
        grown = {}
        for tokens, total in running.items():
            row = model(source_ids, source_ids.new_tensor([tokens]))[0, -1]
            values, indices = (row - row.logsumexp(0)).topk(min(2 * beam_size, len(row)))
            for value, index in zip(values.tolist(), indices.tolist()): grown[tokens + (index,)] = total + value
        ranking = sorted(grown, key=grown.get, reverse=True)
        pool |= {tokens: grown[tokens] for tokens in ranking[:beam_size] if tokens[-1] == eos_id}
        running = {tokens: grown[tokens] for tokens in [r for r in ranking if r[-1] != eos_id][:beam_size]}
    best = max((pool or running).items(), key=lambda p: p[1] / (5 + len(p[0]) - 1) ** length_penalty)[0]
    return [t for t in best if t not in (bos_id, eos_id)]
    """


class tensors(RightAnswer):
    code = """
    if beam_size < 1: raise ValueError(f"beam_size = {beam_size} is less than one")
    K, sources = beam_size, source_ids.repeat_interleave(beam_size, dim=0)
    tokens = torch.full_like(sources[:, :1], bos_id)
    totals = torch.where(torch.arange(K, device=source_ids.device) == 0, 0.0, -1e9)
    lengths = torch.zeros_like(totals)
    ended = lengths > 0
    for _ in range(max_len):
        log_probs = torch.log_softmax(model(sources, tokens)[:, -1], -1)
        stay = torch.full_like(log_probs, -1e9)
        stay[:, eos_id] = 0.0
        log_probs = torch.where(ended[:, None], stay, log_probs)
        totals, places = (totals[:, None] + log_probs).view(-1).topk(K)
        parents, new = places.div(log_probs.shape[-1], rounding_mode="floor"), places % log_probs.shape[-1]
        tokens = torch.cat([tokens[parents], new[:, None]], 1)
        lengths = lengths[parents] + ~ended[parents]
        ended = ended[parents] | (new == eos_id)
        if ended.all(): break
    scores = totals / ((5 + lengths) / 6) ** length_penalty
    if ended.any(): scores = scores.masked_fill(~ended, -1e18)
    best = tokens[scores.argmax()].tolist()[1:]
    return best[: best.index(eos_id)] if eos_id in best else best
    """


# Mistakes


class greedy(Fundamental):
    """Only one beam is followed (greedy decoding): keep beam_size at each step."""

    variants = [{"min(beam_size - len(finished), log_probs.numel())": "1"}, {"] != eos_id]": "] != eos_id][:1]"}]


class equal_beams(Misconception):
    """The search starts with copies of one beam, so all stay equal: start with one."""

    edits = {"0)": "0) for _ in range(beam_size)"}


class each_beam_its_own_heir(Misconception):
    """Each beam keeps its own best continuation: choose the beam_size best across all beams."""

    edits = {
        "best = log_probs.flatten().topk(places_left)": [
            """
            best = log_probs.flatten().topk(places_left)
            if len(beams) > 1:
                top = log_probs.max(dim=-1)
                best = torch.return_types.topk((top.values, top.indices + torch.arange(len(beams)) * logits.shape[-1]))
            """,
            """
            best = log_probs.flatten().topk(places_left)
            if len(beams) > 1:
                top = log_probs.max(dim=-1)
                places = top.indices + torch.arange(len(beams), device=logits.device) * logits.shape[-1]
                order = top.values.sort(descending=True, stable=True).indices[:places_left]
                best = torch.return_types.topk((top.values[order], places[order]))
            """,
        ]
    }


class beams_not_cut(Misconception):
    """More beams than beam_size are kept, or a fixed number: keep the likeliest beam_size."""

    variants = [
        {"beam_size -": ["2 * beam_size -", "5 -", "2 -", "3 -"]},
        {"- len(finished)": ["* len(beams)", "+ 1 - len(finished)"]},
    ]


class last_step_only(Misconception):
    """Beams are compared by their last token alone: add up all log-probabilities."""

    variants = [
        {"so_far[:, None] + torch": "torch"},
        {"so_far[:, None] + torch": "torch", **BY_A_SORT},
    ]


class mean_of_steps(Misconception):
    """A beginning is worth the mean of its log-probabilities: it is worth their sum, and only the end divides."""

    edits = {
        "so_far[:, None] + torch.log_softmax(logits, dim=-1)": (
            "(so_far[:, None] * (len(beams[0][0]) - 1) + torch.log_softmax(logits, dim=-1)) / len(beams[0][0])"
        )
    }


class least_likely(Minor):
    """The least likely continuations are kept: keep the likeliest."""

    variants = [
        {"topk(places_left)": "topk(places_left, largest=False)"},
        {name: text.replace("descending=True, ", "") for name, text in BY_A_SORT.items()},
    ]


class logits_added(Misconception):
    """Logits are added up: only log-probabilities can be compared between beams."""

    edits = {"torch.log_softmax(logits, dim=-1)": "logits"}


class probabilities_added(Misconception):
    """Probabilities are added up, or multiplied, to 0 for long sentences: add their logarithms."""

    variants = [
        {"log_softmax": "softmax"},
        {"log_softmax": "softmax", **BY_A_SORT},
        {
            ", 0": ", 1",
            "+ torch.log_softmax": "* torch.softmax",
            "log_prob / (": "math.log(max(log_prob, 1e-300)) / (",
        },
    ]


class softmax_over_the_beams(Misconception):
    """The softmax runs over beams or continuations: each beam has its own, over the vocabulary."""

    variants = [{"=-1": "=0"}, {"=-1": "=0", **BY_A_SORT}, {", dim=-1": ".flatten(), dim=0).view_as(logits"}]


class wrong_parent(Misconception):
    """A continuation joins the wrong beam: place // V is the beam, place % V the token."""

    variants = [
        {"[beam]": ["[len(candidates) % len(beams)]", "[0]"]},
        {"divmod(place, logits.shape[-1])": "place % len(beams), place % logits.shape[-1]"},
        {"beam, token = divmod(place, logits.shape[-1])": "token, beam = divmod(place, len(beams))"},
    ]


class shared_list(Misconception):
    """A list that several continuations share is changed (`append`): make a new one for each."""

    edits = {
        "candidates.append(([*beams[beam][0], token": """
            beams[beam][0].append(token)
            candidates.append((beams[beam][0
        """
    }


class finished_dropped(Misconception):
    """Beams that have ended are lost: set them aside, one may be the best."""

    variants = [{"+=": "="}, {"finished or beams": "beams or finished"}]


class first_to_end_wins(Misconception):
    """The first or the last beam that ends is returned: take the best of all finished ones, at the end."""

    variants = [
        {"not": "finished or not"},
        {"max(finished or beams, key=score)": "finished[-1] if finished else max(beams, key=score)"},
    ]


class continued_after_eos(Misconception):
    """Beams that have ended go on: what follows eos_id is rubbish, and costs probability."""

    variants = [
        {"if not beams:": "beams, finished = candidates, []\nif not beams:"},
        {
            "if not beams:": "beams, finished = candidates, []\nif not beams:",
            "tokens, _ = max(finished or beams, key=score)": """
                tokens, _ = max(beams, key=score)
                tokens = tokens[: tokens.index(eos_id)] if eos_id in tokens else tokens
            """,
        },
    ]


class not_by_score(Misconception):
    """The last choice goes by the ids, not by the scores: `max` needs the key."""

    edits = {"finished or beams, key=score": "finished or beams"}


class unfinished_wins(Misconception):
    """A beam that has not ended is preferred to finished ones."""

    variants = [
        {"or beams": "+ beams"},
        {"or beams, key=score": "+ beams, key=lambda c: c[1] if c[0][-1] == eos_id else 0.0"},
    ]


class unfinished_lost(Misconception):
    """If no beam ends by max_len, nothing comes back: the best unfinished one is the result."""

    variants = [
        {
            "tokens, _ =": [
                """
                if not finished:
                    return []
                tokens, _ =
                """,
                """
                if not finished:
                    return None
                tokens, _ =
                """,
            ],
            "finished or beams": "finished",
        },
        {"(finished or beams": "(finished"},
    ]


class penalty_ignored(Misconception):
    """length_penalty makes no difference (no penalty, a fixed one, or the mean): divide by
    ((5 + length) / 6) ** length_penalty, with each beam's length.
    """

    variants = [
        {"len(tokens) - 1": "max_len"},
        {
            "((5 + len(tokens) - 1) / 6) ** length_penalty": [
                "max(len(tokens) - 1, 1)",
                "len(tokens)",
                "((5 + len(tokens) - 1) / 6)",
            ]
        },
        {"** length_penalty": "** 0.6"},
    ]


class penalty_of_the_length_alone(Minor):
    """The penalty is multiplied, or length ** length_penalty: divide by ((5 + length) / 6) ** length_penalty."""

    variants = [
        {"((5 + len(tokens) - 1) / 6)": ["max(len(tokens) - 1, 1)", "len(tokens)", "(len(tokens) - 1)"]},
        {"log_prob / (": "log_prob * ("},
    ]


class penalty_subtracted(Misconception):
    """The penalty is subtracted, added or multiplied: divide by ((5 + length) / 6) ** length_penalty."""

    edits = {
        "/ ((5 + len(tokens) - 1) / 6) ** length_penalty": [
            "- length_penalty * len(tokens)",
            "+ length_penalty * len(tokens)",
            "/ (length_penalty * max(len(tokens) - 1, 1) or 1)",
            "/ ((5 + length_penalty) / 6) ** (len(tokens) - 1)",
        ]
    }


class length_without_eos(Minor):
    """The length does not count eos_id: it is one of the new tokens."""

    edits = {"- 1": "- 1 - (tokens[-1] == eos_id)"}


class length_with_bos(Minor):
    """The length counts bos_id too: it is the number of new tokens, with eos_id."""

    edits = {"len(tokens) - 1": ["len(tokens)", "len(tokens) + 1"]}


class penalty_at_every_step(Misconception):
    """The penalty is applied at each step anew: divide only to compare."""

    edits = {
        "log_prob)": [
            "log_prob / ((5 + len(beams[beam][0])) / 6) ** length_penalty)",
            "log_prob / ((5 + 1) / 6) ** length_penalty / len(beams[beam][0]) ** length_penalty)",
        ]
    }


class bos_kept(Minor):
    """bos_id is part of the result: leave it out."""

    edits = {"[1:]": ""}


class eos_kept(Minor):
    """eos_id is part of the result: leave it out."""

    edits = {WITHOUT_END: "tokens[1:]"}


class last_token_cut(Minor):
    """The last token is cut off though it is not eos_id (or the first, not bos_id)."""

    variants = [{WITHOUT_END: "tokens[1:-1]"}, {"[1:]": "[2:]"}]


class one_too_many(Minor):
    """The loop has one step too many or too few: max_len counts the new tokens, without bos_id."""

    edits = {"(max_len)": ["(max_len + 1)", "(max_len - 1)"]}


class max_len_ignored(Misconception):
    """max_len is not kept to: it counts the new tokens, without bos."""

    edits = {"(max_len)": ["(50)", "(2 * source_ids.shape[1])", "(source_ids.shape[1])"]}


class fixed_ids(Minor):
    """The ids of bos and eos stand in the code: use bos_id and eos_id."""

    variants = [{"== eos_id": "== 2", "!= eos_id": "!= 2"}, {"[bos_id]": ["[1]", "[0]"]}]


class bos_not_given(Fundamental):
    """The model is not given bos_id: target_ids begin with it."""

    based_on = bos_kept
    edits = {"[bos_id]": "[]"}


class last_token_given(Misconception):
    """The model gets each beam's last token only: give it all of them."""

    edits = {"[tokens for": "[tokens[-1:] for"}


class wrong_position(Misconception):
    """Another position's logits are used: the next token follows the last, `[:, -1]`."""

    edits = {")[:, -1]": [")[:, 0]", ").mean(dim=1)"]}


class source_not_repeated(Misconception):
    """There is one source for several beams: repeat it for each (`expand`, `repeat`)."""

    edits = {".expand(len(beams), -1),": [",", ".expand(beam_size, -1),"]}


class too_many_asked_for(Misconception):
    """topk is asked for more than there is: a beam has V continuations (`min(beam_size, …)`)."""

    edits = {"min(beam_size - len(finished), log_probs.numel())": "beam_size - len(finished)"}


class eval_mode(Minor):
    """The model is left in eval mode: leave it as you found it, with `model.train(was_training)`."""

    edits = {"beams, finished": "model.eval()\nbeams, finished"}


class all_beams(Minor):
    """More than one list of ids is returned (all beams, a list around it, the score too), or tensors: return one
    list of ints.
    """

    variants = [
        {
            "token for token in tokens[1:] if token != eos_id": [
                "[token for token in tokens[1:] if token != eos_id]",
                (
                    "[t for t in tokens[1:] if t != eos_id] for tokens, _ in sorted(finished or beams, key=score, "
                    "reverse=True)"
                ),
            ]
        },
        {
            WITHOUT_END: [
                *(f"{WITHOUT_END}, {value}" for value in ("_", "score((tokens, _))")),
                *(f"{value}, {WITHOUT_END}" for value in ("_", "score((tokens, _))")),
                f"torch.tensor({WITHOUT_END})",
            ]
        },
        {"token for": "torch.tensor(token) for"},
    ]


class training_mode(Misconception):
    """The model is put into training mode, so dropout is at work: leave its mode alone."""

    edits = {"beams, finished": "model.train()\nbeams, finished"}


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {", device=source_ids.device": ""}


class bad_size_accepted(Misconception):
    """A beam_size below 1 is accepted: raise a ValueError that names it."""

    edits = {
        "if beam_size < 1:": ["beam_size = max(beam_size, 1)\nif beam_size < 1:", "if beam_size < 1:\n    return []"]
    }


class error_of_another_type(common_mistakes.error_of_another_type):
    edits = {"if beam_size < 1:": "if False:"}
