"""Wrong and right answers to `bigram_step`. The reference (01-language-modelling):

def bigram_step(logits, ids, learning_rate):
    before, after = ids[:-1], ids[1:]  # (N-1,), (N-1,): every pair of neighbours
    one = torch.ones(len(before), dtype=logits.dtype, device=logits.device)
    seen = torch.zeros_like(logits).index_put((before, after), one, accumulate=True)  # (V, V)
    expected = seen.sum(dim=1, keepdim=True) * torch.softmax(logits, dim=1)  # (V, V): as often, by the model's shares
    gradient = (expected - seen) / max(1, len(before))  # the derivative of -log softmax is p - 1 or p
    return logits - learning_rate * gradient
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

STEP = "logits - learning_rate * gradient"

# Right answers in other styles


class autograd(RightAnswer):
    code = """
    if len(ids) < 2: return logits.clone()
    table = logits.detach().clone().requires_grad_()
    rows, targets = table[ids[:-1]], ids[1:]
    loss = F.cross_entropy(rows, targets)
    [gradient] = torch.autograd.grad(loss, [table])
    return logits.detach() - learning_rate * gradient
    """


class one_position_at_a_time(RightAnswer):
    code = """
    gradient = torch.zeros_like(logits); pairs = list(zip(ids[:-1].tolist(), ids[1:].tolist()))
    for i, j in pairs: p = torch.softmax(logits[i], dim=-1); p[j] -= 1; gradient[i] += p / len(pairs)
    return logits - learning_rate * gradient
    """


class bincount(RightAnswer):
    code = """
    V = len(logits); counts = torch.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V).to(logits.dtype)
    total = counts.sum()
    if total == 0: return logits.clone()
    visits = counts.sum(1, keepdim=True); return logits + learning_rate * (counts - visits * logits.softmax(1)) / total
    """


# Mistakes


class uphill(Misconception):
    """The step goes uphill: the gradient points to where the loss rises, so it is subtracted."""

    edits = {"logits -": "logits +"}


class sum_of_losses(Misconception):
    """The gradient is that of the sum of the losses: L is their mean, so divide by the number of pairs."""

    edits = {" / max(1, len(before))": ""}


class divided_by_tokens(Minor):
    """The mean is taken over N: N tokens have N − 1 pairs."""

    edits = {", len(before)": ", len(ids)"}


class divided_by_entries(Misconception):
    """The mean is taken over the table's entries, not over the pairs: each pair has one loss."""

    edits = {"max(1, len(before))": ["logits.numel()", "(max(1, len(before)) * len(logits))", "len(logits)"]}


class rows_weighted_alike(Misconception):
    """Each row takes its own mean: the mean goes over the pairs, so a rare row weighs less."""

    edits = {
        "max(1, len(before))": [
            "seen.sum(dim=1, keepdim=True).clamp(min=1)",
            "seen.sum(dim=1, keepdim=True).clamp(min=1) / len(logits)",
            "(seen.sum(dim=1, keepdim=True).clamp(min=1) * max(1, len(before)))",
        ]
    }


class expected_not_weighted(Misconception):
    """The softmax stands once for each row: it counts once for every pair that begins with it."""

    variants = [
        {"seen.sum(dim=1, keepdim=True) * torch": "torch"},
        {
            "(expected - seen) / max(1, len(before))": (
                "torch.softmax(logits, dim=1) - seen / seen.sum(dim=1, keepdim=True).clamp(min=1)"
            )
        },
        {"(expected - seen)": "torch.softmax(logits, dim=1) - seen"},
    ]


class only_seen(Misconception):
    """Only the logits of what was seen are pushed up: the softmax pulls all others down, by p each."""

    edits = {"expected - seen": "-seen"}


class only_expected(Misconception):
    """What was seen is left out: the derivative is p − 1 at the target, and p elsewhere."""

    edits = {"expected - seen": "expected"}


class ones_for_seen(Misconception):
    """Each seen place counts once: a pair that occurs twice pulls twice."""

    variants = [{", accumulate=True": ""}, {", accumulate=True": "", "len(before))  #": "seen.sum())  #"}]


class no_softmax(Misconception):
    """The logits (or their exponentials) stand where probabilities belong: p = softmax of the row."""

    variants = [{"torch.softmax(logits, dim=1)": ["logits", "torch.sigmoid(logits)"]}, {"softmax": "log_softmax"}]


class softmax_of_columns(Misconception):
    """The softmax runs down the columns, or over the whole table: each row has its own, so dim=1 (or −1)."""

    variants = [
        {", dim=1": ", dim=0"},
        {", dim=1": ".flatten(), dim=0).view_as(logits"},
    ]


