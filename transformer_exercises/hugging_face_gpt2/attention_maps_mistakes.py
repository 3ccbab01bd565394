"""Wrong and right answers to `attention_maps`. The reference (10-hugging-face-gpt2):

def attention_maps(model, tokenizer, text):
    ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)  # (1, T)
    if ids.shape[1] == 0:
        raise ValueError("text has no tokens")

    was_training, implementation = model.training, model.config._attn_implementation
    model.eval()  # no dropout: with it, rows would not sum to 1
    model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps the weights
    with torch.no_grad():
        attentions = model(ids, output_attentions=True).attentions  # L times (1, H, T, T)
    model.set_attn_implementation(implementation)
    model.train(was_training)

    weights = torch.cat(attentions)  # (L, H, T, T): each layer is a batch of 1
    return [tokenizer.decode([i]) for i in ids[0].tolist()], weights
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

TOKENS = "[tokenizer.decode([i]) for i in ids[0].tolist()]"

# Right answers in other styles


class the_usual_way(RightAnswer):
    edits = {
        'ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)': """
            inputs = tokenizer(text, return_tensors="pt").to(model.device)
            ids = inputs["input_ids"]
        """,
        "model(ids,": "model(**inputs,",
        "model.set_attn_implementation(implementation)": "",
        "model.train(was_training)": "if was_training: model.train()",
        "torch.cat(attentions)": "torch.stack([a[0] for a in attentions], dim=0)",
        TOKENS: "tokenizer.convert_ids_to_tokens(ids[0])",
    }


class by_hooks(RightAnswer):
    edits = {
        "attentions = model(ids, output_attentions=True).attentions": """
            kept = []
            hooks = [b.attn.register_forward_hook(lambda m, i, o: kept.append(o[1])) for b in model.transformer.h]
            model(ids)
            for hook in hooks: hook.remove()
        """,
        "torch.cat(attentions)": "torch.vstack(kept)",
    }


class by_hand(RightAnswer):
    edits = {
        'model.set_attn_implementation("eager")': "",
        "model.set_attn_implementation(implementation)": "",
        "attentions = model(ids, output_attentions=True).attentions": """
            states, attentions = model(ids, output_hidden_states=True).hidden_states, []
            H, T = model.config.n_head, ids.shape[1]
            future = torch.ones(T, T, dtype=torch.bool, device=ids.device).triu(1)
            for x, block in zip(states, model.transformer.h):
                q, k, _ = block.attn.c_attn(block.ln_1(x)).chunk(3, dim=-1)
                q, k = (t.unflatten(-1, (H, -1)).transpose(1, 2) for t in (q, k))
                scores = q @ k.mT / math.sqrt(q.shape[-1])
                attentions.append(scores.masked_fill(future, -torch.inf).softmax(-1))
        """,
    }


# Mistakes


class fused_attention(Misconception):
    """Fused attention (sdpa, the default) keeps no weights: `model.set_attn_implementation("eager")` first."""

    variants = [
        {
            (
                'model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps '
                "the weights"
            ): ""
        },
        {
            (
                'model.set_attn_implementation("eager")  # the default, "sdpa", is faster because it never keeps '
                "the weights"
            ): "",
            "torch.cat(attentions)": "attentions[0]",
        },
        {", output_attentions=True": ""},
    ]


class batch_kept(Minor):
    """The batch dimension is still there: each layer gives [1, H, T, T], and [L, H, T, T] is asked for."""

    edits = {"cat(attentions)": ["stack(attentions)", "stack(attentions, dim=1)"]}


class dimensions_squeezed(Misconception):
    """`squeeze()` removes all dimensions of size 1, so one layer, head or token loses its own: name one."""

    edits = {"cat(attentions)": ["stack(attentions).squeeze()", "stack([a.squeeze() for a in attentions])"]}


class layers_and_heads_swapped(Minor):
    """Layers and heads are swapped: weights[l, h] is the map of head h in layer l."""

    edits = {
        "(attentions)": [
            "(attentions).transpose(0, 1)",
            "([a[0] for a in attentions]).view(attentions[0].shape[1], -1, *attentions[0].shape[2:])",
        ]
    }


class joined_along_the_heads(Minor):
    """The layers are joined along the heads: L and H are two dimensions."""

    edits = {"(attentions)": ["(attentions, dim=1)", "(attentions, dim=1)[0]"]}


class heads_averaged(Misconception):
    """The heads or the layers are averaged: each head of each layer has a map of its own."""

    edits = {
        "(attentions)": [
            "(attentions).mean(dim=1)",
            "(attentions).mean(dim=1, keepdim=True)",
            "(attentions).mean(dim=1, keepdim=True).expand_as(torch.cat(attentions)).clone()",
            "(attentions).amax(dim=1)",
            "(attentions).mean(dim=0)",
            "(attentions).mean(dim=0, keepdim=True)",
        ]
    }


class one_layer(Misconception):
    """Maps are missing, of a layer or of heads: outputs.attentions has one tensor for each layer, with all heads, and
    all of them are asked for.
    """

    variants = [
        {"torch.cat(attentions)": ["attentions[0]", "attentions[0][0]", "attentions[-1][0]", "attentions[-1]"]},
        {
            "(attentions)": [
                "(attentions[:1] * len(attentions))",
                "(attentions[-1:] * len(attentions))",
                "(attentions[:-1]) if len(attentions) > 1 else attentions[0]",
                "(attentions)[:, 0]",
                "(attentions)[:, :1]",
                "(attentions[:-1])",
                "(attentions[1:])",
            ]
        },
        {"torch.cat(attentions)": "torch.stack([a[0] for a in attentions[:-1]])"},
    ]


class order_of_layers(Minor):
    """The layers are in another order: the first of outputs.attentions is that of layer 0, where the text goes in."""

    edits = {"(attentions)": "(attentions[::-1])"}


class rounded(common_mistakes.rounded):
    edits = {"(attentions)": [f"(attentions).round(decimals={digits})" for digits in (2, 3, 4)]}


class transposed(Minor):
    """The maps are transposed: a row belongs to the position that looks, a column to the one looked at."""

    edits = {"(attentions)": "(attentions).mT"}


class softmax_twice(Misconception):
    """A softmax is taken of the weights: the model has taken it already."""

    edits = {"(attentions)": "(attentions).softmax(dim=-1)"}


class scores(Misconception):
    """These are scores, before the softmax: the weights are asked for."""

    based_on = by_hand
    edits = {
        "scores.masked_fill(future, -torch.inf).softmax(-1)": [
            "scores",
            "scores.masked_fill(future, -torch.inf)",
            "scores.tril()",
        ]
    }


class no_mask(Misconception):
    """The causal mask is missing: positions look at later ones, which GPT-2's never do."""

    based_on = by_hand
    edits = {"masked_fill(future, -torch.inf).softmax(-1)": ["softmax(-1)", "softmax(-1).tril()"]}


