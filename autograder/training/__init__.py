"""Longer trainings than a notebook has time for; each is a script.

    python -m autograder.training.stories_gpt2    the small GPT-2 of notebook 10, trained on the course's stories
    python -m autograder.training.translate       the translator of notebook 11, on any file of sentence pairs

Nothing here is needed to mark or to read a notebook: the first one's result is kept beside notebook 10.
"""
