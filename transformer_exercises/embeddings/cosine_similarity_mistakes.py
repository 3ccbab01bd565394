"""Wrong and right answers to `cosine_similarity`. The reference (03-embeddings):

def cosine_similarity(a, b):
    dots = (a * b).sum(dim=-1)  # (...)
    a_norm = a.norm(dim=-1).clamp(min=1e-8)  # (...): never 0, so that 0 / 0 cannot happen
    b_norm = b.norm(dim=-1).clamp(min=1e-8)
    return dots / (a_norm * b_norm)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Minor, Misconception, RightAnswer

from .. import shared_mistakes

B_NORM = "b_norm = b.norm(dim=-1).clamp(min=1e-8)"
A_NORM = "a_norm = a.norm(dim=-1).clamp(min=1e-8)"

# Right answers in other styles


class unit_vectors(RightAnswer):
    code = """
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    return torch.einsum("...c,...c->...", a, b)
    """


class epsilon_on_the_product(RightAnswer):
    edits = {A_NORM: "", B_NORM: "", "(a_norm * b_norm)": "(a.norm(dim=-1) * b.norm(dim=-1)).clamp(min=1e-8)"}


class epsilon_added(RightAnswer):
    edits = {
        A_NORM: "a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)",
        B_NORM: "",
        "a_norm * b_norm)": "a_norm * b_norm + 1e-8)",
    }


# Mistakes


class zero_vectors_nan(Misconception):
    """A zero vector gives 0/0 = NaN: keep the lengths away from 0, for example with `clamp(min=1e-8)`."""

    variants = [
        {".clamp(min=1e-8)": ""},
        {A_NORM: "a_norm = a.norm(dim=-1)"},
        {B_NORM: "b_norm = b.norm(dim=-1)"},
    ]


class nan_gradient(Misconception):
    """The gradients of zero vectors are NaN: clamp the lengths, taken with `.norm()`, before dividing by them."""

    variants = [
        {A_NORM: "a_norm, b_norm = ((t * t).sum(-1).sqrt().clamp(min=1e-8) for t in (a, b))", B_NORM: ""},
        epsilon_added.edited(
            {
                "a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)": (
                    "norms = ((a * a).sum(-1) * (b * b).sum(-1)).sqrt()"
                ),
                "(a_norm * b_norm + 1e-8)": "norms.clamp(min=1e-8)",
            }
        ),
    ]


class zero_vectors_not_0(Misconception):
    """Zero vectors do not give 0: they have no direction, and the result is to be 0."""

    based_on = epsilon_on_the_product
    variants = [
        {
            "return dots / (a.norm(dim=-1) * b.norm(dim=-1)).clamp(min=1e-8)": [
                "return (dots / (a.norm(dim=-1) * b.norm(dim=-1))).nan_to_num(nan=1.0)",
                "return (dots / (a.norm(dim=-1) * b.norm(dim=-1))).nan_to_num(nan=-1.0)",
                "n = a.norm(dim=-1) * b.norm(dim=-1)\nreturn (dots / n.clamp(min=1e-12)).where(n > 0, 1)",
            ]
        },
        {
            "dots =": [
                "a, b = a + 1e-8, b + 1e-8\ndots =",
                "a, b = a + 1e-6, b + 1e-6\ndots =",
                "a, b = a + 1e-9, b + 1e-9\ndots =",
                "a, b = a + 1e-10, b + 1e-10\ndots =",
            ],
            ".clamp(min=1e-8)": "",
        },
    ]


class epsilon_too_large(Misconception):
    """The number added or clamped to is so large that it changes short vectors' results: take 1e-8."""

    based_on = epsilon_added
    edits = {
        "(a_norm * b_norm + 1e-8)": [
            "(a_norm * b_norm).clamp(min=1e-5)",
            "(a_norm * b_norm).clamp(min=1e-4)",
            "(a_norm * b_norm).clamp(min=1e-3)",
            "(a_norm * b_norm).clamp(min=1e-2)",
            "(a_norm * b_norm + 1e-7)",
            "(a_norm * b_norm + 1e-6)",
            "(a_norm * b_norm + 1e-5)",
            "(a_norm * b_norm + 1e-4)",
            "(a_norm * b_norm + 1e-3)",
            "((a_norm + 1e-7) * (b_norm + 1e-7))",
            "((a_norm + 1e-6) * (b_norm + 1e-6))",
            "((a_norm + 1e-5) * (b_norm + 1e-5))",
            "((a_norm + 1e-4) * (b_norm + 1e-4))",
            "((a_norm + 1e-3) * (b_norm + 1e-3))",
            "(a_norm.clamp(min=1e-5) * b_norm.clamp(min=1e-5))",
            "(a_norm.clamp(min=1e-4) * b_norm.clamp(min=1e-4))",
            "(a_norm.clamp(min=1e-3) * b_norm.clamp(min=1e-3))",
            "(a_norm.clamp(min=1e-2) * b_norm.clamp(min=1e-2))",
        ]
    }


