"""Wrong and right answers to `Embedding`. The reference (03-embeddings):

class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))  # (V, C)

    def forward(self, ids):
        V = self.weight.shape[0]
        if ((ids < 0) | (ids >= V)).any():  # a negative index would quietly count from the end
            raise IndexError(f"ids must lie in 0 … {V - 1}")
        return self.weight[ids]  # (..., C)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class functional(RightAnswer):
    edits = {
        "embedding_dim))": "embedding_dim))\nnn.init.normal_(self.weight)",
        "V = self.weight.shape[0]": "return F.embedding(ids, self.weight)",
        "if ((ids < 0) | (ids >= V)).any():": "",
        'raise IndexError(f"ids must lie in 0 … {V - 1}")': "",
        "return self.weight[ids]": "",
    }


class one_hot_product(RightAnswer):
    edits = {
        "torch.randn(num_embeddings, embedding_dim)": "torch.normal(0.0, 1.0, (num_embeddings, embedding_dim))",
        "((ids < 0) | (ids >= V)).any()": "ids.numel() and (ids.min() < 0 or ids.max() >= V)",
        "self.weight[ids]": "F.one_hot(ids.long(), V).to(self.weight.dtype) @ self.weight",
    }


class takes_earlier_exercise(RightAnswer):
    edits = {
        "self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))": (
            "self.register_parameter('weight', nn.Parameter(torch.randn(num_embeddings, embedding_dim)))"
        ),
        "self.weight[ids]": "one_hot_lookup(ids.long(), self.weight)",
    }


# Mistakes


class negative_ids_wrap(Misconception):
    """A negative id counts from the end, and gives a wrong row: test the range and raise an IndexError."""

    variants = [
        {"V = self.weight.shape[0]": "", "if ((ids < 0) | (ids >= V)).any():": "if False:"},
        {
            "self.weight[ids]": "torch.stack([self.weight[i] for i in ids.flatten()]).view(*ids.shape, -1)",
            "if ((ids < 0) | (ids >= V)).any():": "if False:",
        },
    ]


class other_error(Misconception):
    """An id out of range raises another error: an IndexError is asked for, as PyTorch's."""

    variants = [
        {"IndexError": ["ValueError", "KeyError"]},
        negative_ids_wrap.edited({"return": "assert ((ids >= 0) & (ids < len(self.weight))).all()\nreturn"}),
        negative_ids_wrap.edited(
            {"self.weight[ids]": "F.one_hot(ids.long(), len(self.weight)).to(self.weight.dtype) @ self.weight"}
        ),
    ]


class bad_input_accepted(common_mistakes.bad_input_accepted):
    """An id out of range is not refused: test the range first, and raise an IndexError."""

    based_on = negative_ids_wrap
    edits = {"self.weight[ids]": "self.weight[ids.abs() % len(self.weight)]"}


class ids_clamped(Misconception):
    """An id out of range is quietly replaced by another one (clamp, min, %): it should raise an IndexError."""

    based_on = negative_ids_wrap
    edits = {
        "self.weight[ids]": [
            "self.weight[ids.clamp(0, len(self.weight) - 1)]",
            "self.weight[ids % len(self.weight)]",
            "self.weight[ids.clamp(max=len(self.weight) - 1)]",
            (
                "(ids[..., None] == torch.arange(len(self.weight), device=ids.device)).to(self.weight.dtype) @ "
                "self.weight"
            ),
        ]
    }


class error_not_raised(Misconception):
    """For an id out of range something is printed or returned (None, NaN, zeros): raise an IndexError."""

    variants = [
        {"raise IndexError(": ["return print(", "return IndexError("]},
        {
            'raise IndexError(f"ids must lie in 0 … {V - 1}")': [
                "return torch.full((*ids.shape, self.weight.shape[1]), math.nan)",
                "return torch.zeros(*ids.shape, self.weight.shape[1])",
            ]
        },
    ]


class last_id_refused(Minor):
    """The last id is refused: with V rows, ids from 0 to V − 1 are right."""

    edits = {">= V)": ">= V - 1)"}


class first_id_refused(Minor):
    """Id 0 is refused: with V rows, ids from 0 to V − 1 are right."""

    edits = {"<": "<="}


class one_too_many_allowed(Misconception):
    """The test of the range is off by one: the last id is V − 1, so V is out of range (`>=`, not `>`)."""

    edits = {
        "if ((ids < 0) | (ids >= V))": """
            ids = torch.where(ids == V, V - 1, ids)
            if ((ids < 0) | (ids > V))
        """
    }


class layer_inside(Misconception):
    """The module holds an nn.Embedding: hold the table itself, `self.weight = nn.Parameter(…)`."""

    based_on = negative_ids_wrap
    edits = {
        "weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim)": (
            "embedding = nn.Embedding(num_embeddings, embedding_dim"
        ),
        "weight[ids]": "embedding(ids)",
    }


class other_names(Minor):
    """The table has another name: it should be `self.weight`, as in nn.Embedding, so that weights can be loaded."""

    edits = {"weight": "table"}


class linear_layer(Misconception):
    """The table is inside an nn.Linear, (C, V): hold a parameter `weight` of shape (V, C) yourself."""

    based_on = negative_ids_wrap
    edits = {
        "weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim)": [
            "linear = nn.Linear(num_embeddings, embedding_dim, bias=False",
            "linear = nn.Linear(num_embeddings, embedding_dim",
        ],
        "weight[ids]": "linear(F.one_hot(ids.long(), self.linear.in_features).to(self.linear.weight.dtype))",
    }


