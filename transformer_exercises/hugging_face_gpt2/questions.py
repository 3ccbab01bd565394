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
                "Yes: 50,257 · 768 = 38,597,376. The two names belong to one tensor. The state dict lists names, "
                "parameters() lists tensors."
            ),
            "B": (
                "Older versions of the library did keep masks among the buffers, which makes this a good "
                "thought. But count them: twelve masks of 1,024 × 1,024 would be 12,582,912 numbers. And print "
                "the names: is there a mask?"
            ),
            "C": (
                "AdamW keeps two averages for each weight, which would be twice 124 million numbers, and they "
                "are in the optimiser's state dict, not in the model's. Divide the surplus by 768, the width. Do "
                "you know the result?"
            ),
            "D": (
                "The state dict has one bias for c_attn, of 3 · 768 numbers, in each of 12 layers: 27,648 in "
                "all. That is far too little. Divide the surplus by 768, the width. Do you know the result?"
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
        key="B",
        explanations={
            "A": (
                "There it keeps just the fifty good ones. But here it keeps the sure one and 49 of the 10,000, and "
                "a fixed number cannot know that one would do. Which knob lets the number follow the distribution?"
            ),
            "B": (
                "Yes. The one token reaches 0.9 alone, so nothing else is left here. There, 45 of the 50 are needed "
                "to reach it: hardly anything is lost. The number that is kept follows from how sure the model is."
            ),
            "C": (
                "Squaring 0.90 and 0.00001 does all but remove the tail here. But what becomes of 50 equal "
                "probabilities when each is squared and they are shared out anew? Then the reason given for the "
                "open place cannot be right. And is anything cut off, once and for all?"
            ),
            "D": (
                "The order is kept, and the sure token stays the first. But take square roots: 0.95 for it, and "
                "0.0032 for each of 10,000 others. What do those add up to?"
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
                "value, too. 0.9 of a short one may be less than 0.1 of a long one; you saw cells far from the "
                "diagonal. And whether a later layer makes any use of it needs an experiment."
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
    Question(
        name="q10_7",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The whole text is known, so 100 predictions are made in one pass, each from the true tokens "
                "before it. In writing, token 7 must be there before token 8 can be drawn: 100 passes, each over "
                "the model's own words, its slips among them."
            ),
            "B": (
                "In writing there is no future to hide at the last position. But the earlier ones were trained to see "
                "nothing behind them, and their keys and values are what the last one reads. What would they hold "
                "if each could suddenly look ahead?"
            ),
            "C": (
                "Try it on paper: with the causal mask, what may position 40 of the training text see? Is that one "
                "token? And at its 40th position, what may the writing model see?"
            ),
            "D": (
                "The model itself knows nothing of the use it is put to: a forward pass gives logits either way. "
                "What is done with them differs: a loss is taken, or a token drawn. But is that all that differs?"
            ),
        },
    ),
    Question(
        name="q10_8",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. Nothing has to be written, so nothing has to be hidden: every word may see what stands on both "
                "sides. One vector for the letter, one linear layer with twelve outputs, one pass."
            ),
            "B": (
                "It would work, and with few sorted letters at hand it may be the best choice. But must a "
                "department be *written*? Think of a linear layer with twelve outputs. And what does the causal mask "
                "keep from the words at the beginning of the letter?"
            ),
            "C": (
                "The letter can be seen as a source and the name as a target, and T5 was trained in this way. But the "
                "decoder is there to write texts of any length. How many texts are possible here?"
            ),
            "D": (
                "They are built of the same blocks, that is true. But what may the second word of a letter see in "
                "each of the three? And how many passes does each need for one letter?"
            ),
        },
    ),
]
