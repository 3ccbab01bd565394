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


# Mistakes


class temperature_multiplied(Minor):
    """The logits are multiplied by the temperature: divide by it, so that a low one sharpens."""

    edits = {"/": "*"}


class temperature_ignored(Misconception):
    """The temperature is ignored: divide the logits by it before the softmax."""

    edits = {"logits = logits / temperature": ""}


class temperature_after_softmax(Misconception):
    """The temperature divides probabilities: it divides the logits, before the softmax."""

    variants = [
        temperature_ignored.edited({RETURN: f"{RETURN} / temperature"}),
        {"logits /": "torch.softmax(logits, dim=-1) /"},
    ]


class temperature_on_a_share(Misconception):
    """The probabilities are raised to another power than 1 / temperature: divide the logits by it."""

    variants = [
        temperature_ignored.edited(
            {
                RETURN: """
                    probs = torch.softmax(logits, dim=-1) ** temperature
                    return probs / probs.sum(dim=-1, keepdim=True)
                """
            }
        ),
        {"/ temperature": ["/ temperature**2", "/ math.sqrt(temperature)"]},
    ]


class temperature_last(Misconception):
    """Top-p chooses by logits without the temperature: first temperature, then top-k, then top-p."""

    variants = [
        temperature_ignored.edited({RETURN: "return torch.softmax(logits / temperature, dim=-1)"}),
        {"V =": "plain = logits\nV =", "(logits, dim=-1).": "(plain, dim=-1)."},
    ]


class zero_divided(Misconception):
    """temperature = 0 divides by zero, which gives NaN: treat it apart, with probability 1 at the argmax."""

    edits = {"temperature == 0": "False"}


class zero_replaced(Misconception):
    """temperature = 0 becomes a small number, so close logits share: return a one-hot row at the argmax."""

    edits = {
        "return F.one_hot(logits.argmax(dim=-1), V).to(logits.dtype)": [
            "temperature = 1e-2",
            "temperature = 1e-3",
            "temperature = 0.1",
        ]
    }


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
    """With temperature 0 the result holds integers, as F.one_hot gives them: convert to logits.dtype."""

    variants = [{".to(logits.dtype)": ""}, {ONE_HOT: "logits == logits.max(dim=-1, keepdim=True).values"}]


class one_hot_of_everything(Misconception):
    """Temperature 0 takes one maximum of the whole tensor: each row has its own (dim=-1)."""

    variants = [
        {"F.one_hot(logits.argmax(dim=-1), V)": "(logits == logits.max())"},
        {"(dim=-1), V).to(logits.dtype": "(), V).to(logits.dtype).expand(logits.shape"},
    ]


class all_the_likeliest(Misconception):
    """With temperature 0 each of several likeliest tokens gets probability 1: take one of them (argmax)."""

    edits = {"F.one_hot(logits.argmax(dim=-1), V)": "(logits == logits.amax(dim=-1, keepdim=True))"}


class least_likely(Misconception):
    """With temperature 0 the smallest logit wins: take the largest (argmax)."""

    edits = {"argmax": "argmin"}


class logits_kept_at_zero(Misconception):
    """With temperature 0 the largest logit stays as it is: its probability is 1."""

    edits = {ONE_HOT: "torch.where(logits == logits.max(dim=-1, keepdim=True).values, logits, 0)"}


class top_k_ignored(Misconception):
    """top_k is ignored: only the k likeliest tokens keep a probability."""

    edits = {"top_k is not None and top_k < V": "False"}


class one_more(Minor):
    """top_k keeps one token too many."""

    edits = {"top_k,": "min(top_k + 1, V),"}


class one_fewer(Minor):
    """top_k keeps one token too few: the k-th itself has to stay (`<`, not `<=`)."""

    edits = {"< kth": "<= kth"}


class smallest_kept(Minor):
    """top_k keeps the least likely tokens: the k largest logits stay."""

    edits = {"< kth": "> logits.topk(top_k, dim=-1, largest=False).values[..., -1:]"}


class largest_only_threshold(Misconception):
    """The threshold is the largest logit: the k-th is the last of topk's values, `values[..., -1:]`."""

    edits = {"-1:": ":1"}


class top_k_over_everything(Misconception):
    """top_k is taken over the whole tensor: each row keeps its own k tokens (dim=-1)."""

    variants = [
        {"topk(top_k, dim=-1).values[..., -1:]": "flatten().topk(top_k).values[-1]"},
        {"[..., -1:]": ".min()"},
        {"..., -1:": "(0,) * (logits.dim() - 1)][-1"},
    ]


class threshold_without_dimension(Misconception):
    """The threshold has lost its last dimension: `values[..., -1:]` fits its row."""

    variants = [
        {"-1:": "-1"},
        {"..., -1:": ":, -1"},
        {"None and top_k < V": "None", "(top_k, dim=-1).values[..., -1:]": "(min(top_k, V), dim=-1).values[..., -1]"},
    ]


