"""Longer trainings than a notebook has time for; each is a script.

    python -m autograder.training.stories_gpt2    the small GPT-2 of notebook 10, trained on the course's stories
    python -m autograder.training.translate       the translator of notebook 11, on any file of sentence pairs
    python -m autograder.training.looked_inside   the models that notebooks 07 and 08 look inside
    python -m autograder.training.grow            a GPT on any text, of any size (sizes, texts, machine, grown)
    python -m autograder.training.scaling         notebook 09's experiment on sizes and amounts of data

Nothing here is needed to mark or to read a notebook. What is kept of them lies beside the notebooks.
"""
