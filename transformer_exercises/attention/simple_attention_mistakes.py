"""Wrong and right answers to `simple_attention`. The reference (05-attention):

def simple_attention(x):
    scores = x @ x.transpose(-2, -1)  # (..., T, T): entry [t, s] says how alike tokens t and s are
    weights = torch.softmax(scores, dim=-1)  # (..., T, T): each row sums to 1
    return weights @ x  # (..., T, C)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class einsum(RightAnswer):
    edits = {
        "x @ x.transpose(-2, -1)": "torch.einsum('...tc,...sc->...ts', x, x)",
        "weights @ x": "torch.einsum('...ts,...sc->...tc', weights, x)",
    }


class loop(RightAnswer):
    code = """
rows = []
for t in range(x.shape[-2]): rows.append(torch.softmax((x[..., t : t + 1, :] * x).sum(-1), dim=-1).unsqueeze(-2) @ x)
return torch.cat(rows, dim=-2)
    """


class mT(RightAnswer):
    code = "return (x @ x.mT).softmax(-1) @ x"


# Mistakes


class no_softmax(Misconception):
    """The raw similarities are used as weights: take the softmax of each row first."""

    edits = {"torch.softmax(scores, dim=-1)": "scores"}


class softmax_over_queries(Misconception):
    """The softmax runs over the wrong dimension: each column of the weights sums to 1, not each row."""

    variants = [
        {"=-1": "=-2"},
        {"torch.softmax(scores, dim=-1)": "scores.exp() / scores.exp().sum(-2, keepdim=True)"},
    ]


class softmax_dim_zero(Misconception):
    """The softmax runs over a dimension counted from the front, or guessed: use dim=-1, whatever stands before."""

    variants = [
        {"=-1": "=0"},
        {"torch.softmax(scores, dim=-1)": "F.softmax(scores)"},
        {"=-": "="},
    ]


class softmax_everywhere(shared_mistakes.softmax_everywhere):
    edits = {", dim=-1": ".flatten(), 0).reshape(scores.shape"}


class scaled(Minor):
    """The scores are divided by √C or C: scaling comes later, here softmax(x xᵀ) x is asked."""

    variants = [
        {"(-2, -1)": "(-2, -1) / x.shape[-1] ** 0.5"},
        {"(-2, -1)": "(-2, -1) / x.shape[-1]"},
    ]


class matrix_only(Misconception):
    """This works for one matrix only (`x.T`, a loop over `len(x)`): use `x.transpose(-2, -1)`, `x[..., t, :]`."""

    variants = [
        {"transpose(-2, -1)": ["T", "transpose(0, 1)"]},
        "return torch.stack([torch.softmax(x @ row, dim=0) @ x for row in x])",
    ]


class batch_summed(Misconception):
    """The batch dimension is summed away, so sequences are mixed: keep `...` on both sides of the einsum."""

    variants = [
        "return torch.softmax(torch.einsum('btc,bsc->ts', x, x), -1) @ x",
        "return torch.softmax(torch.einsum('...tc,...sc->ts', x, x), -1) @ x",
    ]


class batch_only(Misconception):
    """Dimensions are counted from the front or listed: x may have any number of leading ones. Count from the end."""

    variants = [
        {"transpose(-2, -1)": ["permute(0, 2, 1)", "transpose(1, 2)"]},
        {"=-1": "=2"},
        {
            "x @ x.transpose(-2, -1)": ["torch.bmm(x, x.transpose(1, 2))", "torch.bmm(x, x.transpose(-2, -1))"],
            "weights @ x": "torch.bmm(weights, x)",
        },
        "return torch.stack([torch.softmax(one @ one.T, dim=-1) @ one for one in x])",
        "return torch.stack([torch.softmax(x[b] @ x[b].T, dim=-1) @ x[b] for b in range(x.shape[0])])",
        {
            "scores =": [
                "T, C = x.shape\nscores =",
                "B, T, C = x.shape\nscores =",
                "if x.dim() == 2: x = x.unsqueeze(0)\nscores =",
                "if x.dim() > 2: return torch.softmax(x @ x.transpose(1, 2), dim=-1) @ x\nscores =",
                "if x.dim() > 4: raise ValueError('dimensions')\nscores =",
            ]
        },
    ]


class batch_flattened(Misconception):
    """The batch is flattened into one long sequence, so tokens of different sequences attend to each other."""

    code = """
    flat = x.reshape(-1, x.shape[-1])
    return (torch.softmax(flat @ flat.T, dim=-1) @ flat).reshape(x.shape)
    """


class view_needed(shared_mistakes.view_needed):
    code = """
    flat = x.view(-1, *x.shape[-2:])
    return (torch.softmax(flat @ flat.mT, dim=-1) @ flat).view(x.shape)
    """


class last_token_only(Misconception):
    """One token's result, or the sum or mean of all, is returned: each token keeps its own row, (..., T, C)."""

    variants = [
        {"weights @ x": ["(weights @ x)[..., -1, :]", "(weights @ x)[..., 0, :]"]},
        {"weights @ x": ["(weights @ x).sum(-2)", "(weights @ x).mean(-2)"]},
    ]


