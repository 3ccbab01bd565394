"""Wrong and right answers to `label_smoothed_loss`. The reference (11-translation):

def label_smoothed_loss(logits, targets, smoothing, pad_id):
    if not 0 <= smoothing <= 1:
        raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
    real = targets != pad_id  # (...)
    log_probs = torch.log_softmax(logits[real], dim=-1)  # (N, V): the N targets that count
    right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1)  # (N,)
    evenly = log_probs.mean(dim=-1)  # (N,): each token with weight 1 / V
    return -((1 - smoothing) * right + smoothing * evenly).mean()
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class masked(RightAnswer):
    code = """
    if not 0 <= smoothing <= 1: raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
    V = logits.shape[-1]
    real = targets != pad_id
    index = targets.masked_fill(~real, 0)
    log_probs = torch.log_softmax(logits, dim=-1)
    nll = -log_probs.gather(-1, index[..., None])[..., 0]
    smooth = -log_probs.mean(-1)
    loss = (1 - smoothing) * nll + smoothing * smooth
    return (loss * real).sum() / real.sum()
    """


class logsumexp(RightAnswer):
    code = """
    if smoothing > 1 or smoothing < 0: raise ValueError("smoothing out of range")
    V, keep = logits.size(-1), torch.nonzero(targets.flatten() != pad_id)[:, 0]
    logits, targets = logits.reshape(-1, V)[keep], targets.flatten()[keep]
    chosen = logits[torch.arange(len(keep), device=logits.device), targets]
    return (logits.logsumexp(-1) - (1 - smoothing) * chosen - smoothing * logits.sum(-1) / V).mean()
    """


class loop(RightAnswer):
    code = """
    if not (smoothing >= 0 and smoothing <= 1): raise ValueError("smoothing")
    losses = []
    for row, target in zip(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1).tolist()):
        log_p = row - torch.logsumexp(row, 0)
        if target != pad_id: losses.append(-(1 - smoothing) * log_p[target] - smoothing * log_p.mean())
    return sum(losses) / len(losses)
    """


class smoothed_targets(RightAnswer):
    code = """
    if not 0 <= smoothing <= 1: raise ValueError("smoothing")
    V, real = logits.shape[-1], targets != pad_id
    wanted = (1 - smoothing) * F.one_hot(targets[real], V).to(logits.dtype) + smoothing / V
    return F.cross_entropy(logits[real], wanted)
    """


# Mistakes


class smoothing_ignored(Fundamental):
    """smoothing makes no difference: this share is spread evenly over all tokens."""

    edits = {"((1 - smoothing) * right + smoothing * evenly)": "right"}


class right_token_only(Misconception):
    """Only the right token counts: the share taken from it goes to all tokens evenly."""

    edits = {
        "smoothing) * right + smoothing * evenly": [
            "smoothing) * right",
            "smoothing + smoothing / logits.shape[-1]) * right",
        ]
    }


class shares_swapped(Minor):
    """The shares are swapped: 1 - smoothing is the right token's, smoothing the even part's."""

    edits = {"(1 - smoothing) * right + smoothing": "smoothing * right + (1 - smoothing)"}


class right_token_keeps_all(Misconception):
    """The right token keeps its weight of 1: it gives away the share that is spread."""

    edits = {"(1 - smoothing) * right": "right"}


class spread_over_the_others(Minor):
    """The share is spread over the *other* tokens: the right one too has smoothing / V."""

    edits = {
        "log_probs.mean(dim=-1)": [
            f"(log_probs.sum(dim=-1) - right) / {part}"
            for part in ("(logits.shape[-1] - 1)", "logits.shape[-1]", "(logits.shape[-1] - 2)")
        ]
    }


class spread_without_padding(Misconception):
    """The share is not spread over the padding token: pad_id only says which *targets* to leave out."""

    variants = [
        {
            "log_probs.mean(dim=-1)": [
                "log_probs[:, others].mean(dim=-1)",
                "log_probs[:, others].sum(dim=-1) / logits.shape[-1]",
                "(log_probs[:, others].sum(dim=-1) - right) / max(logits.shape[-1] - 2, 1)",
            ],
            "evenly =": """
                others = torch.arange(logits.shape[-1], device=logits.device) != pad_id
                evenly =
            """,
        },
        """
        if not 0 <= smoothing <= 1:
            raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
        V = logits.shape[-1]
        weight = torch.ones(V, dtype=logits.dtype, device=logits.device)
        weight[pad_id] = 0
        return F.cross_entropy(logits.reshape(-1, V), targets.reshape(-1), weight, label_smoothing=smoothing)
        """,
    ]


class annotated_transformer(Misconception):
    """This is the Annotated Transformer's smoothing: smoothing / (V − 2) for each *other* token, nothing for padding.
    PyTorch's, asked for here, gives smoothing / V to every token, the right one and pad_id among them.
    """

    variants = [
        """
        if not 0 <= smoothing <= 1:
            raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
        V = logits.shape[-1]
        log_probs, target = torch.log_softmax(logits, dim=-1).reshape(-1, V), targets.reshape(-1)
        wanted = torch.full_like(log_probs, smoothing / (V - 2))
        wanted.scatter_(1, target[:, None], 1 - smoothing)
        wanted[:, pad_id] = 0
        wanted[target == pad_id] = 0
        return -(wanted * log_probs).sum() / (target != pad_id).sum()
        """,
        """
        if not 0 <= smoothing <= 1:
            raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
        V = logits.shape[-1]
        log_probs, target = torch.log_softmax(logits, dim=-1).reshape(-1, V), targets.reshape(-1)
        wanted = torch.full_like(log_probs, smoothing / (V - 2))
        wanted.scatter_(1, target[:, None], 1 - smoothing)
        wanted[:, pad_id] = 0
        wanted[target == pad_id] = 0
        return F.kl_div(log_probs, wanted, reduction="sum") / (target != pad_id).sum()
        """,
        """
        if not 0 <= smoothing <= 1:
            raise ValueError(f"smoothing must be between 0 and 1; got {smoothing}")
        V = logits.shape[-1]
        log_probs, target = torch.log_softmax(logits, dim=-1).reshape(-1, V), targets.reshape(-1)
        wanted = torch.full_like(log_probs, smoothing / (V - 2))
        wanted.scatter_(1, target[:, None], 1 - smoothing)
        wanted[:, pad_id] = 0
        wanted[target == pad_id] = 0
        return F.kl_div(log_probs, wanted, reduction="batchmean")
        """,
        {
            "evenly = log_probs.mean(dim=-1)": """
                wanted = torch.full_like(log_probs, smoothing / (logits.shape[-1] - 2))
                wanted.scatter_(1, targets[real][:, None], 1 - smoothing)
                wanted[:, pad_id] = 0
            """,
            "-((1 - smoothing) * right + smoothing * evenly)": "-(wanted * log_probs).sum(dim=-1)",
        },
        {
            "evenly = log_probs.mean(dim=-1)": """
                wanted = torch.full_like(log_probs, smoothing / (logits.shape[-1] - 2))
                wanted.scatter_(1, targets[real][:, None], 1 - smoothing)
                if 0 <= pad_id < logits.shape[-1]: wanted[:, pad_id] = 0
            """,
            "-((1 - smoothing) * right + smoothing * evenly)": "-(wanted * log_probs).sum(dim=-1)",
        },
        {
            "evenly = log_probs.mean(dim=-1)": """
                wanted = torch.full_like(log_probs, smoothing / (logits.shape[-1] - 2))
                wanted.scatter_(1, targets[real][:, None], 1 - smoothing)
            """,
            "-((1 - smoothing) * right + smoothing * evenly)": "-(wanted * log_probs).sum(dim=-1)",
        },
    ]


class even_part_summed(Misconception):
    """The even part lacks its weight 1 / V, or has 1 / (V − 1): each token has smoothing / V."""

    edits = {"mean(dim=-1)": ["sum(dim=-1)", "sum(dim=-1) / (logits.shape[-1] - 1)"]}


class mean_of_probabilities(Misconception):
    """The even part is made of probabilities: take the mean of the *log*-probabilities."""

    variants = [
        {"mean(dim=-1)": ["exp().mean(dim=-1)", "exp().mean(dim=-1).log()"]},
        {"log_probs.mean": "logits[real].mean"},
    ]


class probabilities_smoothed(Misconception):
    """The *predictions* are smoothed: label smoothing changes the targets, and mixes two logarithms."""

    edits = {"right + smoothing * evenly": "right.exp() + smoothing / logits.shape[-1]).log("}


class kl_divergence(Misconception):
    """The targets' entropy is subtracted (a KL divergence): cross-entropy is asked for."""

    based_on = masked
    edits = {
        "loss = (1 - smoothing) * nll + smoothing * smooth": """
            wanted = F.one_hot(index, V).to(logits.dtype) * (1 - smoothing) + smoothing / V
            loss = F.kl_div(log_probs, wanted, reduction='none').sum(-1)
        """
    }


