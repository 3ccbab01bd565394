"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q3_1",
        points=1,
        key="B",
        explanations={
            "A": (
                "That is what section 3 showed for a table that is used at the input only. Here the table is "
                "used a second time. Which rows does the loss depend on through that second use?"
            ),
            "B": (
                "Yes. The softmax divides by a sum over the scores of all words, so the loss depends on every "
                "row of the table. That is why a model with tied weights has dense gradients for its table."
            ),
            "C": (
                "The cross-entropy does pick one log-probability. But what is that log-probability made of? "
                "Write out the softmax: would its value change if the score of some fourth word rose?"
            ),
            "D": (
                "A copied row passes its gradient on unchanged, as the gradient picture of section 3 showed, so "
                "the input rows do count. And ask what else the loss depends on besides the right word's score."
            ),
        },
    ),
    Question(
        name="q3_2",
        points=1,
        key="D",
        explanations={
            "A": (
                "It is natural to expect opposite vectors for opposite meanings. But nothing in the loss knows "
                "about opposites. What does the loss pull together, and is it different for these two words?"
            ),
            "B": (
                'Close vectors are often read as "same meaning". But the training saw no meanings, only windows. '
                "You could swap these two words in many sentences and still have English, though not the same "
                "message."
            ),
            "C": (
                "Standing side by side raises the score of one word's centre vector with the other's context "
                "vector. The cosine here compares two centre vectors. What makes those alike?"
            ),
            "D": (
                "Yes. Weather, water, tea, days: the same words stand around both, so the same contexts pull on "
                "both vectors. Opposites keep the same company, and vectors from windows cannot tell them from "
                "synonyms."
            ),
        },
    ),
    Question(
        name="q3_3",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The network gets the same numbers for every sentence, so it has one answer for all. What tells "
                "the sentences apart stands in the other words, and none of it has reached this row."
            ),
            "B": (
                "A wide row may hold much about the word. But which of its meanings is meant in *this* sentence: is "
                "that something that a number in the row can say, if the row is the same in all sentences?"
            ),
            "C": (
                "Both nouns have moved the row, that is true. Now take one sentence of each half: how do the two "
                "inputs of the network differ?"
            ),
            "D": (
                "Layers make a vector contextual by letting positions exchange information. How many positions does "
                "this network get to see?"
            ),
        },
    ),
    Question(
        name="q3_4",
        points=1,
        key="C",
        explanations={
            "A": (
                "Alphabetical neighbours do have neighbouring ids. Look for the place in the loss or in the step "
                "where two ids are compared, or where one is near another."
            ),
            "B": (
                "Has it? Its id is another one, and its row was moved along. Follow one word: with which numbers does "
                "it set out, and which pairs pull on it in the first step?"
            ),
            "C": (
                "Yes. An id is used to find a row, and for nothing else. The same row meets the same rows in the same "
                "order, so each step is the same, and only the places in the table differ."
            ),
            "D": (
                "The gradient is found for the rows that the ids name. Write down the step for one pair: does the "
                "number of the row occur in it, or only what the row holds?"
            ),
        },
    ),
]
