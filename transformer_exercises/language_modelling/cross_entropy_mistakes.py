"""Wrong and right answers to `cross_entropy`. The reference (01-language-modelling):

def cross_entropy(logits, targets):
    log_probs = torch.log_softmax(logits, dim=-1)  # (..., V): not log(softmax(...)), which meets log(0)
    log_p_target = log_probs.gather(-1, targets.unsqueeze(-1))  # (..., 1): one number for each position
    return -log_p_target.mean()
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

LOG_SOFTMAX = "torch.log_softmax(logits, dim=-1)"

# Right answers in other styles


class log_sum_exp(RightAnswer):
    code = "return (torch.logsumexp(logits, -1) - logits.gather(-1, targets[..., None]).squeeze(-1)).mean()"


class by_hand(RightAnswer):
    code = """
    top = logits.max(dim=-1, keepdim=True).values; shifted = logits - top.detach()
    log_total = shifted.exp().sum(dim=-1).log(); chosen = shifted.gather(-1, targets.unsqueeze(-1))[..., 0]
    return torch.mean(log_total - chosen)
    """


class flattened(RightAnswer):
    code = """
    logits = logits.reshape(-1, logits.size(-1))
    targets = targets.reshape(-1)
    log_probs = logits.log_softmax(dim=1)
    return -log_probs[torch.arange(len(targets), device=logits.device), targets].mean()
    """


# Mistakes


class log_of_softmax(Misconception):
    """Far below the largest logit the softmax is exactly 0, and its logarithm −inf: use log_softmax."""

    variants = [
        {"log_softmax(logits, dim=-1)": "log(torch.softmax(logits, dim=-1))"},
        {"log_softmax(": "softmax(", "gather(-1, targets.unsqueeze(-1))": "gather(-1, targets.unsqueeze(-1)).log()"},
        """
        onehot = F.one_hot(targets, logits.shape[-1]); return -(onehot * torch.softmax(logits, -1).log()).sum(-1).mean()
        """,
    ]


class no_shift(Misconception):
    """exp(1e4) overflows: subtract each row's largest logit first (logsumexp and log_softmax do it for you)."""

    variants = [
        {
            LOG_SOFTMAX: [
                "logits - logits.exp().sum(dim=-1, keepdim=True).log()",
                "(logits.exp() / logits.exp().sum(dim=-1, keepdim=True)).log()",
            ]
        },
        {  # as edits, so that it can be joined to a mistake in the last line
            LOG_SOFTMAX: "logits.exp() / logits.exp().sum(dim=-1, keepdim=True)",
            "gather(-1, targets.unsqueeze(-1))": "gather(-1, targets.unsqueeze(-1)).log()",
        },
        """
        powers = logits.exp()
        return -(powers.gather(-1, targets.unsqueeze(-1)) / powers.sum(dim=-1, keepdim=True)).log().mean()
        """,
    ]


class global_shift(Misconception):
    """The whole tensor's maximum is subtracted: rows far below it underflow. Take each row's, with keepdim=True."""

    edits = {
        LOG_SOFTMAX: [
            "logits - logits.max() - (logits - logits.max()).exp().sum(-1, True).log()",
            "torch.log(torch.exp(logits - logits.max()) / torch.exp(logits - logits.max()).sum(dim=-1, keepdim=True))",
        ]
    }


class shift_not_undone(Misconception):
    """The maximum is subtracted inside the logarithm only: log Σ exp(x) = m + log Σ exp(x − m)."""

    edits = {
        LOG_SOFTMAX: [
            "logits - (logits - logits.amax(-1, True)).exp().sum(-1, True).log()",
            "logits - logits.amax(dim=-1, keepdim=True) - logits.exp().sum(dim=-1, keepdim=True).log()",
        ]
    }


class epsilon(Misconception):
    """A small number, or a clamp, only hides log(0) or the overflow, and changes the loss: log_softmax stays exact."""

    variants = [
        {
            "log_softmax(logits, dim=-1)": [
                f"log(torch.softmax(logits, dim=-1){part})"
                for part in (
                    " + 1e-9",
                    " + 1e-12",
                    " + 1e-10",
                    " + 1e-8",
                    " + 1e-7",
                    " + 1e-6",
                    " + 1e-5",
                    " + 1e-20",
                    ".clamp(min=1e-12)",
                    ".clamp(min=1e-10)",
                    ".clamp(min=1e-9)",
                    ".clamp(min=1e-8)",
                    ".clamp(min=1e-7)",
                    ".clamp(min=1e-6)",
                )
            ]
        },
        {", dim": [".clamp(-80, 80), dim", ".clamp(-100, 100), dim", ".clamp(-50, 50), dim", ".clamp(max=80), dim"]},
    ]


class first_dimension(Misconception):
    """The softmax runs over the positions: it belongs on the vocabulary, the last dimension (dim=-1)."""

    variants = [{"=-1": "=0"}, {"log_softmax(logits, dim=-1)": "softmax(logits, dim=0).log()"}]


