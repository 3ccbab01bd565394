"""Wrong and right answers to `top_next_tokens`. The reference (10-hugging-face-gpt2):

def top_next_tokens(model, tokenizer, prompt, k=10):
    ids = tokenizer(prompt, return_tensors="pt").input_ids.to(model.device)  # (1, T)
    if ids.shape[1] == 0:
        raise ValueError("prompt has no tokens, so there is nothing to continue")

    was_training = model.training
    model.eval()  # no dropout
    with torch.no_grad():
        logits = model(ids).logits  # (1, T, V): a prediction after every token
    model.train(was_training)

    probs = torch.softmax(logits[0, -1], dim=-1)  # (V,): after the last token only
    best = probs.topk(k)  # sorted, the largest first
    return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class the_usual_way(RightAnswer):
    edits = {
        "model.train(was_training)": "if was_training: model.train()",
        "torch.softmax(logits[0, -1], dim=-1)": "F.softmax(logits[:, -1, :], dim=-1)",
        "best = probs.topk(k)": "top_probs, top_ids = torch.topk(probs, k, dim=-1)",
        "[(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]": (
            "[(tokenizer.decode(i), p.item()) for p, i in zip(top_probs[0], top_ids[0])]"
        ),
    }


class by_generate(RightAnswer):
    code = """
    inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
    if inputs["input_ids"].numel() == 0: raise ValueError("prompt is empty")
    mode = model.training
    model.eval()
    out = model.generate(**inputs, max_new_tokens=1, do_sample=False, output_logits=True, return_dict_in_generate=True)
    model.train(mode)
    values, indices = F.softmax(out.logits[0].squeeze(0), dim=0).topk(k)
    return list(zip(tokenizer.convert_ids_to_tokens(indices), values.tolist()))
    """


class zipped(RightAnswer):
    edits = {
        (
            "return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), "
            "strict=True)]"
        ): """
            tokens, values = tokenizer.batch_decode(best.indices[:, None]), best.values.tolist()
            return list(zip(tokens, values))
        """
    }


# Mistakes


class first_position(Misconception):
    """You read the prediction after the first token, or after the last but one: the next token's stands last, at
    `logits[0, -1]`.
    """

    edits = {", -1": [", 0", ", max(0, logits.shape[1] - 2)", ", -2"]}


class all_positions(Misconception):
    """All positions are mixed: only what is predicted after the last token belongs to the next token."""

    variants = [
        {"[0, -1]": ["[0].mean(dim=0)", "[0].sum(dim=0)"]},
        {"[0, -1], dim=-1": ["[0], dim=-1).mean(dim=0", "[0], dim=-1).amax(dim=0"]},
        {"(logits[0, -1], dim=-1)": "(logits.flatten(), dim=-1)[-logits.shape[-1] :]"},
    ]


class last_position_forgotten(Misconception):
    """The last position is not picked out: take `logits[0, -1]` before topk."""

    variants = [{"[0, -1],": ["[0],", ",", "[:, -1],"]}, {"[0, -1], dim=-1": "[0], dim=-1).flatten("}]


class softmax_over_positions(Misconception):
    """The softmax runs over the positions or the batch: over the vocabulary, the last dimension, it has to be."""

    edits = {"(logits[0, -1], dim=-1)": ["(logits[0], dim=0)[-1]", "(logits[:, -1], dim=0)[0]"]}


class log_probabilities(Minor):
    """These are logarithms of the probabilities: take softmax, not log_softmax (or exp in the end)."""

    edits = {"softmax": "log_softmax"}


class logits(Misconception):
    """These are logits, not probabilities: take the softmax over the vocabulary."""

    edits = {"torch.softmax(logits[0, -1], dim=-1)": "logits[0, -1]"}


class softmax_of_the_best(Misconception):
    """The softmax is taken over the k best alone: all tokens compete, so it comes before topk."""

    based_on = logits
    edits = {"values.": "values.softmax(-1)."}


class softmax_twice(Misconception):
    """The softmax is taken twice, which makes everything nearly equal: the model's logits need it once."""

    edits = {"logits[0, -1]": "torch.softmax(logits[0, -1], dim=-1)"}


class percent(Minor):
    """The numbers are per cent: a probability lies between 0 and 1."""

    edits = {"best.values": "(100 * best.values)"}


class rounded(Minor):
    """The probabilities are rounded, or strings: return the numbers as they are, and format them when you print."""

    edits = {
        "([i]), p": [
            "([i]), round(p, 4)",
            "([i]), round(p, 3)",
            "([i]), round(p, 2)",
            '([i]), f"{p:.3f}"',
            '([i]), f"{p:.1%}"',
        ]
    }


class not_sorted(Minor):
    """The list is not in order: the likeliest token comes first."""

    variants = [{"True)]": "True)][::-1]"}, zipped.edited({"list(zip": "sorted(zip"})]


class by_id(Misconception):
    """The tokens stand in the order of their ids, not of their probabilities."""

    variants = [
        {
            "p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True": (
                "probs[i].item()) for i in sorted(best.indices.tolist()"
            )
        },
        {"zip(best.indices.tolist(), best.values.tolist(), strict=True)": "enumerate(probs.tolist())][:k"},
    ]


