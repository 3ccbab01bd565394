"""Wrong and right answers to `text_perplexity`. The reference (10-hugging-face-gpt2):

def text_perplexity(model, tokenizer, text):
    ids = tokenizer(text, return_tensors="pt").input_ids.to(model.device)  # (1, N)
    N, context = ids.shape[1], model.config.n_positions
    if not 2 <= N <= context:
        raise ValueError(f"text has {N} tokens; from 2 to {context} are needed")

    was_training = model.training
    model.eval()  # no dropout
    with torch.no_grad():
        logits = model(ids).logits  # (1, N, V)
    model.train(was_training)

    predicted, targets = logits[0, :-1], ids[0, 1:]  # (N - 1, V) and (N - 1,): position i predicts token i + 1
    return F.cross_entropy(predicted, targets).exp().item()
"""

from autograder.spec.catalogue import Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class one_by_one(RightAnswer):
    edits = {
        "logits = model(ids).logits": (
            "logits = torch.cat([model(ids[:, :n]).logits[:, -1:] for n in range(1, N + 1)], dim=1)"
        ),
        "return F.cross_entropy(predicted, targets).exp().item()": """
            total = sum(row.log_softmax(dim=-1)[target].item() for row, target in zip(predicted, targets))
            return math.exp(-total / (N - 1))
        """,
    }


class gathered(RightAnswer):
    edits = {
        "return F.cross_entropy(predicted, targets).exp().item()": """
            logp = F.log_softmax(predicted, dim=-1).gather(-1, targets[:, None]).squeeze(-1)
            return float(torch.exp(-logp.sum() / (N - 1)))
        """
    }


class by_losses(RightAnswer):
    edits = {
        "return F.cross_entropy(predicted, targets)": """
            losses = F.cross_entropy(predicted, targets, reduction="none")
            return losses.mean()
        """
    }


class loss_of_the_library(RightAnswer):
    edits = {
        "logits = model(ids).logits": "loss = model(ids, labels=ids).loss",
        "predicted, targets = logits[0, :-1], ids[0, 1:]": "",
        "return F.cross_entropy(predicted, targets).exp().item()": "return math.exp(loss.item())",
    }


class base_two_throughout(RightAnswer):
    based_on = by_losses
    edits = {"losses.mean().exp().item()": "2 ** (losses.mean().item() / math.log(2))"}


# Mistakes


class sum_for_mean(Misconception):
    """You exponentiate the sum of the losses: take their mean, so that long texts compare with short ones."""

    based_on = by_losses
    variants = [
        {"mean": "sum"},
        {"return losses.mean().exp().item()": "return math.prod(1 / math.exp(-loss) for loss in losses.tolist())"},
    ]


class divided_by_N(Minor):
    """The sum of the losses is divided by N, but N − 1 tokens are predicted: nothing predicts the first."""

    based_on = by_losses
    edits = {"losses.mean()": "(losses.sum() / N)"}


class divided_by_words(Misconception):
    """The sum of the losses is divided by the number of words or characters: perplexity is per token."""

    based_on = by_losses
    edits = {"losses.mean()": ["(losses.sum() / len(text.split()))", "(losses.sum() / len(text))"]}


class divided_by_N_minus_two(Minor):
    """One token is lost in the mean: N tokens give N − 1 predictions."""

    based_on = by_losses
    edits = {
        "losses.mean()": [
            "(losses.sum() / max(1, N - 2))",
            "losses[1:].mean().exp().item() if N > 2 else losses.mean()",
            "losses[:-1].mean().exp().item() if N > 2 else losses.mean()",
        ]
    }


class mixed_bases(Minor):
    """The loss is in natural logarithms, but 2 is raised to it: use exp (or change to base 2 first)."""

    based_on = by_losses
    edits = {
        "losses.mean().exp()": ["2 ** losses.mean()", "10 ** losses.mean()", "(losses.mean() / math.log(2)).exp()"]
    }


class no_exp(Minor):
    """This is the mean loss: the perplexity is its exponential."""

    variants = [
        {"exp().": ""},
        by_losses.edited({"exp().item()": "item() / math.log(2)"}),
        {"F.cross_entropy(predicted, targets).exp()": "-F.cross_entropy(predicted, targets)"},
    ]


class inverted(Minor):
    """This is the inverse of the perplexity: the sign is lost (exp of the mean negative log probability)."""

    based_on = by_losses
    edits = {"losses.mean": "(-losses).mean"}


class entropy_of_the_predictions(Misconception):
    """What is measured is how spread the predictions are, their entropy: ask how probable the text's own tokens are."""

    edits = {
        "F.cross_entropy(predicted, targets)": ("(-(predicted.softmax(-1) * predicted.log_softmax(-1)).sum(-1)).mean()")
    }


class not_shifted(Misconception):
    """Each position is compared with its own token: it predicts the next one (logits[:-1] and ids[1:])."""

    variants = [{", :-1], ids[0, 1:": "], ids[0"}, {":-1": "1:"}, {", 1:": ", :-1"}]


class shifted_backwards(Misconception):
    """The shift goes the wrong way: the token before has been seen, the next one is predicted."""

    edits = {":-1], ids[0, 1:": "1:], ids[0, :-1"}


class shifted_twice(Misconception):
    """The targets are shifted twice: a model called with `labels` shifts them itself (`labels=ids`)."""

    edits = {
        "return F.cross_entropy(predicted, targets)": """
            with torch.no_grad(): loss = model.eval()(ids[:, :-1], labels=ids[:, 1:]).loss
            model.train(was_training)
            return loss
        """
    }


