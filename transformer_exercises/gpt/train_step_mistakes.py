"""Wrong and right answers to `train_step`. The reference (09-gpt):

def train_step(model, optimizer, x, y, max_norm=1.0):
    optimizer.zero_grad()  # backward() adds to what is there
    _, loss = model(x, y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()  # a plain number: a tensor would keep the whole graph alive
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

CLIP = "nn.utils.clip_grad_norm_(model.parameters(), max_norm)"

# Right answers in other styles


class own_loss(RightAnswer):
    edits = {
        "optimizer.zero_grad()": "model.train()\nfor p in model.parameters(): p.grad = None",
        "_, loss = model(x, y)": "loss = F.cross_entropy(model(x)[0].flatten(0, 1), y.reshape(-1))",
        "optimizer.step()": "optimizer.step()\noptimizer.zero_grad(set_to_none=True)",
        "loss.item()": "loss.detach().cpu().item()",
    }


class clipped_by_hand(RightAnswer):
    edits = {
        "optimizer.zero_grad()": "logits, loss = model(x, y)",
        "_, loss = model(x, y)": "optimizer.zero_grad(set_to_none=False)",
        CLIP: """
            grads = [p.grad for p in model.parameters() if p.grad is not None]
            norm = torch.sqrt(sum((g**2).sum() for g in grads))
            if norm > max_norm:
                for g in grads: g *= max_norm / norm
        """,
        "loss.item()": "float(loss.detach())",
    }


class autograd(RightAnswer):
    edits = {
        "optimizer.zero_grad()": "",
        "_, loss = model(x, y)": "loss = model(x, targets=y)[-1]",
        "loss.backward()": """
            own = list(model.parameters())
            for p, g in zip(own, torch.autograd.grad(loss, own)): p.grad = g
        """,
        "loss.item()": "loss.tolist()",
    }


# Mistakes


class gradients_pile_up(Misconception):
    """Old gradients are never set to zero, and backward() adds to them: begin with optimizer.zero_grad()."""

    edits = {"optimizer.zero_grad()  # backward() adds to what is there": ""}


class zeroed_too_late(Fundamental):
    """The gradients are set to zero between backward() and step(): do it before backward()."""

    based_on = gradients_pile_up
    edits = {".step": ".zero_grad()\noptimizer.step"}


class zeroed_at_the_end_only(Misconception):
    """The gradients are set to zero only at the end: what was there before is added to the first step."""

    based_on = gradients_pile_up
    edits = {"step()": "step()\noptimizer.zero_grad()"}


class multiplied_by_zero(Minor):
    """Old gradients are multiplied by 0, and 0 · NaN is NaN: optimizer.zero_grad() forgets them whatever they are."""

    edits = {
        "optimizer.zero_grad()": """
            for p in model.parameters():
                if p.grad is not None: p.grad *= 0
        """
    }


class not_clipped(Misconception):
    """The step uses gradients that are not clipped: clip_grad_norm_ comes between backward() and step()."""

    edits = {CLIP: ""}


class clipped_by_value(Misconception):
    """Each entry is clipped on its own, which changes the direction: use clip_grad_norm_, not …_value_."""

    edits = {"clip_grad_norm_": "clip_grad_value_"}


class clipped_one_by_one(Misconception):
    """Parameters or groups are clipped each on their own, or only some are: the norm is that of all gradients
    together.
    """

    variants = [
        {CLIP: "for p in model.parameters(): nn.utils.clip_grad_norm_(p, max_norm)"},
        {"nn": "for group in optimizer.param_groups:\n    nn", "model.parameters()": "group['params']"},
        {"model.parameters()": ["list(model.parameters())[0]", "optimizer.param_groups[0]['params']"]},
    ]


class parameters_clipped(Misconception):
    """The weights themselves, or the loss, are clipped, not the gradients."""

    variants = [
        {CLIP: "for p in model.parameters(): p.data.mul_(min(1.0, max_norm / p.data.norm().item()))"},
        not_clipped.edited({"backward": "clamp(max=max_norm).backward"}),
    ]


class always_normalised(Misconception):
    """The gradients are scaled to max_norm even when they are smaller: small ones stay as they are."""

    variants = [
        {
            CLIP: """
                norm = nn.utils.clip_grad_norm_(model.parameters(), float('inf'))
                for p in model.parameters(): p.grad.mul_(max_norm / (norm + 1e-6))
            """
        },
        {
            "nn.utils.clip_grad_norm_": """
                for p in model.parameters(): p.grad *= 2**20
                nn.utils.clip_grad_norm_
            """
        },
    ]


class step_left_out(Misconception):
    """A step with large gradients is left out: scale them down to max_norm, and take the step."""

    edits = {
        CLIP: "norm = nn.utils.clip_grad_norm_(model.parameters(), float('inf'))",
        "optimizer.step()": "if norm <= max_norm: optimizer.step()",
    }


class max_norm_ignored(Minor):
    """max_norm does not decide: pass it on instead of a fixed number, and leave its default at 1."""

    variants = [{"(), max_norm": ["(), 1.0", "(), 0.5"]}, {"1.0": ['float("inf")', "0.5"]}]


class other_norm(Minor):
    """The norm is not the Euclidean one: leave norm_type at its default, 2."""

    variants = [
        {"(), max_norm": ["(), max_norm, norm_type=float('inf')", "(), max_norm, norm_type=1"]},
        {
            CLIP: "norm = sum(p.grad.norm() for p in model.parameters())",
            "optimizer.step()": """
                for p in model.parameters(): p.grad.mul_((max_norm / norm).clamp(max=1.0))
                optimizer.step()
            """,
        },
    ]


class eval_mode(Misconception):
    """The model is put into eval mode, so its dropout does not act: eval() is for measuring and writing."""

    edits = {"optimizer.zero_grad": "model.eval()\noptimizer.zero_grad"}


class no_step(Fundamental):
    """optimizer.step() is missing, so the model stays as it was."""

    edits = {"optimizer.step()": ""}


class two_steps(Minor):
    """step() or backward() runs twice: one call of train_step is one backward pass and one update."""

    variants = [
        {"step()": "step()\noptimizer.step()"},
        {".backward()": ".backward(retain_graph=True)\nloss.backward()"},
    ]


class step_before_backward(Misconception):
    """The optimiser steps before backward() has made the gradients: zero, forward, backward, clip, step."""

    based_on = no_step
    edits = {"loss.backward": "optimizer.step()\nloss.backward"}


class no_backward(Fundamental):
    """No gradient arrives: call backward() on the model's own loss, not on a new tensor, and not never."""

    edits = {"loss.backward()": ""}


