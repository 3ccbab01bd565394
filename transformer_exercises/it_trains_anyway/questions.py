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
                "Tempting, because in model A earlier answers do move when a later token changes. But look how: "
                "every earlier position moves, each a little, as through a softmax. A wrong reshape follows the "
                "memory layout: some positions strongly, others not at all."
            ),
            "B": (
                "Its answers move everywhere, so its picture looks full. But they move even if no token is "
                "changed: ask model B the same question twice. Mixed-up positions would give the same wrong "
                "answer each time."
            ),
            "C": (
                "Right. In the influence picture of model C single later tokens move an earlier answer strongly "
                "while others do not move it at all, and some past tokens are never seen. Each row after the "
                "reshape holds neighbouring positions of one head instead of all heads of one position."
            ),
            "D": (
                "Model D does give odd answers. But its influence picture is a clean triangle: no answer moves "
                "when a later token changes, and all past tokens are seen. With rows of mixed positions that "
                "could not be."
            ),
        },
    ),
    Question(
        name="q12_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. Model A gives the same answer twice, and when a token changes every earlier answer "
                "moves, only a little: the softmax gives blocked keys a small weight instead of none. The cells "
                "above the diagonal are not zero, at any distance."
            ),
            "B": (
                "In model B the cells above the diagonal are not zero, which looks like a leak. But measure what "
                "happens if you change nothing at all: the answers move just as much. A finite number in the "
                "mask is the same at every call."
            ),
            "C": (
                "The future does leak in model C. But a finite mask lets every later token through, a little "
                "each. Here some later tokens have a strong influence and others exactly none, so the softmax is "
                "not where it comes in."
            ),
            "D": (
                "Perhaps its small loss made you think that it sees the future. Change a later token: no earlier "
                "answer of model D moves, to the last digit. A finite mask could not hold back the future so "
                "completely."
            ),
        },
    ),
    Question(
        name="q12_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "Model A peeks, but what does it say? Its likeliest token is far more often the next one than "
                "the one just read. A model trained on targets that are not shifted would repeat its input."
            ),
            "B": (
                "Ask model B for its likeliest tokens and compare them with the input: it tries to say what "
                "follows, though it is never quite sure of itself. Targets that are not shifted would have "
                "taught it to say what it has just read."
            ),
            "C": (
                "Something in model C goes to the wrong position, and a missing shift sounds like that. But its "
                "targets were the next tokens: compare its likeliest tokens with both rows. The mix-up is inside "
                "the model, which its influence picture shows."
            ),
            "D": (
                "Right. At most positions the likeliest token of model D is the one it has just read, and almost "
                "never the next one; when it writes, it says the same token again and again. Nothing leaks and "
                "nothing is random: it learnt the wrong task perfectly well."
            ),
        },
    ),
    Question(
        name="q12_4",
        points=1,
        key="B",
        explanations={
            "A": (
                "Small changes everywhere look like noise. But call model A twice in eval mode with the same "
                "ids: the answers are identical to the last digit. The small changes appear only when a token is "
                "changed."
            ),
            "B": (
                "Right. In eval mode, two calls of model B with the same ids give different answers. That is the "
                "one experiment that shows it, and it must come first: against such noise, every other "
                "comparison seems to fail."
            ),
            "C": (
                "Its influence picture is ragged, which can look random. Draw it a second time: it comes out the "
                "same. With dropout left on, not even two calls with the same ids would agree."
            ),
            "D": (
                "Model D answers oddly, but it always gives the same odd answer: call it twice in eval mode and "
                "compare. Dropout that was left on would show at once as a difference."
            ),
        },
    ),
]