class two_dimensions_only(Misconception):
    """The code fits logits of two dimensions only: `[..., -1:]` and dim=-1 fit any shape."""

    variants = [
        {"...": ":"},
        {"None and top_k < V": "None", "(top_k, dim=-1).values[..., -1:]": "(min(top_k, V), dim=-1).values[:, -1:]"},
        {RETURN: "return torch.softmax(logits, dim=1)"},
        {"V = logits.shape[-1]": "B, V = logits.shape"},
        {"[-1]": "[1]"},
    ]


class softmax_over_rows(Misconception):
    """The softmax runs over the first dimension: over the tokens it is dim=-1."""

    edits = {RETURN: "return torch.softmax(logits, dim=0)"}


class too_large_k(Misconception):
    """A top_k above the number of tokens fails: all of them stay then (min(top_k, V))."""

    edits = {"and top_k < V": ""}


class k_entries_only(Minor):
    """Only the k kept probabilities come back: the result has V entries, 0 for tokens that are out."""

    based_on = top_k_ignored
    edits = {
        "if False:": """
            if top_k is not None: logits = logits.topk(min(top_k, V), dim=-1).values
            if False:
        """
    }


class not_renormalised_after_top_k(Minor):
    """After top_k the rows do not sum to 1: fill with −∞ before the softmax."""

    based_on = top_k_ignored
    edits = {
        RETURN: """
            kth = logits.topk(min(top_k or V, V)).values[..., -1:]
            return torch.softmax(logits, dim=-1) * (logits >= kth)
        """
    }


class not_renormalised(Minor):
    """What top_k and top_p leave does not sum to 1: fill with −∞ before the softmax."""

    edits = {
        "V =": "all_probs = torch.softmax(logits / (temperature or 1.0), dim=-1)\nV =",
        RETURN: 'return torch.where(logits > float("-inf"), all_probs, 0.0)',
    }


class filled_with_zero(Misconception):
    """Excluded logits are set to 0, which is a logit like any other (exp(0) = 1): −∞ is asked for."""

    variants = [{'kth, float("-inf"))': "kth, 0.0)"}, {'float("-inf")': ["0.0", "-1.0"]}]


class finite_fill(Misconception):
    """Excluded logits are set to a finite number, which is too large where all logits lie lower: take −∞."""

    variants = [{'kth, float("-inf"))': "kth, -1e4)"}, {'float("-inf")': ["-1e4", "-100.0", "-10.0"]}]


class top_p_ignored(Misconception):
    """top_p is ignored: only the smallest set of tokens that reaches p keeps a probability."""

    edits = {"top_p is not None and top_p < 1": "False"}


class crossing_token_dropped(Minor):
    """top_p drops the token that crosses p: it stays, or the set is below p, or even empty."""

    edits = {"likelier >=": "probs.cumsum(dim=-1) >"}


class crossing_token_dropped_but_one(Minor):
    """top_p drops the token that crosses p (only the very first is saved): it stays."""

    edits = {"likelier >= top_p": "probs.cumsum(dim=-1) > top_p\nbeyond[..., 0] = False"}


class one_token_too_many(Minor):
    """top_p keeps one token more than it has to: the set ends with the token that reaches p."""

    edits = {">=": "- likelier.diff(dim=-1, prepend=likelier[..., :1]) >="}


class not_sorted(Misconception):
    """The probabilities are summed in the order of the vocabulary: sort them first, largest first."""

    edits = {").sort(dim=-1, descending=True": "), torch.arange(V, device=logits.device).expand(logits.shape"}


class sorted_across_rows(Misconception):
    """top_p sorts or sums over the first dimension, so rows are mixed: over a row's tokens it is dim=-1."""

    variants = [
        {"=-1,": "=0,"},
        {"-1).sort(dim=-1": "0).sort(dim=0", "(dim=-1) -": "(dim=0) -", "-1,": "0,"},
        {"(dim=-1) -": "(dim=0) -", "-1,": "0,"},
    ]


class sorted_upwards(Misconception):
    """The probabilities are sorted upwards, so the unlikely tokens are kept: descending=True."""

    edits = {", descending=True": ""}


class order_forgotten(Misconception):
    """What was decided about sorted tokens is applied to unsorted ones: bring it back with scatter."""

    variants = [{".scatter(-1, order, beyond)": ""}, {"scatter(-1, order, beyond)": "gather(-1, order)"}]


class sorted_returned(Misconception):
    """The probabilities come back sorted: entry i belongs to token i of the vocabulary."""

    edits = {
        RETURN: [
            f"{RETURN}.sort(dim=-1, descending=True).values",
            """
            probs = torch.softmax(logits, dim=-1)
            return probs.sort(dim=-1, descending=True).values if top_p else probs
            """,
        ]
    }


