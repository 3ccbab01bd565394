"""Scripts for trainings that take too long for a notebook.

    python -m tools.training.stories_gpt2    the small GPT-2s of notebooks 01 and 10, trained on the course's stories
    python -m tools.training.translate       the translator of notebook 11, on any file of sentence pairs
    python -m tools.training.inspected_models   the models that notebook 07 inspects
    python -m tools.training.grow            a GPT on any text, of any size (sizes, texts)
    python -m tools.training.gpt_runs        09 from another start, at other rates, without parts; a GPT on our text
    python -m tools.training.dropout_runs    08's blocks on a short text with four rates of dropout
    python -m tools.training.order_runs      08's twelve blocks from three seeds, at several rates
    python -m tools.training.control_runs    12's model without a bug, at each rate of the broken ones
    python -m tools.training.scaling         09-gpt-further's experiment on sizes and amounts of data
    python -m tools.training.attention_maps  what the heads of 01's small GPT look at, for notebook 05
    python -m tools.training.broken_models   packs the broken models of notebook 12

gpt2, checkpoints and device hold what these share. Their results are stored next to the notebooks.
"""
