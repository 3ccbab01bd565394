"""Wrong and right answers to `masked_softmax`. The reference (06-masking):

def masked_softmax(scores, mask):
    empty = mask.all(dim=-1, keepdim=True)  # (..., T, 1): rows in which nothing is allowed
    scores = scores.masked_fill(mask, float("-inf"))
    scores = scores.masked_fill(empty, 0.0)  # a row of only -inf would give 0/0: any finite number avoids it
    weights = torch.softmax(scores, dim=-1)  # (..., T, S)
    return weights.masked_fill(mask, 0.0)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class where(RightAnswer):
    code = """
    dead = mask.all(-1, keepdim=True); s = torch.where(mask & ~dead, torch.full_like(scores, -torch.inf), scores)
    return torch.where(mask, torch.zeros_like(scores), s.softmax(-1))
    """


class by_hand(RightAnswer):
    code = """
    mask = mask.expand(scores.shape); lowest = torch.finfo(scores.dtype).min
    top = scores.masked_fill(mask, lowest).amax(-1, keepdim=True)
    e = (scores - top).masked_fill(mask, -torch.inf).exp(); total = e.sum(-1, keepdim=True)
    return e / total.masked_fill(total == 0, 1.0)
    """


class float64_inside(RightAnswer):
    code = """
    s = scores.double().masked_fill(mask, -torch.inf); s = s.masked_fill(mask.all(-1, True), 0)
    return s.softmax(-1).masked_fill(mask, 0).to(scores.dtype)
    """


# Mistakes


class nan_rows(Misconception):
    """A fully blocked row gives NaN: a softmax over nothing but −inf is 0/0. Such rows must be zeros."""

    variants = [
        {"scores = scores.masked_fill(empty, 0.0)": "", ".masked_fill(mask, 0.0)": ""},
        'return torch.softmax(scores + torch.zeros_like(scores).masked_fill(mask, float("-inf")), dim=-1)',
    ]


class nan_hidden(Misconception):
    """NaN is replaced after it has arisen, but stays in the gradient: prevent it *before* the softmax."""

    variants = [
        """
        bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device).masked_fill(mask, float("-inf"))
        return torch.softmax(scores + bias, dim=-1).nan_to_num(0.0)
        """,
        """
        exps = torch.exp(scores - scores.masked_fill(mask, torch.finfo(scores.dtype).min).amax(-1, keepdim=True))
        exps = exps * ~mask; weights = exps / exps.sum(-1, keepdim=True)
        return torch.where(weights.isnan(), torch.zeros_like(weights), weights)
        """,
    ]


class uniform_rows(Misconception):
    """A fully blocked row gets equal weights: all its scores are one finite number. Zero its weights."""

    variants = [
        {".masked_fill(mask, 0.0)": ""},
        """
    open_ = mask & ~mask.all(-1, keepdim=True); return torch.softmax(scores.masked_fill(open_, float('-inf')), dim=-1)
        """,
    ]


class finite_fill(Misconception):
    """Blocked scores become a finite number such as −1e9: blocked rows get weights, lower allowed ones lose."""

    variants = [
        nan_rows.edited({'float("-inf")': ["-1e9", "-1e4"]}),
        "return torch.softmax(scores - 1e9 * mask, dim=-1)",
        "return torch.softmax(scores - 1e4 * mask, dim=-1)",
    ]


class logarithm_of_the_sum(Minor):
    """The scores minus `logsumexp` are rounded where scores are large, so the weights of a row do not sum to 1: take
    the exponentials of the scores minus the row's maximum, and divide by their sum.
    """

    edits = {"torch.softmax(scores, dim=-1)": "(scores - scores.logsumexp(-1, keepdim=True)).exp()"}


class finite_fill_zeroed(Misconception):
    """Blocked scores become −1e9 or the like: they take all from lower allowed scores. Fill with −inf."""

    variants = [
        finite_fill.edited(
            {"=-1)": ["=-1).masked_fill(mask, 0.0)", "=-1).masked_fill(mask.all(-1, keepdim=True), 0.0)"]}
        ),
        finite_fill.edited(
            {
                "-1e9": "-1e4",
                "=-1)": ["=-1).masked_fill(mask, 0.0)", "=-1).masked_fill(mask.all(-1, keepdim=True), 0.0)"],
            }
        ),
        finite_fill.edited({"-1e9": "-100.0", "=-1)": "=-1).masked_fill(mask, 0.0)"}),
        "return torch.softmax(scores - 1e9 * mask, dim=-1) * ~mask",
        "return torch.softmax(scores - 1e4 * mask, dim=-1) * ~mask",
        "return torch.softmax(scores - 1e9 * mask, dim=-1) * ~mask.all(-1, keepdim=True)",
        "return torch.softmax(scores - 1e4 * mask, dim=-1) * ~mask.all(-1, keepdim=True)",
    ]


class small_fill(Misconception):
    """Blocked scores are filled with a small finite number (−100, −10 …), so blocked entries keep a little weight."""

    variants = [
        finite_fill.edited({"1e9": ["100.0", "10.0"]}),
        nan_rows.edited({'float("-inf")': ["scores.min() - 10", "scores.min() - 1"]}),
    ]


class zero_after(Misconception):
    """Blocked weights are zeroed after the softmax, without −inf before it: the rows no longer sum to 1."""

    edits = {'scores = scores.masked_fill(mask, float("-inf"))': "", "scores = scores.masked_fill(empty, 0.0)": ""}


class zero_after_renormalised(Misconception):
    """Blocked scores count in the row's maximum or sum: if they are large, nothing is left."""

    variants = [
        """
        weights = torch.softmax(scores, dim=-1) * ~mask; return weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)
        """,
        "w = torch.softmax(scores, dim=-1) * ~mask; return w / (w.sum(-1, keepdim=True) + 1e-9)",
    ]