class softmax_twice(Misconception):
    """The softmax is applied twice, which flattens the weights: once is enough."""

    edits = {"scores,": "torch.softmax(scores, dim=-1),"}


class causal(Minor):
    """Later tokens are blocked: no mask is asked for here, each token looks at all of them."""

    edits = {"scores,": "scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float('-inf')),"}


class tokens_normalised(Misconception):
    """The tokens are centred, normalised or scaled to length 1 first: x is compared, and blended, as it is."""

    variants = [
        {
            "scores =": [
                "x = F.layer_norm(x, x.shape[-1:])\nscores =",
                "x = x - x.mean(dim=-1, keepdim=True)\nscores =",
                "x = F.normalize(x, dim=-1)\nscores =",
            ]
        },
        {"scores = x @ x": "u = x / x.norm(dim=-1, keepdim=True)\nscores = u @ u"},
        {
            "x @ x.transpose(-2, -1)": [
                "F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).mT",
                "F.normalize(x, dim=-1) @ x.mT",
                "x @ F.normalize(x, dim=-1).mT",
            ]
        },
        {"weights @ x": ["weights @ F.normalize(x, dim=-1)", "weights @ F.layer_norm(x, x.shape[-1:])"]},
    ]


class transposed_result(Minor):
    """The result is transposed: (..., T, C) is asked for, one row for each token."""

    edits = {"weights @ x": "(weights @ x).transpose(-2, -1)"}


class list_returned(Minor):
    """A list is returned: stack its rows into one tensor with torch.stack."""

    edits = {"weights @ x": "list((weights @ x).unbind(-2))"}


class weights_returned(Minor):
    """The weights are returned, alone or too; only the output, the weights times x, is asked for."""

    variants = [
        {"weights @ x": "weights"},
        {"weights @ x": "weights @ x, weights"},
    ]


class features_attend(Misconception):
    """xᵀ x compares the C features with each other instead of the T tokens: the scores are (T, T)."""

    code = """
    scores = x.transpose(-2, -1) @ x
    return x @ torch.softmax(scores, dim=-1)
    """


class residual(Minor):
    """The input is added to the result (a residual connection): that comes in notebook 08."""

    edits = {"weights @ x": ["x + weights @ x", "(x + weights @ x) / 2"]}


class unstable(Misconception):
    """The exponential is taken of the raw scores, which overflows for large x. Use a stable softmax."""

    edits = {"torch.softmax(scores, dim=-1)": "scores.exp() / scores.exp().sum(-1, keepdim=True)"}


class gradient_cut_off(common_mistakes.gradient_cut_off):
    edits = {"(scores, dim=-1)": "(scores, dim=-1).detach()"}


class side_detached(Misconception):
    """One of the three roles of x is cut off from the gradient: the values are right, what is learned is not."""

    variants = [{"weights @ x": "weights @ x.detach()"}, {"x @ x.": ["x.detach() @ x.", "x @ x.detach()."]}]


class single_precision(common_mistakes.single_precision):
    edits = {"weights @ x": "weights.float() @ x.float()"}


class double_precision(common_mistakes.double_precision):
    edits = {"weights @ x": "weights.double() @ x.double()"}


class no_self(Misconception):
    """Each token ignores itself: the diagonal belongs to the weights too."""

    edits = {
        "scores,": [
            "scores - 1e9 * torch.eye(x.shape[-2]).to(x),",
            'scores.masked_fill(torch.eye(x.shape[-2], device=x.device).bool(), float("-inf")),',
        ]
    }


class divided_by_sum(Misconception):
    """The scores are divided by their sum instead of a softmax: with negative ones that is no average."""

    edits = {"torch.softmax(scores, dim=-1)": "scores / scores.sum(-1, keepdim=True)"}


class unchanged(Fundamental):
    """x comes back as it went in: each row becomes a blend of all rows."""

    code = "return x.clone()"


class one_only(Misconception):
    """Each token takes the one most similar token (argmax) instead of an average of all."""

    edits = {"torch.softmax(scores, dim=-1)": "F.one_hot(scores.argmax(-1), x.shape[-2]).to(x.dtype)"}


class distances(Misconception):
    """Distances between tokens are used as scores: dot products are asked for."""

    edits = {"x @ x.transpose(-2, -1)": ["-torch.cdist(x, x)", "-torch.cdist(x, x) ** 2"]}


class uniform(Fundamental):
    """Every token gets the plain mean of all tokens: the similarities are not used."""

    edits = {"scores,": "scores * 0,"}
