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
                "Right. Word t may now look at the source words 0 to t only. A language that puts a word earlier "
                "than English does could not read it in time, and a question mark or a negation at the end would "
                "come too late. The source holds no answers, so nothing needs to be hidden in it."
            ),
            "C": (
                "A leak needs a way to the answers, and those are Igbo words. The source is English, and "
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
                "Right. The target gives every other token the weight 0.1 / V. As the right one nears 1, the "
                "others near 0 and their −ln p grows without bound. The minimum lies near p = 0.9, and beyond it "
                "certainty costs more than it brings."
            ),
            "B": (
                "With ε = 0 it would be so, and the first term of the formula does vanish. But there is a second "
                "term, which asks about all the other tokens. What becomes of their logarithms when the right "
                "one takes nearly everything?"
            ),
            "C": (
                "You have found the place where the curve is lowest. But a loss that stays level would mean no "
                "gradient beyond it. Put p = 0.9999 into both terms of the formula and compare the sum with the "
                "one for 0.9."
            ),
            "D": (
                "Whether a word is counted as correct is a matter of the argmax. The loss looks at "
                "probabilities: it changes whenever they do, for right words as well as for wrong ones."
            ),
        },
    ),
    Question(
        name="q11_4",
        points=1,
        key="C",
        explanations={
            "A": (
                "The four precisions are indeed all 1, since whatever it says is right. If that were everything, "
                "one safe word per sentence would be a perfect translation. Which factor of the formula is there "
                "to stop that?"
            ),
            "B": (
                "Half of the reference is found, and a measure of recall would say so. But BLEU divides by the "
                "n-grams of the hypothesis, not of the reference, and treats what is missing in another way."
            ),
            "C": (
                "Right. Every p is 1 and so is their mean. The hypotheses are half as long as the references, so "
                "the brevity penalty is e^(1 − 2) = 0.368. BLEU rewards precision, and the penalty stands in for "
                "the recall that it does not measure."
            ),
            "D": (
                "The 4-grams of the second half are missing, but who counts them? Only n-grams that the system "
                "has said are looked up. Those of the first half are all there, the 4-grams too."
            ),
        },
    ),
    Question(
        name="q11_5",
        points=1,
        key="B",
        explanations={
            "A": (
                "A larger beam found sentences with a higher log-probability: that is exactly what it is asked "
                "for, so the search did its work. BLEU was not what it searched for. Why should the two agree?"
            ),
            "B": (
                "Right. The search got better and showed what the model believes: some poor sentences, often too "
                "short or even empty, have the largest probability of all. A small beam never comes across them. "
                "It is an error of the model, hidden by an error of the search."
            ),
            "C": (
                "Unlikely words may enter a wide beam, but at the end the best of all is taken, and here its "
                "log-probability was even higher than before. A sentence full of unlikely words would not have "
                "won."
            ),
            "D": (
                "A wide beam does hold more sentences, but one is returned, and BLEU compares its words with "
                "those of the reference. No probability enters that count, whatever the width of the beam."
            ),
        },
    ),
]