class second_dimension(Minor):
    """dim=1 is the vocabulary only when the logits have two dimensions: use dim=-1, the last one."""

    variants = [
        {"=-": "="},
        {"dim=-1)": "dim=min(1, logits.dim() - 1))"},
        {"=-": "=", "-1, targets.unsqueeze(-1)": "1, targets.unsqueeze(1)"},
        {"unsqueeze(-1)": "unsqueeze(1)"},
    ]


class whole_tensor(Misconception):
    """One softmax runs over all logits together: each position has its own, along the last dimension."""

    edits = {LOG_SOFTMAX: "logits - logits.flatten().logsumexp(0)"}


class two_dimensions_only(Misconception):
    """Only some shapes work; logits are (V,), (N, V), (B, T, V) or more. Flatten both, or use `gather` along dim=-1."""

    variants = [
        "return -torch.log_softmax(logits, dim=-1)[torch.arange(len(targets)), targets].mean()",
        "N, V = logits.shape; return -torch.log_softmax(logits, dim=-1)[range(N), targets].mean()",
        """
    losses = [torch.logsumexp(row, 0) - row[t] for row, t in zip(logits, targets)]; return torch.stack(losses).mean()
        """,
        {"-1, targets.unsqueeze(-1)": "1, targets[:, None]"},
        {"log_probs =": "B, T, V = logits.shape\nlog_probs ="},
        {
            ".gather(-1, targets.unsqueeze(-1))": (
                "[torch.arange(logits.shape[0])[:, None], torch.arange(logits.shape[1]), targets]"
            )
        },
        {"(logits, dim=-1)": "(logits, dim=-1)\ntargets[0]"},
    ]


class dimension_lost_or_kept(Misconception):
    """One term is (…, 1), the other (…), so all positions are paired: give both one shape."""

    variants = [
        "return (logits.logsumexp(-1) - logits.gather(-1, targets.unsqueeze(-1))).mean()",
        {"torch.log_softmax(logits, dim=": "logits - logits.logsumexp("},
    ]


class index_without_dimension(Fundamental):
    """`gather` needs an index with as many dimensions as the logits: targets.unsqueeze(-1)."""

    edits = {".unsqueeze(-1)": ""}


class accuracy(Fundamental):
    """The share of right predictions is returned: the loss is −log p(target)."""

    variants = [
        "return (logits.argmax(-1) == targets).float().mean()",
        "return (logits.argmax(-1) != targets).float().mean()",
        "return -(logits.argmax(-1) == targets).float().mean()",
    ]


class sum_(Minor):
    """The losses are added up: their mean over all positions is asked for."""

    edits = {"mean": "sum"}


class mean_over_first_only(Minor):
    """The sum is divided by the size of one dimension only: the mean runs over *all* positions."""

    edits = {
        "mean()": ["sum() / (len(targets) if targets.dim() else 1)", "sum() / logits.shape[0]", "sum() / len(targets)"]
    }


class mean_over_last_only(Misconception):
    """The mean runs over one dimension, so one number for each row is left: take all positions."""

    edits = {"mean()": ["squeeze(-1).mean(dim=-1)", "mean(dim=0)"]}


class not_averaged(Minor):
    """One loss for each position is returned: a single number is asked for, their mean."""

    variants = [{"mean()": "squeeze(-1)"}, {".mean()": ""}]


class divided_by_vocabulary(Misconception):
    """The mean also runs over the vocabulary, so the loss is V times too small: sum over it first."""

    edits = {"mean()": "mean() / logits.shape[-1]"}


class positive(Minor):
    """The sign is wrong: the loss is *minus* the log-probability, so it is never negative."""

    edits = {"-log_p_target": "log_p_target"}


class not_logarithm(Misconception):
    """The probabilities themselves are averaged: their logarithms are asked for."""

    variants = [{"log_softmax": "softmax"}, {"log_softmax": "softmax", "-log_p_target": "1 - log_p_target"}]


class log_of_mean(Misconception):
    """The logarithm is taken of the mean probability: take the mean of the logarithms."""

    based_on = not_logarithm
    edits = {"mean()": "mean().log()"}


class no_softmax(Misconception):
    """The logits are used as log-probabilities, or as probabilities: normalise them first (log_softmax)."""

    variants = [
        {LOG_SOFTMAX: "logits"},
        {"log_softmax(logits, dim=-1)": ["log(logits)", "log(logits.clamp(min=1e-9))"]},
    ]


class softmax_twice(Misconception):
    """The softmax is applied twice (log_softmax of probabilities): the logits go straight into log_softmax."""

    edits = {"logits, dim": "torch.softmax(logits, dim=-1), dim"}


class sigmoid(Misconception):
    """Each logit goes through a sigmoid on its own: the softmax makes probabilities over the vocabulary."""

    edits = {LOG_SOFTMAX: ["F.logsigmoid(logits)", "torch.sigmoid(logits).log()"]}


class base_two(Minor):
    """The loss is in bits, or has base 10: the natural logarithm is asked for."""

    variants = [
        {"mean()": "mean() / math.log(2)"},
        {"log_softmax(logits, dim=-1)": "log2(torch.softmax(logits, dim=-1))"},
        {"log_softmax(logits, dim=-1)": "log10(torch.softmax(logits, dim=-1))"},
        {"mean()": "mean() / math.log(10)"},
    ]


