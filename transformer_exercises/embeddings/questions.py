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
                "Yes. The table knows only the id, and the id is the same. The other words of the sentence come "
                "in through the layers, as they did for the chicken and the road."
            ),
            "B": (
                "That would be convenient, but the look-up sees one id and nothing else. Where would a second "
                "row come from, and who would choose, before anything has been read?"
            ),
            "C": (
                "The table changes during training, when an optimiser takes a step. Reading a sentence takes no "
                "step: our reader read eight new sentences, and its table was the same before and after."
            ),
            "D": (
                "The positions do differ here, and they do enter the sum. But take the two chicken sentences: "
                "there, the word in question stood at the same place in both."
            ),
        },
    ),
    Question(
        name="q3_4",
        points=1,
        key="C",
        explanations={
            "A": (
                "Float32 holds every whole number up to 16 million exactly, which is plenty for ids. Suppose the "
                "numbers were perfect: what would id 336 as an input say about the word, compared with id 85?"
            ),
            "B": (
                "It is the other way round: an id is one number, a vector hundreds, and the table is among the "
                "larger parts of a small model. What is all this memory spent for?"
            ),
            "C": (
                "Yes. The order of ids means nothing, and a network cannot help computing with order and size. A "
                "row of a table is free to move, and words that are used alike are moved alike."
            ),
            "D": (
                "Nobody lays anything down: the rows begin at random. Ask also whether a single number of a vector "
                "meant something in our pictures, or only the direction of the whole."
            ),
        },
    ),
]
