"""`describe_model`: sizes and parameters of models that break usual ratios; the mistakes rely on those ratios."""

from __future__ import annotations

from typing import Any

from autograder.spec.compare import kind
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.student import Student

from .common import STATE_OF_MODEL, UNTIED, Sizes, left_as_it_was, note_tolerantly, number_of, own_model, their_model

describe_model = reference("describe_model")

_BUFFER = """
def add(model):
    model.register_buffer("causal_mask", torch.ones(7, 7))
    model.transformer.wpe.requires_grad_(False)
"""

_DESCRIBED = (
    Sizes(3, 2, 16, 24, vocab=59),
    Sizes(2, 5, 20, 9, vocab=31, more=(UNTIED, ("n_inner", 13))),
    Sizes(1, 1, 6, 40, vocab=77),
    Sizes(7, 4, 8, 12, vocab=10, more=(("n_inner", 19),)),
)


def _describe(student: Student, model: Any, where: str) -> dict:
    got = student.value("describe_model", model, where=where)
    note_tolerantly(student, got)
    if not isinstance(got, dict):
        raise Wrong(f"It should return a dict; yours returned {kind(got)}.")
    return got


def _described(key: str, got: dict, expected: dict, where: str) -> None:
    if key not in got:
        raise Wrong(f'The dict has no key "{key}": the names are part of the task.', "key_missing")
    number = number_of(got[key])
    if number is None:
        raise Wrong(f'"{key}" should be a whole number; yours is {kind(got[key])}.')
    if number != expected[key]:
        raise ValuesDiffer(f'"{key}" is too {"large" if number > expected[key] else "small"} {where}.')


def _described_sizes(student: Student) -> None:
    for sizes in _DESCRIBED:
        with student.case():
            where = f"with {sizes.words}"
            got, expected = _describe(student, their_model(student, sizes), where), describe_model(own_model(sizes))
            for key in expected:
                if key != "parameters":
                    _described(key, got, expected, where)


def _described_parameters(student: Student) -> None:
    for sizes in _DESCRIBED:
        with student.case():
            where = f"with {sizes.words}"
            _described(
                "parameters",
                _describe(student, their_model(student, sizes), where),
                describe_model(own_model(sizes)),
                where,
            )
    for sizes in _DESCRIBED[:2]:
        with student.case():
            model = their_model(student, sizes)
            student.value(student.probe("add", _BUFFER), model)
            where = "when a parameter is frozen and the model has a buffer (a mask, say)"
            _described("parameters", _describe(student, model, where), describe_model(own_model(sizes)), where)


def _described_form(student: Student) -> None:
    for sizes in _DESCRIBED[:2]:
        with student.case():
            model = their_model(student, sizes, training=True)
            before = student.value(student.probe("look", STATE_OF_MODEL), model)
            got = _describe(student, model, "")
            for key, value in describe_model(own_model(sizes)).items():
                _described(key, got, {key: value}, f"with {sizes.words}")
                if type(got[key]) is not int:
                    raise Wrong(f'"{key}" should be a whole number (an int); yours is {kind(got[key])}.', "not_an_int")
            left_as_it_was(student, model, before)


