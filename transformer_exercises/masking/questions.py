"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q6_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "Every position does look at every other one. But which words are in the input now? Look for the one "
                "that the unmasked model of section 3 copied."
            ),
            "B": (
                "A missing mask takes nothing away: all words of the prefix are there, each with its position. What "
                "could keep this model from using them?"
            ),
            "C": (
                "Yes. What cheated was not the missing mask but the answer in the input, and here it is in none. Such "
                "a model is honest, at nine passes for each sentence; the mask buys the same in one."
            ),
            "D": (
                "One target in each pass makes training slow, and a long training makes up for that. Where does it "
                "come to rest, if the input holds all words so far and nothing else?"
            ),
        },
    ),
    Question(
        name="q6_2",
        points=1,
        key="B",
        explanations={
            "A": (
                "A zero vector adds nothing, that is so. But do the real words keep the weights that they had? All "
                "weights of a row share one sum."
            ),
            "B": (
                "Yes. The softmax still runs over the padded keys, and what they take is missing from the real words. "
                "That is zero *after* in another dress: what has no value must have no weight either."
            ),
            "C": (
                "NaN needs 0/0 or infinities, and the scores are ordinary numbers here. A weighted sum that contains "
                "zero vectors is a fine vector."
            ),
            "D": (
                "The padding's weight does grow with each copy. But weight times which vector is added? Its values "
                "were set to zero."
            ),
        },
    ),
    Question(
        name="q6_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "In `keep` 1 stands for a real token, and key_padding_mask ignores where it is True: so the real "
                "tokens would be hidden and the padding left."
            ),
            "B": (
                "The right entries are True, but attn_mask is (T, S) or (B·H, T, S): it is about queries and keys, "
                "and knows no shape for one row per sentence."
            ),
            "C": (
                "`~` turns booleans round. Of integers it turns the bits: ~1 is −2 and ~0 is −1, and as booleans both "
                "are True. Everything would be hidden, with no error."
            ),
            "D": (
                "Yes. `keep == 0` is True at padding, which is what key_padding_mask ignores, in every query of that "
                "sentence. Here True must mean blocked."
            ),
        },
    ),
    Question(
        name="q6f_1",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. In half precision −1e9 becomes −∞, and a row with nothing visible is 0/0. In float32 the same "
                "row is finite everywhere, so it silently gives equal weights."
            ),
            "B": (
                "Half precision ends at 65,504, so this fill is not kept as it is. What does it become, and what is "
                "the softmax of a row that holds nothing else?"
            ),
            "C": (
                "Rounding does lose digits, but a row of equal numbers stays a row of equal numbers. What does the "
                "fill turn into where numbers end at 65,504?"
            ),
            "D": (
                "That would be so if something were visible in the row. Here nothing is, so whatever is largest among "
                "the hidden ones decides."
            ),
        },
    ),
]