class dot_product(Misconception):
    """This is the dot product: it still has to be divided by both lengths."""

    edits = {" / (a_norm * b_norm)": ""}  # as an edit, so that it can be joined to a mistake in the sum


class mean_for_sum(Misconception):
    """The products are averaged: a dot product is their sum."""

    edits = {"(a * b).sum": "(a * b).mean"}


class one_length(Misconception):
    """Only one of the two lengths is divided by."""

    edits = {"(a_norm * b_norm)": ["a_norm", "b_norm"]}


class squared_lengths(Minor):
    """The lengths are not lengths but their squares: the root is missing."""

    edits = {
        "(a_norm * b_norm)": [
            "((a * a).sum(-1) * (b * b).sum(-1)).clamp(min=1e-16)",
            "((a * a).sum(-1) * (b * b).sum(-1)).clamp(min=1e-8)",
            "((a * a).sum(-1) * (b * b).sum(-1) + 1e-12)",
            "((a * a).sum(-1) * (b * b).sum(-1) + 1e-8)",
            "((a * a).sum(-1).clamp(min=1e-8) * (b * b).sum(-1).clamp(min=1e-8))",
        ]
    }


class sum_of_lengths(Misconception):
    """The dot product is divided by the sum of the lengths (or a bracket is missing): divide by the product."""

    edits = {"(a_norm * b_norm)": ["(a_norm + b_norm)", "a_norm * b_norm"]}


class absolute_lengths(Misconception):
    """A vector's length is the root of the sum of its squares (the 2-norm): yours is another one."""

    variants = [
        {"norm(dim=-1)": ["norm(p=1, dim=-1)", "abs().amax(dim=-1)"]},
        {
            "a.norm(dim=-1)": "(a * a).mean(dim=-1).clamp(min=1e-16).sqrt()",
            "b.norm(dim=-1)": "(b * b).mean(dim=-1).clamp(min=1e-16).sqrt()",
        },
        "return (a * b).sum(-1) / (a.abs().sum(-1) * b.abs().sum(-1) + 1e-8)",
    ]


class distance(Misconception):
    """1 minus the cosine is a distance: a similarity is asked for, 1 for parallel vectors."""

    edits = {"return dots": "return 1 - dots"}


class absolute_value(Misconception):
    """The sign is lost: opposite vectors have −1."""

    edits = {
        "dots / (a_norm * b_norm)": [
            "(dots / (a_norm * b_norm)).abs()",
            "(dots / (a_norm * b_norm)).clamp(0, 1)",
            "(dots / (a_norm * b_norm))**2",
        ]
    }


class rescaled(Misconception):
    """The result is turned into an angle or rescaled: the cosine itself is asked for, from −1 to 1."""

    edits = {
        "dots / (a_norm * b_norm)": [
            "(1 + dots / (a_norm * b_norm)) / 2",
            "torch.acos((dots / (a_norm * b_norm)).clamp(-1, 1))",
            "torch.acos((dots / (a_norm * b_norm)).clamp(-1 + 1e-6, 1 - 1e-6))",
            "torch.acos((dots / (a_norm * b_norm)).clamp(-1 + 1e-7, 1 - 1e-7))",
            "torch.cos(dots / (a_norm * b_norm))",
            "torch.softmax(dots / (a_norm * b_norm), dim=-1)",
        ]
    }


class centred(Misconception):
    """The mean is taken off first: that is a correlation, not a cosine."""

    edits = {"dots =": "a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)\ndots ="}


class first_dimension(Misconception):
    """The sum or the length runs along the first dimension, or over everything: it is the last (dim=-1)."""

    variants = [{"-1": "0"}, {"norm(dim=-1)": "norm()"}, {"dim=-1": ""}, "return F.cosine_similarity(a, b, dim=0)"]
    variants += ["return (a * b).sum(-1) / (a.norm() * b.norm() + 1e-8)"]


class dimension_1(Misconception):
    """The dimension is counted from the front (dim=1, F.cosine_similarity's default): it is the last, dim=-1."""

    variants = [{"-1": "1"}, "return F.cosine_similarity(a, b)"]