class global_shift(Misconception):
    """The whole tensor's maximum is subtracted, so low rows underflow: take each row's, of *allowed* scores."""

    code = """
    exps = torch.exp(scores - scores.max()).masked_fill(mask, 0.0); total = exps.sum(-1, keepdim=True)
    return exps / total.masked_fill(total == 0, 1.0)
    """


class minus_one(Fundamental):
    """`1 - mask` and `-mask` are not defined for boolean tensors: write `~mask`."""

    code = "return torch.softmax(scores, dim=-1) * (1 - mask)"


class mask_as_condition(Misconception):
    """`if mask:` asks a whole tensor for one truth value, which fails: use masked_fill or torch.where."""

    code = """
    if mask: return torch.zeros_like(scores)
    return torch.softmax(scores, dim=-1)
    """


class any_empty_row(Misconception):
    """As soon as one row is fully blocked, everything becomes zero: each row counts on its own."""

    based_on = mask_as_condition
    edits = {"mask:": "mask.all(dim=-1).any():", ", dim": ".masked_fill(mask, float('-inf')), dim"}


class one_key_opened(Misconception):
    """One key is opened in fully blocked rows and gets all the weight: such rows must be all zeros."""

    based_on = nan_rows
    edits = {
        "empty =": [
            f"""
            mask = mask.expand(scores.shape).clone()
            mask[..., {key}] &= ~mask.all(-1)
            empty =
            """
            for key in (0, -1)
        ]
    }


class all_or_nothing(Misconception):
    """Rows are looked after only where *all* is blocked (`mask.all()` without `dim`): each row counts alone."""

    based_on = any_empty_row
    edits = {"dim=-1).any(": ""}


class some_dimensions_only(Misconception):
    """The number of dimensions is fixed in the code (`T, S = scores.shape`): count from the end."""

    variants = [
        {
            "empty =": [
                "T, S = scores.shape\nempty =",
                "B, T, S = scores.shape\nempty =",
                "B, H, T, S = scores.shape\nempty =",
            ]
        },
        {", dim=-1": [", dim=2", ", dim=3"]},
    ]


class softmax_everywhere(shared_mistakes.softmax_everywhere):
    edits = {", dim=-1": [".flatten(), 0).reshape(scores.shape", ".flatten(-2), -1).reshape(scores.shape"]}


class mask_transposed(Minor, shared_mistakes.mask_transposed):
    based_on = some_dimensions_only
    edits = {"T, S = scores.shape": "mask = mask.mT"}


class pair_returned(Minor):
    """Two things are returned: only the weights are asked for."""

    edits = {"(mask, 0.0)": "(mask, 0.0), mask"}


class overwritten(shared_mistakes.overwritten):
    edits = {"weights.masked_fill": "weights.masked_fill_"}


class renormalised_nan(Misconception):
    """Weights are zeroed after the softmax and divided by the row's sum: 0/0 in a fully blocked row."""

    based_on = zero_after_renormalised
    edits = {") * ~mask": ").masked_fill(mask, 0.0)", ".clamp(min=1e-12)": ""}


class scores_zeroed(Misconception):
    """Blocked scores are set to 0 (or multiplied by the mask): exp(0) = 1 is no small weight. Fill with −inf."""

    based_on = small_fill
    edits = {"-100": "0"}


class scores_zeroed_then_weights(Misconception):
    """Blocked scores are set to 0, and their weights too, after the softmax: rows do not sum to 1."""

    based_on = finite_fill_zeroed
    edits = {"-1e9": "0.0"}


class inverted(Misconception):
    """The mask is read the wrong way round: True = blocked."""

    variants = [
        some_dimensions_only.edited({"T, S = scores.shape": "mask = ~mask"}),
        {"(mask, float": "(~mask, float", "mask.all(": "(~mask).all(", "(mask, 0.0)": "(~mask, 0.0)"},
    ]


class mask_ignored(Fundamental):
    """The mask is ignored: this is the plain softmax."""

    code = "return torch.softmax(scores, dim=-1)"


