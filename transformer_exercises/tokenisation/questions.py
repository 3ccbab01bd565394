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
        key="B",
        explanations={
            "A": (
                "The *choice* of names makes no difference before training. But this model has been trained: which "
                "row of its table does it look up when the text says *dog*, after the sorting?"
            ),
            "B": (
                "Yes. A row belongs to its token. If the rows move as the names did, each token finds what was learnt "
                "for it, and each output is read as what was meant. Nothing between the two layers knows an id."
            ),
            "C": (
                "How many of its weights know an id at all? An id does one thing where the text comes in and one where "
                "the next token goes out; all layers between calculate with vectors."
            ),
            "D": (
                "A merge is a pair of pieces with a rank of its own. The list keeps its order when the ids of the "
                "pieces change. So the text is cut as before; what is looked up for each piece?"
            ),
        },
    ),
    Question(
        name="q2_4",
        points=1,
        key="C",
        explanations={
            "A": (
                "That would need later merges to save as much as early ones. Move the slider of section 4 to its end: "
                "how much does the curve still fall there?"
            ),
            "B": (
                "A byte-level tokeniser has no unknown token to begin with: what no merge knows is spelt in bytes. So "
                "there is nothing to win here. What do more merges change, then?"
            ),
            "C": (
                "Yes. Merges are learnt in the order of how often they help, so each new one shortens the text by "
                "less, and its row is trained at fewer places. Somewhere the longer table is no longer worth it."
            ),
            "D": (
                "Room is not what was missing. A merge is learnt from pairs in the training text: how many Bangla "
                "letters stand in this one, however many merges are allowed?"
            ),
        },
    ),
    Question(
        name="q2f_1",
        points=1,
        key="B",
        explanations={
            "A": (
                "The only whole one is removed, that is so. Write down what stands there afterwards: which characters "
                "now touch each other that did not before?"
            ),
            "B": (
                "Yes. What stood around the removed token closes up and spells a new one, which the tokeniser finds "
                "first of all. Text from outside is safe only if it is encoded without special tokens."
            ),
            "C": (
                "A byte-level tokeniser has no text that it cannot encode: half a special token would simply be bytes. "
                "But is it still half a one when the engineer's program is through?"
            ),
            "D": (
                "Two would need both to be there when the text is encoded. What happened to the inner one before that?"
            ),
        },
    ),
    Question(
        name="q2f_2",
        points=1,
        key="C",
        explanations={
            "A": (
                "Then the signs are gone from the screen, and so are the emoji. The bytes are right, each time: what "
                "is missing at the moment when they are decoded?"
            ),
            "B": (
                "What has been decoded to that sign cannot be brought back: the bytes behind it are lost. At which "
                "moment were they still there?"
            ),
            "C": (
                "Yes. A character's bytes may come in several tokens. Nothing is wrong with any of them; they have to "
                "be put together before they are decoded, so the screen waits for the last one."
            ),
            "D": (
                "It would become rarer, for those that the training text held. What about a character that came into "
                "use last week, or a rare one of a million?"
            ),
        },
    ),
]