class by_hand(Misconception):
    """The parameters are changed by hand, or with another optimiser: the step is optimizer.step()."""

    variants = [
        {
            "optimizer.step()": """
                with torch.no_grad():
                    for p in model.parameters(): p -= optimizer.param_groups[0]['lr'] * p.grad
            """
        },
        {"optimizer.step": "torch.optim.AdamW(model.parameters(), lr=optimizer.param_groups[0]['lr']).step"},
    ]


class targets_swapped(Minor):
    """x and y are swapped: the model gets the inputs first."""

    edits = {"(x, y)": "(y, x)"}


class own_input_as_target(Misconception):
    """The model is trained to repeat its input: y holds the targets."""

    edits = {"(x, y)": "(x, x)"}


class shifted_again(Misconception):
    """The targets are shifted once more: y is already one step on."""

    edits = {
        "_, loss = model(x, y)": """
            logits, _ = model(x)
            loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), y[:, 1:].flatten())
        """
    }


class sum_(Misconception):
    """The loss is not the model's own: take the mean cross-entropy that it returns, of all positions of all rows,
    without another factor.
    """

    variants = [
        {
            "loss.backward": [
                "loss = loss * y.numel()\nloss.backward",
                "loss = loss / len(x)\nloss.backward",
                "loss = -loss\nloss.backward",
            ]
        },
        {
            "_, loss = model(x, y)": """
                logits, _ = model(x)
                loss = nn.functional.cross_entropy(logits[:, -1], y[:, -1])
            """
        },
        {"(x, y)": "(x[:1], y[:1])"},
    ]


class pair_not_unpacked(Fundamental):
    """The loss is missing: with targets, the model returns a pair, `_, loss = model(x, y)`."""

    variants = [{"_, loss": "loss"}, {"_, loss = model(x, y)": "loss = model(x, y)[0].mean()"}]


class nothing_to_go_back_from(Fundamental):
    """backward() needs the scalar loss, computed without torch.no_grad() or .detach()."""

    edits = {"_, loss": "with torch.no_grad(): _, loss"}


class loss_after(Misconception):
    """The loss is computed anew after the update: return that of the forward pass before it."""

    edits = {"loss.item": "model(x, y)[1].item"}


class not_a_float(Misconception):
    """A tensor is returned, and keeps its step's graph in memory: a plain float is asked for, `loss.item()`."""

    variants = [{".item()": ""}, {"item": "detach"}]


class rounded(common_mistakes.rounded):
    edits = {"loss.item()": "int(loss.item())"}


class norm_returned(Misconception):
    """Something else than the loss is returned, or more (the gradients' norm, the perplexity, a pair): one float is
    asked for.
    """

    variants = [
        {"nn": "norm = nn", "loss.item": "norm.item"},
        {"loss.item()": ["math.exp(loss.item())", "[loss.item()]"]},
        {"item()": "item(), model"},
        {"_, loss": "logits, loss", "loss.item()": "logits, loss"},
    ]
