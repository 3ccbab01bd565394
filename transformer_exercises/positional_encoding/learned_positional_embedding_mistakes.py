"""Wrong and right answers to `LearnedPositionalEmbedding`. The reference (04-positional-encoding):

class LearnedPositionalEmbedding(nn.Module):
    def __init__(self, max_len, embed_dim):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))  # (max_len, C); small, as in GPT-2

    def forward(self, x):
        T, max_len = x.shape[1], self.table.shape[0]
        if max_len < T:  # the table knows no such positions: there is nothing to add
            raise ValueError(f"x has {T} positions, more than max_len = {max_len}")
        return x + self.table[:T]  # (B, T, C) + (T, C): the same rows for every sequence of the batch
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

REFUSAL = 'raise ValueError(f"x has {T} positions, more than max_len = {max_len}")'

# Right answers in other styles


class embedding_layer(RightAnswer):
    edits = {
        "self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))": """
            self.max_len = max_len
            self.embedding = nn.Embedding(max_len, embed_dim)
        """,
        "T, max_len = x.shape[1], self.table.shape[0]": "T = x.shape[1]",
        "if max_len < T:": "if T > self.max_len: raise ValueError('too long')",
        REFUSAL: "",
        "return x + self.table[:T]": "return x + self.embedding(torch.arange(T, device=x.device))",
    }


class leading_dimension(RightAnswer):
    edits = {
        "table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))": """
            pos = nn.Parameter(torch.zeros(1, max_len, embed_dim))
            nn.init.trunc_normal_(self.pos, std=0.02)
        """,
        "T, max_len = x.shape[1], self.table.shape[0]": "(B, T, C), max_len = x.shape, self.pos.size(1)",
        "table[:T]": "pos[:, :T, :]",
    }


class dimension_between(RightAnswer):
    edits = {"(max_len, embed_dim)": "(max_len, 1, embed_dim)", "table[:T]": "table[:T].transpose(0, 1)"}


class loop(RightAnswer):
    edits = {"x + self.table[:T]": "torch.stack([x[:, t] + self.table[t] for t in range(T)], dim=1)"}


# Mistakes


class positions_only(Misconception):
    """Only the rows of the table are returned: they are added to x."""

    edits = {"x + self.table[:T]": ["self.table[:T]", "self.table[:T].expand_as(x)"]}


class x_only(Fundamental):
    """x is returned as it came: the rows of the table are to be added."""

    edits = {"x + self.table[:T]": "x"}


class multiplied(Misconception):
    """The rows are multiplied, subtracted or put beside x: they are added, so that the shape stays (B, T, C)."""

    variants = [
        {"+": ["*", "-"]},
        {
            "x + self.table[:T]": [
                "torch.cat([x, self.table[:T].expand_as(x)], dim=-1)",
                "torch.cat([self.table[:T].expand_as(x), x], dim=1)",
            ]
        },
    ]


class bad_input_accepted(Minor):
    """A sequence longer than max_len is not refused by you: raise a ValueError before using the table."""

    based_on = embedding_layer
    edits = {"if T > self.max_len: raise ValueError('too long')": ""}


class quietly_made_to_fit(Misconception):
    """A sequence longer than max_len is cut, or rows are used twice, in silence: raise a ValueError."""

    variants = [
        {"if max_len < T:": "x, T = x[:, :max_len], min(T, max_len)", REFUSAL: ""},
        {
            "[:T]": [
                "[torch.arange(T, device=x.device).clamp(max=max_len - 1)]",
                "[torch.arange(T, device=x.device) % max_len]",
            ],
            "if max_len < T:": "",
            REFUSAL: "",
        },
    ]


class error_returned(common_mistakes.error_returned):
    edits = {REFUSAL: "print('too long')\nreturn x"}


class full_length_refused(Minor):
    """T = max_len is refused, but the table has these rows: only T > max_len is an error."""

    edits = {"<": "<="}


class full_length_only(Misconception):
    """Only T = max_len works: a shorter sequence gets the first T rows of the table."""

    variants = [{"[:T]": ""}, {"<": "!="}]


class batch_for_length(Misconception):
    """The length is taken from the wrong dimension: x is (B, T, C), so T is x.shape[1]."""

    edits = {"[1]": ["[0]", "[2]"]}


class length_first(Misconception):
    """Text b gets row b, as if x were (T, B, C): it is (B, T, C), and word t of each text gets row t."""

    based_on = batch_for_length
    variants = [
        {":T": ":T, None"},
        {"x.shape[0]": "x.shape[1]", ":T": ": x.shape[0], None"},
        embedding_layer.edited(
            {"(torch.arange(T, device=x.device))": "(torch.arange(len(x), device=x.device))[:, None]"}
        ),
    ]


class one_row(Misconception):
    """All positions get the same row, or the last rows, or the rows in reverse: position t gets row t."""

    variants = [
        {"[:T]": ["[0]", "[T - 1]", "[:T].mean(dim=0)", "[:T].sum(dim=0)"]},
        {"[:T]": ["[-T:]", "[:T].flip(0)", ".flip(0)[:T]"]},
    ]


class row_of_the_sentence(Misconception):
    """Rows are given to sentences: every word of sentence b gets row b. Row t belongs to position t, for every b."""

    edits = {"self.table[:T]": "self.table[torch.arange(x.shape[0], device=x.device) % max_len][:, None]"}


class untrained_row(Minor):
    """A row gets no gradient (`padding_idx`), so it never learns: each row is for a real position."""

    based_on = embedding_layer
    edits = {"(max_len, embed_dim)": "(max_len, embed_dim, padding_idx=0)"}


class rows_shifted(Minor):
    """The rows are off by one: position 0 gets row 0."""

    variants = [{"[:T]": [".roll(-1, 0)[:T]", ".roll(1, 0)[:T]"]}, embedding_layer.edited({"(T,": "(1, T + 1,"})]


class columns(Misconception):
    """Columns of the table are used for positions: it has a row for each position."""

    variants = [{"(max_len, embed_dim)": "(embed_dim, max_len)"}, {", max_len, embed_dim": ", embed_dim, max_len"}]


class linear_layer(Misconception):
    """An nn.Linear is no table (it is transposed, with a bias): use nn.Embedding(max_len, embed_dim)."""

    based_on = embedding_layer
    edits = {
        "embedding = nn.Embedding": "linear = nn.Linear",
        "embedding(torch.arange(T, device=x.device)": (
            "linear(torch.eye(self.max_len, dtype=x.dtype, device=x.device)[:T]"
        ),
    }


class table_transposed(Minor):
    """The table is stored the other way round (as in `nn.Linear`): it has max_len rows and embed_dim columns."""

    variants = [
        {"(max_len, embed_dim))": "(embed_dim, max_len))", "shape[0]": "shape[1]", "table[:T]": "table.T[:T]"},
        {
            "table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))": (
                "linear = nn.Linear(max_len, embed_dim, bias=False)"
            ),
            "self.table.shape[0]": "self.linear.in_features",
            "self.table[:T]": "self.linear.weight.T[:T]",
        },
    ]


class fixed_size(Misconception):
    """The number of rows is fixed, or one more than max_len: the table has one row for each of max_len positions."""

    based_on = embedding_layer
    edits = {
        "Embedding(max_len": [
            "Embedding(max_len + 1",
            "Embedding(512",
            "Embedding(1000",
            "Embedding(1024",
            "Embedding(5000",
        ]
    }


class x_looked_up(Misconception):
    """x is looked up in the table as if it held ids: it holds vectors, and rows 0 … T-1 are added to them."""

    based_on = embedding_layer
    variants = [
        {"torch.arange(T, device=x.device": "x.long("},
        {"x + self.embedding(torch.arange(T, device=x.device)": "self.embedding(x"},
    ]


class two_results(Minor):
    """Two tensors are returned: only the sum is asked for."""

    edits = {"[:T]": "[:T], self.table[:T]"}


class not_a_parameter(Misconception):
    """The table is a plain tensor, a buffer or sinusoids, so no optimizer trains it: wrap it in nn.Parameter."""

    variants = [
        {"table = nn.Parameter(0": "register_buffer('table', 0"},
        {
            "nn.Parameter(0.02 * torch.randn(max_len, embed_dim))": [
                "0.02 * torch.randn(max_len, embed_dim)",
                "0.02 * torch.randn(max_len, embed_dim).requires_grad_()",
            ]
        },
        {
            "table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim))": (
                "register_buffer('table', sinusoidal_encoding(max_len, 2 * embed_dim)[:, :embed_dim])"
            )
        },
    ]


class no_table(Fundamental):
    """The rows are made anew in each call and never trained: make one table in `__init__`."""

    variants = [
        embedding_layer.edited(
            {
                "max_len = max_len": "max_len, self.embed_dim = max_len, embed_dim",
                "self.embedding = nn.Embedding(max_len, embed_dim)": "",
                "self.embedding(torch.arange(T, device=x.device))": (
                    "sinusoidal_encoding(T, 2 * self.embed_dim)[:, : self.embed_dim].to(x)"
                ),
            }
        ),
        {"+ self.table": "+ 0.02 * torch.randn_like(self.table)"},
    ]


class frozen(Minor, shared_mistakes.frozen):
    edits = {"(max_len, embed_dim)": "(max_len, embed_dim), requires_grad=False"}


class dropout(Minor):
    """Dropout is applied in training: only the rows of the table are added here."""

    edits = {"x + self.table[:T]": "nn.functional.dropout(x + self.table[:T], 0.1, self.training)"}


class extra_parameters(Misconception):
    """There are parameters beside the table (a norm, a bias, a second table): one table is all."""

    variants = [
        {
            "(0.02 * torch.randn(max_len, embed_dim))": [
                "(0.02 * torch.randn(max_len, embed_dim))\nself.norm = nn.LayerNorm(embed_dim)",
                """
                (0.02 * torch.randn(max_len, embed_dim))
                self.tokens = nn.Embedding(max_len, embed_dim)
                """,
                """
                (0.02 * torch.randn(max_len, embed_dim))
                self.scale = nn.Parameter(torch.tensor(1.0))
                """,
            ]
        },
        {
            "(0.02 * torch.randn(max_len, embed_dim))": """
                (0.02 * torch.randn(max_len, embed_dim))
                self.scale = nn.Parameter(torch.ones(1))
            """,
            "self.table[:": "self.scale * self.table[:",
        },
        {
            "(0.02 * torch.randn(max_len, embed_dim))": """
                (0.02 * torch.randn(max_len, embed_dim))
                self.norm = nn.LayerNorm(embed_dim)
            """,
            "x + self.table[:T]": "self.norm(x + self.table[:T])",
        },
    ]


class scaled(Minor):
    """x or the rows are scaled: the result is x plus the rows as they are."""

    variants = [
        {"+": "* x.shape[-1] ** 0.5 +"},
        {"[:T]": ["[:T] * x.shape[-1] ** 0.5", "[:T] * x.shape[-1] ** -0.5"]},
        {"x + self.table[:T]": "(x + self.table[:T]) / 2"},
        embedding_layer.edited({"(max_len, embed_dim)": "(max_len, embed_dim, max_norm=1.0)"}),
    ]


class changed_in_place(Misconception):
    """The caller's x is changed (`x += …`): make a new tensor, `x + …`."""

    edits = {
        "return x + self.table[:T]": [
            "x += self.table[:T]\nreturn x",
            """
            result = x + self.table[:T]
            with torch.no_grad(): x.zero_()
            return result
            """,
        ]
    }


class one_sequence(Misconception):
    """A batch dimension is lost or added: the result has the shape of x, (B, T, C)."""

    edits = {
        "x + self.table[:T]": [
            f"(x + self.table[:T]){part}" for part in ("[0]", ".squeeze()", "[None]", ".mean(dim=1)")
        ]
    }


class device_dropped(shared_mistakes.device_dropped):
    based_on = embedding_layer
    edits = {", device=x.device": ""}


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    edits = {"(nn.Module)": "", "super().__init__()": ""}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"x + self.table[:T]": "(x.view(x.shape[0], -1) + self.table[:T].flatten()).view(x.shape)"}


class other_signature(Minor):
    """The arguments have other names: keep (max_len, embed_dim) and forward(x), to be given by name."""

    variants = [
        {"max_len, embed_dim):": "max_length, embed_dim):", "(max_len": "(max_length"},
        {"(self, x):": "(self, tokens):\n    x = tokens"},
    ]


class error_without_words(Minor):
    """The ValueError says nothing: tell the caller how long x is and how long it may be."""

    edits = {'(f"x has {T} positions, more than max_len = {max_len}")': ""}
