"""Wrong and right answers to `sgns_loss`. The reference (03-embeddings):

def sgns_loss(centre, context, negatives):
    positive = (centre * context).sum(dim=-1)  # (B,)
    negative = (negatives * centre[:, None, :]).sum(dim=-1)  # (B, K)
    loss = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1)  # (B,); log(sigmoid(x)) would give -inf
    return loss.mean()
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Minor, Misconception, RightAnswer

from .. import shared_mistakes

NEGATIVE_SCORES = "(negatives * centre[:, None, :]).sum(dim=-1)"

# Right answers in other styles


class softplus_and_einsum(RightAnswer):
    code = """
    positive, negative = torch.einsum("bc,bc->b", centre, context), torch.einsum("bkc,bc->bk", negatives, centre)
    return (F.softplus(-positive) + F.softplus(negative).sum(1)).mean()
    """


class batched_product(RightAnswer):
    code = """
    pos = torch.bmm(context.unsqueeze(1), centre.unsqueeze(2)).view(-1)
    neg = torch.bmm(negatives, centre.unsqueeze(2)).squeeze(2)
    return -(F.logsigmoid(pos).mean() + F.logsigmoid(-neg).sum(1).mean())
    """


class logaddexp(RightAnswer):
    edits = {
        "loss =": "zero = torch.zeros((), dtype=centre.dtype, device=centre.device)\nloss =",
        "-F.logsigmoid(positive) -": "torch.logaddexp(zero, -positive) +",
        "F.logsigmoid(-negative)": "torch.logaddexp(zero, negative)",
    }


# Mistakes


class mean_over_negatives(Minor):
    """The negatives are averaged: sum their terms for each pair; the mean is over B only."""

    edits = {"negative).sum(": "negative).mean("}


class mean_over_everything(Misconception):
    """The mean is over all terms together: sum a pair's 1 + K terms, then take the mean over B."""

    edits = {"mean()": "mean() / (1 + negatives.shape[1])"}


class halved(Minor):
    """The two terms are averaged (divided by 2): a pair's term and its negatives' are added."""

    edits = {"loss.mean()": "loss.mean() / 2"}


class sum_over_batch(Minor):
    """The losses of the batch are summed: the mean over B is asked for."""

    variants = [{"mean": "sum"}, {"negative).sum(dim=-1": "negative).sum("}]


class no_mean(Minor):
    """One loss for each pair is returned: a scalar is asked for, their mean."""

    edits = {".mean()": ""}


class one_number_in_a_tensor(Minor):
    """The result has shape (1,): a scalar (no dimensions) is asked for."""

    edits = {"mean()": "mean(dim=0, keepdim=True)"}


class negatives_not_negated(Misconception):
    """The negatives are treated like contexts: a minus sign stands inside their σ, −log σ(−c·n)."""

    edits = {"-negative": "negative"}


class negatives_added(Misconception):
    """The negatives' term lacks its minus sign, and pushes the wrong way: −Σ log σ(−c·n)."""

    edits = {"- F": "+ F"}


class negatives_twice_wrong(Misconception):
    """The negatives' minus sign is outside σ: +log σ(c·n) is not −log σ(−c·n)."""

    edits = {"- F.logsigmoid(-negative)": "+ F.logsigmoid(negative)"}


class positive_negated(Misconception):
    """The score of the true pair has a minus sign: −log σ(c·o) pulls the two together."""

    variants = [
        {
            "positive) - F.logsigmoid(-negative": [
                "-positive) - F.logsigmoid(-negative",
                "-positive) - F.logsigmoid(negative",
            ]
        },
        {"-F": "F"},
    ]


class sign_of_the_loss(Minor):
    """The sign of the whole is wrong: log-probabilities are negative, a loss is minus their sum."""

    edits = {"loss.mean()": "-loss.mean()"}


class no_logarithm(Misconception):
    """The logarithm is missing: −log σ(…), not −σ(…)."""

    edits = {"logsigmoid": "sigmoid"}


class no_sigmoid(Misconception):
    """The σ is missing: scores are turned into probabilities first, log σ(…)."""

    variants = [
        {"F.logsigmoid(positive) - F.logsigmoid(-negative)": "positive + negative"},
        {"F.logsigmoid(positive)": "positive"},
        {"F.logsigmoid(-negative)": "(-negative)"},
        {"F.logsigmoid": "torch.log"},
    ]