class not_a_parameter(Misconception):
    """`weight` is a plain tensor, so no optimizer finds it: wrap it in nn.Parameter."""

    variants = [
        {"nn.Parameter(": ["(", "torch.Tensor.requires_grad_("]},
        {"weight = nn.Parameter(torch": "register_buffer('weight', torch"},
    ]


class frozen(Minor, shared_mistakes.frozen):
    edits = {"embedding_dim))": "embedding_dim), requires_grad=False)"}


class sizes_swapped(Minor):
    """The two sizes are swapped: there are num_embeddings rows of embedding_dim numbers."""

    variants = [
        {", num_embeddings, embedding_dim": ", embedding_dim, num_embeddings"},
        {"(num_embeddings, embedding_dim)": "(embedding_dim, num_embeddings)", "[0]": "[1]", "[ids]": ".T[ids]"},
    ]


class extra_parameter(Misconception):
    """There is a second parameter beside `weight`, such as a bias: an embedding is a table, nothing else."""

    variants = [
        {
            "embedding_dim))": """
                embedding_dim))
                self.bias = nn.Parameter(torch.zeros(embedding_dim))
            """,
            "weight[ids]": "weight[ids] + self.bias",
        },
        {"embedding_dim))": "embedding_dim))\nself.scale = nn.Parameter(torch.ones(1))"},
    ]


class uniform(Misconception):
    """The table starts uniform (torch.rand, xavier_uniform_ …): N(0, 1) is asked for (torch.randn, nn.init.normal_)."""

    edits = {"randn": "rand"}


class other_spread(Misconception):
    """The table starts normal, but with another standard deviation: N(0, 1) is asked for, 1."""

    edits = {"torch": "0.02 * torch"}


class all_alike(Misconception):
    """The table starts with numbers that are alike, so all ids start as the same: N(0, 1) is asked for."""

    variants = [
        {"randn": "zeros"},
        {
            "(num_embeddings, embedding_dim)": [
                "(embedding_dim).repeat(num_embeddings, 1)",
                "(num_embeddings, 1).repeat(1, embedding_dim)",
            ]
        },
    ]


class padding_row(Misconception):
    """Row 0 is treated as padding (zeros, or never trained): here id 0 is an id like the others."""

    variants = [
        {"[ids]": "[ids] * (ids != 0).unsqueeze(-1)"},
        {"embedding_dim))": "embedding_dim))\nwith torch.no_grad(): self.weight[0] = 0"},
    ]


class scaled(Misconception):
    """The rows are scaled on the way out (by √C, or to length 1): the result is the rows as they are."""

    edits = {
        "self.weight[ids]": ["self.weight[ids] * self.weight.shape[1] ** 0.5", "F.normalize(self.weight[ids], dim=-1)"]
    }


class one_shape_only(Misconception):
    """It works for ids of one shape only: ids may have any number of dimensions, also none."""

    variants = [
        {"return": "B, T = ids.shape\nreturn"},
        {"self.weight[ids]": ["torch.stack([self.weight[i] for i in ids])", "self.weight.index_select(0, ids)"]},
    ]


class flattened(Misconception):
    """The dimensions of ids are merged into one: ids (B, T) give (B, T, C)."""

    edits = {"[ids]": "[ids.flatten()]"}


class long_only(Misconception):
    """Ids of int32 fail or mean something else: convert them (`.long()`)."""

    variants = [
        {"self.weight[ids]": "F.one_hot(ids, len(self.weight)).to(self.weight.dtype) @ self.weight"},
        {"return": "if ids.dtype != torch.int64: raise TypeError('LongTensor expected')\nreturn"},
    ]


class new_table_each_call(Misconception):
    """The table is drawn anew in each call of forward: make it once, in `__init__`."""

    variants = [
        {"self.weight[ids]": "torch.randn(self.weight.shape)[ids]"},
        {"return": "self.weight = nn.Parameter(torch.randn_like(self.weight))\nreturn"},
    ]


class columns(Misconception):
    """Columns are looked up instead of rows: each id has a row of `weight`."""

    edits = {"[ids]": ["[:, ids]", ".T[ids]"]}


class empty_refused(Misconception):
    """No ids at all, as in shape (0,), fail: the result is then empty (and `max` or `min` of nothing is an error)."""

    edits = {"((ids < 0) | (ids >= V)).any()": "ids.min() < 0 or ids.max() >= V"}


class range_of_first_only(Misconception):
    """Only one id's range is tested (or all must be out of range): any bad id is an IndexError."""

    edits = {"any": ["all", "flatten()[:1].any"], "[ids]": "[ids.clamp(0, V - 1)]"}


class all_instead_of_any(Misconception):
    """Ids are refused only if all are out of range, and a negative one counts from the end: use `.any()`."""

    edits = {"any": "all() and ids.numel"}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    edits = {"(nn.Module)": "", "super().__init__()": ""}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"[ids]": "[ids.view(-1)].view(*ids.shape, self.weight.shape[1])"}


class other_signature(Minor):
    """The arguments have other names: keep Embedding(num_embeddings, embedding_dim)."""

    edits = {"num_embeddings": "vocab_size", "embedding_dim": "embed_dim"}
