"""Wrong and right answers to `recall_step`. The reference (05-attention):

def recall_step(model, optimizer, pages, answers):
    optimizer.zero_grad()  # backward() adds to what is there
    logits, _ = model(pages)  # (B, S, V)
    loss = F.cross_entropy(logits.flatten(0, 1), answers.flatten())  # a mean over B * S questions
    loss.backward()
    optimizer.step()
    return loss.item()
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

# Right answers in other styles


class transposed_for_cross_entropy(RightAnswer):
    edits = {
        "logits.flatten(0, 1), answers.flatten()": "logits.transpose(1, 2), answers",
        "loss.item()": "float(loss.detach())",
    }


class by_the_formula(RightAnswer):
    edits = {
        "F.cross_entropy(logits.flatten(0, 1), answers.flatten())": (
            "(torch.logsumexp(logits, dim=-1) - logits.gather(-1, answers.unsqueeze(-1)).squeeze(-1)).mean()"
        ),
        "optimizer.zero_grad()": "for p in model.parameters(): p.grad = None",
    }


class closed_at_the_end(RightAnswer):
    edits = {
        "optimizer.step()": """
            value = loss.item()
            optimizer.step()
            optimizer.zero_grad()
        """,
        "return loss.item()": "return value",
    }


# Mistakes


class gradients_pile_up(Misconception):
    """Old gradients are never set to zero: backward() adds to them. Begin with optimizer.zero_grad()."""

    edits = {"optimizer.zero_grad()": ""}


class zeroed_too_late(Fundamental):
    """The gradients are set to zero between backward() and step(), so nothing is left to learn from."""

    based_on = gradients_pile_up
    edits = {".step": ".zero_grad()\noptimizer.step"}


class zeroed_at_the_end_only(Misconception):
    """The gradients are set to zero only at the end: what was there before the call counts too."""

    based_on = gradients_pile_up
    edits = {"step()": "step()\noptimizer.zero_grad()"}


class step_before_backward(Misconception):
    """The step comes before backward() has made this batch's gradients: zero, forward, loss, backward, step."""

    variants = [
        {"optimizer.step()": "", "loss.backward": "optimizer.step()\nloss.backward"},
        gradients_pile_up.edited(
            {
                "optimizer.step()": "",
                "loss.backward": """
            optimizer.step()
            optimizer.zero_grad()
            loss.backward
        """,
            }
        ),
    ]


class no_step(Fundamental):
    """optimizer.step() is missing, so the model stays as it was."""

    edits = {"optimizer.step()": ""}


class two_steps(Minor):
    """One call is one update: the optimiser makes two steps, or backward() runs twice and gradients count twice."""

    variants = [
        {"step()": "step()\noptimizer.step()"},
        {".backward()": ".backward(retain_graph=True)\nloss.backward()"},
    ]


class no_backward(Fundamental):
    """No gradient arrives: loss.backward() is missing, or is called on a new tensor."""

    edits = {"loss.backward()": ""}


class detached(Fundamental):
    """The logits are cut off from the model (detach, .data, no_grad), so no gradient can come back."""

    edits = {"logits.": "logits.detach()."}


class by_hand(Misconception):
    """The step is not the optimiser's own (by hand, clipped, at another rate): `optimizer.step()` as it is set."""

    variants = [
        {
            "optimizer.step": [
                "torch.optim.SGD(model.parameters(), lr=0.3).step",
                "torch.optim.SGD(model.parameters(), lr=0.1).step",
                "torch.optim.SGD(model.parameters(), lr=0.01).step",
                "torch.optim.AdamW(model.parameters(), lr=optimizer.param_groups[0]['lr']).step",
            ]
        },
        {
            "optimizer.step()": """
                with torch.no_grad():
                    for p in model.parameters(): p -= optimizer.param_groups[0]["lr"] * p.grad
            """
        },
        {
            "optimizer.step": [
                "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)\noptimizer.step",
                "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\noptimizer.step",
                "torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)\noptimizer.step",
            ]
        },
        {
            "optimizer.step": [
                "for group in optimizer.param_groups: group['lr'] = 0.1\noptimizer.step",
                "for group in optimizer.param_groups: group['lr'] = 1e-3\noptimizer.step",
            ]
        },
    ]


class uphill(Misconception):
    """The step goes uphill: backward() starts from the loss itself, not from its negative."""

    edits = {"loss.backward": "(-loss).backward"}


class class_0_ignored(Misconception):
    """Class 0 is left out of the loss (`ignore_index=0`): here it is a class like the others."""

    edits = {"())": "(), ignore_index=0)"}


class more_than_cross_entropy(Misconception):
    """Something is added to the loss (label smoothing, a penalty on the weights): it is the plain cross-entropy."""

    variants = [
        {"())": "(), label_smoothing=0.1)"},
        {"loss.backward": "(loss + 0.01 * sum(p.square().sum() for p in model.parameters())).backward"},
    ]


class page_by_page(Misconception):
    """Each page is trained on by itself, one step for each: one call is one step, on the mean over all questions."""

    code = """
    losses = []
    for page, answer in zip(pages, answers):
        optimizer.zero_grad()
        logits, _ = model(page[None])
        loss = F.cross_entropy(logits[0], answer)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)
    """