class not_renormalised_after_top_p(Minor):
    """After top_p the rows do not sum to 1: fill with −∞ before the softmax."""

    edits = {
        'logits = logits.masked_fill(beyond.scatter(-1, order, beyond), float("-inf"))': (
            "return torch.softmax(logits, dim=-1).masked_fill(beyond.scatter(-1, order, beyond), 0.0)"
        )
    }


class logits_summed(Misconception):
    """top_p sums logits: it has to sum probabilities, so take the softmax first."""

    edits = {"torch.softmax(logits, dim=-1).sort(": "logits.sort("}


class each_on_its_own(Misconception):
    """top_p is compared with each probability on its own: the *sum* of the likeliest tokens counts."""

    variants = [{"likelier >=": ["probs <", "probs < 1 -"]}, {"likelier >= top_p": "probs < top_p * probs[..., :1]"}]


class complement(Minor):
    """top_p is taken for the share that is dropped: it is the share that is kept."""

    edits = {">= top_p": ">= 1 - top_p"}


class share_of_tokens(Misconception):
    """top_p is taken for a share of the vocabulary: it is a share of the probability."""

    edits = {
        "likelier >= top_p": [
            "(torch.arange(V, device=logits.device) >= max(1, round(top_p * V))).expand(logits.shape)",
            "(torch.arange(V, device=logits.device) >= math.ceil(top_p * V)).expand(logits.shape)",
        ]
    }


class top_p_per_batch(Misconception):
    """One decision is made for all rows: each row has a set of its own."""

    variants = [
        {
            "= likelier": [
                "= (likelier.flatten(0, -2).mean(0) if logits.dim() > 1 else likelier).expand(logits.shape)",
                "= (likelier.flatten(0, -2)[0] if logits.dim() > 1 else likelier).expand(logits.shape)",
            ]
        },
        {"(dim=-1) -": "(dim=0) -"},
    ]


class top_p_before_top_k(Misconception):
    """top_p looks at all tokens: top_k comes first, and top_p counts what is left, renormalised."""

    based_on = top_k_ignored
    edits = {
        RETURN: """
            kth = logits.topk(min(top_k or V, V)).values[..., -1:]
            return torch.softmax(logits.masked_fill(logits < kth, float("-inf")), dim=-1)
        """
    }


class either_or(Misconception):
    """top_p is not looked at when top_k is given (`elif`, or an early return): both may be given."""

    edits = {"if top_p": "if top_k is None and top_p"}


class either_or_other(Misconception):
    """top_k is not looked at when top_p is given: both may be given."""

    edits = {"top_k is not None and top_k < V": "top_p is None and top_k is not None and top_k < V"}


class large_k_ends_it(Misconception):
    """A top_k of V or more ends the work, and top_p is not looked at: all tokens pass, and top_p comes next."""

    edits = {
        "/ temperature": """
            / temperature
            if top_k is not None and top_k >= V: return torch.softmax(logits, dim=-1)
        """
    }


class temperature_or_top_k(Misconception):
    """The temperature is not applied when top_k or top_p is given: all may be given together."""

    edits = {"logits = logits /": "if top_k is None and top_p is None: logits = logits /"}


class default_top_k(Minor):
    """Without top_k or top_p something is cut: the defaults mean that all tokens stay."""

    edits = {"V =": ["top_k = top_k or 3\nV =", "top_p = top_p or 0.9\nV ="]}


class logarithms(Misconception):
    """Logarithms of probabilities are returned: probabilities are asked for."""

    edits = {"return torch.softmax": "return torch.log_softmax"}


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


class epsilon_added(Misconception):
    """A small number is added: excluded tokens get a chance, or the rows do not sum to 1."""

    edits = {
        RETURN: [
            f"{RETURN} + 1e-3",
            f"{RETURN}.clamp(min=1e-8)",
            """
            probs = torch.softmax(logits, dim=-1) + 1e-6
            return probs / probs.sum(dim=-1, keepdim=True)
            """,
        ]
    }


class input_changed(common_mistakes.input_changed):
    variants = [
        {"= logits /": "/="},
        {
            "/": "if temperature == 1 else logits /",
            'logits = logits.masked_fill(logits < kth, float("-inf"))': 'logits[logits < kth] = float("-inf")',
        },
        {"/": "if temperature == 1 else logits /", "logits = logits.masked_fill(beyond": "logits.masked_fill_(beyond"},
    ]


class single_precision(common_mistakes.single_precision):
    edits = {RETURN: "return torch.softmax(logits, dim=-1, dtype=torch.float32)"}


class double_precision(common_mistakes.double_precision):
    edits = {"V =": "logits = logits.double()\nV ="}


class one_hot_single_precision(Misconception):
    """With temperature 0 the result is float32 whatever was given: convert to logits.dtype."""

    edits = {"to(logits.dtype)": "float()"}


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