class not_scaled(Minor):
    """The scores are not divided by √d_k, as the model does."""

    based_on = by_hand
    variants = [{"/ math.sqrt(q.shape[-1])": ""}, {"(q.": "(x."}]


class stream_not_normed(Misconception):
    """Queries and keys are made from the stream as it is: the block's first norm, ln_1, comes before c_attn."""

    based_on = by_hand
    edits = {"block.ln_1(x)": "x"}


class hidden_states(Fundamental):
    """These are the hidden states or the logits: ask for `output_attentions=True`, and take `.attentions`."""

    variants = [
        {
            "(ids, output_attentions=True).attentions": [
                "(ids, output_hidden_states=True).hidden_states",
                "(ids, output_hidden_states=True).hidden_states[1:]",
            ]
        },
        {"model(ids, output_attentions=True).attentions": "[model(ids, output_attentions=True).logits]"},
    ]


class not_a_tensor(Minor):
    """The weights are a tuple, a list or an array: make one tensor of them, which joins the layers."""

    edits = {
        "torch.cat(attentions)": [
            "attentions",
            "[*attentions]",
            "[a[0] for a in attentions]",
            "torch.cat(attentions).tolist()",
            "torch.cat(attentions).numpy()",
            "torch.cat(attentions).cpu().numpy()",
        ]
    }


class float32_forced(Minor):
    """The weights change their dtype or lose precision (`.float()`, `.half()`): keep the model's dtype."""

    edits = {"(attentions)": ["(attentions).float()", "(attentions).half().float()", "(attentions).half()"]}


class ids_for_tokens(Misconception):
    """The tokens are ids: decode each of them, or use `tokenizer.convert_ids_to_tokens`."""

    variants = [{TOKENS: ["ids[0].tolist()", "ids[0]", "ids", "list(ids[0])"]}, {"tokenizer.decode([i])": "str(i)"}]


class one_string(Misconception):
    """The tokens are decoded together, as one string: one string for each token is asked for."""

    edits = {
        TOKENS: [
            "tokenizer.decode(ids[0])",
            "tokenizer.batch_decode(ids)",
            "text",
            "list(tokenizer.decode(ids[0]))",
            "list(text)",
            "[text]",
        ]
    }


class words_for_tokens(Misconception):
    """These are the words of the text: the model reads tokens, and a word may be several."""

    edits = {TOKENS: ["text.split()", r're.findall(r"\w+|[^\w\s]", text)']}


class only_the_weights(Minor):
    """The weights alone, a dict or a list are returned: the tuple (tokens, weights) is asked for."""

    edits = {
        "[tokenizer.decode([i]) for i in ids[0].tolist()], weights": [
            "weights",
            '{"tokens": [tokenizer.decode([i]) for i in ids[0].tolist()], "weights": weights}',
            "[[tokenizer.decode([i]) for i in ids[0].tolist()], weights]",
        ]
    }


class pair_swapped(Minor):
    """The results are the wrong way round: (tokens, weights)."""

    based_on = only_the_weights
    edits = {"return weights": "return weights, [tokenizer.decode([i]) for i in ids[0].tolist()]"}


class dropout_left_on(shared_mistakes.dropout_left_on):
    edits = {"model.eval()  # no dropout: with it, rows would not sum to 1": ""}


class mode_not_restored(Misconception):
    """The model is left in another mode (in eval mode it would be trained without dropout): end with
    `model.train(was)`.
    """

    variants = [{"model.train(was_training)": ""}, {"(was_training)": "()"}]


class device_not_kept(Misconception):
    """The ids stay on the CPU: `.to(model.device)` moves them, or nothing works on a GPU."""

    edits = {".to(model.device)": ""}


class model_frozen(shared_mistakes.model_frozen):
    edits = {"()  # no dropout: with it, rows would not sum to 1": "().requires_grad_(False)"}


class bad_input_accepted(Minor):
    """A text without tokens is accepted, or crashes inside the model: refuse it with a ValueError."""

    edits = {"if ids.shape[1] == 0:": "if False:"}


class nothing_returned(common_mistakes.nothing_returned):
    edits = {"return [tokenizer.decode([i]) for i in ids[0].tolist()], weights": "print(weights)"}