class transposed(Misconception):
    """The table is read the wrong way round: rows are the token before, columns the token after."""

    variants = [{"(before, after)": "(after, before)"}, {"=1,": "=0,"}]


class own_token_as_target(Misconception):
    """The model is trained to repeat the token itself: the target is the one after it."""

    edits = {"[1:]": "[:-1]"}


class pair_lost(Minor):
    """A pair is lost at one end of the text: N tokens have N − 1 pairs."""

    edits = {":-1], ids[1:": [":-2], ids[1:-1", "1:-1], ids[2:"]}


class wraps_round(Misconception):
    """The pairs are others (round the end, two apart, every second, all later): the pairs are neighbours."""

    variants = [
        {"[:-1], ids[1:]": ", ids.roll(-1)"},
        {"1], ids[1": "2], ids[2"},
        {":-1], ids[1:": ": len(ids) // 2 * 2 : 2], ids[1::2"},
        {":-1], ids[1:": "torch.triu_indices(len(ids), len(ids), 1, device=ids.device)"},
    ]


class last_one_wins(Misconception):
    """Of several pairs that begin alike only the last moves its row: add all their changes up (index_add)."""

    variants = [
        """
        before, after = ids[:-1], ids[1:]
        table, change = logits.clone(), torch.softmax(logits[before], dim=1)
        change[torch.arange(len(before)), after] -= 1
        table[before] -= learning_rate * change / max(1, len(before))
        return table
        """,
    ]


class one_pair_after_the_other(Misconception):
    """Each pair begins at the table that the pair before it has moved: all gradients are those at the old logits."""

    based_on = one_position_at_a_time
    variants = [
        {
            "gradient = torch.zeros_like(logits)": "table = logits.clone()",
            "logits[i]": "table[i]",
            "gradient[i] += p / len(pairs)": "table[i] -= learning_rate * p / len(pairs)",
            "logits - learning_rate * gradient": "table",
        },
        {
            "gradient = torch.zeros_like(logits)": "table = logits.clone()",
            "logits[i]": "table[i]",
            "gradient[i] += p / len(pairs)": "table[i] -= learning_rate * p",
            "logits - learning_rate * gradient": "table",
        },
    ]


class one_row_only(Misconception):
    """Only one row, or the beginning of the text, counts: the loss is the mean over all of its pairs."""

    variants = [
        {":-1], ids[1:": [":1][: len(ids) - 1], ids[1:2", "-2:-1], ids[1:][-1:"]},
        {", ids[1:]": ["[:256], ids[1:][:256]", "[:1024], ids[1:][:1024]"]},
    ]


class rate_ignored(Minor):
    """The learning rate is ignored, or fixed in the code: use the argument."""

    edits = {"learning_rate * gradient": ["gradient", "0.1 * gradient", "3.0 * gradient"]}


class rate_divides(Misconception):
    """The gradient is divided by the learning rate, or the logits are scaled too: only the gradient is multiplied."""

    variants = [
        {"learning_rate * gradient": "gradient / learning_rate"},
        {STEP: "learning_rate * (logits - gradient)"},
    ]


class two_steps(Minor, shared_mistakes.two_steps):
    edits = {
        "return logits - learning_rate * gradient": """
            logits = logits - learning_rate * gradient
            expected = seen.sum(dim=1, keepdim=True) * torch.softmax(logits, dim=1)
            return logits - learning_rate * (expected - seen) / max(1, len(before))
        """
    }


class update_only(Minor):
    """The change is returned: the new logits are asked for, the old ones with the change."""

    edits = {"logits - learning_rate": ["-learning_rate", "learning_rate"]}


class gradient_only(Misconception):
    """The gradient, the loss or probabilities are returned: the logits after the step are asked for."""

    variants = [
        {STEP: "gradient"},
        "return F.cross_entropy(logits[ids[:-1]], ids[1:])",
        {STEP: [f"torch.softmax({STEP}, dim=1)", f"torch.log_softmax({STEP}, dim=1)"]},
    ]


class logits_returned(Fundamental):
    """The logits come back as they went in: no step is taken."""

    edits = {STEP: ["logits", "logits.clone()"]}


class probabilities_moved(Misconception):
    """The step is taken from the probabilities: it is the logits that are moved."""

    edits = {"logits -": "torch.softmax(logits, dim=1) -"}