class other_base(Minor):
    """The logarithm has another base: the natural one is asked for (torch.log)."""

    edits = {"mean()": ["mean() / math.log(2)", "mean() / math.log(10)"]}


class unstable(Misconception):
    """log(sigmoid(x)) is −inf for very negative scores, and its gradient NaN: F.logsigmoid does both at once."""

    variants = [
        {
            "F.logsigmoid(-negative)": "torch.log(torch.sigmoid(-negative))",
            "F.logsigmoid(positive)": "torch.log(torch.sigmoid(positive))",
        },
        {"F.logsigmoid(-negative)": "torch.log(torch.sigmoid(-negative))"},
        {"F.logsigmoid(positive)": "torch.log(torch.sigmoid(positive))"},
    ]


class epsilon_in_the_logarithm(Misconception):
    """A small number in the logarithm, or a clamp, stops learning where the model errs most: use F.logsigmoid."""

    variants = [
        {
            "positive =": [
                "e = 1e-10\npositive =",
                "e = 1e-9\npositive =",
                "e = 1e-8\npositive =",
                "e = 1e-7\npositive =",
                "e = 1e-12\npositive =",
                "e = 1e-6\npositive =",
            ],
            "F.logsigmoid(positive)": "torch.log(torch.sigmoid(positive) + e)",
            "F.logsigmoid(-negative)": "torch.log(torch.sigmoid(-negative) + e)",
        },
        {
            "positive =": [
                "e = 1e-10\npositive =",
                "e = 1e-9\npositive =",
                "e = 1e-8\npositive =",
                "e = 1e-7\npositive =",
                "e = 1e-12\npositive =",
                "e = 1e-6\npositive =",
            ],
            "F.logsigmoid(positive)": "torch.log(torch.sigmoid(positive).clamp(min=e))",
            "F.logsigmoid(-negative)": "torch.log(torch.sigmoid(-negative).clamp(min=e))",
        },
        {
            "loss =": [
                """
                m = 10
                positive, negative = positive.clamp(-m, m), negative.clamp(-m, m)
                loss =
                """,
                """
                m = 20
                positive, negative = positive.clamp(-m, m), negative.clamp(-m, m)
                loss =
                """,
                """
                m = 50
                positive, negative = positive.clamp(-m, m), negative.clamp(-m, m)
                loss =
                """,
            ]
        },
        {
            "-F.logsigmoid(positive) - F.logsigmoid(-negative)": r"""
                F.binary_cross_entropy(positive.sigmoid(), torch.ones_like(positive), reduction='none') + \
                    F.binary_cross_entropy(negative.sigmoid(), torch.zeros_like(negative), reduction='none')
            """
        },
    ]


class positive_only(Misconception):
    """The negatives are left out: without them all vectors would become the same."""

    edits = {"- F.logsigmoid(-negative).sum(dim=-1)": ""}


class negatives_only(Misconception):
    """The true pair is left out: −log σ(c·o) belongs to the loss."""

    edits = {"F.logsigmoid(positive) -": ""}


class sum_over_the_wrong_dimension(Misconception):
    """The negatives' terms are summed over the batch: sum over K (dim=1), average over B."""

    edits = {"negative).sum(dim=-1": "negative).sum(dim=0).mean("}


class positive_counted_for_each_negative(Misconception):
    """The true pair's term is counted K times: it belongs to the loss once."""

    edits = {"-F": "-negatives.shape[1] * F"}


class squeezed(Minor):
    """`squeeze()` removes every dimension of size 1, so B = 1 or K = 1 fails: name the dimension, squeeze(-1)."""

    variants = [
        {NEGATIVE_SCORES: "torch.bmm(negatives, centre[:, :, None]).squeeze()"},
        {NEGATIVE_SCORES: f"{NEGATIVE_SCORES}.squeeze()", "negative).sum(dim=-": "negative).sum(dim="},
    ]


class one_negative(Misconception):
    """Only one of the K negatives counts: their terms are summed."""

    edits = {"(-negative).sum(dim=-1)": ["(-negative)[:, 0]", "(-negative)[:, -1]"]}


class summed_inside(Misconception):
    """The negatives' scores are summed before log σ: each negative has its own log σ, and these are summed."""

    variants = [
        {"negative).sum(dim=-1": ["negative.sum(dim=-1)", "negative.mean(dim=-1)"]},
        {"F.logsigmoid(-negative).sum(dim=-1)": "torch.log(torch.sigmoid(-negative).sum(dim=-1))"},
    ]