class divided_again(Minor):
    """The mean is divided once more before backward(), so gradients are too small: it is a mean already."""

    edits = {"loss.backward": ["(loss / len(pages)).backward", "(loss / answers.numel()).backward"]}


class sum_(Minor):
    """The loss is a sum over the questions: a mean is asked for, whatever the size of the batch."""

    edits = {"())": "(), reduction='sum')"}


class divided_by_pages(Misconception):
    """The sum over the questions is divided by the number of pages: the mean is over all B · S questions."""

    edits = {")  # a mean over B * S questions": ", reduction='sum') / len(pages)"}


class classes_in_dimension_one(Misconception):
    """Questions and classes are mixed: flatten B and S, and leave the classes in the last dimension."""

    variants = [
        {".flatten(0, 1), answers.flatten()": ", answers"},
        {
            "logits.flatten(0, 1), answers.flatten()": [
                "logits.reshape(logits.shape[0], -1, logits.shape[1]), answers",
                "logits.view(logits.shape[0], -1, logits.shape[1]), answers",
            ]
        },
        {"flatten(0, 1)": ["transpose(0, 1).flatten(0, 1)", "transpose(1, 2).reshape(-1, logits.shape[-1])"]},
    ]


class last_question_only(Misconception):
    """Only some questions, or some pages, are learnt from: the loss is the mean over all of them."""

    variants = [
        {".flatten(0, 1), answers.flatten()": ["[:, -1], answers[:, -1]", "[:, 0], answers[:, 0]"]},
        {".flatten(0, 1), answers.flatten()": "[0], answers[0]"},
        {
            "loss =": [
                f"logits, answers = logits[{part}], answers[{part}]\nloss ="
                for part in (
                    *(": max(1, len(pages) // 2)", "len(pages) // 2 :"),
                    *(":, : answers.shape[1] // 2", ":, answers.shape[1] // 2 :"),
                )
            ]
        },
    ]


class softmax_twice(Misconception):
    """A softmax is taken before F.cross_entropy, which takes one itself: give it the logits."""

    edits = {"(0, 1)": "(0, 1).softmax(-1)"}


class probabilities(Misconception):
    """The loss is not the cross-entropy: the mean of −log of the right answer's probability."""

    edits = {
        "F.cross_entropy(logits.flatten(0, 1), answers.flatten())": [
            "-logits.softmax(-1).gather(-1, answers[..., None]).mean()",
            "-logits.gather(-1, answers[..., None]).mean()",
            "(logits.softmax(-1) - F.one_hot(answers, logits.shape[-1])).square().mean()",
            "(logits - F.one_hot(answers, logits.shape[-1])).square().mean()",
        ]
    }


class unstable(Misconception):
    """exp, softmax and logarithm are taken apart: exp overflows, or the logarithm meets a 0. Use `F.cross_entropy`."""

    based_on = probabilities
    edits = {
        "logits.softmax(-1).gather(-1, answers[..., None])": [
            "logits.softmax(-1).gather(-1, answers[..., None]).log()",
            "logits.softmax(-1).log().gather(-1, answers[..., None])",
            "(logits.exp() / logits.exp().sum(-1, keepdim=True)).gather(-1, answers[..., None]).log()",
            "(logits.softmax(-1).gather(-1, answers[..., None]) + 1e-9).log()",
            "(logits.softmax(-1).gather(-1, answers[..., None]) + 1e-8).log()",
            "(logits.softmax(-1).gather(-1, answers[..., None]) + 1e-10).log()",
            "logits.softmax(-1).gather(-1, answers[..., None]).clamp(min=1e-9).log()",
        ]
    }


class weights_for_logits(Misconception):
    """The weights, the model's second result, are taken for the logits: they come first."""

    edits = {"logits, _": "_, logits"}


class pair_as_logits(Fundamental):
    """model(pages) returns a pair, (logits, weights): take the first of the two."""

    edits = {", _": ""}


class loss_after(Minor):
    """The loss from after the update is returned: the one from before it is asked for."""

    edits = {
        "return loss": (
            "with torch.no_grad(): return F.cross_entropy(model(pages)[0].flatten(0, 1), answers.flatten())"
        )
    }


class accuracy_returned(Misconception):
    """Something else is returned (accuracy, exp of the loss, the logits too): return the loss alone, a float."""

    variants = [
        {"loss.item": "(logits.argmax(-1) == answers).float().mean().item"},
        {"item": "exp().item"},
        {"item()": "item(), logits"},
    ]


class tensor_returned(Minor):
    """The loss is returned as a tensor: a plain float is asked for, `loss.item()`."""

    edits = {"loss.item()": ["loss", "loss.detach()"]}


class eval_mode(Misconception):
    """The model's mode is changed (`eval()`, `train()`): leave it as it is."""

    variants = [
        {"model(pages)": ["model.eval()(pages)", "model.train()(pages)"]},
        {"optimizer.step()": "optimizer.step()\nmodel.eval()"},
    ]


class input_changed(Minor):
    """`pages` or `answers` is changed in place: the caller's own data are different afterwards."""

    edits = {"return": ["answers.zero_()\nreturn", "pages.zero_()\nreturn"]}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"flatten()": "view(-1)"}
