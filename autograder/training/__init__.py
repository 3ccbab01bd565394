"""Longer trainings than a notebook has time for; each is a script.

    python -m autograder.training.stories_gpt2    the small GPT-2 of notebook 10, trained on the course's stories
    python -m autograder.training.translate       the translator of notebook 11, on any file of sentence pairs
    python -m autograder.training.looked_inside   the models that notebooks 07 and 08 look inside

Nothing here is needed to mark or to read a notebook. What the first and the last make is kept beside the notebooks.
"""
