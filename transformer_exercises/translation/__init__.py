"""Notebook 11: the encoder–decoder of 2017, its schedule and loss, how it writes, and how translations are scored."""

# What locked cells define for the answers and for the checks.
PROVIDED = ("Attention", "for_torch", "EncoderBlock", "Translator", "attention_weights")
