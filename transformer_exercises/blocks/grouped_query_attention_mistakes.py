"""Wrong and right answers to `grouped_query_attention`. The reference (08-blocks-further):

def grouped_query_attention(Q, K, V, mask=None):
    H, G, d_k = Q.shape[1], K.shape[1], Q.shape[-1]
    if H % G != 0:
        raise ValueError(f"the groups must divide the query heads; got {H} query heads and {G} groups")
    K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))  # (B, H, S, d)
    scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k)  # (B, H, T, S)
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ V  # (B, H, T, d_v)
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

WEIGHTED = "torch.softmax(scores, dim=-1) @ V"

# Right answers in other styles


class without_copies(RightAnswer):
    edits = {
        "K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))": (
            "Q, K, V = Q.unflatten(1, (G, H // G)), K[:, :, None], V[:, :, None]"
        ),
        "None:": "None:\n    if mask.dim() == 4: mask = mask[:, None]",
        WEIGHTED: f"({WEIGHTED}).flatten(1, 2)",
    }


class a_loop_over_heads(RightAnswer):
    edits = {
        "K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))": """
            output = Q.new_empty(*Q.shape[:-1], V.shape[-1])
            for h in range(H):
                scores = Q[:, h] @ K[:, h // (H // G)].transpose(1, 2) / d_k**0.5
                if mask is not None: scores = scores.masked_fill(mask if mask.dim() == 2 else mask[:, 0], float("-inf"))
                output[:, h] = torch.softmax(scores, dim=-1) @ V[:, h // (H // G)]
            return output
        """
    }


class expanded(RightAnswer):
    edits = {".repeat_interleave(H // G, dim=1)": "[:, :, None].expand(-1, -1, H // G, -1, -1).flatten(1, 2)"}


# Mistakes


class dealt_out(Misconception):
    """Heads are dealt out like cards (h mod G): head h reads group h // (H / G), by `repeat_interleave`."""

    edits = {"repeat_interleave(H // G, dim=1)": "repeat(1, H // G, 1, 1)"}


class values_dealt_out(Misconception):
    """Keys and values of a head come from different groups: both are repeated in the same way."""

    edits = {
        "(heads.repeat_interleave(H // G, dim=1) for heads in (K, V))": [
            "K.repeat_interleave(H // G, dim=1), V.repeat(1, H // G, 1, 1)",
            "K.repeat(1, H // G, 1, 1), V.repeat_interleave(H // G, dim=1)",
        ]
    }


class first_group_for_all(Misconception):
    """All heads read the same group, or the mean of all groups: head h reads group h // (H / G)."""

    variants = [
        {".repeat_interleave(H // G, dim=1)": ["[:, :1].expand(-1, H, -1, -1)", "[:, -1:].expand(-1, H, -1, -1)"]},
        {"repeat_interleave(H // G, dim=1)": "mean(dim=1, keepdim=True)"},
    ]


class queries_averaged(Misconception):
    """The query heads of a group are averaged: all H of them ask; only keys and values are shared."""

    edits = {
        "K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))": [
            "Q = Q.unflatten(1, (G, H // G)).mean(dim=2)",
            "Q = Q[:, :: H // G]",
        ]
    }


class repeated_tokens(Misconception):
    """The tokens are repeated, not the heads: dimension 1 counts heads, dimension 2 tokens."""

    edits = {
        "repeat_interleave(H // G, dim=1)": [
            "reshape(len(Q), H, -1, heads.shape[-1])",
            "repeat_interleave(H // G, dim=2)",
        ]
    }


class not_shared(Misconception):
    """Keys or values are not brought to H heads: that works for G = H (or one group) only."""

    edits = {"K, V = (heads.repeat_interleave(H // G, dim=1) for heads in (K, V))  # (B, H, S, d)": ""}


class heads_per_group(Minor):
    """H and G have changed places, or each group is repeated G times: it serves H / G query heads."""

    edits = {"H // G": "G"}


class group_size_fixed(Misconception):
    """The number of query heads in a group is a fixed number: it is H / G."""

    edits = {"H // G": ["2", "4"]}


class grouped_output(Misconception):
    """The result is (B, G, H / G, T, d_v): flatten groups and members to heads, (B, H, T, d_v)."""

    based_on = without_copies
    edits = {".flatten(1, 2)": ""}


class heads_merged(Misconception):
    """The heads are merged in the result: (B, H, T, d_v) is asked for; merging is the next step."""

    edits = {WEIGHTED: f"({WEIGHTED}).transpose(1, 2).flatten(2)"}


class tokens_before_heads(Minor):
    """The result is (B, T, H, d_v): (B, H, T, d_v) is asked for."""

    edits = {WEIGHTED: f"({WEIGHTED}).transpose(1, 2)"}


class no_scale(Minor):
    """The scores are not divided by √d_k."""

    edits = {"/ math.sqrt(d_k)": ""}


class scale_otherwise(Minor):
    """The scores are divided by something else than √d_k, the root of the width of queries."""

    edits = {
        "/ math.sqrt(d_k)": [
            "* math.sqrt(d_k)",
            "/ d_k",
            "/ math.sqrt(V.shape[-1])",
            "/ math.sqrt(d_k * H)",
            "/ math.sqrt(d_k * G)",
        ]
    }


class softmax_axis(Misconception):
    """The softmax runs over another dimension: each query shares out its attention over the keys, dim=-1."""

    variants = [{"=-1": ["=0", "=1", "=-2"]}, {"=-1": "=-2", 'float("-inf")': "-1e9"}]


class no_softmax(Misconception):
    """There is no softmax: scores become weights by it."""

    edits = {"torch.softmax(scores, dim=-1)": "scores"}


class mask_ignored(Misconception):
    """The mask is ignored: where it is True, the key may not be read."""

    edits = {"mask is not None": "False"}


class mask_inverted(Minor):
    """The mask is read the other way round: True = blocked (not so in F.scaled_dot_product_attention)."""

    edits = {"(mask": "(~mask"}


class mask_after(Misconception):
    """Weights of blocked keys are set to 0 after the softmax, so the others no longer sum to 1: use −inf before."""

    edits = {
        "if mask is not None:": "weights = torch.softmax(scores, dim=-1)",
        'scores = scores.masked_fill(mask, float("-inf"))': "",
        WEIGHTED: "(weights if mask is None else weights.masked_fill(mask, 0.0)) @ V",
    }


class mask_small(Minor):
    """Blocked scores get a number that others may fall below (0, 1e-9, −100): −inf is below all."""

    edits = {'float("-inf")': ["0.0", "1e-9", "-100.0"]}


class mask_of_one_shape(Misconception):
    """Only masks of one shape are understood: (T, S) and (B, 1, T, S) both broadcast as they are."""

    variants = [{"(mask": ["(mask[:, 0]", "(mask[None]"]}, without_copies.edited({"mask.dim() == 4": "False"})]


class mask_of_the_first(Misconception):
    """Every sequence gets the mask of the first one: a mask (B, 1, T, S) holds one for each."""

    edits = {"(mask": "(mask if mask.dim() == 2 else mask[0, 0]"}


class always_causal(Misconception):
    """The future is blocked although no mask says so."""

    edits = {
        "if mask": """
            scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
            if mask
        """
    }


class keys_for_values(Minor):
    """Keys and values are mixed up: scores come from the keys; the values are added up."""

    variants = [{"K, V =": "V, K ="}, {"@ V": "@ K"}]


class refused_without_reason(Fundamental):
    """Numbers of heads are refused that are right: any G that divides H, 1 and H among them."""

    edits = {"!= 0": ["== 0", "!= 0 or G == 1", "!= 0 or G == H"]}


class weights_too(Minor):
    """The weights are returned as well: the output alone is asked for."""

    edits = {WEIGHTED: f"{WEIGHTED}, torch.softmax(scores, dim=-1)"}


class overflows(Misconception):
    """exp of large scores overflows to inf / inf = NaN: torch.softmax subtracts the largest first."""

    edits = {"torch.softmax(scores, dim=-1)": "(scores.exp() / scores.exp().sum(dim=-1, keepdim=True))"}


class device_dropped(shared_mistakes.device_dropped):
    based_on = a_loop_over_heads
    edits = {"Q.new_empty(*Q.shape[:-1], V.shape[-1]": "torch.empty(*Q.shape[:-1], V.shape[-1], dtype=Q.dtype"}