class all_pairs(Misconception):
    """Each vector of a is compared with each of b (a matrix product): two tensors (n, C) are to give (n,)."""

    variants = [
        """
        a, b = F.normalize(a, dim=-1, eps=1e-8), F.normalize(b, dim=-1, eps=1e-8)
        return a @ b.transpose(-2, -1)
        """,
        """
        a, b = F.normalize(a, dim=-1, eps=1e-8), F.normalize(b, dim=-1, eps=1e-8)
        return a @ b.T
        """,
        """
        a, b = F.normalize(a, dim=-1, eps=1e-8), F.normalize(b, dim=-1, eps=1e-8)
        return a @ b.mT if b.dim() > 1 else a @ b
        """,
        "return (a @ b.T) / (a.norm() * b.norm() + 1e-8)",
        {"(a * b).sum(dim=-1)": "a @ b.T", "(a_norm *": "(a_norm[..., None] *"},
    ]


class only_vectors(Misconception):
    """It works for single vectors only (torch.dot, `a @ b`): leading dimensions and broadcasting are asked for."""

    variants = [
        "return torch.dot(a, b) / (a.norm().clamp(min=1e-8) * b.norm().clamp(min=1e-8))",
        "return a @ b / (a.norm().clamp(min=1e-8) * b.norm().clamp(min=1e-8))",
    ]


class rows_in_a_loop(Misconception):
    """A loop over the first dimension works for two matrices only: any shapes that broadcast are asked for."""

    variants = [
        """
        rows = [(x @ y) / (x.norm() * y.norm()).clamp(min=1e-8) for x, y in zip(a, b)]
        return torch.stack(rows)
        """,
        """
        rows = [torch.dot(x, y) / (x.norm() * y.norm() + 1e-8) for x, y in zip(a, b)]
        return torch.stack(rows)
        """,
    ]


class same_shape_only(Misconception):
    """The shapes of a and b must be the same: they are to be broadcast against each other."""

    edits = {
        "dots =": [
            "assert a.shape == b.shape\ndots =",
            "if a.shape != b.shape: raise ValueError('shapes differ')\ndots =",
        ]
    }


class dimension_kept(Minor):
    """The last dimension is kept with size 1 (keepdim): (…, C) gives (…), one number for each pair."""

    edits = {"-1": "-1, keepdim=True"}


class one_dimension_kept(Misconception):
    """Some results keep a last dimension of size 1 and others do not, and broadcast against each other."""

    variants = [{"norm(dim=-1)": "norm(dim=-1, keepdim=True)"}, {"sum(dim=-1)": "sum(dim=-1, keepdim=True)"}]


class mean_over_batch(Misconception):
    """One number is returned for all the pairs: each pair has its own."""

    edits = {
        "dots / (a_norm * b_norm)": ["(dots / (a_norm * b_norm)).mean()", "(dots / (a_norm * b_norm)).mean(dim=-1)"]
    }


class python_number(Minor):
    """A Python number (`.item()`) or a list is returned: a tensor is asked for."""

    edits = {
        "dots / (a_norm * b_norm)": [
            "(dots / (a_norm * b_norm)).tolist()",
            "(dots / (a_norm * b_norm)).item()",
            "(dots / (a_norm * b_norm)).item() if dots.dim() == 0 else dots / (a_norm * b_norm)",
        ]
    }


class branch_on_batch(Misconception):
    """`if` looks at the whole batch, so one zero vector makes all results 0: use clamp or torch.where."""

    edits = {
        B_NORM: [
            f"if (a_norm == 0).any() or (b_norm == 0).any(): return {part}"
            for part in ("torch.zeros_like(dots)", "0.0", "0", "torch.tensor(0.0)")
        ],
        A_NORM: "a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)",
    }


class branch_on_one(Misconception):
    """`if` wants a single True or False, and fails for a batch: use clamp or torch.where."""

    based_on = branch_on_batch
    edits = {
        "(a_norm == 0).any() or (b_norm == 0).any(): return torch.zeros_like(dots)": [
            "a_norm == 0 or b_norm == 0: return torch.zeros_like(dots)",
            "a_norm * b_norm == 0: return dots * 0",
        ]
    }


class lengths_detached(Misconception):
    """The lengths are cut off from the gradient (`.detach()`, `no_grad`): they depend on a and b too."""

    edits = {"norm(dim=-1)": "norm(dim=-1).detach()"}


class array_returned(common_mistakes.array_returned):
    edits = {"dots / (a_norm * b_norm)": "torch.as_tensor((dots / (a_norm * b_norm)).numpy())"}


class input_changed(common_mistakes.input_changed):
    edits = {"return": "with torch.no_grad(): a /= a_norm[..., None]; b /= b_norm[..., None]\nreturn"}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"dots =": "a, b = (t.view(-1, t.shape[-1]).view(t.shape) for t in (a, b))\ndots ="}
