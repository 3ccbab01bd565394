"""Wrong and right answers to `NeuralNgram`. The reference (01-language-modelling):

class NeuralNgram(nn.Module):
    def __init__(self, vocab_size, n, embed_dim, hidden_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.hidden = nn.Linear((n - 1) * embed_dim, hidden_dim)
        self.output = nn.Linear(hidden_dim, vocab_size)

    def forward(self, context):
        vectors = self.embedding(context)  # (..., n-1, embed_dim)
        side_by_side = vectors.flatten(start_dim=-2)  # (..., (n-1) * embed_dim): each place keeps weights of its own
        mixed = torch.relu(self.hidden(side_by_side))  # (..., hidden_dim)
        return self.output(mixed)  # (..., V): logits, which the loss turns into probabilities
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class reshape(RightAnswer):
    edits = {"flatten(start_dim=-2)": "reshape(*context.shape[:-1], -1)"}


class concatenated(RightAnswer):
    edits = {
        "vectors.flatten(start_dim=-2)": "torch.cat([vectors[..., k, :] for k in range(context.shape[-1])], dim=-1)"
    }


class einsum_by_place(RightAnswer):
    edits = {
        "relu(self.hidden(side_by_side))": """
            clamp(torch.einsum("...ke,hke->...h", vectors,
                self.hidden.weight.unflatten(1, (context.shape[-1], -1))) + self.hidden.bias, min=0)
        """,
        "side_by_side = vectors.flatten(start_dim=-2)": "",
    }


# Mistakes


class no_relu(Misconception):
    """There is no ReLU between the layers: two linear layers in a row are only one linear layer."""

    edits = {"torch.relu(self.hidden(side_by_side))": "self.hidden(side_by_side)"}


class other_activation(Minor):
    """Another activation stands between the layers: ReLU makes each negative number 0."""

    edits = {"torch.relu": ["torch.tanh", "torch.sigmoid", "F.gelu", "F.silu", "F.leaky_relu"]}


class relu_on_the_vectors(Misconception):
    """The ReLU acts on the vectors or on the logits: it stands on what the hidden layer returns."""

    variants = [
        {"torch.relu(self.hidden": "self.hidden(torch.relu"},
        no_relu.edited({"self.output(mixed)": "torch.relu(self.output(mixed))"}),
        {"self.output(mixed)": "torch.relu(self.output(mixed))"},
    ]


class softmax_at_the_end(Misconception):
    """Probabilities are returned: logits are asked for, the softmax belongs to the loss."""

    edits = {
        "self.output(mixed)": [
            "torch.softmax(self.output(mixed), dim=-1)",
            "torch.log_softmax(self.output(mixed), dim=-1)",
        ]
    }


class summed(Misconception):
    """The vectors are added up (or averaged), so the order of the tokens is lost: set them side by side."""

    edits = {
        "flatten(start_dim=-2)": [
            "sum(-2).repeat(*[1] * (context.dim() - 1), context.shape[-1])",
            "mean(-2).repeat(*[1] * (context.dim() - 1), context.shape[-1])",
        ]
    }


class summed_into_a_smaller_layer(Misconception):
    """The vectors are added up, and `hidden` takes embed_dim numbers: set them side by side."""

    edits = {"(n - 1) * embed_dim": "embed_dim", "flatten(start_dim=-2)": "sum(-2)"}


class newest_first(Misconception):
    """The vectors stand in the wrong order: the order of the text is asked for, the oldest token first."""

    edits = {"flatten": "flip(-2).flatten"}


class interleaved(Misconception):
    """The vectors' numbers are interleaved (first all first numbers): each vector stays whole."""

    edits = {"flatten": "transpose(-1, -2).flatten"}


class flattened_from_the_front(Misconception):
    """flatten(1) is right for [B, n − 1] only: flatten the last two dimensions."""

    edits = {"start_dim=-2": "1"}


class all_flattened(Misconception):
    """The leading dimensions are merged into one, or lost: contexts [B, T, n − 1] give logits [B, T, V]."""

    edits = {"flatten(start_dim=-2)": "reshape(-1, self.hidden.in_features)"}