EXERCISE = Exercise(
    points=2,
    checks=[
        Check("the sizes of several models", 1.0, _described_sizes),
        Check("the number of parameters", 1.0, _described_parameters),
        Check("whole numbers, and the model as it was", 0.25, _described_form, further=True),
    ],
    working=r"""
def describe_model(model):
    transformer = model.transformer
    block = transformer.h[0]
    C = transformer.wte.embedding_dim
    return dict(
        parameters=model.num_parameters(),
        vocab_size=model.lm_head.out_features,
        context=transformer.wpe.num_embeddings,
        layers=len(transformer.h),
        heads=block.attn.num_heads,
        d_model=C,
        head_dim=block.attn.head_dim,
    )
""",
    gives="dict",
    slips=("nothing_returned",),
    wrong=r"""
tied_counted_twice (slip): The output layer of GPT-2 is the token embedding once more, one matrix with two names, and you count it twice.
    `model.parameters()` gives it once; `state_dict()` and `remove_duplicate=False` give every name.
- sum(p.numel() for p in model.parameters()) => sum(t.numel() for t in model.state_dict().values())
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for _, p in model.named_parameters(remove_duplicate=False))
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.parameters()) + model.lm_head.weight.numel()
head_never_counted (slip): When the output layer has a matrix of its own (tie_word_embeddings=False) it is missing from your count: take the parameters of
    the whole model, not those of `model.transformer`.
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.transformer.parameters())
only_trainable (slip): Frozen parameters are left out: a parameter counts whether or not it is being trained.
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.parameters() if p.requires_grad)
buffers_counted (slip): Buffers (masks, say) are counted too: they are saved with the model, but nothing in them is learned.
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.parameters()) + sum(b.numel() for b in model.buffers())
embeddings_left_out: The embeddings are left out of the count: they are parameters like any other.
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.transformer.h.parameters())
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for n, p in model.named_parameters() if "wte" not in n and "wpe" not in n)
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.parameters()) - model.transformer.wpe.weight.numel()
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.parameters()) - model.transformer.wte.weight.numel()
tensors_counted: You count the parameter tensors, not the numbers in them: add up `p.numel()`.
- sum(p.numel() for p in model.parameters()) => len(list(model.parameters())) || sum(len(p) for p in model.parameters()) || len(model.state_dict())
biases_left_out: Only the matrices are counted: biases and the norms' weights are parameters too.
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.parameters() if p.dim() == 2)
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for n, p in model.named_parameters() if "bias" not in n)
bytes (slip): You give the memory, not the number of parameters: each takes four bytes in float32.
- sum(p.numel() for p in model.parameters()) => sum(p.numel() * p.element_size() for p in model.parameters()) || model.get_memory_footprint()
millions (slip): The count is rounded to millions: the exact number is asked for.
- sum(p.numel() for p in model.parameters()) => round(sum(p.numel() for p in model.parameters()) / 1e6)
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.parameters()) / 1e6
formula_of_four_c: Your formula takes the feed-forward network to be 4C wide; `config.n_inner` may say otherwise. Count the model's own parameters.
- sum(p.numel() for p in model.parameters()) => config.vocab_size * config.n_embd * (1 if config.tie_word_embeddings else 2) + config.n_positions * config.n_embd + config.n_layer * (12 * config.n_embd**2 + 13 * config.n_embd) + 2 * config.n_embd
head_dim_by_layers (slip): head_dim is the width divided by the number of heads, not of layers (for the published model both are 12).
- config.n_embd // config.n_head => config.n_embd // config.n_layer
head_dim_is_d_model: head_dim is the width of one head: the heads share d_model among them.
- "head_dim": config.n_embd // config.n_head => "head_dim": config.n_embd || "head_dim": config.n_head
- config.n_embd // config.n_head => config.n_embd * config.n_head
head_dim_constant: head_dim is a constant in your code: 64 is the published model's; others have other heads.
- config.n_embd // config.n_head => 64
float_head_dim: head_dim is a float: `/` always gives one, `//` divides whole numbers.
- config.n_embd // config.n_head => config.n_embd / config.n_head
layers_and_heads_swapped (slip): layers and heads are the wrong way round: n_layer counts the blocks, n_head the heads in each.
- "layers": config.n_layer => "layers": config.n_head
  "heads": config.n_head => "heads": config.n_layer
- "layers": config.n_layer => "layers": config.n_head
- "heads": config.n_head => "heads": config.n_layer
modules_counted: layers is the number of blocks (the length of `model.transformer.h`), not of all modules in the model.
- config.n_layer => len(list(model.transformer.children())) || len(list(model.children())) || len(list(model.modules()))
key_missing (slip): One of the keys is missing: parameters, vocab_size, context, layers, heads, d_model, head_dim.
- "head_dim": config.n_embd // config.n_head, =>
- "layers": config.n_layer, =>
- "context": config.n_positions, =>
all_heads (slip): heads is the number of heads in one layer, not in all of them.
- "heads": config.n_head => "heads": config.n_head * config.n_layer
context_is_not_the_width (slip): context is the number of positions (n_positions): how many tokens the model can read.
- config.n_positions => config.n_embd || config.vocab_size || 1024 || config.n_positions - 1
- config.n_positions => config.n_embd
  "d_model": config.n_embd => "d_model": config.n_positions
d_model_is_the_inner_width: d_model is the width of the residual stream (n_embd), not that of the feed-forward network.
- "d_model": config.n_embd => "d_model": 4 * config.n_embd || "d_model": config.n_inner or 4 * config.n_embd
- "d_model": config.n_embd => "d_model": config.n_embd // config.n_head || "d_model": 3 * config.n_embd
published_numbers (missed): These are the published model's numbers, whatever model is given: read them from `model.config`.
- |
  return {"parameters": 124439808, "vocab_size": 50257, "context": 1024, "layers": 12, "heads": 12, "d_model": 768, "head_dim": 64}
- |
  from transformers import GPT2Config
  config = GPT2Config()
  return {
      "parameters": sum(p.numel() for p in model.parameters()), "vocab_size": config.vocab_size, "context": config.n_positions,
      "layers": config.n_layer, "heads": config.n_head, "d_model": config.n_embd, "head_dim": config.n_embd // config.n_head,
  }
keys_of_the_config (slip): The keys are Hugging Face's own names; the task names them parameters, vocab_size, context, layers, heads, d_model, head_dim.
- "context" => "n_positions"
  "layers" => "n_layer"
  "heads" => "n_head"
  "d_model" => "n_embd"
- "context" => "context_length"
- "parameters" => "params"
- "layers" => "num_layers"
- "vocab_size" => "vocab"
- |
  return model.config.to_dict() | {'parameters': sum(p.numel() for p in model.parameters())}
not_an_int (slip): A number is a float or a tensor: each value is an int, as sizes are whole.
- sum(p.numel() for p in model.parameters()) => float(sum(p.numel() for p in model.parameters()))
- sum(p.numel() for p in model.parameters()) => torch.tensor([p.numel() for p in model.parameters()]).sum()
numbers_as_text (slip): The numbers are strings: return ints, and put in the commas when you print.
- sum(p.numel() for p in model.parameters()) => f"{sum(p.numel() for p in model.parameters()):,}"
- sum(p.numel() for p in model.parameters()) => str(sum(p.numel() for p in model.parameters()))
  config.vocab_size => str(config.vocab_size)
not_a_dict: A dict is asked for, with the sizes under their names.
- |
  c = model.config
  return (sum(p.numel() for p in model.parameters()), c.vocab_size, c.n_positions, c.n_layer, c.n_head, c.n_embd, c.n_embd // c.n_head)
- |
  return model.config
model_frozen: Counting freezes the model: its parameters lose requires_grad, so it cannot be trained any more.
- sum(p.numel() for p in model.parameters()) => sum(p.requires_grad_(False).numel() for p in model.parameters())
- sum(p.numel() for p in model.parameters()) => sum(p.numel() for p in model.eval().requires_grad_(False).parameters())
""",
    right=r"""
from_the_layers:
- |
  transformer = model.transformer
  block = transformer.h[0]
  C = transformer.wte.embedding_dim
  return dict(
      parameters=model.num_parameters(),
      vocab_size=model.lm_head.out_features,
      context=transformer.wpe.num_embeddings,
      layers=len(transformer.h),
      heads=block.attn.num_heads,
      d_model=C,
      head_dim=block.attn.head_dim,
  )
general_names:
- |
  c = model.config
  seen, total = set(), 0
  for p in model.parameters():
      if id(p) not in seen:
          seen.add(id(p))
          total += math.prod(p.shape)
  return {"parameters": total, "vocab_size": c.vocab_size, "context": c.max_position_embeddings,
          "layers": c.num_hidden_layers, "heads": c.num_attention_heads, "d_model": c.hidden_size,
          "head_dim": c.hidden_size // c.num_attention_heads}
from_shapes:
- |
  shapes = {name: tuple(p.shape) for name, p in model.named_parameters()}
  V, C = shapes["transformer.wte.weight"]
  T, _ = shapes["transformer.wpe.weight"]
  blocks = {name.split(".")[2] for name in shapes if name.startswith("transformer.h.")}
  info = {"parameters": 0, "vocab_size": V, "context": T, "d_model": C, "layers": len(blocks)}
  for shape in shapes.values():
      n = 1
      for size in shape:
          n *= size
      info["parameters"] += n
  info["heads"] = model.config.to_dict()["n_head"]
  info["head_dim"] = int(C / info["heads"])
  return info
numel_of_vectors:
- sum(p.numel() for p in model.parameters()) => nn.utils.parameters_to_vector(model.parameters()).numel()
""",
)
