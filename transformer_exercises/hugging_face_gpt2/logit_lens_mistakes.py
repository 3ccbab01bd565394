"""Wrong and right answers to `logit_lens`. The reference (10-hugging-face-gpt2):

def logit_lens(hidden, model):
    if hidden.shape[-1] != model.config.n_embd:
        raise ValueError(f"hidden has width {hidden.shape[-1]}, the model {model.config.n_embd}")
    normed = model.transformer.ln_f(hidden)  # (..., C): the stream's length varies from block to block
    return normed @ model.lm_head.weight.T  # (..., V)
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class one_line(RightAnswer):
    edits = {"normed @ model.lm_head.weight.T": "model.lm_head(normed)"}


class by_hand(RightAnswer):
    edits = {
        "normed = model.transformer.ln_f(hidden)": """
            norm = model.transformer.ln_f
            mean, variance = hidden.mean(-1, keepdim=True), hidden.var(-1, keepdim=True, correction=0)
            normed = (hidden - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias
        """
    }


class in_einsum(RightAnswer):
    edits = {
        "normed @ model.lm_head.weight.T": (
            'torch.einsum("...c,vc->...v", normed, model.get_output_embeddings().weight)'
        )
    }


class from_the_config(RightAnswer):
    edits = {
        "normed = model.transformer.ln_f(hidden)": """
            norm, eps = model.transformer.ln_f, model.config.layer_norm_epsilon
            normed = F.layer_norm(hidden, hidden.shape[-1:], norm.weight, norm.bias, eps)
        """
    }


# Mistakes


class norm_forgotten(Misconception):
    """The final norm is missing: the output matrix was trained to read a normed stream."""

    edits = {"model.transformer.ln_f(hidden)": "hidden"}


class norm_twice(Misconception):
    """The stream is normed twice: `ln_f` comes once, after the blocks."""

    edits = {"(hidden)": "(model.transformer.ln_f(hidden))"}


class norm_of_a_block(Misconception):
    """This is the norm of a block: the one behind all blocks is `model.transformer.ln_f`."""

    edits = {"ln_f": ["h[-1].ln_2", "h[-1].ln_1", "h[0].ln_1"]}


class norm_without_weights(Misconception):
    """The stream is normed without the model's own weights and biases: call `ln_f`, which has them."""

    based_on = from_the_config
    edits = {"norm.weight, norm.bias, eps": ["eps=1e-5", "eps=eps"]}


class norm_with_another_eps(Minor):
    """The norm lacks its bias, or has another eps than the model's: call `ln_f`, which has both."""

    based_on = from_the_config
    edits = {"norm.bias, eps": ["norm.bias", "norm.bias, 1e-8", "None, eps"]}


class norm_behind_the_matrix(Misconception):
    """The norm comes after the output matrix: `ln_f` norms the stream, C wide, and the matrix reads what it gives."""

    variants = [
        {
            "model.transformer.ln_f(hidden)": "hidden",
            "normed @ model.lm_head.weight.T": [
                "F.layer_norm(normed @ model.lm_head.weight.T, model.lm_head.weight.shape[:1])",
                (
                    "F.layer_norm(normed @ model.lm_head.weight.T, model.lm_head.weight.shape[:1], "
                    "eps=model.config.layer_norm_epsilon)"
                ),
            ],
        }
    ]


class norm_of_everything(Misconception):
    """Mean and variance are taken over all positions together: each position is normed on its own, over C."""

    based_on = by_hand
    edits = {"(hidden - mean) / torch.sqrt(variance + norm.eps)": "(hidden - hidden.mean()) / hidden.std()"}


class unbiased_variance(Minor):
    """The variance is divided by C − 1: a layer norm divides by C."""

    based_on = by_hand
    edits = {", correction=0": ""}


class embedding_for_the_head(Misconception):
    """The token embedding reads the stream: a lm_head that is not tied to it has a matrix of its own."""

    edits = {"lm_head": "transformer.wte"}


class probabilities(Minor):
    """These are probabilities or their logarithms: logits are asked for, before any softmax."""

    based_on = one_line
    edits = {"model.lm_head(normed)": ["model.lm_head(normed).softmax(-1)", "model.lm_head(normed).log_softmax(-1)"]}


class tokens(Fundamental):
    """These are ids: the logits of all tokens are asked for."""

    based_on = one_line
    edits = {"model.lm_head(normed)": "model.lm_head(normed).argmax(-1)"}


class normed_only(Fundamental):
    """This is the normed stream: the output matrix makes V logits of its C numbers."""

    based_on = one_line
    edits = {"model.lm_head(normed)": "normed"}


class last_position_only(Misconception):
    """Only the last position is left: logits are asked for at every position that was given."""

    based_on = one_line
    edits = {
        "model.lm_head(normed)": [
            "model.lm_head(normed[..., -1:, :])",
            "model.lm_head(normed)[..., -1, :]",
            "model.lm_head(normed)[:, -1]",
            "model.lm_head(normed if normed.dim() == 1 else normed[..., -1, :])",
        ]
    }


class first_row_only(Misconception):
    """Only the first text or layer is left: logits are asked for wherever there is a stream."""

    based_on = one_line
    edits = {"model.lm_head(normed)": ["model.lm_head(normed)[0]", "model.lm_head(normed)[:1]"]}


class flattened(Minor):
    """The leading dimensions are run together: [..., C] becomes [..., V]."""

    based_on = one_line
    edits = {"model.lm_head(normed)": "model.lm_head(normed).flatten(0, -2)"}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {
        "normed =": "shape, hidden = hidden.shape, hidden.view(-1, hidden.shape[-1])\nnormed =",
        "normed @ model.lm_head.weight.T": "(normed @ model.lm_head.weight.T).view(*shape[:-1], -1)",
    }


class blocks_run_again(Fundamental):
    """The stream is sent through the blocks once more: the lens reads it as it is."""

    code = "return model(inputs_embeds=hidden).logits"


class both_returned(Misconception):
    """Two things are returned: the logits alone are asked for."""

    based_on = one_line
    edits = {"model.lm_head(normed)": "normed, model.lm_head(normed)"}


class model_frozen(shared_mistakes.model_frozen):
    based_on = one_line
    edits = {"model.lm_head(normed)": "model.requires_grad_(False).lm_head(normed)"}
