"""Wrong and right answers to `generate`. The reference (09-gpt):

@torch.no_grad()  # nothing is trained here: keep no graph
def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
    was_training = model.training
    model.eval()  # no dropout
    for _ in range(max_new_tokens):
        context = ids[:, -model.config.block_size :]  # (B, up to block_size): older tokens have no position
        logits, _ = model(context)  # (B, up to block_size, V)
        probs = next_token_distribution(logits[:, -1], temperature, top_k, top_p)  # (B, V): the last position only
        next_ids = torch.multinomial(probs, num_samples=1, generator=generator)  # (B, 1): each row draws its own
        ids = torch.cat([ids, next_ids], dim=1)  # (B, T + 1): a new tensor, the prompt stays as it was
    model.train(was_training)
    return ids
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class buffer(RightAnswer):
    code = """
    B, T = ids.shape
    modes = {name: module.training for name, module in model.named_modules()}
    model.eval()
    text = torch.cat([ids, ids.new_zeros(B, max_new_tokens)], 1)
    for t in range(T, T + max_new_tokens):
        logits, loss = model(text[:, max(0, t - model.config.block_size) : t])
        probs = next_token_distribution(logits[:, -1, :], temperature=temperature, top_k=top_k, top_p=top_p)
        text[:, t] = torch.multinomial(probs, 1, generator=generator).squeeze(1)
    for name, module in model.named_modules(): module.training = modes[name]
    return text
    """


class race(RightAnswer):
    edits = {
        "was_training =": "new = [ids]\nwas_training =",
        "eval()": "train(False)",
        "ids[:, -model": "torch.cat(new, 1)[:, -model",
        "logits, _ = model(context)": "logits = model(context)[0]",
        "logits[:, -1], temperature, top_k, top_p)": "logits, temperature, top_k, top_p)[:, -1]",
        "torch.multinomial(probs, num_samples=1, generator=generator)": (
            "(probs / torch.empty_like(probs).exponential_(generator=generator)).argmax(-1, keepdim=True)"
        ),
        "ids = torch.cat([ids, next_ids], dim=1)": "new.append(next_ids)",
        "model.train(was_training)": "if was_training: model.train()",
        "return ids": "return torch.cat(new, 1)",
    }


class recursion(RightAnswer):
    code = """
    def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None):
        if max_new_tokens == 0: return ids
        training = model.training; model.eval()
        with torch.inference_mode(): logits = model(ids[:, -model.config.block_size :])[0]
        model.train(training)
        probs = next_token_distribution(logits[:, -1].clone(), temperature, top_k, top_p)
        ids = torch.cat([ids, torch.multinomial(probs, 1, generator=generator)], 1)
        return generate(model, ids, max_new_tokens - 1, temperature, top_k, top_p, generator)
    """


# Mistakes


class not_cropped(Misconception):
    """The model has positions for block_size tokens only: crop the context to the last ones."""

    variants = [{"[:, -model.config.block_size :]": ""}, {"block_size :": "block_size - 1 :"}]


class cropped_at_the_wrong_end(Misconception):
    """The context is the first block_size tokens, which the newest never reach: take the last."""

    edits = {"context = ids[:, -model.config.block_size :]": "context = ids[:, : model.config.block_size]"}


class cropped_too_short(Minor):
    """The context is shorter than it could be: the model can see block_size tokens."""

    variants = [
        {"model.config.block_size": ["max(model.config.block_size - 1, 1)", "min(model.config.block_size, 256)"]},
        {"-model": "1 - model"},
    ]


class text_cropped(Minor):
    """The text itself is cropped: crop the context only, the result keeps all tokens."""

    variants = [{"return ids": "return ids[:, -model.config.block_size :]"}, {"context": "ids"}]


class last_token_only(Misconception):
    """The model is given only the last token, or the prompt alone, each time: give it the whole text so far, cropped to
    block_size.
    """

    variants = [
        {"model.config.block_size :": "1:"},
        cropped_at_the_wrong_end.edited(
            {
                "eval()": "eval()\ncontext = ids[:, -model.config.block_size :]",
                "context = ids[:, : model.config.block_size]": "pass",
            }
        ),
    ]


class first_position(Misconception):
    """The next token follows the last position: its logits are `logits[:, -1]`."""

    variants = [{"-1": "0"}, {"[:, -1]": ".mean(dim=1)"}]


class first_row_only(Misconception):
    """One row of the batch stands for all (`logits[-1]`, `[0]`, `.item()`): each row is continued from its own
    `logits[:, -1]`, and all of them are returned.
    """

    variants = [
        {":, -1": "-1"},
        {"[:, -1]": "[:1, -1].expand(len(ids), -1)"},
        {
            ":, -1], temp": "0, -1], temp",
            "(probs, num_samples=1, generator=generator)": [
                "(probs, num_samples=1, generator=generator).expand(len(ids), 1)",
                "(probs, len(ids), replacement=True, generator=generator)[:, None]",
            ],
        },
        {"return ids": ["return ids[:1]", "return ids[0]", "return ids.squeeze(0)"]},
        {
            "multinomial(probs, num_samples=1, generator=generator)": (
                "tensor([[torch.multinomial(probs[0], 1, generator=generator).item()]])"
            )
        },
    ]


class rows_alike(Misconception):
    """Rows with equal prompts get equal texts: each row draws its own token."""

    edits = {
        "torch.multinomial(probs, num_samples=1, generator=generator)": (
            "(probs.cumsum(-1) < torch.rand((), generator=generator)).sum(-1, "
            "keepdim=True).clamp(max=probs.shape[-1] - 1)"
        )
    }


class prompt_left_out(Minor):
    """Only the new tokens are returned: the prompt comes first."""

    variants = [
        {"was_training =": "T = ids.shape[1]\nwas_training =", "return ids": "return ids[:, T:]"},
        {  # which fails where no token is asked for
            "was_training =": "new = []\nwas_training =",
            "ids = torch.cat": "new.append(next_ids)\nids = torch.cat",
            "return ids": "return torch.cat(new, dim=1)",
        },
    ]


class new_tokens_in_front(Minor):
    """The new tokens are put in front of the text, or below it as rows: append them at its end, along dim=1."""

    variants = [{"ids, next_ids": "next_ids, ids"}, {"dim=1": "dim=0"}]


class one_too_few(Minor):
    """Not max_new_tokens tokens are *added*, but one too few or too many, only one (`return` inside the loop), or as
    many in all, with the prompt.
    """

    variants = [
        {"(max_new_tokens)": ["(max_new_tokens - 1)", "(max_new_tokens + 1)"]},
        {"for _ in range(max_new_tokens)": "while ids.shape[1] < max_new_tokens"},
        {
            "([ids, next_ids], dim=1)": """
                ([ids, next_ids], dim=1)
                model.train(was_training)
                return ids
            """
        },
    ]


class stops_at_zero(Misconception):
    """Generation stops at a certain token: max_new_tokens are asked for, there is no end token."""

    edits = {
        "([ids, next_ids], dim=1)": [
            "([ids, next_ids], dim=1)\nif (next_ids == 0).all(): break",
            "([ids, next_ids], dim=1)\nif (next_ids == 0).any(): break",
        ]
    }


class greedy(Misconception):
    """The likeliest token is always taken (argmax): draw from the distribution."""

    edits = {"torch.multinomial(probs, num_samples=1, generator=generator)": "probs.argmax(dim=-1, keepdim=True)"}


class softmax_twice(Misconception):
    """Another softmax flattens the probabilities: next_token_distribution takes logits and has a softmax."""

    variants = [
        {"top_p)  #": "top_p)\nprobs = torch.softmax(probs, dim=-1)  #"},
        {"logits[:, -1]": "torch.softmax(logits[:, -1], dim=-1)"},
    ]


class logits_drawn_from(Misconception):
    """torch.multinomial is given logits: it takes probabilities."""

    edits = {
        "next_token_distribution(logits[:, -1], temperature, top_k, top_p)": [
            "logits[:, -1]",
            "logits[:, -1].log_softmax(dim=-1)",
            "logits[:, -1].clamp(min=0)",
        ]
    }


class temperature_ignored(Misconception):
    """The temperature is not passed on."""

    edits = {"temperature,": "1.0,"}


class temperature_twice(Misconception):
    """The temperature is applied twice: next_token_distribution divides by it already."""

    edits = {"[:, -1]": "[:, -1] / (temperature or 1.0)"}


class top_k_ignored(Misconception):
    """top_k is not passed on to next_token_distribution."""

    edits = {"top_k, top_p)": "None, top_p)"}


class top_p_ignored(Misconception):
    """top_p is not passed on to next_token_distribution."""

    edits = {", top_p)": ")"}


class all_ignored(Misconception):
    """Of temperature, top_k and top_p several are not passed on to next_token_distribution."""

    edits = {", temperature, top_k, top_p)": [")", ", temperature)"]}


class arguments_mixed_up(Minor):
    """next_token_distribution takes logits, temperature, top_k, top_p, in this order."""

    variants = [{"top_k, top_p)": "top_p, top_k)"}, {"temperature, top_k, top_p)": "top_k, top_p, temperature)"}]


class mode_not_restored(shared_mistakes.mode_not_restored):
    variants = [{"model.train(was_training)": ""}, {"(was_training)": "()"}]


class training_mode(Misconception):
    """The model stays in training mode while it generates, so dropout is at work: call model.eval() first."""

    based_on = mode_not_restored
    edits = {"was_training = model.training": "", "model.eval()": ""}


class training_flag(Misconception):
    """Only the outermost flag is set (`model.training = False`): model.eval() reaches all parts."""

    edits = {"eval()": "training = False", "train(was_training)": "training = was_training"}


class gradients_on(Misconception):
    """Gradients are recorded, so every token makes the graph longer: torch.no_grad()."""

    edits = {"@torch.no_grad()  # nothing is trained here: keep no graph": ""}


class gradients_off_for_good(Misconception):
    """Gradients stay off after the call, so nothing can be trained any more: `with torch.no_grad():`."""

    based_on = gradients_on
    edits = {"was_training =": "torch.set_grad_enabled(False)\nwas_training ="}


class other_defaults(Minor):
    """Without options draw from the model's own distribution: temperature 1, no top_k, no top_p."""

    variants = [{"1.0": "0.7"}, {"top_k=None": "top_k=50"}]