class squared_error(Misconception):
    """The gradient is that of the squared error between probabilities and ones, not of the cross-entropy."""

    based_on = autograd
    edits = {
        "F.cross_entropy(rows, targets)": [
            "(1 - torch.softmax(rows, -1).gather(1, targets[:, None])).mean()",
            "(torch.softmax(rows, -1) - F.one_hot(targets, len(logits))).pow(2).sum(-1).mean()",
        ]
    }


class softmax_twice(Misconception):
    """A softmax is taken before the cross-entropy, which takes one itself: hand it the logits."""

    based_on = autograd
    edits = {"table[ids[:-1]]": "torch.softmax(table[ids[:-1]], -1)"}


class in_bits(Minor):
    """The loss is in bits: L is in nats, with the natural logarithm."""

    edits = {"* gradient": "* gradient / math.log(2)"}


class normalised(Misconception):
    """Plain gradient descent takes the gradient as it is: no clipping, scaling, momentum or rates of its own."""

    variants = [
        {"* gradient": ["* gradient / gradient.norm().clamp(min=1e-12)", "* gradient.sign()"]},
        {"* gradient": "* gradient.clamp(-0.1, 0.1)"},
        autograd.edited(
            {
                "return logits.detach() - learning_rate * gradient": [
                    "torch.optim.Adam([table], learning_rate).step()",
                    "torch.optim.AdamW([table], learning_rate).step()",
                    "torch.optim.SGD([table], learning_rate, weight_decay=0.01).step()",
                ],
                "[gradient] = torch.autograd.grad(loss, [table])": "loss.backward()",
                ".step()": ".step()\nreturn table.detach()",
            }
        ),
    ]


class unstable(Misconception):
    """exp of 10,000 overflows, and the step is NaN: take the softmax in one piece (torch.softmax, log_softmax)."""

    variants = [
        {"torch.softmax(logits, dim=1)": "logits.exp() / logits.exp().sum(dim=1, keepdim=True)"},
        autograd.edited(
            {"F.cross_entropy(rows, targets)": "-torch.softmax(rows, -1).gather(1, targets[:, None]).log().mean()"}
        ),
    ]


class epsilon_in_the_logarithm(Misconception):
    """A small number inside the logarithm stops learning where the model errs most: use log_softmax."""

    based_on = autograd
    edits = {
        "F.cross_entropy(rows, targets)": [
            "-torch.log(torch.softmax(rows, -1).gather(1, targets[:, None]) + 1e-9).mean()",
            "-torch.log(torch.softmax(rows, -1).gather(1, targets[:, None]).clamp(min=1e-9)).mean()",
        ]
    }


class table_shifted(Misconception):
    """The whole table's maximum is subtracted before exp, not each row's: rows far below it become 0 / 0."""

    edits = {
        "torch.softmax(logits, dim=1)": (
            "(logits - logits.max()).exp() / (logits - logits.max()).exp().sum(dim=1, keepdim=True)"
        )
    }


class no_pairs_nan(Misconception):
    """A text without pairs gives NaN or an error, the mean over nothing: the logits come back as they were."""

    variants = [
        {"max(1, len(before))": "len(before)"},
        {") / max(1,": ") * (1 /"},
    ]


class nothing_for_no_pairs(Minor):
    """For a text without pairs nothing (or zeros) is returned: the logits come back as they were."""

    edits = {"[1:]": ["[1:]\nif len(ids) < 2: return None", "[1:]\nif len(ids) < 2: return torch.zeros_like(logits)"]}


class caller_asked_for_gradients(Minor):
    """The caller's own tensor goes on asking for gradients: ask a `clone()`."""

    based_on = autograd
    edits = {"logits.detach().clone().requires_grad_()": "logits.requires_grad_()"}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {
        "index_put((before, after), one, accumulate=True)": (
            "view(-1).index_add(0, before * len(logits) + after, one).view(logits.shape)"
        )
    }


class same_tensor_back(Minor):
    """For a text without pairs the caller's own tensor is returned: give a new one, `logits.clone()`."""

    based_on = autograd
    edits = {"logits.clone()": "logits"}


class graph_kept(Misconception):
    """A graph hangs on the result, so each further step makes it longer: detach the new table."""

    based_on = autograd
    edits = {"logits.detach() -": "table -"}


class gradients_pile_up(Misconception):
    """The caller's tensor keeps a gradient, and backward() adds to it: begin each call with a fresh copy."""

    based_on = caller_asked_for_gradients
    edits = {"[gradient] = torch.autograd.grad(loss, [table])": "loss.backward()", "* gradient": "* table.grad"}


class input_changed(common_mistakes.input_changed):
    edits = {
        "return logits - learning_rate * gradient": """
            logits -= learning_rate * gradient
            return logits
        """
    }


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {", device=logits.device": ""}