class wrong_dimension(Misconception):
    """The softmax runs over the queries (dim=-2): each row is shared out over the keys, dim=-1."""

    variants = [{", dim=-1": ", dim=-2", "(dim=-1": "(dim=-2"}, {", dim=-1": ", dim=-2"}]


class dimension_one(Minor):
    """The softmax runs over dim=1, which is the keys for a matrix only. Use dim=-1."""

    edits = {", dim=-": ", dim="}


class dimension_zero(Misconception):
    """The softmax runs over dim=0: each row is to be shared out over the keys, dim=-1."""

    edits = {", dim=-1": ", dim=0"}


class empty_any(Misconception):
    """Every row with *any* blocked entry is treated as fully blocked: `any` where `all` belongs."""

    variants = [{"all(": "any("}, {"all(": "any(", "mask, 0": "mask | empty, 0"}]


class no_keepdim(Minor):
    """Without keepdim=True, `mask.all(dim=-1)` loses a dimension, and rows meet the flags of other rows."""

    edits = {", keepdim=True": ""}


class in_place(Misconception):
    """The scores are changed in place (`masked_fill_`, `scores[mask] = …`): the caller's tensor is destroyed."""

    variants = [
        {'scores = scores.masked_fill(mask, float("-inf"))': 'scores.masked_fill_(mask, float("-inf"))'},
        {'scores = scores.masked_fill(mask, float("-inf"))': "scores[mask.expand_as(scores)] = float('-inf')"},
    ]


class single_precision(common_mistakes.single_precision):
    edits = {", dim": ".float(), dim"}


class double_precision(common_mistakes.double_precision):
    edits = {", dim": ".double(), dim"}


class device_dropped(shared_mistakes.device_dropped):
    edits = {
        'scores.masked_fill(mask, float("-inf"))': (
            'torch.where(mask, torch.full(scores.shape, float("-inf"), dtype=scores.dtype), scores)'
        )
    }


class epsilon(Misconception):
    """A small number is added to the sum of the exponentials to avoid 0/0: then no row sums to exactly 1."""

    variants = [
        f"""
        safe = scores.masked_fill(mask, torch.finfo(scores.dtype).min)
        exps = torch.exp(safe - safe.amax(-1, keepdim=True)).masked_fill(mask, 0.0)
        return exps / (exps.sum(-1, keepdim=True) + {number})
        """
        for number in ("1e-6", "1e-3", "1e-8")
    ]


class floor(Misconception):
    """The weights get a floor (`clamp(min=…)`, `+ 1e-9`): a blocked entry gets exactly 0, not just a small number."""

    edits = {
        "weights.masked_fill(mask, 0.0)": [
            f"weights.masked_fill(mask, 0.0){floor}"
            for number in ("1e-6", "1e-8", "1e-9", "1e-12")
            for floor in (f".clamp(min={number})", f" + {number}")
        ]
    }


class unstable(Misconception):
    """exp of raw scores of ±1e4 overflows or gives 0/0: subtract the row's largest *allowed* score first."""

    variants = [
        global_shift.edited({"scores - scores.max()": "scores"}),
        "exps = torch.exp(scores) * ~mask; return exps / exps.sum(-1, keepdim=True).clamp(min=1e-30)",
        "exps = torch.exp(scores) * ~mask; return exps / (exps.sum(-1, keepdim=True) + 1e-9)",
    ]


class mask_added(Misconception):
    """The boolean mask is added to the scores, which only adds 1 to the blocked ones."""

    code = "return torch.softmax(scores + mask, dim=-1)"


class infinity_times_mask(Fundamental):
    """0 × −inf is NaN, so multiplying by −inf loses the allowed entries: use masked_fill."""

    variants = [
        mask_added.edited({"mask,": "mask * float('-inf'),"}),
        "return torch.softmax(scores + mask * float('-inf'), dim=-1).nan_to_num(0.0)",
        {'scores.masked_fill(mask, float("-inf"))': 'scores + mask * float("-inf")'},
        {'scores.masked_fill(mask, float("-inf"))': 'scores + mask * float("-inf")', "mask, 0.0": "empty, 0.0"},
    ]


class no_broadcast(Misconception):
    """The mask is indexed as if it had the scores' shape; it may be smaller: use masked_fill or torch.where."""

    code = """
    scores = scores.clone(); scores[mask] = float('-inf'); empty = mask.all(-1); scores[empty] = 0.0
    weights = torch.softmax(scores, dim=-1); weights = weights.clone(); weights[mask] = 0.0; return weights
    """


class dropout(Minor):
    """Chance plays a part (dropout or random numbers): only scores and mask may decide."""

    edits = {"weights.": "torch.dropout(weights, 0.1, True)."}


class mask_unsqueezed(Misconception):
    """The mask is given a further dimension (unsqueeze): use it as it comes, it broadcasts by itself."""

    edits = {
        "empty =": [
            "if mask.dim() == 3 and scores.dim() == 4: mask = mask.unsqueeze(1)\nempty =",
            "if mask.dim() == 2 and scores.dim() == 4: mask = mask[:, None, None, :]\nempty =",
        ]
    }
