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
                "Left to right is a common choice, but the chain rule holds for tokens in an order as well as "
                "for any other variables. Write it out for three tokens: every factor has its place, and nothing "
                "has been lost so far."
            ),
            "B": (
                "Multiplying would need independence if the factors were plain probabilities p(x_t). Here each "
                "factor is conditional on other tokens, and such factors may always be multiplied."
            ),
            "C": (
                "Yes. The chain rule conditions each token on the whole text before it. The bigram model keeps "
                "one token of it, so whatever the older ones say about the next token is lost."
            ),
            "D": (
                "Estimating from a finite text does cost something, and section 5 measures it. But the question "
                "is about the form of the product: even with unlimited text, would this formula give the true "
                "p(x)?"
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
                "No such marks are in the text, and nobody sorts it: the model gets characters or words and nothing "
                "else. How would it notice, then, that a skill was missing?"
            ),
            "B": (
                "The loss is one number, the mean surprise per token, and knows nothing of skills. Ask instead at "
                "which tokens somebody without a skill would be surprised."
            ),
            "C": (
                "Yes. The loss asks for no skill by name. But the verb after its subject, the word after a hundred "
                "degrees, the number after a sum are next tokens too, and whatever predicts them lowers the loss."
            ),
            "D": (
                "The first weights are random, and the loss then stands close to ln V: no token is preferred. What "
                "the network knows later must have come in with the text."
            ),
        },
    ),
]