class padding_in_the_mean(Minor):
    """Padding counts in the mean: divide by the number of other targets."""

    edits = {").mean()": ").sum() / targets.numel()"}


class padding_counted(Misconception):
    """Padding counts like any other target: targets equal to pad_id are left out."""

    variants = [
        {"targets != pad_id": "torch.ones_like(targets, dtype=torch.bool)"},
        {"targets != pad_id": "torch.ones_like(targets, dtype=torch.bool)", "[real][": "[real].clamp(min=0)["},
    ]


class padding_in_one_part(Misconception):
    """Padding is left out of one part only: both are means over the other targets."""

    variants = [
        {"log_probs.mean(dim=-1)": "torch.log_softmax(logits, dim=-1).mean()"},
        {
            "log_probs.gather(-1, targets[real][:, None]).squeeze(-1)": (
                "torch.log_softmax(logits, dim=-1).gather(-1, targets.clamp(min=0)[..., None]).mean()"
            )
        },
        masked.edited(
            {
                "(loss * real).sum()": "((1 - smoothing) * (nll * real).sum() + smoothing * smooth.sum())",
                "loss = (1 - smoothing) * nll + smoothing * smooth": "",
            }
        ),
    ]


class only_padding(Minor):
    """The condition is the wrong way round: what is *not* padding counts."""

    edits = {"!=": "=="}