class context_with_negatives(Misconception):
    """The negatives are compared with the context: all scores are with the centre."""

    edits = {"centre[:, None, :]": "context[:, None, :]"}


class negatives_of_the_whole_batch(Misconception):
    """Each centre meets the negatives of all pairs: its own, `centre[:, None, :] * negatives`."""

    edits = {
        NEGATIVE_SCORES: [
            "centre @ negatives.flatten(0, 1).mT",
            'torch.einsum("bkc,dc->dbk", negatives, centre).sum(0)',
        ]
    }


class no_dimension_for_negatives(Misconception):
    """centre (B, C) times negatives (B, K, C) lacks a dimension for K: `centre[:, None, :]`."""

    edits = {"[:, None, :]": ""}


class scores_across_the_batch(Misconception):
    """`centre @ context.T` compares each centre with every context: each has its own, row by row."""

    edits = {
        "(positive)": ["(positive).mean(dim=-1)", "(positive).sum(dim=-1)"],
        "(centre * context).sum(dim=-1)": "centre @ context.T",
    }


class not_summed_over_features(Misconception):
    """The products are not summed over the features: a dot product is one number for each pair."""

    variants = [
        {
            "(centre * context).sum(dim=-1)": "centre * context",
            NEGATIVE_SCORES: "negatives * centre[:, None, :]",
            ") - F.logsigmoid(-negative).sum(dim=-1": ").sum(-1) - F.logsigmoid(-negative).sum(dim=(-1, -2)",
        },
        {"context).sum(": "context).mean(", "[:, None, :]).sum(": "[:, None, :]).mean("},
        {"context).sum(": "context).mean("},
        {"[:, None, :]).sum(": "[:, None, :]).mean("},
        {"context).sum(dim=-1": ["context).sum(dim=0", "context).sum("]},
        {"[:, None, :]).sum(dim=-1": ["[:, None, :]).sum(dim=1", "[:, None, :]).sum("]},
    ]


class cosines(Misconception):
    """The scores are cosines: dot products are asked for, lengths count."""

    edits = {
        "positive =": """
            centre, context, negatives = (F.normalize(t, dim=-1) for t in (centre, context, negatives))
            positive =
        """
    }


class scaled(Misconception):
    """The scores are divided by √C: here they are plain dot products (the root belongs to attention)."""

    edits = {
        "(centre * context).sum(dim=-1)": "(centre * context).sum(dim=-1) / centre.shape[-1] ** 0.5",
        NEGATIVE_SCORES: f"{NEGATIVE_SCORES} / centre.shape[-1] ** 0.5",
    }


class softmax(Misconception):
    """This is a softmax over context and negatives: negative sampling asks a yes/no question about each, with σ."""

    edits = {
        "-F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1)": (
            "torch.logsumexp(torch.cat([positive[:, None], negative], dim=-1), dim=-1) - positive"
        )
    }


class fixed_number_of_negatives(Misconception):
    """The number of negatives is fixed in the code: K is negatives.shape[1]."""

    variants = [
        {"(-negative).sum(dim=-1)": [f"(-negative).mean(dim=-1) * {number}" for number in ("2", "3", "4", "5", "10")]},
        {
            "F.logsigmoid(-negative).sum(dim=-1)": [
                "sum(F.logsigmoid(-negative[:, k]) for k in range(3))",
                "sum(F.logsigmoid(-negative[:, k]) for k in range(5))",
            ]
        },
    ]


class negatives_detached(Misconception):
    """No gradient reaches some of the inputs (`.detach()`): centre, context and negatives are all trained."""

    variants = [
        {"(negatives": "(negatives.detach()"},
        {"context)": "context.detach())"},
        {"* centre": "* centre.detach()"},
    ]


class float32_only(Misconception):
    """The computation is in float32 (`.float()`), or the result is: keep the dtype."""

    edits = {
        "positive =": """
            centre, context, negatives = centre.float(), context.float(), negatives.float()
            positive =
        """
    }


class array_returned(common_mistakes.array_returned):
    edits = {"loss.mean()": "torch.tensor(loss.numpy().mean())"}


class gradient_cut_off(common_mistakes.gradient_cut_off):
    edits = {"mean()": "mean().clone().detach().requires_grad_()"}


class input_changed(common_mistakes.input_changed):
    edits = {"return": "with torch.no_grad(): negatives.neg_()\nreturn"}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"(negatives": "(negatives.view(-1, negatives.shape[-1]).view(negatives.shape)"}
