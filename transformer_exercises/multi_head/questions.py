"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q7_1",
        points=1,
        key="B",
        explanations={
            "A": (
                "That is what head 1 should hold first. But view does not know what a head is: it reads the "
                "numbers in the order in which they lie in memory. How many numbers has head 0 used up before "
                "head 1 begins?"
            ),
            "B": (
                "Yes. Head 0 takes the first 6 x 4 = 24 numbers in memory, which are all eight features of "
                "tokens 0, 1 and 2. Head 1 begins with number 24: token 3, feature 0. The heads have become two "
                "halves of the text."
            ),
            "C": (
                "So it would be if head 0 had used up a single token. But head 0 has T = 6 rows of 4 numbers: "
                "count how many tokens of 8 numbers that is."
            ),
            "D": (
                "The token is well chosen, but why should the first four features be skipped? Count how many "
                "numbers head 0 takes, and divide by the 8 numbers of a token: what is left over?"
            ),
        },
    ),
    Question(
        name="q7_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. Each of 12 tokens asks, in each of 8 heads, and the recording answers: 8 tables of 12 rows and "
                "1,500 columns. The recording is complete before the first token is written, so nothing in it is a "
                "forbidden future."
            ),
            "B": (
                "Here the recording asks and the tokens answer, so that there would be one output for each of 1,500 "
                "vectors. How many outputs does a decoder need that has written 12 tokens?"
            ),
            "C": (
                "The decoder has such a layer, too. But that one lets the tokens look at one another: through which "
                "layer does the decoder learn anything of the recording?"
            ),
            "D": (
                "The shape is right. But ask what a mask is for: it hides what will not be known when the model "
                "writes. Which part of the recording is unknown at that moment?"
            ),
        },
    ),
    Question(
        name="q7_3",
        points=1,
        key="C",
        explanations={
            "A": (
                "Eight heads sound like eight layers, and eight full-width layers would cost that much. But each "
                "head is only 8 wide here: count the rows of the query projection for one head, and then for all "
                "of them."
            ),
            "B": (
                "The columns are indeed divided, but look at what is divided: not x, but the queries, keys and "
                "values, after the projections. On how many features of x does one number of a query depend?"
            ),
            "C": (
                "Yes. The projections stay C x C and are merely cut into eight parts, so the cost does not "
                "change. Each part has its own softmax, and the price is that each score is a product of 8 "
                "numbers instead of 64."
            ),
            "D": (
                "Dividing the work by positions sounds natural, and a wrong reshape does just that. But after a "
                "right split the shape is (B, H, T, d_k): how many positions does each head hold?"
            ),
        },
    ),
    Question(
        name="q7_4",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. Eight projections of 64 columns are as large as one of 512, and eight scores of 64 products "
                "take as long as one of 512. So eight looks cost about as much as one; the price is that each "
                "compares words by 64 numbers only."
            ),
            "B": (
                "The division cuts the queries, keys and values, not the words. Before it stands a projection from "
                "512 features to 64: on how many features of x does one number of a head's query depend?"
            ),
            "C": (
                "A sum of 512 products is larger than one of 64, that is true. But which other part of the formula "
                "has the task of keeping the scores at the same size, whatever the width?"
            ),
            "D": (
                "Heads do come to differ. But imagine eight heads that are 512 wide each: they too would begin with "
                "eight different sets of random weights. What would such a layer have more of?"
            ),
        },
    ),
]