class padding_is_zero(Misconception):
    """pad_id is taken to be 0: compare with the pad_id that is given."""

    edits = {"!= pad_id": ["!= 0", "> 0"]}


class row_by_row(Minor):
    """The mean is taken row by row first: all targets but padding weigh the same."""

    based_on = masked
    edits = {
        "loss * real).sum() / real.sum": [
            "(loss * real).sum(-1) / real.sum(-1).clamp(min=1)).mean",
            "(loss * real).sum(-1) / real.sum(-1)).mean",
        ]
    }


class summed(Minor):
    """The losses are added up: their mean is asked for."""

    variants = [{"mean()": "sum()"}, masked.edited({"real.sum(": "len(targets"})]


class vocabulary_averaged(Minor):
    """The mean runs over the vocabulary, too: it is over the targets, and each target's loss is a sum."""

    edits = {"evenly).mean()": "evenly).mean() / logits.shape[-1]"}


class not_reduced(Minor):
    """The result has dimensions: the losses one by one, or shape (1,). A scalar is asked for, the mean of all."""

    variants = [
        {".mean()": ""},
        masked.edited({"(loss * real).sum() / real.sum()": "loss * real"}),
        {"mean()": "mean()[None]"},
    ]


class sign(Minor):
    """The sign is wrong: log-probabilities are negative, a loss is positive."""

    variants = [{"-(": "("}, {"smoothing *": "-smoothing *"}]


class softmax_of_another_dimension(Misconception):
    """The softmax runs over the wrong dimension: over the vocabulary, the last one."""

    variants = [{", dim=-1": ", dim=0"}, {"(logits[real], dim=-1)": ["(logits, dim=0)[real]", "(logits, dim=1)[real]"]}]


class softmax_twice(Misconception):
    """A softmax is taken of what is one already: logits, then log_softmax, once."""

    variants = [
        {"logits[real]": "torch.softmax(logits[real], dim=-1)"},
        {"torch.log_softmax(logits[real], dim=-1)": "logits[real]"},
        {"log_softmax": "softmax"},
    ]


