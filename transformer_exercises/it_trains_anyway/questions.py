"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q12_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "With −4, a hidden key keeps a small weight, wherever it stands, so that every earlier answer moves. "
                "Answer 0 does not move at all when token 3 changes. How far ahead does this model see?"
            ),
            "B": (
                "A wrong reshape follows the layout in memory: its picture is ragged, and some tokens of the past are "
                "not seen. Here all of the past is, and what is seen of the future has the same width in every row."
            ),
            "C": (
                "Right. In each block, place t reads place t + 1 as well. After the second block it has what place t "
                "+ 1 had read in the first one, which is token t + 2. Each block lets the future in by one more place."
            ),
            "D": (
                "Then the first block would bring token t + 1 to place t, and the second, with its correct mask, "
                "nothing from later places. How many cells beyond the diagonal are filled in each row?"
            ),
        },
    ),
    Question(
        name="q12_2",
        points=1,
        key="B",
        explanations={
            "A": (
                "The floor holds for new text, and on average. This text was read 60 times, and there a loss can fall "
                "as far as the memory goes. What would a leak have done to the loss on new stories?"
            ),
            "B": (
                "Right. It has read its text 60 times, and foresees only what it has read. New stories go through the "
                "same code, so an answer that leaks in would lower their loss too. At 1.58 they have not been given "
                "away."
            ),
            "C": (
                "The floor is the entropy of the grammar, and no model's losses change it. The loss on new text is "
                "above it, as it must be. Is anything said about text that was read many times?"
            ),
            "D": (
                "With such targets the task is to say the token just read. That is as easy on new stories as on old "
                "ones, so that both losses would be near 0. Only one of them is low."
            ),
        },
    ),
    Question(
        name="q12_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "It is far more than rounding, but two calls differed by 0.33 with nothing changed. What moves anyway "
                "tells nothing about the token that was changed. Look at the measurement in which nothing else moves."
            ),
            "B": (
                "Most of the movement has gone, and what is left is not noise: two calls agree now. A sound model's "
                "earlier answers do not move at all, however small the number looks beside an older one."
            ),
            "C": (
                "Rounding does not depend on what else was once measured. In float32, numbers of the size of logits "
                "are rounded in the sixth or seventh digit, so that differences stay far below 0.0001."
            ),
            "D": (
                "Right. Where two calls agree, a movement has one possible cause: the token that was changed. 0.004 is "
                "far above rounding. Under the noise this leak could not be seen, so noise is looked for first."
            ),
        },
    ),
    Question(
        name="q12_4",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. Without padding no row is left without a key, and no loss can count padding. −10⁹ is a number "
                "that bfloat16 has, so that nothing overflows. The others are ill in every batch."
            ),
            "B": (
                "Both need padding, so both go home. But look at the second type of numbers: −10⁹ is too large for "
                "float16, which ends at 65,504. Where does bfloat16 end?"
            ),
            "C": (
                "It does go home, since −10⁹ fits into bfloat16. Now look at the batch: which other findings can be "
                "seen only where something is padding, or where a row has no key at all?"
            ),
            "D": (
                "Three of these do. To find a copy, one row of the table is changed, for a token that does not occur "
                "in the batch. 16 windows leave many of the 904 tokens out, with or without padding."
            ),
        },
    ),
]