class ids_for_tokens(Minor):
    """The tokens are ids: decode each of them (`tokenizer.decode([id])`)."""

    edits = {"tokenizer.decode([i])": ["i", "str(i)"]}


class k_ignored(Misconception):
    """k is not used: the list has always the same length."""

    variants = [{"(k)": ["(10)", "(5)", "(1)"]}, {"topk(k)": "sort(descending=True)"}]


class one_too_few(Minor):
    """The list is one entry too short or too long: k pairs are asked for."""

    variants = [{"(k)": ["(k - 1)", "(min(k + 1, len(probs)))"]}, {"True)]": "True)][1:]"}]


class sampled(Fundamental):
    """You draw the tokens at random instead of taking the likeliest."""

    edits = {
        "best = probs.topk(k)": [
            """
            drawn = torch.multinomial(probs, k)
            best = torch.return_types.topk((probs[drawn], drawn))
            """,
            """
            drawn = torch.multinomial(probs, k)
            values, order = probs[drawn].sort(descending=True)
            best = torch.return_types.topk((values, drawn[order]))
            """,
        ]
    }


class greedy_continuation(Misconception):
    """You continue the prompt by k tokens; asked for are k candidates for one place, the next one."""

    edits = {
        "model.train(was_training)": "",
        "best = probs.topk(k)  # sorted, the largest first": """
            result = []
            for _ in range(k):
                result.append((tokenizer.decode([probs.argmax().item()]), probs.max().item()))
                ids = torch.cat([ids, probs.argmax().view(1, 1)], dim=1)[:, -model.config.n_positions :]
                with torch.no_grad(): probs = model(ids).logits[0, -1].softmax(-1)
            model.train(was_training)
            return result
        """,
    }


class prompt_included(Misconception):
    """The strings contain the prompt too: only the next token is asked for."""

    edits = {"tokenizer.": "prompt + tokenizer."}


class one_string(Misconception):
    """The k tokens are decoded together, as one string: decode each id on its own."""

    based_on = zipped
    edits = {"batch_decode(best.indices[:, None])": "decode(best.indices)"}


class space_lost(Misconception):
    """The leading space is stripped: " dog" and "dog" are two tokens of the vocabulary, and now look alike."""

    edits = {"([i])": ["([i]).strip()", '([i]).replace(" ", "")']}


class two_lists(Minor):
    """Two lists, or a dict (in which equal strings would overwrite each other), are returned: a list of pairs is asked
    for, `list(zip(tokens, probabilities))`.
    """

    based_on = zipped
    edits = {"list(zip(tokens, values))": ["tokens, values", "values, tokens", "dict(zip(tokens, values))"]}


class pair_swapped(Minor):
    """The pairs are the wrong way round: (token, probability)."""

    edits = {"tokenizer.decode([i]), p": "p, tokenizer.decode([i])"}


class tokens_without_probabilities(Misconception):
    """Only the tokens are returned: each entry is a pair (token, probability)."""

    edits = {"(tokenizer.decode([i]), p)": "tokenizer.decode([i])"}


class not_a_float(Misconception):
    """The probabilities are tensors: `.item()` or `.tolist()` makes plain numbers of them."""

    edits = {"values.tolist()": "values"}


class not_tuples(Misconception):
    """The entries are lists, or the result is an iterator (`zip`), empty once it was read: a list of tuples
    (token, probability) is asked for.
    """

    variants = [
        {"(tokenizer.decode([i]), p)": "[tokenizer.decode([i]), p]"},
        zipped.edited({"list(zip(tokens, values))": "zip(tokens, values)"}),
        {"return [(": "return ((", "True)]": "True))"},
    ]


class dropout_left_on(shared_mistakes.dropout_left_on):
    edits = {"model.eval()  # no dropout": ""}


class mode_not_restored(Misconception):
    """The model is left in another mode (in eval mode it would be trained without dropout): end with
    `model.train(was)`.
    """

    variants = [{"model.train(was_training)": ""}, {"(was_training)": "()"}]


class device_not_kept(Misconception):
    """The ids stay on the CPU: `.to(model.device)` moves them, or nothing works on a GPU."""

    edits = {".to(model.device)": ""}


class model_frozen(shared_mistakes.model_frozen):
    edits = {"()  # no dropout": "().requires_grad_(False)"}


class bad_input_accepted(Minor):
    """A prompt without tokens is accepted, or crashes inside the model: refuse it with a ValueError that says so."""

    edits = {"if ids.shape[1] == 0:": "if False:"}


class words_split(Misconception):
    """The prompt's words are looked up one by one: the tokenizer has to encode the whole text, with its spaces."""

    variants = [
        {
            'tokenizer(prompt, return_tensors="pt").input_ids': (
                "torch.tensor([[i for w in prompt.split() for i in tokenizer.encode(w)]])"
            )
        },
        {
            "prompt, return_tensors": [
                "prompt.strip(), return_tensors",
                "prompt.lower(), return_tensors",
                'prompt + " ", return_tensors',
            ]
        },
    ]