class log_of_softmax(Misconception):
    """log(softmax(…)) gives −∞ or NaN for large logits, and another loss if a small number or clipping prevents that:
    use torch.log_softmax.
    """

    variants = [
        {"log_softmax(logits[real], dim=-1)": "softmax(logits[real], dim=-1).log()"},
        {"torch.log_softmax(logits[real], dim=-1)": "logits[real] - logits[real].exp().sum(-1, keepdim=True).log()"},
        *(
            {"torch.log_softmax(logits[real], dim=-1)": f"(torch.softmax(logits[real], dim=-1) + {least}).log()"}
            for least in ("1e-9", "1e-8", "1e-10", "1e-12")
        ),
        *(
            {"log_softmax(logits[real], dim=-1)": f"softmax(logits[real], dim=-1).clamp(min={least}).log()"}
            for least in ("1e-8", "1e-9", "1e-10", "1e-12")
        ),
    ]


class fixed_shape(Misconception):
    """Only one number of dimensions works: logits [..., V] may have any, or none."""

    variants = [
        *(
            f"""
            if not 0 <= smoothing <= 1: raise ValueError("smoothing")
            return F.cross_entropy({given}, targets, ignore_index=pad_id, label_smoothing=smoothing)
            """
            for given in ("logits", "logits.transpose(1, 2)", "logits.permute(0, 2, 1)")
        ),
        {
            "real =": [
                "B, T, V = logits.shape\nreal =",
                "N, V = logits.shape\nreal =",
                "B, T, V = logits.shape if logits.dim() == 3 else (1, *logits.shape)\nreal =",
                """
                if logits.dim() == 3: logits, targets = logits.flatten(0, 1), targets.flatten()
                N, V = logits.shape
                real =
                """,
            ]
        },
    ]


class one_target_alone(Minor):
    """Logits [V] and a target without dimensions stop it: leading dimensions may be none, as in `reshape(-1, V)`."""

    variants = [
        {"real =": "logits, targets = logits.flatten(0, -2), targets.flatten()\nreal ="},
        {"real = targets != pad_id": "real = (targets != pad_id).nonzero(as_tuple=True)"},
    ]


class padding_as_index(Misconception):
    """A pad_id outside the vocabulary (-100, say) is used as an index: take the padding out first."""

    variants = [
        masked.edited({"index[": "targets["}),
        masked.edited(
            {
                "index = targets.masked_fill(~real, 0)": """
                    logits, targets, real = logits.reshape(-1, V), targets.reshape(-1), real.reshape(-1)
                """,
                "index[": "targets[",
            }
        ),
    ]


class gradient_cut_off(common_mistakes.gradient_cut_off):
    edits = {"log_probs.mean": "log_probs.detach().mean"}


class a_number(Minor):
    """A Python number is returned: return a scalar tensor, or there is nothing to train by."""

    edits = {"mean()": "mean().item()"}


class input_changed(common_mistakes.input_changed):
    edits = {"targets != pad_id": ["targets != pad_id\ntargets[~real] = 0", "targets != pad_id\nlogits.data.sub_(1.0)"]}


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {
        "log_probs.mean(dim=-1)": (
            "log_probs @ torch.full(logits.shape[-1:], 1 / logits.shape[-1], dtype=logits.dtype)"
        )
    }


class not_contiguous(Misconception):
    """`.view` fails for tensors that are not contiguous: use `.reshape` or `.flatten`."""

    edits = {"real =": "logits, targets = logits.view(-1, logits.shape[-1]), targets.view(-1)\nreal ="}


class bad_input_accepted(Minor):
    """A smoothing below 0 or above 1 is accepted: raise a ValueError that names it."""

    edits = {"not 0 <= smoothing <= 1": ["False", "smoothing < 0", "smoothing > 1"]}


class limits_refused(Minor):
    """smoothing = 0 or smoothing = 1 is refused: both are allowed."""

    edits = {"0 <= smoothing <= 1": ["0 < smoothing <= 1", "0 <= smoothing < 1", "0 < smoothing < 1"]}
