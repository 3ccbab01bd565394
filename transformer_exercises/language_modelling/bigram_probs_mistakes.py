"""Wrong and right answers to `bigram_probs`. The reference (01-language-modelling):

def bigram_probs(counts, alpha=1.0):
    smoothed = counts + alpha  # (V, V)
    unseen = (smoothed == 0).all(dim=-1, keepdim=True)  # (V, 1): only alpha = 0 leaves a row empty
    smoothed = smoothed.masked_fill(unseen, 1)  # all counts equal: uniform, where 0 / 0 would give NaN
    return smoothed / smoothed.sum(dim=-1, keepdim=True)  # (V, V): row i sums to 1
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

NORMALISED = "smoothed / smoothed.sum(dim=-1, keepdim=True)"

# Right answers in other styles


class nan_to_num(RightAnswer):
    code = """
    smoothed = counts + alpha
    return torch.nan_to_num(smoothed / smoothed.sum(1, keepdim=True), nan=1.0 / counts.size(1))
    """


class loop_over_rows(RightAnswer):
    code = """
    rows = []
    for row in counts:
        total = row.sum() + alpha * len(row)
        rows.append((row + alpha) / total if total > 0 else torch.ones_like(row) / len(row))
    return torch.stack(rows)
    """


class assignment_to_a_copy(RightAnswer):
    code = """
    probs = counts.clone() if counts.dtype.is_floating_point else counts.float(); probs = probs + alpha
    empty = probs.sum(-1) == 0; probs[empty] = 1.0; return probs / probs.sum(-1, keepdim=True)
    """


# Mistakes


class columns_normalised(Misconception):
    """The columns sum to 1, not the rows: sum along the last dimension, dim=-1 with keepdim=True."""

    variants = [
        {"sum(dim=-1, keepdim=True)": "sum(dim=0, keepdim=True)"},
        {"-1": "0"},
        "return (counts + alpha) / (counts + alpha).sum(0)",
    ]


class whole_table(Misconception):
    """All entries together sum to 1, as p(i, j): each row must sum to 1 on its own."""

    variants = [
        {"sum(dim=-1, keepdim=True)": "sum()"},
        "return (counts + alpha) / (counts + alpha).sum()",
        """
        c = counts + alpha
        return c / c.sum() if c.sum() else torch.ones_like(c) / len(c)
        """,
    ]


class no_keepdim(Misconception):
    """Without keepdim=True the sums (V,) are taken for columns: `sum(dim=-1, keepdim=True)`."""

    variants = [
        {"sum(dim=-1, keepdim=True)": "sum(dim=-1)"},
        "return (counts + alpha) / (counts + alpha).sum(1)",
        """
        c = counts + alpha
        totals = c.sum(dim=1)
        return torch.where(totals == 0, 1 / len(c), c / totals)
        """,
        """
        c = counts + alpha; t = c.sum(1); return torch.where(t[:, None] == 0, 1 / len(c), c / t.masked_fill(t == 0, 1))
        """,
    ]


class not_normalised(Misconception):
    """The smoothed counts are not divided by their row's total, so they are no probabilities."""

    variants = [{"/ smoothed.sum(dim=-1, keepdim=True)": "* 1.0"}, "return counts + alpha"]


class unseen_only(Misconception):
    """alpha is added to the pairs that were never seen only: every count grows by alpha, the others too."""

    edits = {"smoothed = counts + alpha": "smoothed = torch.where(counts == 0, counts + alpha, counts)"}


class alpha_not_in_total(Misconception):
    """alpha is missing in the row's total, which grows by alpha · V: sum the smoothed counts."""

    variants = [
        "return (counts + alpha) / counts.sum(dim=-1, keepdim=True)",
        "return (counts + alpha) / counts.sum(dim=-1, keepdim=True).clamp(min=1)",
        {"/ smoothed.sum": "/ counts.sum"},
        """
        return torch.where(counts.sum(1, True) == 0, 1 / len(counts), (counts + alpha) / counts.sum(1, True))
        """,
    ]


class alpha_in_total_only(Misconception):
    """alpha is in the row's total only, so a row sums to less than 1: add it to each count, too."""

    variants = [
        {"smoothed /": "counts /"},
        """
        total = counts.sum(1, True) + alpha * len(counts)
        return torch.where(total == 0, 1 / len(counts), counts / total)
        """,
    ]


class alpha_once_in_total(Misconception):
    """The row's total grows by alpha once: by alpha · V, since each of the V counts grew by alpha."""

    variants = [
        "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha)",
        {"smoothed.sum(dim=-1, keepdim=True)": "(counts.sum(dim=-1, keepdim=True) + alpha).clamp(min=1e-9)"},
        "t = counts.sum(1, True) + alpha; return torch.where(t == 0, 1 / len(counts), (counts + alpha) / t)",
        """
        t = counts.sum(1, True)
        return torch.where(t == 0, 1 / len(counts), (counts + alpha) / (t + alpha))
        """,
    ]


