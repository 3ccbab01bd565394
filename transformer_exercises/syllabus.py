"""Declare the course: its notebooks and topics in order, and the other facts that the engine needs."""

from autograder.spec import Course

# With these variables solutions run where outputs are saved or compared: offline, notebook 10 with the small model, and
# trained models are not kept beside their notebooks
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "COURSE_GPT2": "gpt2-stories", "COURSE_MODELS": "temporary"}
COURSE = Course(
    title="From “what is a language model?” to your own GPT",
    package="transformer_exercises",
    notebooks=(
        "01-language-modelling",
        "02-tokenisation",
        "03-embeddings",
        "04-positional-encoding",
        "05-attention",
        "06-masking",
        "07-multi-head",
        "08-blocks",
        "09-gpt",
        "10-hugging-face-gpt2",
        "11-translation",
        "12-it-trains-anyway",
    ),
    optional_notebooks=("02-tokenisation-further", "06-masking-further", "08-blocks-further", "09-gpt-further"),
    topics=(
        "language_modelling",
        "tokenisation",
        "embeddings",
        "positional_encoding",
        "attention",
        "masking",
        "multi_head",
        "blocks",
        "gpt",
        "hugging_face_gpt2",
        "translation",
        "it_trains_anyway",
    ),
    imports="""
import heapq
import math
import re
import unicodedata
from collections import Counter, defaultdict

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import nn
""",
    # All imports of a dry run of the solutions; a test runs them and compares them with this list.
    preload=(
        *("matplotlib.pyplot", "torch", "torch.optim", "multiprocessing.synchronize"),
        *("PIL.BmpImagePlugin", "PIL.GifImagePlugin", "PIL.JpegImagePlugin", "PIL.PpmImagePlugin"),
        *("tqdm.auto", "ipywidgets", "tokenizers", "transformers"),
        *("transformers.models.auto.modeling_auto", "transformers.models.auto.tokenization_auto"),
        *("transformers.models.gpt2.modeling_gpt2", "transformers.models.gpt2.tokenization_gpt2"),
        *("transformers.tokenization_utils_tokenizers", "transformers.pipelines.text_generation"),
        *("transformers.models.blip_2", "transformers.models.gpt2.tokenization_gpt2_fast", "PIL.ImageFilter"),
        "safetensors.torch",
    ),
    libraries=frozenset({"torch", "nn", "F", "np", "numpy", "plt", "math", "random"}),
    commonest=(
        ("count_bigrams", "last_pair_missed"),
        ("cross_entropy", "softmax_twice"),
        ("softmax", "no_shift"),
        ("scaled_dot_product_attention", "no_scale"),
        ("scaled_dot_product_attention", "softmax_queries"),
        ("causal_mask", "diagonal_blocked"),
        ("shift_targets", "not_shifted"),
        ("MultiHeadAttention", "merge_without_transpose"),
        ("LayerNorm", "unbiased_variance"),
        ("train_step", "gradients_pile_up"),
    ),
)
