"""Wrong and right answers to `next_token_distribution`. The reference (09-gpt):

def next_token_distribution(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError(f"temperature must not be negative; got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1; got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must be above 0 and at most 1; got {top_p}")

    V = logits.shape[-1]
    if temperature == 0:
        return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)  # (..., V)
    logits = logits / temperature
    if top_k is not None and top_k < V:
        kth = logits.topk(top_k, dim=-1).values[..., -1:]  # (..., 1): the worst logit that stays
        logits = logits.masked_fill(logits < kth, float("-inf"))
    if top_p is not None and top_p < 1:
        probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)  # (..., V)
        likelier = probs.cumsum(dim=-1) - probs  # what all likelier tokens have together: 0 for the first
        beyond = likelier >= top_p  # p was reached before this token
        logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))  # back in the order of V
    return torch.softmax(logits, dim=-1)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

RETURN = "return torch.softmax(logits, dim=-1)"
ONE_HOT = "F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)"

# Right answers in other styles


class one_like_any_other_p(RightAnswer):
    edits = {"None and top_p < 1": "None"}


class indices_cut(RightAnswer):
    edits = {
        ONE_HOT: "torch.zeros_like(logits).scatter_(-1, best, 1.0)",
        "if temperature == 0:": "best = logits.argmax(-1, keepdim=True)\nif temperature == 0:",
        "kth = logits.topk(top_k, dim=-1).values[..., -1:]": "values, places = logits.topk(top_k)",
        'logits.masked_fill(logits < kth, float("-inf"))': (
            "torch.full_like(logits, -torch.inf).scatter(-1, places, values)"
        ),
        "probs, order = torch.softmax(logits, dim=-1).sort(": "values, order = logits.sort(",
        "likelier = probs.cumsum(dim=-1) - probs": "beyond = values.softmax(-1).cumsum(-1) > top_p",
        "beyond = likelier >= top_p": "beyond = torch.cat([torch.zeros_like(beyond[..., :1]), beyond[..., :-1]], -1)",
        'logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))': (
            "logits = torch.full_like(logits, -torch.inf).scatter(-1, order, values.masked_fill(beyond, -torch.inf))"
        ),
    }


class row_by_row(RightAnswer):
    code = """
    if temperature < 0 or not (top_k is None or top_k > 0) or not (top_p is None or 0 < top_p <= 1): raise ValueError
    rows = []
    for row in logits.reshape(-1, logits.shape[-1]):
        p = torch.softmax(row / (temperature or 1), 0)
        order = sorted(range(len(row)), key=p.neg().tolist().__getitem__)[: top_k if temperature else 1]
        total, kept, share = p[order].sum().item(), [], 0.0
        for i in order:
            if top_p and top_p < 1 and share >= top_p: break
            kept.append(i)
            share += p[i].item() / total
        mask = torch.zeros_like(p).index_fill(0, torch.tensor(kept, device=p.device), 1)
        rows.append(p * mask / (p * mask).sum())
    return torch.stack(rows).reshape(logits.shape)
    """


class probabilities(RightAnswer):
    edits = {
        "logits = logits / temperature": "probs = F.softmax(logits / temperature, dim=-1)",
        "kth = logits.topk(top_k,": "kth = probs.topk(top_k,",
        'logits = logits.masked_fill(logits < kth, float("-inf"))': "probs = probs * (probs >= kth)",
        "probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)": (
            "probs = probs / probs.sum(-1, keepdim=True)"
        ),
        "probs.cumsum(dim=-1) - probs": "(probs.unsqueeze(-2) * (probs.unsqueeze(-2) > probs.unsqueeze(-1))).sum(-1)",
        "beyond = likelier >= top_p": "probs = probs * (likelier < top_p)",
        'logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))': "",
        RETURN: "return probs / probs.sum(-1, keepdim=True)",
    }


class ranks(RightAnswer):
    edits = {
        "logits = logits / temperature": """
            logits = logits / temperature
            order = logits.sort(dim=-1, descending=True, stable=True).indices
            rank = order.argsort(dim=-1)
        """,
        "kth = logits.topk(top_k, dim=-1).values[..., -1:]": "",
        "logits < kth": "rank >= top_k",
        "probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)": (
            "probs = torch.softmax(logits, dim=-1).gather(-1, order)"
        ),
        "beyond.scatter(-1, order, beyond)": "beyond.gather(-1, rank)",
    }


# Mistakes


class temperature_multiplied(Minor):
    """The logits are multiplied by the temperature: divide by it, so that a low one sharpens."""

    edits = {"/": "*"}


class temperature_ignored(Misconception):
    """The temperature is ignored: divide the logits by it before the softmax."""

    edits = {"logits = logits / temperature": ""}


class temperature_after_softmax(Misconception):
    """The temperature acts on probabilities, or as another power than 1 / temperature: it divides the logits, before
    the softmax.
    """

    variants = [
        temperature_ignored.edited(
            {
                RETURN: [
                    f"{RETURN} / temperature",
                    """
                    probs = torch.softmax(logits, dim=-1) ** temperature
                    return probs / probs.sum(dim=-1, keepdim=True)
                    """,
                ]
            }
        ),
        {"logits /": "torch.softmax(logits, dim=-1) /"},
        {"/ temperature": "/ temperature**2"},
    ]


class zero_divided(Misconception):
    """temperature = 0 divides by zero (NaN), or becomes a small number, so that close logits share: treat it apart,
    with probability 1 at the argmax.
    """

    variants = [
        {"temperature == 0": "False"},
        {
            "return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)": [
                "temperature = 1e-2",
                "temperature = 1e-3",
            ]
        },
    ]


class greedy_too_early(Minor):
    """Low temperatures count as 0: only temperature = 0 itself is greedy, others divide the logits."""

    edits = {"temperature == 0": ["temperature < 0.1", "temperature < 0.5"]}


class zero_is_one(Misconception):
    """temperature = 0 is treated as if no temperature were given (`if temperature:`): 0 means greedy."""

    variants = [
        {"return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)": "temperature = 1.0"},
        {ONE_HOT: "torch.softmax(logits, dim=-1)"},
    ]


class index_returned(Misconception):
    """Temperature 0 gives the index of the best token: probabilities are asked for, 1 at that index."""

    edits = {ONE_HOT: ["logits.argmax(dim=-1)", "logits.argmax(dim=-1, keepdim=True)", "logits.argmax()"]}


class one_hot_integers(Misconception):
    """With temperature 0 the result has another dtype (integers from F.one_hot, truth values, float32): convert to
    logits.dtype.
    """

    variants = [
        {".to(logits.dtype)": ""},
        {ONE_HOT: "logits == logits.max(dim=-1, keepdim=True).values"},
        {"to(logits.dtype)": "float()"},
    ]


class one_hot_of_everything(Misconception):
    """With temperature 0 each row has one 1, at its own maximum (argmax, dim=-1): not one for the whole tensor, nor one
    at each of several likeliest tokens.
    """

    variants = [
        {"F.one_hot(logits.argmax(dim=-1), V)": "(logits == logits.max())"},
        {"(dim=-1), V).to(logits.dtype": "(), V).to(logits.dtype).expand(logits.shape"},
        {"F.one_hot(logits.argmax(dim=-1), V)": "(logits == logits.amax(dim=-1, keepdim=True))"},
    ]


class top_k_ignored(Misconception):
    """top_k is ignored: only the k likeliest tokens keep a probability."""

    edits = {"top_k is not None and top_k < V": "False"}


class k_columns(Misconception):
    """With top_k the result has k columns, so nobody knows whose they are: all V tokens stay, each in its place, and
    all but the k likeliest have probability 0.
    """

    variants = [
        {
            "kth = logits.topk(top_k, dim=-1).values[..., -1:]": "logits = logits.topk(top_k, dim=-1).values",
            'logits = logits.masked_fill(logits < kth, float("-inf"))': "",
        },
        {
            "kth = logits.topk(top_k, dim=-1).values[..., -1:]": (
                "return torch.softmax(logits, dim=-1).topk(top_k, dim=-1).values"
            ),
            'logits = logits.masked_fill(logits < kth, float("-inf"))': "",
        },
        {
            "kth = logits.topk(top_k, dim=-1).values[..., -1:]": "logits = logits[..., :top_k]",
            'logits = logits.masked_fill(logits < kth, float("-inf"))': "",
        },
    ]


class first_k_places(Misconception):
    """top_k keeps the first k places: of the vocabulary, which has no order, or after the best k were moved there. The
    k likeliest tokens stay, each in its own place.
    """

    variants = [
        {
            "kth = logits.topk(top_k, dim=-1).values[..., -1:]": "places = torch.arange(V, device=logits.device)",
            "logits < kth": "places >= top_k",
        },
        {
            "kth = logits.topk(top_k, dim=-1).values[..., -1:]": "best = logits.topk(top_k, dim=-1).values",
            'logits.masked_fill(logits < kth, float("-inf"))': "F.pad(best, (0, V - top_k), value=-torch.inf)",
        },
    ]


class least_likely_kept(Misconception):
    """top_k removes the k likeliest tokens, or keeps the least likely ones: the k *likeliest* keep a probability."""

    variants = [
        {"logits < kth": "logits >= kth"},
        {"topk(top_k, dim=-1)": ["topk(top_k, dim=-1, largest=False)", "topk(V - top_k, dim=-1)"]},
        {"topk(top_k, dim=-1)": "topk(top_k, dim=-1, largest=False)", "logits < kth": "logits > kth"},
    ]


class one_fewer(Minor):
    """top_k keeps one token too few or too many: the k-th itself has to stay (`<`, not `<=`), and is the last."""

    variants = [{"< kth": "<= kth"}, {"top_k,": "min(top_k + 1, V),"}]


class two_dimensions_only(Misconception):
    """The code fits logits of some shapes only (`[..., -1]`, `[:, -1:]`, dim=1): `values[..., -1:]` and dim=-1 fit
    any.
    """

    variants = [
        {"...": ":"},
        {"None and top_k < V": "None", "(top_k, dim=-1).values[..., -1:]": "(min(top_k, V), dim=-1).values[:, -1:]"},
        {RETURN: "return torch.softmax(logits, dim=1)"},
        {"V = logits.shape[-1]": "B, V = logits.shape"},
        {"[-1]": "[1]"},
        {"-1:": "-1"},
        {"..., -1:": ":, -1"},
        {"None and top_k < V": "None", "(top_k, dim=-1).values[..., -1:]": "(min(top_k, V), dim=-1).values[..., -1]"},
    ]


class too_large_k(Misconception):
    """A top_k above the number of tokens fails: all of them stay then (min(top_k, V))."""

    edits = {"and top_k < V": ""}


class not_renormalised(Minor):
    """What top_k and top_p leave does not sum to 1: fill with −∞ before the softmax."""

    variants = [
        {
            "V =": "all_probs = torch.softmax(logits / (temperature or 1.0), dim=-1)\nV =",
            RETURN: 'return torch.where(logits > float("-inf"), all_probs, 0.0)',
        },
        top_k_ignored.edited(
            {
                RETURN: """
                    kth = logits.topk(min(top_k or V, V)).values[..., -1:]
                    return torch.softmax(logits, dim=-1) * (logits >= kth)
                """
            }
        ),
        {
            'logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))': (
                "return torch.softmax(logits, dim=-1).masked_fill(beyond.scatter(-1, order, beyond), 0.0)"
            )
        },
        probabilities.edited({"return probs / probs.sum(-1, keepdim=True)": "return probs"}),
        probabilities.edited(
            {"None and top_p < 1": "None", "return probs / probs.sum(-1, keepdim=True)": "return probs"}
        ),
        probabilities.edited({"probs / probs.sum(-1, keepdim=True)": "probs"}),
    ]


class finite_fill(Misconception):
    """Excluded logits are set to a finite number, a logit like any other (exp(0) = 1), and too large where all others
    lie lower: take −∞.
    """

    variants = [{'kth, float("-inf"))': ["kth, 0.0)", "kth, -1e4)"]}, {'float("-inf")': ["0.0", "-1e4", "-100.0"]}]


class top_p_ignored(Misconception):
    """top_p is ignored: only the smallest set of tokens that reaches p keeps a probability."""

    edits = {"top_p is not None and top_p < 1": "False"}


class crossing_token_dropped(Minor):
    """top_p drops the token that crosses p: it stays, or the set is below p, or even empty."""

    variants = [
        {"likelier >= top_p": ["probs.cumsum(dim=-1) > top_p", "probs.cumsum(dim=-1) > top_p\nbeyond[..., 0] = False"]},
        {
            "None and top_p < 1": "None",
            "likelier >= top_p": [
                "probs.cumsum(dim=-1) > top_p\nbeyond[..., 0] = False",
                "probs.cumsum(dim=-1) >= top_p\nbeyond[..., 0] = False",
            ],
        },
        {  # other roundings decide whether the last token stays with top_p = 1
            "None and top_p < 1": "None",
            "probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True)": """
                ordered, order = logits.sort(dim=-1, descending=True)
                probs = ordered.softmax(dim=-1)
            """,
            "likelier >= top_p": [
                "probs.cumsum(dim=-1) > top_p\nbeyond[..., 0] = False",
                "probs.cumsum(dim=-1) >= top_p\nbeyond[..., 0] = False",
            ],
        },
    ]


class one_token_too_many(Minor):
    """top_p keeps one token more than it has to: the set ends with the token that reaches p."""

    edits = {">=": "- likelier.diff(dim=-1, prepend=likelier[..., :1]) >="}


class not_sorted(Misconception):
    """The probabilities are summed in the order of the vocabulary, or from the smallest on: sort them first, largest
    first (descending=True).
    """

    variants = [
        {").sort(dim=-1, descending=True": "), torch.arange(V, device=logits.device).expand(logits.shape"},
        {", descending=True": ""},
    ]


class sorted_across_rows(Misconception):
    """Rows are mixed: a softmax, top_k, sort or sum runs over another dimension than the tokens, or over everything.
    Each row decides on its own, with dim=-1.
    """

    variants = [
        {"=-1,": "=0,"},
        {"-1).sort(dim=-1": "0).sort(dim=0", "(dim=-1) -": "(dim=0) -", "-1,": "0,"},
        {"(dim=-1) -": "(dim=0) -", "-1,": "0,"},
        {"(dim=-1) -": "(dim=0) -"},
        {RETURN: "return torch.softmax(logits, dim=0)"},
        {"topk(top_k, dim=-1).values[..., -1:]": "flatten().topk(top_k).values[-1]"},
        {"[..., -1:]": ".min()"},
        {"..., -1:": "(0,) * (logits.dim() - 1)][-1"},
        {"= likelier": "= (likelier.flatten(0, -2)[0] if logits.dim() > 1 else likelier).expand(logits.shape)"},
    ]


class order_forgotten(Misconception):
    """What holds for sorted tokens is applied to unsorted ones, or comes back sorted: entry i belongs to token i of the
    vocabulary. Bring it back with scatter.
    """

    variants = [
        {".scatter(-1, order, beyond)": ""},
        {"scatter(-1, order, beyond)": "gather(-1, order)"},
        {
            RETURN: [
                f"{RETURN}.sort(dim=-1, descending=True).values",
                """
                probs = torch.softmax(logits, dim=-1)
                return probs.sort(dim=-1, descending=True).values if top_p else probs
                """,
            ]
        },
    ]


class logits_summed(Misconception):
    """top_p sums logits: it has to sum probabilities, so take the softmax first."""

    edits = {"torch.softmax(logits, dim=-1).sort(": "logits.sort("}


class each_on_its_own(Misconception):
    """top_p is compared with each probability on its own, or with its share of the largest one (as min-p does): the
    *sum* of the likeliest tokens counts.
    """

    variants = [
        {"likelier >=": ["probs <", "probs < 1 -"]},
        {"likelier >= top_p": ["probs < (1 - top_p) * probs[..., :1]", "probs < top_p * probs[..., :1]"]},
    ]


class complement(Minor):
    """top_p is taken for the share that is dropped: it is the share that is kept."""

    edits = {">= top_p": ">= 1 - top_p"}


class top_p_before_top_k(Misconception):
    """top_p chooses by other probabilities than it should: first temperature, then top-k, and top-p counts what is
    left, renormalised.
    """

    variants = [
        top_k_ignored.edited(
            {
                RETURN: """
                    kth = logits.topk(min(top_k or V, V)).values[..., -1:]
                    return torch.softmax(logits.masked_fill(logits < kth, float("-inf")), dim=-1)
                """
            }
        ),
        temperature_ignored.edited({RETURN: "return torch.softmax(logits / temperature, dim=-1)"}),
        {"V =": "plain = logits\nV =", "(logits, dim=-1).": "(plain, dim=-1)."},
    ]


class either_or(Misconception):
    """One option keeps another from being looked at (`elif`, an early return, a top_k of V or more): temperature, top_k
    and top_p may all be given.
    """

    variants = [
        {"if top_p": "if top_k is None and top_p"},
        {"top_k is not None and top_k < V": "top_p is None and top_k is not None and top_k < V"},
        {
            "/ temperature": """
                / temperature
                if top_k is not None and top_k >= V: return torch.softmax(logits, dim=-1)
            """
        },
        {"logits = logits /": "if top_k is None and top_p is None: logits = logits /"},
    ]


class logits_returned(Fundamental):
    """Logits are returned: the softmax is missing at the end."""

    edits = {RETURN: "return logits"}


class drawn(Fundamental):
    """A token is drawn: only the distribution is asked for, `generate` draws from it."""

    edits = {RETURN: "return torch.multinomial(torch.softmax(logits, dim=-1).reshape(-1, V), 1)"}


class squeezed(common_mistakes.squeezed):
    variants = [
        {RETURN: [f"{RETURN}.squeeze()", f"{RETURN}.squeeze(0)"]},
        {"V =": "logits = logits.flatten(0, -2) if logits.dim() > 1 else logits\nV ="},
    ]


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {
        "V = logits.shape[-1]": """
            shape, V = logits.shape, logits.shape[-1]
            logits = logits.view(-1, V)
        """,
        "(logits.dtype)": "(logits.dtype).view(shape)",
        RETURN: f"{RETURN}.view(shape)",
    }


class unstable(Misconception):
    """Large logits overflow in exp(logits) / sum: torch.softmax subtracts the largest first."""

    edits = {RETURN: "return logits.exp() / logits.exp().sum(dim=-1, keepdim=True)"}


class input_changed(common_mistakes.input_changed):
    variants = [
        {"= logits /": "/="},
        {
            "/": "if temperature == 1 else logits /",
            'logits = logits.masked_fill(logits < kth, float("-inf"))': 'logits[logits < kth] = float("-inf")',
        },
        {"/": "if temperature == 1 else logits /", "logits = logits.masked_fill(beyond": "logits.masked_fill_(beyond"},
    ]


class device_not_kept(shared_mistakes.device_not_kept):
    variants = [
        {
            ONE_HOT: (
                "torch.zeros(logits.shape, dtype=logits.dtype).scatter(-1, logits.argmax(dim=-1, keepdim=True), 1.0)"
            )
        },
        {"beyond.": "torch.zeros(logits.shape, dtype=torch.bool)."},
    ]


class bad_input_accepted(Minor):
    """Bad values are accepted: a negative temperature, top_k below 1, top_p not in 0 … 1: ValueError."""

    variants = [
        {"raise ValueError(": "str("},
        {"temperature < 0": "False"},
        {"top_k is not None and top_k < 1": "False"},
        {"not 0 < top_p <= 1": ["False", "top_p > 1", "top_p <= 0"]},
    ]


class zero_refused(Misconception):
    """temperature = 0 is refused: it means greedy."""

    edits = {"< 0": "<= 0"}