class n_tokens(Minor):
    """The hidden layer has room for another number of vectors: an n-gram model reads the n − 1 tokens before."""

    variants = [
        {"(n - 1)": ["n", "(n + 1)"]},
        {"- 1": "- 2", "(context)": "(context[..., 1:])"},
    ]


class sizes_swapped(Minor):
    """Two sizes are swapped: keep vocab_size, n, embed_dim, hidden_dim; nn.Linear takes inputs first."""

    variants = [
        {
            "vocab_size, n, embed_dim, hidden_dim": [
                "vocab_size, n, hidden_dim, embed_dim",
                "n, vocab_size, embed_dim, hidden_dim",
            ]
        },
        {"vocab_size, embed_dim": "embed_dim, vocab_size"},
        {"hidden_dim, vocab_size": "vocab_size, hidden_dim"},
        {"(n - 1) * embed_dim, hidden_dim": "hidden_dim, (n - 1) * embed_dim"},
    ]


class sizes_fixed(Misconception):
    """Sizes are fixed in the code: take them from the arguments."""

    variants = [
        {"(vocab_size": "(53", "hidden_dim, vocab_size": "hidden_dim, 53"},
        {"(n - 1)": "16"},
        {"* embed_dim, hidden_dim)": "* embed_dim, 256)", "(hidden_dim": "(256"},
    ]


class other_names(Minor):
    """The parts have other names: `embedding`, `hidden` and `output` are asked for."""

    variants = [
        {"embedding": "embed"},
        {".hidden": ".layer"},
        {"output": "head"},
        {"embedding": "emb", ".hidden": ".fc1", "output": "fc2"},
    ]


class one_sequential(Misconception):
    """Parts stand in an nn.Sequential, under numbers: name them `embedding`, `hidden`, `output`."""

    variants = [
        """
    class NeuralNgram(nn.Module):
        def __init__(self, vocab_size, n, embed_dim, hidden_dim):
            super().__init__()
            first = nn.Embedding(vocab_size, embed_dim), nn.Flatten(-2), nn.Linear((n - 1) * embed_dim, hidden_dim)
            self.net = nn.Sequential(*first, nn.ReLU(), nn.Linear(hidden_dim, vocab_size))
        def forward(self, context): return self.net(context)
        """,
        """
    class NeuralNgram(nn.Module):
        def __init__(self, vocab_size, n, embed_dim, hidden_dim):
            super().__init__()
            self.embedding = nn.Embedding(vocab_size, embed_dim)
            first = nn.Linear((n - 1) * embed_dim, hidden_dim)
            self.net = nn.Sequential(first, nn.ReLU(), nn.Linear(hidden_dim, vocab_size))
        def forward(self, context): return self.net(self.embedding(context).flatten(-2))
        """,
    ]


class no_bias(shared_mistakes.no_bias):
    variants = [
        {"* embed_dim, hidden_dim)": "* embed_dim, hidden_dim, bias=False)"},
        {"hidden_dim, vocab_size)": "hidden_dim, vocab_size, bias=False)"},
        {
            "* embed_dim, hidden_dim)": "* embed_dim, hidden_dim, bias=False)",
            "hidden_dim, vocab_size)": "hidden_dim, vocab_size, bias=False)",
        },
    ]


class a_row_more(Minor):
    """The table has a row more than there are ids: `embedding` is nn.Embedding(vocab_size, embed_dim)."""

    edits = {"Embedding(vocab_size": "Embedding(vocab_size + 1"}


class one_table_each_place(Misconception):
    """Each place has an embedding table of its own: one serves all, and `hidden` tells them apart."""

    edits = {
        "Embedding(vocab_size, embed_dim)": "ModuleList(nn.Embedding(vocab_size, embed_dim) for _ in range(n - 1))",
        "self.embedding(context)": (
            "torch.stack([table(context[..., k]) for k, table in enumerate(self.embedding)], dim=-2)"
        ),
    }


