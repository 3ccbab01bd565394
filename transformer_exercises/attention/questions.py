"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q5_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "That would be vanishing gradients, and the question rules them out: open gates let them through. Say "
                "that it has been trained as well as can be. Where would it look for the entry?"
            ),
            "B": (
                "The order is no hindrance: each entry can be taken in when it comes, whatever is asked later. How "
                "many of them can be kept until then?"
            ),
            "C": (
                "Right. Training can open gates, and cannot make the state larger. Attention keeps a vector for each "
                "entry: its memory grows with the book, and so does its work."
            ),
            "D": (
                "That is true, and hinders nobody: attention has not learnt the book by heart either, and it looks "
                "the entry up. Where is the entry when the recurrence has read on?"
            ),
        },
    ),
    Question(
        name="q5_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. Positive shares that sum to 1 make a weighted mean, coordinate by coordinate. A mean never "
                "leaves the range of what it averages."
            ),
            "B": (
                "That would be a hard look-up. The softmax gives every word a share: in the example 'it' took 70 % "
                "of 'dog', 26 % of itself and a little of the others."
            ),
            "C": (
                "Tempting, because the diagonal is often large. But a longer vector in the same direction scores "
                "higher: 'it' scored 6 with 'dog' and 5 with itself."
            ),
            "D": (
                "The shares sum to 1, but they multiply vectors of any length. Try two rows equal to [3, 0]: what "
                "is every blend of them?"
            ),
        },
    ),
    Question(
        name="q5_3",
        points=1,
        key="B",
        explanations={
            "A": (
                "Each text does have a hidden state of its own, and that is why nothing in one text waits for another: "
                "a batch of texts runs side by side in a recurrence too. Look for what waits within a text."
            ),
            "B": (
                "Right. State 1,000 needs state 999, and so on down to the first: 1,000 steps that wait, however many "
                "processors stand idle. In causal attention every row needs the words only, and these are all there."
            ),
            "C": (
                "An embedding is a look-up of one word and needs nothing from its neighbours. It can be done for all "
                "words at once before the recurrence takes its first step."
            ),
            "D": (
                "That product is what one step can share out among processors: each number of the result is a sum of "
                "its own. But it is small, and the next step has to wait for it."
            ),
        },
    ),
    Question(
        name="q5_4",
        points=1,
        key="B",
        explanations={
            "A": (
                "8 is the root of d_k, right for entries of variance 1. These have variance 4. What is the variance "
                "of one product of two of them?"
            ),
            "B": (
                "Right. A product of two such entries has variance 4 · 4 = 16. Sixty-four of them add up to 1,024, "
                "and the root of that is 32."
            ),
            "C": (
                "64 is the number of products. Their variances add up, so ask for the variance of one of them; and "
                "what one divides by is a standard deviation."
            ),
            "D": "That is the variance of the scores. Dividing numbers by c divides their variance by c squared.",
        },
    ),
    Question(
        name="q5_5",
        points=1,
        key="D",
        explanations={
            "A": (
                "This is K times Q transposed: the words looked at have taken the rows. There should be one blend "
                "for each query."
            ),
            "B": (
                "An output is a blend of values, so it is as wide as one of them. 16 is the width of a query and of "
                "a key."
            ),
            "C": (
                "Each query shares out its attention over the keys. Find one query in the matrix of weights, and "
                "see in which direction its keys lie."
            ),
            "D": (
                "Right. One row of weights for each of the 5 queries, over the 7 keys, and a blend of values of "
                "width 3 for each."
            ),
        },
    ),
    Question(
        name="q5_6",
        points=1,
        key="C",
        explanations={
            "A": (
                "The scores of the two are equal. But each is turned into a weight in a row of its own, among other "
                "scores. Compare 'it' looking at 'dog' with 'dog' looking at 'it' in the first heat map."
            ),
            "B": (
                "A vector need not score highest with itself: one that points the same way and is longer scores "
                "higher. In section 2, 'it' scored 6 with 'dog' and 5 with itself."
            ),
            "C": (
                "Right. With equal queries and keys the score of (i, j) is that of (j, i), as in simple attention. "
                "Whether 6 is much depends on the other scores of the row."
            ),
            "D": (
                "The roles keep their names, but each word's query is now the same vector as its key. Write out q_i · "
                "k_j and q_j · k_i for two words and compare."
            ),
        },
    ),
    Question(
        name="q5_7",
        points=1,
        key="C",
        explanations={
            "A": (
                "It seems to ask for the right thing: nearly all of its weight is on 'dog'. What happens to that "
                "weight afterwards?"
            ),
            "B": (
                "A key decides whether a word is found, and 'dog' has been found: it gets 0.9. What does a word hand "
                "over once it is found?"
            ),
            "C": (
                "Right. Queries and keys decide who is looked at, values what is passed on. The weights are as they "
                "should be, so look at what is blended by them."
            ),
            "D": (
                "With large scores the softmax picks one word, here 'dog': it makes up nine tenths of the blend. So "
                "it is in there, with its value."
            ),
        },
    ),
]
