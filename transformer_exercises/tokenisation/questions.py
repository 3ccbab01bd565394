"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q2_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "Ten gigabytes is a great deal, so this is tempting. But look at the curve of different words in "
                "section 2: does it level off anywhere, or does it only grow more slowly?"
            ),
            "B": (
                "Another language would indeed bring many unknown words. But the experiment in section 2 used "
                "English only, and how many of the next 5,000 words were new there?"
            ),
            "C": (
                "Yes. By Heaps' law the number of different words keeps growing, more slowly but without end, so "
                "some part of every new issue was never seen. BPE avoids this by falling back to smaller pieces."
            ),
            "D": (
                "Dropping rare words makes the vocabulary smaller. But what becomes of a dropped word when it "
                "turns up again in a new issue, and what of a word that was never there?"
            ),
        },
    ),
    Question(
        name="q2_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. d r i n k: merge 1 gives d r i nk. Merge 2 needs an n of its own next to i, and there is "
                "none now. Merge 3 gives dr i nk, and merge 4 joins i and nk."
            ),
            "B": (
                "Both merges are in the list, and reading from the left is how we read a word. But which pair of "
                "this word was learnt first, and what does it leave for the others?"
            ),
            "C": (
                "Each letter does appear in some merge. But to make one piece of the whole word, the last merge "
                "would have to join two pieces that spell drink. Is such a pair in the list?"
            ),
            "D": (
                "Other tokenisers do look for the longest known piece first (WordPiece is one). BPE replays its "
                "merges: once ink is there, is any merge left in the list that still applies to the rest?"
            ),
        },
    ),
    Question(
        name="q2_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "BPE does give small ids to pieces learnt early, which are often frequent. But does the model "
                "ever calculate with an id? Look at what the table in section 9 made of the shuffled letters."
            ),
            "B": (
                "Merges learnt one after another are alike in frequency, if in anything. Even so, the rows of "
                "two neighbouring ids start at random and are trained separately: what could they share?"
            ),
            "C": (
                "That would happen if you shuffled the ids under a model that is already trained, or decoded "
                "with the old tokeniser. Here the second model has never seen the old numbering: who decodes its "
                "output?"
            ),
            "D": (
                "Yes. Shuffling the ids reorders the rows of the first table and of the last layer, and nothing "
                "else. Whatever the first model can learn, the second can learn too, and its own tokeniser turns "
                "its ids back into text."
            ),
        },
    ),
    Question(
        name="q2_4",
        points=1,
        key="B",
        explanations={
            "A": (
                "The other way round: a word is one token, and its pieces are several. Section 7 measured what BPE pays "
                "for its small vocabulary. What does it gain?"
            ),
            "B": (
                "Yes. A row learns only from the places where its token stands. With whole words almost half of the rows "
                "are met once, and *drinks* starts from nothing although *drink* is well known. Pieces are shared, so "
                "each of them is met often."
            ),
            "C": (
                "Sometimes a cut falls on an ending, and often it does not: look at what the merges made of *thirsty*. "
                "BPE counts and knows no grammar, and it is good for something all the same."
            ),
            "D": (
                "Ids are names, of letters, pieces and words alike, and any numbering is as good as another. Think of "
                "how often each row of the table is met in training."
            ),
        },
    ),
]
