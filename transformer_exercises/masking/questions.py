"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q6_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "Overfitting is the usual reason for a low training loss. But overfitting means learning training "
                "sentences by heart. What has this model learnt to do instead, and does that trick need a sentence "
                "it has met before?"
            ),
            "B": (
                'That would be so for any model that sees only the past. This one is measured "in the same way": '
                "which tokens are in its input while it is asked for the next one?"
            ),
            "C": (
                "Yes. The whole held-out sentence goes in, so each answer is visible one step to the right, and "
                "copying works on any sentence. A held-out loss below the floor is therefore a sign of a leak, and "
                "no proof of quality."
            ),
            "D": (
                "A model that only copies is indeed lost when it writes. But measuring a loss is not writing: look "
                "at what stands in its input when the held-out sentence is fed in."
            ),
        },
    ),
    Question(
        name="q6_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The weights that remain are e^score divided by a sum over all keys, the hidden ones included. "
                "If a hidden score grows, every visible weight shrinks, and the output tells."
            ),
            "B": (
                "The values are indeed multiplied by zero. But the output also depends on the other weights: change "
                "the hidden score in the cell above and see whether they stay where they were."
            ),
            "C": (
                "A hidden value vector times a weight of exactly zero adds nothing, so no share of it is mixed in. "
                "Look for another way in which the future enters the numbers of that row."
            ),
            "D": (
                "The row's sum does fall below 1, but not by an amount that depends on the number of hidden keys "
                "alone: in the experiment one key was hidden both times, and the sums were 0.390 and 0.031."
            ),
        },
    ),
    Question(
        name="q6_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "The mask is right and the function is a good one, but its boolean attn_mask is read the other way "
                "round: True takes part. Each position would see only the future."
            ),
            "B": (
                "The module is right about True, but key_padding_mask has shape (B, S): one row for each sentence, "
                "the same for all queries. It cannot express that different queries may see different keys."
            ),
            "C": (
                "Filling with −∞ is the right recipe, but ~m is True on and below the diagonal: the past is blocked "
                "and the future left open."
            ),
            "D": (
                "Yes. In nn.MultiheadAttention a boolean attn_mask of shape (T, S) blocks where it is True, which "
                "is our convention: the future is hidden."
            ),
        },
    ),
]