class one_hot_inputs(Misconception):
    """The ids are used as numbers (or one-hot rows): each id is looked up in `embedding`."""

    edits = {
        "Embedding(vocab_size, embed_dim)": "Identity()",
        "* embed_dim": "* vocab_size",
        "self.embedding(context)": "F.one_hot(context, self.output.out_features).to(self.hidden.weight.dtype)",
    }


class tied(Misconception):
    """The output uses the table of the embedding: here `output` is a layer of its own."""

    edits = {"hidden_dim, vocab_size": "hidden_dim, embed_dim", "(mixed)": "(mixed) @ self.embedding.weight.T"}


class extra_layer(Misconception):
    """There is a layer more than the three: `embedding`, `hidden` and `output` are all."""

    variants = [
        {
            "output =": "second = nn.Linear(hidden_dim, hidden_dim)\nself.output =",
            "(mixed)": "(torch.relu(self.second(mixed)))",
        },
        {"output =": "norm = nn.LayerNorm(hidden_dim)\nself.output =", "(mixed)": "(self.norm(mixed))"},
    ]


class residual(Misconception):
    """What goes into a layer is added to what comes out of it, or leads on to the logits: no such additions here."""

    variants = [
        {"(mixed)": "(mixed + self.hidden(side_by_side))"},
        {
            "(hidden_dim, vocab_size)": """
            (hidden_dim, vocab_size)
            self.direct = nn.Linear((n - 1) * embed_dim, vocab_size, bias=False)
        """,
            "(mixed)": "(mixed) + self.direct(side_by_side)",
        },
    ]


class dropout(Misconception):
    """Some of the numbers are dropped in training: no dropout is asked for."""

    edits = {"(mixed)": ["(F.dropout(mixed, 0.1, self.training))", "(F.dropout(mixed, 0.5, self.training))"]}


class new_layers_each_call(Fundamental):
    """A layer is made anew in each call, at random: make the parts once, in `__init__`."""

    variants = [
        {"self.hidden(side_by_side)": "nn.Linear(side_by_side.shape[-1], self.hidden.out_features)(side_by_side)"},
        {"return self.output": "return nn.Linear(self.output.in_features, self.output.out_features)"},
    ]


class hidden_returned(Misconception):
    """What the hidden layer returns is handed back: the logits come from `output`."""

    edits = {"self.output(mixed)": "mixed"}


class vectors_frozen(Misconception):
    """The table of vectors is frozen, or cut off from the loss, so that it never learns."""

    variants = [
        {"(context)": "(context).detach()"},
        {"self.hidden =": "self.embedding.weight.requires_grad_(False)\nself.hidden ="},
    ]


class started_alike(Misconception):
    """The layers begin with all weights alike, so all learn the same: leave PyTorch's random start."""

    edits = {
        "(hidden_dim, vocab_size)": """
            (hidden_dim, vocab_size)
            for p in self.parameters(): nn.init.zeros_(p)
        """
    }


class padding_row(Misconception):
    """Token 0 is treated as padding (zeros, never trained): here id 0 is an id like the others."""

    edits = {"vocab_size, embed_dim": "vocab_size, embed_dim, padding_idx=0"}


class single_context_fails(Misconception):
    """A single context [n − 1] fails, or gains a dimension: there may be no leading one at all."""

    variants = [{"vectors =": "B, _ = context.shape\nvectors ="}, {"(context)": "(torch.atleast_2d(context))"}]


class other_signature(Minor):
    """The arguments have other names: keep NeuralNgram(vocab_size, n, embed_dim, hidden_dim)."""

    edits = {
        "vocab_size, n, embed_dim, hidden_dim):": [
            "V, n, embed_dim, hidden_dim):\n    vocab_size = V",
            "vocab_size, context_size, embed_dim, hidden_dim):\n    n = context_size",
            "vocab_size, n, embedding_dim, hidden_dim):\n    embed_dim = embedding_dim",
            "vocab_size, n, embed_dim, hidden_size):\n    hidden_dim = hidden_size",
        ]
    }


class not_a_module(Fundamental, shared_mistakes.not_a_module):
    variants = [{"(nn.Module)": "", "super().__init__()": ""}, {"super().__init__()": ""}]