class rolled(Misconception):
    """The ids are rolled round, so that the last position is asked for the first token: leave it out."""

    edits = {"[0, :-1], ids[0, 1:]": "[0], ids[0].roll(-1)"}


class first_token_predicted(Misconception):
    """A token is put before or after the text, so one more is predicted: asked for are the text's tokens 2..N."""

    variants = [
        {
            "N, context": """
                ids = torch.cat([torch.full_like(ids[:, :1], len(tokenizer) - 1), ids], dim=1)
                N, context
            """
        },
        {
            "N, context": """
                ids = torch.cat([ids, torch.full_like(ids[:, :1], len(tokenizer) - 1)], dim=1)
                N, context
            """
        },
    ]


class last_token_only(Misconception):
    """Only one of the tokens counts: the mean runs over all predictions."""

    edits = {"[0, :-1], ids[0, 1:]": ["[0, -2:-1], ids[0, -1:]", "[0, :1], ids[0, 1:2]"]}


class mean_of_exponentials(Misconception):
    """The mean is taken after the exponential: it is the mean of the logarithms that is exponentiated."""

    based_on = by_losses
    variants = [
        {"losses.mean().exp": ["losses.exp().mean", "1 / (-losses).exp().mean"]},
        {"losses.mean().exp().item()": "sum(1 / p for p in (-losses).exp().tolist()) / (N - 1)"},
    ]


class softmax_before_loss(Misconception):
    """F.cross_entropy takes the softmax itself: give it logits, not probabilities."""

    edits = {"(predicted, targets)": "(predicted.softmax(-1), targets)"}


class softmax_over_positions(Misconception):
    """The softmax runs over the positions: over the vocabulary, the last dimension, it has to be."""

    edits = {"cross_entropy(predicted, targets)": "nll_loss(predicted.log_softmax(dim=0), targets)"}


class unstable(Misconception):
    """The logarithm is taken of a probability that has become 0, or of one to which something was added against that:
    use log_softmax or F.cross_entropy on the logits.
    """

    edits = {
        "F.cross_entropy(predicted, targets)": [
            "(-predicted.softmax(-1).gather(-1, targets[:, None]).log().mean())",
            "(-(predicted.softmax(-1).gather(-1, targets[:, None]) + 1e-10).log().mean())",
            "(-(predicted.softmax(-1).gather(-1, targets[:, None]) + 1e-9).log().mean())",
        ]
    }


class rounded(Minor):
    """The result is rounded: return it as it is, and round when you print."""

    variants = [
        {"().": "().round()."},
        {
            "F.cross_entropy(predicted, targets).exp().item()": [
                "round(F.cross_entropy(predicted, targets).exp().item())",
                "int(F.cross_entropy(predicted, targets).exp().item())",
            ]
        },
    ]


class not_a_float(Misconception):
    """The result is a tensor: `.item()` makes a float of it."""

    variants = [
        {".item()": ""},
        {
            "F.cross_entropy(predicted, targets).exp().item()": (
                "torch.exp(F.cross_entropy(predicted, targets)).view(1)"
            )
        },
    ]


class too_short_accepted(Misconception):
    """Fewer than two tokens should be a ValueError, not a result or NaN: nothing is predicted then, and has no mean."""

    variants = [
        {"not 2 <= N <=": ["N >", "not 1 <= N <="]},
        {
            "if not 2 <= N": [
                'if N < 2: return float("inf")\nif not 2 <= N',
                "if N < 2: return 1.0\nif not 2 <= N",
                'if N < 2: return float("nan")\nif not 2 <= N',
                "if N < 2: return None\nif not 2 <= N",
            ]
        },
    ]


class shortness_by_words(Misconception):
    """Whether a text is too short is a question of tokens, not of words or characters."""

    edits = {"not 2 <= N <=": "len(text.split()) < 2 or N >"}


class two_tokens_refused(Minor):
    """Two tokens are enough: the second is predicted from the first."""

    edits = {"2 <=": "2 <"}


class too_long_crashes(Misconception):
    """A text longer than the context crashes inside the model: refuse it with a ValueError."""

    edits = {"not 2 <= N <= context": "N < 2"}


class long_text_cut_off(Misconception):
    """A long text is cut off without a word, and another one is measured: refuse it with a ValueError."""

    edits = {
        "if not 2 <= N <= context": """
            ids = ids[:, :context]
            N = ids.shape[1]
            if N < 2
        """
    }


class long_text_read_in_pieces(Minor):
    """A long text is read in pieces, so tokens are predicted from less: refuse it."""

    edits = {
        "if not 2 <= N <= context": "if N < 2",
        "logits = model(ids).logits": """
            losses = []
            for start in range(0, N - 1, context - 1):
                window = ids[:, start : start + context]
                losses.append(F.cross_entropy(model(window).logits[0, :-1], window[0, 1:], reduction="none"))
        """,
        "predicted, targets = logits[0, :-1], ids[0, 1:]": "",
        "F.cross_entropy(predicted, targets)": "torch.cat(losses).mean()",
    }


class just_fitting_refused(Misconception):
    """A text of exactly as many tokens as the context has positions fits."""

    edits = {"N <=": "N <"}


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


class gradients_left(Misconception):
    """You call backward: gradients are left in the parameters, and spoil the next training step."""

    edits = {
        "with torch.no_grad():": "if True:",
        "return F": "loss = F",
        "targets).exp": """
            targets)
            loss.backward()
            return loss.exp
        """,
    }
