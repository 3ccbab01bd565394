"""Wrong and right answers to `sliding_window_mask`. The reference (06-masking-further):

def sliding_window_mask(T, window):
    t = torch.arange(T)  # (T,)
    behind = t[:, None] - t[None, :]  # (T, T): how far key s lies behind query t
    return (behind < 0) | (behind >= window)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

EITHER = "(behind < 0) | (behind >= window)"

# Right answers in other styles


class two_triangles(RightAnswer):
    code = "ones = torch.ones(T, T, dtype=torch.bool); return ones.triu(diagonal=1) | ones.tril(diagonal=-window)"


class one_band(RightAnswer):
    code = "band = torch.ones(T, T, dtype=torch.bool).tril().triu(diagonal=-(window - 1)); return ~band"


class list_comprehension(RightAnswer):
    code = "return torch.tensor([[not t - window < s <= t for s in range(T)] for t in range(T)])"


# Mistakes


class one_too_wide(Minor):
    """The window is one too wide: with a window of 2 a token sees itself and one before it."""

    edits = {">=": ">"}


class one_too_narrow(Minor):
    """The window is one too narrow: with a window of 2 a token sees itself and one before it."""

    variants = [{">= window": ">= max(window - 1, 1)"}, {"behind >=": "behind + 1 >="}]


class inverted(Misconception):
    """True and False are swapped: here True = blocked, so the window is False."""

    edits = {EITHER: f"~({EITHER})"}


class and_(Fundamental):
    """No key is in the future *and* too far back, so nothing is blocked: the one *or* the other blocks (`|`)."""

    edits = {"| (behind": "& (behind"}


class causal_only(Fundamental):
    """Only the future is blocked: keys further back than the window must be blocked, too."""

    edits = {EITHER: "behind < 0"}


class future_open(Misconception):
    """Only the distant past is blocked: the future must be blocked, too."""

    variants = [
        {EITHER: "behind >= window"},
        {"return": "return (behind >= 0) & (", ">= window)": ">= window))"},  # can be joined to a window too narrow
    ]


class both_sides(Misconception):
    """The window opens to both sides, so each token sees the next ones: the future stays blocked."""

    edits = {"behind < 0) | (behind >=": "behind.abs() >="}


class centred(Misconception):
    """The window is laid around the token, half before and half after it: it ends with the token itself."""

    edits = {EITHER: ["behind.abs() > window // 2", "behind.abs() >= (window + 1) // 2"]}


class half_window(Misconception):
    """The window is only half as long: the token itself and window − 1 tokens before it are open."""

    edits = {">= window": ["> window // 2", "> (window - 1) // 2"]}


class transposed(Misconception):
    """Rows and columns are exchanged: rows are queries, so the window lies to the left of the diagonal."""

    edits = {":, None] - t[None, :": "None, :] - t[:, None"}


class diagonal_blocked(Misconception):
    """The diagonal is blocked, so a token does not see itself."""

    edits = {"<": "<="}


class window_before_the_token(Misconception):
    """The token itself is blocked and the window lies before it: it ends with the token itself."""

    edits = {"< 0) | (behind >=": "<= 0) | (behind >"}


class next_token_open(Misconception):
    """Each token may see the next one, which is the very token it has to predict."""

    edits = {"< 0": "< -1"}


class blocks(Misconception):
    """The text is cut into blocks: each token sees its own one, or the one before, too. A window slides: each token has
    its own.
    """

    variants = [
        {"behind >=": "t[:, None] // window != t //"},
        {"behind >= window": "t[:, None] // window - t // window > 1"},
    ]


class first_tokens(Misconception):
    """Every row sees the same few tokens, those at the beginning or at the end. A window slides: each token has its
    own.
    """

    edits = {"behind >=": ["t >=", "t < T -"]}


class first_rows_blocked(Misconception):
    """The first rows are blocked: they have fewer open keys, not none."""

    variants = [
        {"(behind >= window)": "(behind >= window) | (t[:, None] < window - 1)"},
        """
        mask = torch.ones(T, T, dtype=torch.bool)
        for t in range(T): mask[t, t - window + 1 : t + 1] = False
        return mask
        """,
    ]


class wraps_round(Misconception):
    """The window wraps round: the first rows see the last tokens, which are their future."""

    edits = {EITHER: "behind % T >= window"}


class window_ignored(Misconception):
    """The window's length is fixed: use the argument `window`."""

    edits = {">= window": [">= 2", ">= 3", ">= 4", ">= 5"]}


class arguments_swapped(Minor):
    """T and the window are swapped: T tells how large the mask is."""

    edits = {"(T)": "(window)", ">= window": ">= T"}


class size_of_window(Minor):
    """The mask is as large as the window: it has T rows and T columns."""

    edits = {"(T)": ["(min(T, window))", "(window)"]}


class wide_window_refused(Minor):
    """A window of T or more fails or is refused: it leaves the plain causal mask."""

    edits = {
        "t = torch": [
            "if window > T: raise ValueError('the window is too wide')\nt = torch",
            "assert window < T\nt = torch",
        ]
    }


class wide_window_opens(Minor):
    """A window of T or more leaves the plain causal mask; yours opens, or blocks, something else."""

    variants = [
        {"return": "if window >= T: return torch.zeros(T, T, dtype=torch.bool)\nreturn"},
        {">= window": ">= min(window, T - 1)"},
    ]


class loop_ends_early(Minor):
    """A loop stops one too early, so the last row is never written: `range(n)` ends at n − 1 already."""

    edits = {
        "return (behind < 0) | (behind >= window)": [
            """
            mask = (behind < 0) | (behind >= window)
            mask[-1] = True
            return mask
            """,
            """
            mask = (behind < 0) | (behind >= window)
            mask[-1] = False
            return mask
            """,
        ]
    }


class floats(Minor):
    """The mask is a float tensor of ones and zeros: a boolean tensor is asked for."""

    edits = {"behind < 0) | (behind >= window": "(behind < 0) | (behind >= window)).float("}


class integers(Minor, shared_mistakes.integers):
    edits = {
        "behind < 0) | (behind >= window": [
            f"(behind < 0) | (behind >= window)){cast}(" for cast in (".long", ".int", ".byte")
        ]
    }


class infinities(shared_mistakes.infinities):
    edits = {
        EITHER: [
            f"torch.zeros(T, T).masked_fill({EITHER}, float('-inf'))",
            f"torch.zeros(T, T).masked_fill({EITHER}, -1e9)",
        ]
    }


class leading_dimension(Minor, shared_mistakes.leading_dimension):
    edits = {EITHER: [f"({EITHER})[None]", f"({EITHER})[None, None]"]}


class pair_returned(Misconception):
    """Two masks are returned one by one: join them with `|` into one."""

    edits = {EITHER: "behind < 0, behind >= window"}


class python_or(Fundamental, shared_mistakes.python_or):
    edits = {"| (behind": "or (behind"}


class rounded(Fundamental, common_mistakes.rounded):
    pass


class size_limited(shared_mistakes.size_limited):
    variants = [{"(T)": ["(min(T, 64))", "(min(T, 512))"]}, {">= window": ">= min(window, 64)"}]