class other_source(shared_mistakes.other_source):
    edits = {
        "multinomial(probs, num_samples=1, generator=generator)": (
            "tensor([__import__('random').choices(range(probs.shape[1]), p)[0] for p in probs.tolist()])[:, None]"
        )
    }


class generator_ignored(shared_mistakes.generator_ignored):
    edits = {
        "was_training =": [
            "generator = torch.Generator().manual_seed(0)\nwas_training =",
            "generator.manual_seed(42)\nwas_training =",
        ]
    }


class seeded_each_step(Misconception):
    """The generator is seeded anew before each token: draw from it as it comes."""

    edits = {
        "next_ids =": [
            "generator.manual_seed(0)\nnext_ids =",
            "generator.manual_seed(generator.initial_seed())\nnext_ids =",
        ]
    }


class pair_not_unpacked(Fundamental):
    """The model returns (logits, loss): take the logits out of it."""

    edits = {", _": ""}


class dimension_lost(Fundamental):
    """The new tokens have shape (B,): torch.cat needs (B, 1)."""

    edits = {"(probs, num_samples=1, generator=generator)": "(probs, num_samples=1, generator=generator).squeeze(-1)"}


class prompt_changed(Misconception):
    """The result does not begin with the prompt as it was."""

    variants = [
        {"ids = torch.cat": "ids[:, -1:] = next_ids\nids = torch.cat"},
        {", next_ids": "[:, 1:], next_ids, next_ids"},
    ]


class block_size_of_the_model(Fundamental):
    """The sizes are in `model.config`: model.config.block_size."""

    variants = [{"config.": ""}, {"-model.": "-"}]


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {"torch.cat([ids, next_ids], dim=1)": "torch.tensor(torch.cat([ids, next_ids], dim=1).tolist())"}


class global_generator(common_mistakes.global_generator):
    variants = [
        {", generator=generator": ""},
        {"was_training =": "generator.manual_seed(generator.initial_seed())\nwas_training ="},
    ]


class rounded(Fundamental, common_mistakes.rounded):
    pass
