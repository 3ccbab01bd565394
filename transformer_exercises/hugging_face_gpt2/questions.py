"""The multiple-choice questions, and what each option's choice shows."""

from __future__ import annotations

from autograder.spec.exercise import Question

QUESTIONS = [
    Question(
        name="q10_1",
        points=1,
        key="C",
        explanations={
            "A": (
                "It does sound like something a tokenizer would tidy away. But GPT-2's throws nothing away: "
                "every text comes back exactly. Look at what the notebook printed for the text with the space at "
                "its end."
            ),
            "B": (
                "The text is indeed one token longer. But a prompt that is one *word* longer causes no such "
                "trouble, at the same position. So what is special about this token, rather than about its "
                "place?"
            ),
            "C": (
                "Yes. In the training data a word such as ␣water is one token, space included. A space of its "
                "own stands there before other spaces or unusual characters, so after it the model expects "
                "anything but an ordinary word."
            ),
            "D": (
                "In a byte-level vocabulary every byte has its entry, the space among them: the notebook printed "
                "it as Ġ. There is no unknown token at all. So the row is trained; the question is by what."
            ),
        },
    ),
    Question(
        name="q10_2",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The pronoun answers to whoever drank. In all four sentences the word just before is *because*, "
                "and only here has the one who drank become several."
            ),
            "B": (
                "Ask who drank. The dogs were only seen; whether one or several of them, the cow drank. Which pronoun "
                "does that ask for before and after the change?"
            ),
            "C": (
                "*it* may speak of the water or the soup as well as of the cow, and both are one. So does this change "
                "anything between *it* and *they*?"
            ),
            "D": (
                "Two goats are a possible *they*, and a model that counts plurals would be drawn to them. But this "
                "one keeps track of who did what. Who drank? And did the cow become several?"
            ),
        },
    ),
    Question(
        name="q10_3",
        points=1,
        key="D",
        explanations={
            "A": (
                "One choice among 3 is easier than one among 20. But Q has to make four of them where P makes "
                "one. How many possibilities do four choices among 3 make together?"
            ),
            "B": (
                "Dividing by the number of characters is the right thought, but perplexities are not shared like "
                "a sum: choices multiply. Four choices among 5 would be one among 625, not among 20. What does "
                "add up along a text?"
            ),
            "C": (
                "Perplexities per token cannot be compared as they stand, that is true. But both models give a "
                "probability to the whole text, and the text is the same. What would you have to know to get "
                "from one to the other? Is it given?"
            ),
            "D": (
                "Yes. Log-probabilities add up, so nats can be shared among characters: ln 20 / 4 = 0.75 for P "
                "and ln 3 = 1.10 for Q. Put as choices: four characters are one choice among 20 for P, and one "
                "among 3⁴ = 81 for Q."
            ),
        },
    ),
    Question(
        name="q10_4",
        points=1,
        key="D",
        explanations={
            "A": (
                "More examples may lower the loss further, by the friend's reason or by another: more lines of the "
                "same form also show the form better. Which run would come out differently for the two reasons?"
            ),
            "B": (
                "It tells whether the order matters. But in any order the examples hold the same pairs *and* the same "
                "form, so both reasons predict the same. What must be taken away from the examples, and what kept?"
            ),
            "C": (
                "It tells what the model can do without examples, which the loss of 5.0 has told already. The "
                "friend's claim is about what the examples added. How would you change *them*?"
            ),
            "D": (
                "Yes. The form of the lines and the kind of the answers are kept, and the right pairs are taken away. "
                "If the loss hardly rises, the pairs were not what helped. (Min and others, 2022, found just that in "
                "many tasks.)"
            ),
        },
    ),
    Question(
        name="q10_5",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. That is what the weight is: a factor before a value. How much it brings depends on the "
                "value, too: 0.9 of a short one may be less than 0.1 of a long one. "
                "And whether a later layer makes any use of it needs an experiment."
            ),
            "B": (
                "It is the natural reading, and it may even be true. But heads look at words for many reasons, "
                "such as their position or their rarity, and what is read need not be used. What would you "
                "expect to see in a model that looks there and does not understand?"
            ),
            "C": (
                "Perhaps, but the weight does not tell. Other heads may carry the same information, and later "
                "layers may ignore what this one writes. In the scatter plot, do all dots far to the right lie "
                "high?"
            ),
            "D": (
                "Nearly: it would follow if all values were equally long. What is added is weight times value. "
                "What if the value at *dog* has a length of 0.1, and that of the word with the other tenth of the "
                "weight one of 10?"
            ),
        },
    ),
    Question(
        name="q10_6",
        points=1,
        key="B",
        explanations={
            "A": (
                "A shape check only sees sizes. Compare a matrix with its transpose: when do they have the same "
                "shape? Is there such a matrix in the list of a block's tensors?"
            ),
            "B": (
                "Yes. A [C, C] matrix has the same shape as its transpose, so nothing complains, and the "
                "attention output of every block is wrong. Only comparing outputs, or the layers one by one, "
                "finds it."
            ),
            "C": (
                "Each third of it is square, but the matrix as a whole is [C, 3C], and in_proj_weight is [3C, "
                "C]. PyTorch compares the whole shapes, so it complains. What happens to the three parts when "
                "the whole is transposed?"
            ),
            "D": (
                "Their shapes are each other's transposes, so a swap would go unnoticed. But whoever copies by "
                "name does not swap them, and without a transpose each one's own place complains. So these two "
                "get mended."
            ),
        },
    ),
]