class one_in_total(Misconception):
    """The row's total grows by V, or by alpha · V²: it must grow by alpha for each of its V counts."""

    variants = [
        alpha_once_in_total.edited({") + alpha": ") + len(counts)"}),
        alpha_once_in_total.edited({") + alpha": ") + alpha * counts.numel()"}),
        """
        total = counts.sum(dim=-1, keepdim=True)
        return torch.where(total + alpha == 0, 1 / len(counts), (counts + alpha) / (total + len(counts)))
        """,
        """
        total = counts.sum(dim=-1, keepdim=True)
        if alpha == 0: return torch.where(total == 0, 1 / len(counts), counts / total)
        return (counts + alpha) / (total + len(counts))
        """,
    ]


class unknown_token_counted(Misconception):
    """The row's total grows by alpha · (V + 1), as if an unknown token could follow too: by alpha for each of its V
    counts.
    """

    variants = [
        "return (counts + alpha) / (counts.sum(dim=-1, keepdim=True) + alpha * (len(counts) + 1))",
        """
        total = counts.sum(dim=-1, keepdim=True) + alpha * (len(counts) + 1)
        return torch.where(total == 0, 1 / len(counts), (counts + alpha) / total)
        """,
    ]


class no_smoothing(Misconception):
    """alpha is not used (or in empty rows only), so unseen pairs get 0: add it to every count."""

    variants = [
        {"counts + alpha": "counts"},
        "return counts / counts.sum(dim=-1, keepdim=True)",
        "return counts / counts.sum(dim=-1, keepdim=True).clamp(min=1)",
    ]


class alpha_times(Misconception):
    """alpha is not added as it is (1 whatever it says, divided by V, multiplied): add alpha to every count."""

    variants = [
        {"+": "*"},
        {"+ alpha": ["+ alpha / len(counts)", "+ alpha * len(counts)"]},
        {"+ alpha": ["+ 1", "+ bool(alpha)"]},
    ]


class zeros_only(Misconception):
    """Only counts of 0 are smoothed: alpha is added to every count, seen or not."""

    edits = {"counts + alpha": ["torch.where(counts == 0, alpha, counts)", "counts.clamp(min=alpha)"]}


class added_after(Misconception):
    """alpha is added after the division, or mixed in as a share: add it to the counts, then divide."""

    variants = [
        """
        probs = counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha; return probs / probs.sum(-1, keepdim=True)
        """,
        "return (1 - alpha) * counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha / len(counts)",
        "return counts / counts.sum(-1, keepdim=True).clamp(min=1) + alpha",
    ]


class unseen_nan(Misconception):
    """With alpha = 0 a row without counts is 0 / 0, NaN: find the empty rows first, and make them uniform."""

    variants = [
        {"smoothed = smoothed.masked_fill(unseen, 1)": "pass"},
        "counts = counts.float(); return (counts + alpha) / (counts + alpha).sum(-1, keepdim=True)",
        "return (counts.double() + alpha) / (counts.double() + alpha).sum(-1, keepdim=True)",
    ]


class unseen_zero(Misconception):
    """With alpha = 0 a row without counts must be uniform: 1 / V each, so that it sums to 1."""

    variants = [
        "counts = counts.float() + alpha; return (counts / counts.sum(-1, keepdim=True)).nan_to_num(0.0)",
        "return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-4)",
        "return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-5)",
        "return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-6)",
        "return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-8)",
        "return (counts + alpha) / ((counts + alpha).sum(dim=-1, keepdim=True) + 1e-10)",
        {
            "sum(dim=-1, keepdim=True)": [
                "sum(dim=-1, keepdim=True).masked_fill(unseen, 1.0)",
                "sum(dim=-1, keepdim=True).masked_fill(unseen, 1 / len(counts) ** 2)",
            ]
        },
        {
            "smoothed = smoothed.masked_fill(unseen, 1)": "",
            "sum(dim=-1, keepdim=True)": "sum(dim=-1, keepdim=True).masked_fill(unseen, 1)",
        },
        {
            "smoothed.masked_fill(unseen, 1)": [
                "smoothed + torch.diag(unseen[:, 0])",
                "torch.where(unseen & (torch.arange(len(counts)) == 0), 1, smoothed)",
            ]
        },
    ]


class total_at_least_one(Misconception):
    """The row's total is kept from falling below 1 (`clamp`): an empty row's, alpha · V, may be smaller."""

    edits = {
        "sum(dim=-1, keepdim=True)": [
            "sum(dim=-1, keepdim=True).clamp(min=1)",
            "sum(dim=-1, keepdim=True).clamp(min=0.1)",
        ]
    }


class unseen_float64(Misconception):
    """For float64 counts a row without counts fails, or has float32's digits: its dtype is another one."""

    variants = [
        {
            "smoothed = smoothed.masked_fill(unseen, 1)": (
                "smoothed[unseen[:, 0]] = torch.ones(len(counts), device=counts.device)"
            )
        },
        {
            NORMALISED: (
                "torch.where(unseen, torch.full(counts.shape, 1 / len(counts), device=counts.device), smoothed / "
                "smoothed.sum(dim=-1, keepdim=True))"
            )
        },
    ]


