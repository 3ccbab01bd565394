"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q11_1",
        points=1,
        key="B",
        explanations={
            "A": (
                "In self-attention it is so: there, later positions hold what is still to be written. But cross- "
                "attention looks at another sentence, which is known from its first word to its last. Those "
                "weights were not zero, and they were useful."
            ),
            "B": (
                "Right. Word t may now look at the source words 0 to t only. English writes `the` before its noun, "
                "and Igbo's `ahụ` comes after it: it could not be read in time, nor could a question mark at the "
                "end. The source holds no answers, so nothing needs to be hidden in it."
            ),
            "C": (
                "A leak needs a way to the answers, and those are English words. The source is Igbo, and "
                "blocking part of it can only take knowledge away. Ask yourself in which direction the loss "
                "would move then."
            ),
            "D": (
                "Padding does stand at the end, but so do the last real words of every sentence. Draw the mask "
                "for six target words and nine source words, and see how many real words it covers in the first "
                "row."
            ),
        },
    ),
    Question(
        name="q11_2",
        points=1,
        key="D",
        explanations={
            "A": (
                "It sounds as if the true words had to be fed one by one. But they are all known beforehand, so "
                "they can be laid side by side under a causal mask. Count the passes of both once more: who has "
                "to wait for a word?"
            ),
            "B": (
                "The held-out pairs are new, so it feels like a real test of writing. Look at held_out_loss, "
                "though: which words does it hand to the decoder at every position? A model can do well there "
                "and still lose its way alone."
            ),
            "C": (
                "When it writes there is indeed nothing to hide, because the later words do not exist yet. But "
                "the mask also shapes how the earlier positions are computed: without it they would be computed "
                "otherwise than in training. A causal decoder keeps its mask."
            ),
            "D": (
                "Right. In training every beginning is a true one. When it writes, a wrong word becomes part of "
                "its own input, and it has never learnt to go on from there. This gap is known as exposure bias, "
                "and it grows with the length of the sentence."
            ),
        },
    ),
    Question(
        name="q11_3",
        points=1,
        key="A",
        explanations={
            "A": (
                "Right. The loss is lowest where the probabilities equal the target. The right answer keeps 0.9 and "
                "gets half of the 0.1 that is spread over two answers: 0.95. With hundreds of tokens that share is "
                "next to nothing, and 0.9 is left."
            ),
            "B": (
                "With hundreds of tokens it looks so. But the share ε is spread over all V tokens, and the right one "
                "is among them. How much of it comes back when there are only two?"
            ),
            "C": (
                "The share is 0.1 for any V, and the other answer gets its part of it. Put p = 1 into the formula: "
                "what is the logarithm of the probability that is left for the other answer?"
            ),
            "D": (
                "Only the share ε is spread evenly, and the rest of the target stays with the right answer. Write "
                "down the two numbers of the target. Where would you want the probabilities to be?"
            ),
        },
    ),
    Question(
        name="q11_4",
        points=1,
        key="C",
        explanations={
            "A": (
                "All n-grams of the references are found, and a measure of recall would be content. But BLEU divides "
                "by the n-grams that the system says, and each counts at most as often as the reference holds it."
            ),
            "B": (
                "The factor for the length is there for translations that are too short. Which of h and r is larger "
                "here, and what does the minimum in the formula make of it?"
            ),
            "C": (
                "Right. Of 40 words 20 count, as each agrees at most as often as the reference holds it; of 39 pairs "
                "19, and so on. The mean of four numbers of a little under one half is a little under one half, and "
                "too long a text has no other penalty."
            ),
            "D": (
                "The four numbers are right, and their product is about 0.06. But look at the exponent behind the "
                "product: what kind of mean of the four is taken?"
            ),
        },
    ),
    Question(
        name="q11_5",
        points=1,
        key="B",
        explanations={
            "A": (
                "It is divided by the smallest number, that is so. But the scores are negative: does a negative "
                "number rise more when it is divided by a small number or by a large one? Compute the divisor for "
                "one token."
            ),
            "B": (
                "Right. For the empty translation the length is 1, its eos, so the divisor is (6/6)² = 1. The longer "
                "a sentence, the more its negative score is divided, here by nearly the square of the length, while "
                "ln p falls about in step with the length. So α is a balance: 0 wants short, 2 wants long."
            ),
            "C": (
                "All are divided, but by different numbers: the divisor grows with the length. Compute it for "
                "lengths 1 and 13 with α = 2, and compare scores of −2 and −6 afterwards."
            ),
            "D": (
                "The length counts the new tokens with eos, so the empty translation has the length 1, and nothing "
                "is divided by zero. What is ((5 + 1)/6)²?"
            ),
        },
    ),
]
