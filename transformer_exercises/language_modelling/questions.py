"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q1_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "The chain rule conditions each factor on *all* tokens before it. These factors know one of them. For "
                "which source is one enough?"
            ),
            "B": (
                "More text makes each p(next | last) more exact, and the formula forgets all the same: after *the keys "
                "to the cabinet* it sees *cabinet* alone. Which of the four sources has nothing else to remember?"
            ),
            "C": (
                "Yes. The present corner and the coin decide the next corner, and how the walker came there changes "
                "nothing. Where forgetting costs nothing, the formula is the chain rule itself."
            ),
            "D": (
                "What decides here stands two places back, and this formula sees one. Which n-gram model would be "
                "exact for this machine?"
            ),
        },
    ),
    Question(
        name="q1_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. One bit less per character is a factor of 2 per character, and there are 100 characters "
                "whose factors multiply: 2^100, about 10^30. Small differences per character are enormous "
                "differences per text."
            ),
            "B": (
                "The ratio of two costs in bits is not a ratio of probabilities: bits are logarithms. Turn each "
                "cost into a probability of the whole text first, and then divide."
            ),
            "C": (
                "You have counted 100 characters and added their advantages. Costs in bits add up over a text; "
                "what do probabilities do?"
            ),
            "D": (
                "You have used e, which belongs to nats. In which unit are these two costs given, and which base "
                "belongs to it?"
            ),
        },
    ),
    Question(
        name="q1_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "The entropy does bound every model, but on average over new text from the source. Was this text "
                "new to the model?"
            ),
            "B": (
                "It is tempting to read a low number as deep insight. But the floor is computed from the very "
                "rules that wrote the text: beyond them there is nothing to find. Where else can knowledge about "
                "exactly this text come from?"
            ),
            "C": (
                "Smoothing does raise the training loss, so without it the number falls further. But is the "
                "training loss what we want to be small? Look at the other curve of the figure."
            ),
            "D": (
                "Yes. Long contexts occur once, and then the counts simply quote what came next in the training "
                "text. On new text the quotations are wrong or missing, so only text that was not counted can "
                "tell how good the model is."
            ),
        },
    ),
    Question(
        name="q1_4",
        points=1,
        key="B",
        explanations={
            "A": (
                "The most likely token can be read off what the model computes, and a program may well choose it. "
                "But think of section 6: could you sample from a model that hands over a single token?"
            ),
            "B": (
                "Yes. One distribution over the whole vocabulary is all that comes out. Choosing a token from it, by "
                "dice or by taking the largest, is a second step, and the model has no part in it."
            ),
            "C": (
                "How probable a text is and how true it is are two things. The model was only ever shown which "
                "tokens people wrote, and what they write most often need not be so."
            ),
            "D": (
                "A table of long contexts behaves somewhat like this, and section 5 shows what becomes of it on new "
                "text. What does a model compute after a text that nobody has written before?"
            ),
        },
    ),
    Question(
        name="q1_5",
        points=1,
        key="C",
        explanations={
            "A": (
                "No game of the text reached these positions, so there is nothing to look up. What does a table of "
                "long contexts know after a context that it has not seen?"
            ),
            "B": (
                "The loss is one number, the surprise at the move that was played, and knows nothing of rules. Ask "
                "instead what helps to be surprised less."
            ),
            "C": (
                "Yes. The board stands nowhere in the text, but it decides which moves come next. A model that works "
                "it out from the moves pays less at every move, in new games too. (Such boards were found inside "
                "networks.)"
            ),
            "D": (
                "*Nf3* stands in thousands of games, so the move as such is far from impossible. Whether it is legal "
                "*here* depends on all the moves before."
            ),
        },
    ),
]
