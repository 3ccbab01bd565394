"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q9_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "Without positions the scores are made of other vectors, but they are as small as before. What decides "
                "how far the scores of one position lie apart before anything was learnt?"
            ),
            "B": (
                "Equal scores give every token the probability 1/V. Compute the loss of that: is it above or below "
                "what this model shows?"
            ),
            "C": (
                "Yes. A score is then a sum of 128 products with a standard deviation of 0.2, about 2.3 in all. The "
                "model is sure of some tokens before it has learnt anything, and pays for it: clearly more than ln V, "
                "and far less than with weights of size 1."
            ),
            "D": (
                "Such scores have a standard deviation of about 11. Look at what the second line of the last output "
                "says that this costs, and compare it with 9.3."
            ),
        },
    ),
    Question(
        name="q9_2",
        points=1,
        key="B",
        explanations={
            "A": (
                "A leak would help with any story, since the answers would stand in the input of each. What does the "
                "loss on new stories say about that?"
            ),
            "B": (
                "Yes. The floor holds for stories that nobody has seen. After sixty passes a model can know some of "
                "the training stories by heart, and of what is known by heart nothing is left to guess: their loss may "
                "honestly fall below. On new stories it is a good way above."
            ),
            "C": (
                "The floor is the surprise of the grammar that wrote the stories, computed and not estimated. It says "
                "what can be known of a story *before* it is read. Which of the stories had been read before?"
            ),
            "D": (
                "Nothing can bring the loss on new stories below 0.92, whatever is learnt. And which way does it often "
                "go while the two losses move apart?"
            ),
        },
    ),
    Question(
        name="q9_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "At the places with 500 this is what is wanted. But at the others, how many tokens have a probability "
                "at all, and how many of them does it cut off?"
            ),
            "B": (
                "The probabilities are squared and renormalised. Is the square of 0.04 beside that of 0.92 nothing, or "
                "only little? Count how often it comes in a thousand draws."
            ),
            "C": (
                "Nothing unfit is drawn. But think of the other places: how many of the 500 could still be drawn there?"
            ),
            "D": (
                "Yes. At the first places 0.92 reaches 0.9 alone, so nothing else is left; at the others 450 of the "
                "500 stay. A share of the probability fits both kinds of places, a number of tokens does not."
            ),
        },
    ),
    Question(
        name="q9f_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "With other weights, what would the very first loss after the resumption be? It is computed before "
                "any step is made."
            ),
            "B": (
                "Then the first batch would be another one. What does the first loss say about the batch and the "
                "weights that it was computed with?"
            ),
            "C": (
                "Yes. The first loss needs the weights and the batch alone, and both were right. What it does not need "
                "is how the step is then made: without AdamW's running means the first update is another one, and "
                "every loss after it."
            ),
            "D": (
                "A resumed run does the same operations on the same numbers, in the same order, on the same machine. "
                "And rounding would hardly wait for the second loss."
            ),
        },
    ),
    Question(
        name="q9f_2",
        points=1,
        key="B",
        explanations={
            "A": (
                "Later layers mix, but in which direction? Ask what the 500th token can see of what comes after it, in "
                "the second layer or in the tenth."
            ),
            "B": (
                "Yes. In no layer does a token see anything behind it, so what the users wrote cannot reach the 500. "
                "They have the same positions and the same past in all thousand texts, and their keys and values are "
                "the same. Serving systems share them."
            ),
            "C": (
                "Positions are counted from the beginning of a text. Does it change the position of token 500 if 10 or "
                "1,000 tokens follow it?"
            ),
            "D": (
                "Weights belong to the tokens that look, and those that the users wrote do look differently. But which "
                "tokens do the first 500 look at?"
            ),
        },
    ),
]
