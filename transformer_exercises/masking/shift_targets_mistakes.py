"""Wrong and right answers to `shift_targets`. The reference (06-masking):

def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class clones(RightAnswer):
    code = """
    T = ids.size(1); inputs = ids[:, 0 : T - 1].clone(); targets = ids[:, 1:T].contiguous(); return inputs, targets
    """


class rolled_right(RightAnswer):
    edits = {":, :-1], ids[:, 1:": "..., :-1], torch.roll(ids, -1, dims=-1)[..., :-1"}


# Mistakes


class swapped(Minor):
    """The two results are the wrong way round: the inputs lack the last token, the targets the first."""

    edits = {":-1], ids[:, 1:": "1:], ids[:, :-1"}


class one_hot(Misconception):
    """The results are one-hot vectors: the ids themselves are asked for, (B, T-1)."""

    edits = {"ids[:, 1:]": "torch.nn.functional.one_hot(ids[:, 1:])"}


class not_shifted(Fundamental):
    """Inputs and targets are the same: the model would learn to copy. The targets are one step on."""

    edits = {", 1:": ", :-1"}


class not_shifted_full(Fundamental):
    """ids is returned twice: the inputs are all but the last token, the targets all but the first."""

    edits = {"[:, :-1], ids[:, 1:]": ", ids"}


class both_from_one(Misconception):
    """Inputs and targets are the same: both lack the first token. The inputs are all but the *last* token."""

    edits = {":-1": "1:"}


class two_steps(Minor):
    """The targets are two steps on: the token that follows inputs[:, t] is ids[:, t + 1]."""

    edits = {"1], ids[:, 1": "2], ids[:, 2"}


class batch_shifted(Misconception):
    """A slice cuts the batch (first dimension) instead of time: ids[:, …], with a colon for the batch."""

    variants = [
        {", :-1], ids[:, 1": "-1], ids[1"},
        {"[:, :-1], ids[:, 1:]": ["[:-1], ids[:, 1:]", "[:, :-1], ids[1:]"]},
    ]


class rolled(Misconception):
    """torch.roll wraps round: the last target is the first token of the sequence. Drop a token instead."""

    edits = {"[:, :-1], ids[:, 1:]": ", ids.roll(-1, dims=1)"}


class rolled_back(Misconception):
    """torch.roll shifts the wrong way and wraps round."""

    edits = {"[:, :-1], ids[:, 1:]": ", ids.roll(1, dims=1)"}


class rolled_and_cut(Misconception):
    """torch.roll goes the wrong way (or the wrong end is cut): targets[:, t] should be ids[:, t + 1]."""

    edits = {"[:, 1:]": [".roll(1, dims=1)[:, :-1]", ".roll(-1, dims=1)[:, 1:]", ".roll(-1)[:, 1:]"]}


class next_number(Fundamental):
    """The targets are the ids plus 1: the target is the next *token* of the sequence, which has any id."""

    edits = {"[:, :-1], ids[:, 1:]": [", ids + 1", "[:, :-1], ids[:, :-1] + 1"]}


class inputs_two_short(Misconception):
    """The two results are cut differently: inputs[:, t] and targets[:, t] must be neighbours in ids."""

    variants = [{", 1": ", 2"}, {"-1": "-2"}]


class reversed_(Misconception):
    """The sequence is reversed: the targets are the tokens *after* the inputs, in the order of the text."""

    edits = {"[:, 1:]": [".flip(1)[:, :-1]", ".flip(1)[:, 1:]"]}


class halves(Misconception):
    """The sequence is cut in two halves: every token but the last is an input, every one but the first a target."""

    edits = {":-1], ids[:, 1:": ": ids.shape[1] // 2], ids[:, ids.shape[1] // 2 :"}


class without_overlap(Misconception):
    """Every other pair is missed: each token but the last is an input, and each but the first is a target."""

    edits = {":-1], ids[:, 1:": ": ids.shape[1] // 2 * 2 : 2], ids[:, 1 : ids.shape[1] // 2 * 2 : 2"}


class loop_ends_early(Minor):
    """Pairs are missing at the beginning or the end: a slice or a loop starts too late or stops too early."""

    edits = {"[:, :-1], ids[:, 1:]": ["[:, 1:-1], ids[:, 2:]", "[:, :-2], ids[:, 1:-1]"]}


class uneven(Minor):
    """The lengths differ: the inputs or the targets are not cut. Both should be (B, T-1)."""

    variants = [{"[:, :-1]": ""}, {"[:, 1:]": ""}]


class padded(Misconception):
    """A padding token is appended so that the length stays T: both should be (B, T-1)."""

    edits = {
        "[:, :-1], ids[:, 1:]": [
            ", torch.cat([ids[:, 1:], torch.zeros_like(ids[:, :1])], dim=1)",
            ", torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], -100)], dim=1)",
        ]
    }


class last_target_only(Misconception):
    """Only the last token is returned as a target; every position has one."""

    variants = [{", 1:": ", -1"}, {", 1": ", -1"}]


class flattened(Misconception):
    """The batch is flattened, so a sequence runs on into the next: keep (B, T-1), one row for each sequence."""

    variants = [
        {", ids[:, 1:]": ".flatten(), ids[:, 1:].flatten()"},
        {
            "[:, :-1], ids[:, 1:]": [
                ".flatten()[:-1], ids.flatten()[1:]",
                ".flatten()[None, :-1], ids.flatten()[None, 1:]",
            ]
        },
        """
        B, T = ids.shape
        cut = lambda first: ids.flatten()[first : first + B * (T - 1)].view(B, T - 1)
        return cut(0), cut(1)
        """,
    ]


class first_sequence(Misconception):
    """Only the first sequence of the batch is returned."""

    edits = {"[:, :-1], ids[:, 1:]": ["[0, :-1], ids[0, 1:]", "[:1, :-1], ids[:1, 1:]"]}


class stacked(Minor):
    """One tensor is returned: return the tuple (inputs, targets)."""

    edits = {
        "ids[:, :-1], ids[:, 1:]": [
            "ids[:, 1:]",
            "torch.stack([ids[:, :-1], ids[:, 1:]])",
            "torch.stack([ids[:, :-1], ids[:, 1:]], dim=-1)",
            "torch.stack([ids[:, :-1], ids[:, 1:]], dim=1)",
        ]
    }


class list_for_a_pair(Minor):
    """A list is returned: return the tuple (inputs, targets), as `return inputs, targets` does."""

    edits = {
        "ids[:, :-1], ids[:, 1:]": [
            "[ids[:, :-1], ids[:, 1:]]",
            "[(ids[:, t], ids[:, t + 1]) for t in range(ids.shape[1] - 1)]",
        ]
    }


class floats(Minor):
    """Ids are turned into floats: they are whole numbers and must stay so (torch.long)."""

    variants = [
        {", ids[:, 1:]": [".float(), ids[:, 1:]", ".float(), ids[:, 1:].float()", ", ids[:, 1:].float()"]},
        {
            "ids[:, :-1], ids[:, 1:]": (
                "torch.zeros(ids[:, 1:].shape) + ids[:, :-1], torch.zeros(ids[:, 1:].shape) + ids[:, 1:]"
            )
        },
    ]


class input_changed(common_mistakes.input_changed):
    edits = {
        "return ids[:, :-1], ids[:, 1:]": [
            """
            inputs = ids[:, :-1].clone()
            ids[:, :-1] = ids[:, 1:].clone()
            return inputs, ids[:, :-1]
            """,
            """
            inputs = ids[:, :-1]
            ids[:, :-1] = ids[:, 1:].clone()
            return inputs, ids[:, :-1]
            """,
        ]
    }


class rounded(Fundamental, common_mistakes.rounded):
    pass


class one_token_refused(Minor):
    """T = 1 is refused or fails: one token makes no pair, and both results are (B, 0)."""

    variants = [
        {
            "return ids[:, :-1], ids[:, 1:]": """
                cols = ids.unbind(1)
                return torch.stack(cols[:-1], 1), torch.stack(cols[1:], 1)
            """
        },
        {"return": "assert ids.shape[1] > 1\nreturn"},
        {"return": "if ids.shape[1] < 2: raise ValueError('at least two tokens are needed')\nreturn"},
    ]
