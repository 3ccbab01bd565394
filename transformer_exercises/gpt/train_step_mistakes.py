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


class not_clipped(Misconception):
    """The step uses gradients that are not clipped: clip_grad_norm_ comes between backward() and step()."""

    edits = {CLIP: ""}


class clipped_by_value(Misconception):
    """Each entry is clipped on its own, which changes the direction: use clip_grad_norm_, not …_value_."""

    edits = {"clip_grad_norm_": "clip_grad_value_"}


class clipped_one_by_one(Misconception):
    """Each parameter is clipped on its own: the norm is that of all gradients together."""

    edits = {CLIP: "for p in model.parameters(): nn.utils.clip_grad_norm_(p, max_norm)"}


class some_clipped(Misconception):
    """Only some parameters are clipped: the norm is that of all gradients of the model together."""

    edits = {
        "model.parameters()": [
            "list(model.parameters())[0]",
            "list(model.parameters())[-1]",
            "optimizer.param_groups[0]['params']",
        ]
    }


class parameters_clipped(Misconception):
    """The weights themselves are clipped, not their gradients."""

    edits = {CLIP: "for p in model.parameters(): p.data.mul_(min(1.0, max_norm / p.data.norm().item()))"}


class loss_clipped(Misconception):
    """The loss is clipped instead of the gradients."""

    based_on = not_clipped
    edits = {"backward": "clamp(max=max_norm).backward"}


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


class max_norm_ignored(Minor):
    """max_norm is ignored: pass it on instead of a fixed number."""

    edits = {"(), max_norm": ["(), 1.0", "(), 0.5"]}


class other_default(Minor):
    """Without max_norm the gradients are not clipped to 1: that is its default."""

    edits = {"1.0": ['float("inf")', "0.5"]}


class other_norm(Minor):
    """The norm is not the Euclidean one: leave norm_type at its default, 2."""

    variants = [
        {"(), max_norm": ["(), max_norm, norm_type=float('inf')", "(), max_norm, norm_type=1"]},
        {
            CLIP: [
                "norm = sum(p.grad.norm() for p in model.parameters())",
                "norm = sum(p.grad.pow(2).sum() for p in model.parameters())",
            ],
            "optimizer.step()": """
                for p in model.parameters(): p.grad.mul_((max_norm / norm).clamp(max=1.0))
                optimizer.step()
            """,
        },
    ]


class clipped_group_by_group(Misconception):
    """Each of the optimiser's groups is clipped on its own: the norm is that of all together."""

    edits = {"nn": "for group in optimizer.param_groups:\n    nn", "model.parameters()": "group['params']"}


class eval_mode(Misconception):
    """The model is put into eval mode, so its dropout does not act: eval() is for measuring and writing."""

    edits = {"optimizer.zero_grad": "model.eval()\noptimizer.zero_grad"}


class no_step(Fundamental):
    """optimizer.step() is missing, so the model stays as it was."""

    edits = {"optimizer.step()": ""}


class two_steps(Minor):
    """The optimiser makes two steps: one call of train_step is one update."""

    edits = {"step()": "step()\noptimizer.step()"}


class step_before_backward(Misconception):
    """The optimiser steps before backward() has made the gradients: zero, forward, backward, clip, step."""

    based_on = no_step
    edits = {"loss.backward": "optimizer.step()\nloss.backward"}


class no_backward(Fundamental):
    """No gradient arrives: call backward() on the model's own loss, not on a new tensor, and not never."""

    edits = {"loss.backward()": ""}


class backward_twice(Minor):
    """The gradients are counted twice: backward() runs twice."""

    edits = {".backward()": ".backward(retain_graph=True)\nloss.backward()"}


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


class own_rate(Misconception):
    """The optimiser's learning rate is changed: train_step leaves it as it is set."""

    edits = {
        "optimizer.step": [
            "for group in optimizer.param_groups: group['lr'] = 1e-3\noptimizer.step",
            "for group in optimizer.param_groups: group['lr'] = 3e-4\noptimizer.step",
        ]
    }


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
    """The loss is not the model's own: take the mean cross-entropy that it returns, without another factor."""

    edits = {
        "loss.backward": [
            "loss = loss * y.numel()\nloss.backward",
            "loss = loss / len(x)\nloss.backward",
            "loss = loss.exp()\nloss.backward",
            "loss = loss / max_norm\nloss.backward",
            "loss = -loss\nloss.backward",
        ]
    }


class part_of_the_loss(Misconception):
    """The loss is that of a part of the batch: all positions of all rows count."""

    variants = [
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
    """The norm of the gradients is returned, as clip_grad_norm_ gives it: the loss is asked for."""

    edits = {"nn": "norm = nn", "loss.item": "norm.item"}


class perplexity(Misconception):
    """The perplexity is returned: the loss itself is asked for."""

    edits = {"loss.item()": "math.exp(loss.item())"}


class pair_returned(Misconception):
    """More than the loss is returned: one float is asked for."""

    variants = [
        {"item()": "item(), model"},
        {"loss.item()": "[loss.item()]"},
        {"_, loss": "logits, loss", "loss.item()": "logits, loss"},
    ]


class input_changed(Minor):
    """The batch is changed in place: x and y are different afterwards."""

    edits = {"return": ["x += 1\nreturn", "y.zero_()\nreturn"]}
