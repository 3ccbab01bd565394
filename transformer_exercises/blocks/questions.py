"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q8_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "One mean for each feature, over everything else, is what batch normalisation takes. Then a "
                "word's result would depend on its neighbours in the batch: did the experiment with the two "
                "neighbours show that for LayerNorm?"
            ),
            "B": (
                "A sentence does feel like the natural unit. But a mean over its positions would mix early words "
                "with late ones, and the future would leak into the past. Look again at the dimension that "
                "LayerNorm(64) names."
            ),
            "C": (
                "Yes. Each of the 8 × 20 word vectors has its own mean and variance over its 64 features. No "
                "word needs to know about any other, so the layer works for any batch size, length or mask."
            ),
            "D": (
                "That would bring the batch as a whole to mean 0 and leave long and short vectors as different "
                "as they were. Take the formula and count: how many numbers go into one of its means?"
            ),
        },
    ),
    Question(
        name="q8_2",
        points=1,
        key="B",
        explanations={
            "A": (
                "The stream itself does hold both at full length. But a sublayer does not work with the stream "
                "as it stands: follow the thin line from the stream to the feed-forward network in the drawing "
                "of pre-norm."
            ),
            "B": (
                "Yes. The norm brings what is read to a fixed length, whatever the stream holds. If one term is "
                "100 times as long as the rest, the rest keeps about a hundredth of that length. Nothing was "
                "erased, but a long write drowns the short ones for all who read later."
            ),
            "C": (
                "A norm has no notion of what is usual. It takes one vector, subtracts one number and divides by "
                "another. Does that change which term of the sum is the longest?"
            ),
            "D": (
                "Dividing by a large number leaves little if what is divided is ordinary. Here it is itself as "
                "large. How long is a vector after layer normalisation, whatever it was before?"
            ),
        },
    ),
    Question(
        name="q8_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "That rule belongs to models that write from left to right: there the next word stands in the "
                "input and could be copied. What stands in this input where the answer should be?"
            ),
            "B": (
                "Then a blot could use nothing of what follows it, although that text is there, in training and "
                "in use. A mask takes away what would be cheating: which part of this input would be?"
            ),
            "C": (
                "The mask should be the same in training and in use, or the model meets a situation it was never "
                "trained for. And do the inputs of training really show the answers here?"
            ),
            "D": (
                "Yes. The blotted words are not in the input, so there is nothing to copy, and what stands to "
                "the right helps as much as what stands to the left. BERT is trained like this: an encoder, with "
                "attention to all sides."
            ),
        },
    ),
    Question(
        name="q8f_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "Each head of keys has fewer readers now, that is right. But a score belongs to a query and a key: do "
                "the 32 heads ask fewer or more questions than before?"
            ),
            "B": (
                "The values that a word blends are those of one group, for each head that asks. How many heads come "
                "out of the formula, and how wide is each?"
            ),
            "C": (
                "Yes. Keys and values of 16 heads of width d_k are made in place of 8, so both matrices have twice as "
                "many rows. Queries, scores and what is written still count the 32 heads that ask."
            ),
            "D": (
                "The queries belong to the heads that ask, and a group asks nothing. Which of the two numbers, H or G, "
                "was changed?"
            ),
        },
    ),
]
