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
                "The attention in the experiment had no parameters at all, and it still felt the first word. What "
                "matters is the way from input to output, not how much can be stored."
            ),
            "B": (
                "Attention has no reading direction: it compares all pairs at once. In the figure its gradient is "
                "about as large at the first position as in the middle."
            ),
            "C": (
                "Right. Every input is one step away in attention. In the plain recurrence the gradient is a product "
                "of one factor per step, and a product of many factors below 1 vanishes. (An LSTM multiplies too, "
                "but by gates that it can keep near 1.)"
            ),
            "D": (
                "It is true that tanh flattens, but near 0 its slope is 1. And no slope of a softmax exceeds 1/4. "
                "Ask how many such factors lie between the first word and the last output."
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
                "The entries keep their variance, but a dot product adds up d_k products of them. Look at the "
                "orange line in the first panel of the figure."
            ),
            "B": "Right. The variance is d_k, so the standard deviation is its root: 8 for 64 and 16 for 256.",
            "C": (
                "That is what happens to the variance. The question asks for the standard deviation, the typical "
                "size of a score."
            ),
            "D": (
                "A mean of many terms gets steadier with more terms. A dot product is a sum and is not divided by "
                "their number."
            ),
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
                "A softmax along the rows looks at one row at a time, so it need not keep what holds across rows. "
                "Compare 'it' looking at 'dog' with 'dog' looking at 'it' in the first heat map."
            ),
            "B": (
                "The roles keep their names, but with the same layer each word's query is the same vector as its "
                "key. Write out q_i · k_j and q_j · k_i for two words and compare."
            ),
            "C": (
                "Right. With equal queries and keys the score of (i, j) is that of (j, i), as in simple attention. "
                "The division by row sums then breaks the symmetry of the weights."
            ),
            "D": (
                "Before any softmax, write out q_i · k_j and q_j · k_i when every query equals its key. And the "
                "softmax evens out nothing across rows: it sees one row at a time."
            ),
        },
    ),
    Question(
        name="q5_7",
        points=1,
        key="C",
        explanations={
            "A": (
                "These are nearly turned round. In the page of section 10 it is the question that looks for something, "
                "and the entries that have something to offer. Whose vector is the query made of?"
            ),
            "B": (
                "Nothing is picked: the softmax gives every word a weight. And what is passed on is not the embedding "
                "but a linear map of it: in section 4 the value of 'dog' was four legs, which its embedding did not hold."
            ),
            "C": (
                "Right. A query is compared with every key, and the weights that come of it blend the values. So what "
                "a word is found by and what it has to tell may be learnt apart."
            ),
            "D": (
                "All three are made of the same vectors, at the same moment, before anything is blended: three linear "
                "maps of x. None of them knows what the layer will put out."
            ),
        },
    ),
]