class entropy(Fundamental):
    """The targets decide whose −log p counts: not the likeliest token, all tokens or the model's own distribution."""

    variants = [
        "logs = torch.log_softmax(logits, -1); return -(logs.exp() * logs).sum(-1).mean()",
        {"gather(-1, targets.unsqueeze(-1))": "amax(dim=-1, keepdim=True)"},
        {"log_probs.gather(-1, targets.unsqueeze(-1))": "log_probs"},
    ]


class every_target_in_every_row(Misconception):
    """`log_probs[..., targets]` looks up every target in every row: each row has one target of its own (gather)."""

    edits = {"log_probs.gather(-1, targets.unsqueeze(-1))": "log_probs[..., targets]"}


class targets_shifted(Misconception):
    """The targets are shifted inside: each belongs to the logits at its own position."""

    variants = [
        {", dim": "[:-1], dim", "targets.": "targets[1:]."},
        {"targets.": "targets.roll(-1, dims=-1).unsqueeze(-1)) if targets.dim() else log_probs.gather(-1, targets."},
    ]


class last_position_only(Misconception):
    """Only one position is used: the mean runs over all of them."""

    variants = [
        """
        logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1); return -logs[-1, targets.reshape(-1)[-1]]
        """,
        """
        logs = torch.log_softmax(logits.reshape(-1, logits.shape[-1]), -1); return -logs[0, targets.reshape(-1)[0]]
        """,
    ]


class zero_ignored(Misconception):
    """Target 0 is treated as padding and left out: no token was said to be padding here."""

    variants = [
        {
            "-log_p_target.mean()": (
                "-(log_p_target.squeeze(-1) * (targets != 0)).sum() / (targets != 0).sum().clamp(min=1)"
            )
        },
        {".mean": "[targets.unsqueeze(-1) != 0].mean"},
    ]


class perplexity(Misconception):
    """The exponential of the loss is returned, which is the perplexity: the loss itself is asked for."""

    edits = {"-log_p_target.mean": "(-log_p_target.mean()).exp"}


class smoothed(Misconception):
    """The targets are smoothed (label smoothing): the plain cross-entropy is asked for."""

    edits = {"-log_p_target": "-0.9 * log_p_target.mean() - 0.1 * log_probs"}


class square_error(Misconception):
    """Another loss is returned (squared errors, binary cross-entropy): only the target's −log p counts."""

    variants = [
        "return ((torch.softmax(logits, -1) - F.one_hot(targets, logits.shape[-1])) ** 2).mean()",
        "return ((torch.softmax(logits, -1) - F.one_hot(targets, logits.shape[-1])) ** 2).sum(-1).mean()",
        "return F.binary_cross_entropy_with_logits(logits, F.one_hot(targets, logits.shape[-1]).to(logits.dtype))",
    ]


class rounded(common_mistakes.rounded):
    edits = {"-log_p_target.mean()": "round(-log_p_target.mean().item(), 4)"}


class gradient_cut_off(common_mistakes.gradient_cut_off):
    variants = [
        {
            "-log_p_target.mean()": [
                "torch.tensor(-log_p_target.mean().item(), dtype=logits.dtype, device=logits.device)",
                "torch.tensor(-log_p_target.mean().item())",
            ]
        },
        {
            "return -log_p_target.mean()": """
                import numpy as np
                return torch.tensor(-np.mean(log_p_target.numpy()))
            """
        },
    ]


class view_needed(Minor, shared_mistakes.view_needed):
    based_on = flattened
    edits = {"reshape(-1)": "view(-1)"}


class dimensions_lost(Misconception):
    """All dimensions of size 1 are taken out (`squeeze()`), a vocabulary of one too: name it, `squeeze(-1)`."""

    edits = {"log_probs =": "logits, targets = logits.squeeze(), targets.squeeze()\nlog_probs ="}


class normaliser_detached(Misconception):
    """The sum of exponentials is detached: the values are right, but other tokens are never pushed down."""

    edits = {LOG_SOFTMAX: "logits - logits.logsumexp(-1, keepdim=True).detach()"}


class double_precision(common_mistakes.double_precision):
    edits = {", dim": ".double(), dim"}


class single_precision(common_mistakes.single_precision):
    edits = {", dim": ".float(), dim"}


class input_changed(common_mistakes.input_changed):
    variants = [
        {
            "log_probs =": [
                "logits -= logits.amax(dim=-1, keepdim=True)\nlog_probs =",
                "logits.data -= logits.amax(dim=-1, keepdim=True)\nlog_probs =",
            ]
        },
        """
        logits.sub_(logits.logsumexp(dim=-1, keepdim=True)); return -logits.gather(-1, targets.unsqueeze(-1)).mean()
        """,
    ]


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {
        "log_probs.gather(-1, targets.unsqueeze(-1))": (
            "(log_probs * torch.eye(logits.shape[-1], dtype=logits.dtype)[targets]).sum(-1)"
        )
    }
