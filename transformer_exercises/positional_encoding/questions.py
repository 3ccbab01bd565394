"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q4_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "This needs only two words, so it looks easy. But swap the two and the outputs are merely "
                "permuted: their mean, and with it the answer, is the same for both orders."
            ),
            "B": (
                "Each word sees all the others, so 'the' and the animal do meet. But which word stands right "
                "after which is a matter of order, and a shuffled text has the same mean."
            ),
            "C": (
                "Right. Which words occur, and how often, is the same for every order of the text. A bag of "
                "words holds this, and it is all that the model has."
            ),
            "D": (
                "A palindrome is defined by order alone: most shuffles of one are none any more. The mean of the "
                "outputs is the same for all these shuffles."
            ),
        },
    ),
    Question(
        name="q4_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. Each multiplication turns every clock on by five words, wherever it stands, and turning "
                "twice adds the angles. The matrix knows nothing of p, so it does not matter how large p is."
            ),
            "B": (
                "That would be so for a matrix fitted to a random table. This one is written down from the "
                "speeds alone: look at whether p occurs anywhere in its entries."
            ),
            "C": (
                "A product of matrices is one map after the other. Think of the clock: what do five minutes and "
                "then another five minutes do to the minute hand?"
            ),
            "D": (
                "Rotations do not shorten anything: sine squared plus cosine squared stays 1 for each clock. The "
                "tip of the hand stays on its circle."
            ),
        },
    ),
    Question(
        name="q4_3",
        points=1,
        key="B",
        explanations={
            "A": (
                "It is true that the scores depend on relative positions only. But list the relative positions "
                "that occur in a text of 64 symbols, and those that occurred in training."
            ),
            "B": (
                "Right. Moving a text leaves all its distances as they were, so all scores are the same. Longer "
                "texts bring distances of 16 and more; what the scores are there, nobody has trained."
            ),
            "C": (
                "New positions look dangerous, and for a learned table they are. For rotary, work out a score at "
                "positions 103 and 101 and compare it with the one at 3 and 1."
            ),
            "D": (
                "Both tests do turn queries and keys by angles that are new. But a score only feels the "
                "difference of two angles: check for each test whether those differences are new."
            ),
        },
    ),
    Question(
        name="q4_4",
        points=1,
        key="B",
        explanations={
            "A": (
                "The scores do feel nothing but distances. But a blend is a sum of values, and each of these now "
                "carries a turn of its own: work out the blend in a text of a single word."
            ),
            "B": (
                "Right. The scores depend on distances, so the shares stay. Each value is turned by 100 positions "
                "more, and so is their sum: the same text hands other vectors on to the next layer. So values are "
                "left alone."
            ),
            "C": (
                "A score feels the difference of two angles, and that is the same as before. Values are not compared, "
                "but they are summed: what comes out if each of them is turned further?"
            ),
            "D": (
                "Two of the three turns meet in a score, and there only their difference counts. Then look at what is "
                "blended: whose turn meets no other?"
            ),
        },
    ),
]