class epsilon_in_counts(Misconception):
    """A small number is added to the counts: with alpha = 0 pairs never seen have exactly 0 in a seen row."""

    edits = {
        "+ alpha": [
            "+ alpha + 1e-8",
            "+ alpha + 1e-5",
            "+ alpha + 1e-6",
            "+ alpha + 1e-7",
            "+ alpha + 1e-9",
            "+ alpha + 1e-10",
            "+ alpha + 1e-12",
            "+ max(alpha, 1e-8)",
            "+ max(alpha, 1e-10)",
            "+ max(alpha, 1e-6)",
        ]
    }


class alpha_zero_is_one(Minor):
    """alpha = 0 is refused, or treated as if none were given (`alpha or 1`): it means no smoothing."""

    variants = [
        {"+ alpha": "+ (alpha or 1.0)"},
        {
            "smoothed = counts": [
                "if alpha <= 0: raise ValueError('alpha')\nsmoothed = counts",
                "assert alpha > 0\nsmoothed = counts",
            ]
        },
    ]


class all_rows_uniform(Misconception):
    """With alpha = 0 other rows, or each 0, become uniform: only a row without any count is."""

    variants = [
        {", 1": ".any(), 1"},
        {".all(": ".any("},
        {"unseen,": "smoothed == 0,"},
        {
            "smoothed = counts": """
                if alpha == 0: return torch.full(counts.shape, 1 / len(counts))
                smoothed = counts
            """
        },
        {"smoothed.masked_fill(unseen, 1)": "smoothed + unseen.any().long()"},
        {NORMALISED: f"torch.where(smoothed == 0, 1 / len(counts), {NORMALISED})"},
    ]


class wrong_default(Minor):
    """The default of alpha is not 1.0: keep the signature bigram_probs(counts, alpha=1.0)."""

    variants = [{"1.0": ["0.0", "0.1", "0.5"]}, {"=1.0": ""}]


class softmax(Misconception):
    """Each row is normalised otherwise (a softmax, its length): divide by the sum, for shares."""

    variants = [
        {NORMALISED: "torch.softmax(smoothed.float(), dim=-1)"},
        "return torch.softmax(counts.double() + alpha, dim=-1)",
        {NORMALISED: ["F.normalize(smoothed.float(), dim=-1)", "F.normalize(smoothed * 1.0, dim=-1)"]},
        "return F.normalize(counts.float() + alpha, dim=-1)",
    ]


class logarithms(Misconception):
    """Logarithms are returned: the probabilities themselves are asked for."""

    edits = {NORMALISED: f"({NORMALISED}).log()"}


class transposed(Misconception):
    """The table is transposed: row i holds what follows i."""

    edits = {NORMALISED: f"({NORMALISED}).T"}


class whole_division(Misconception):
    """Whole numbers are divided with `//` (or cast to integers): almost all probabilities are 0."""

    variants = [{"/": "//"}, {NORMALISED: f"({NORMALISED}).long()"}]


class alpha_cut_off(Minor):
    """alpha is cast to the integers of the counts, so 0.5 becomes 0: make the counts real first."""

    edits = {"counts + alpha": ["counts + int(alpha)", "(counts + alpha).to(counts.dtype)"]}


class in_place_on_integers(Misconception):
    """`counts += alpha` writes reals into the caller's integers, which fails: write `counts + alpha`."""

    code = "counts += alpha; return counts / counts.sum(dim=-1, keepdim=True)"


class one_row(Fundamental):
    """Only one row is returned: the table (V, V) is asked for."""

    edits = {NORMALISED: [f"({NORMALISED})[0]", f"({NORMALISED}).flatten()"]}


class double_precision(common_mistakes.double_precision):
    edits = {"= counts": "= counts.double()"}


class gradient_cut_off(common_mistakes.gradient_cut_off):
    edits = {NORMALISED: f"torch.from_numpy(({NORMALISED}).numpy())"}


class input_changed(common_mistakes.input_changed):
    variants = [
        {
            "counts +": [
                "counts.detach().float()\nsmoothed +=",
                "counts.float()\nsmoothed +=",
                "counts if counts.is_floating_point() else counts.float()\nsmoothed +=",
            ]
        },
        {
            "smoothed = counts": """
                if alpha == 0: counts[counts.sum(dim=1) == 0] = 1
                smoothed = counts
            """
        },
    ]


class device_not_kept(shared_mistakes.device_not_kept):
    variants = [
        {"+ alpha": "+ torch.full(counts.shape, alpha)"},
        {
            "smoothed = smoothed.masked_fill(unseen, 1)": (
                "if unseen.any(): smoothed[unseen[:, 0]] = torch.ones(counts.shape)[unseen[:, 0]]"
            )
        },
    ]
