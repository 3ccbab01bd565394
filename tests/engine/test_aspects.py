"""Tests that each aspect of an answer is judged by itself: two faults get two sentences, and cost what each costs."""

import contextlib
import re

import pytest
from patience import patience
from two_faults import LAPSES, Outcome, Two, drawn, named, outcome, verdict_on

from autograder.judge.diagnosis import aspects
from autograder.judge.diagnosis.aspects import names_of_the_box
from autograder.judge.mark import SAME_FAULT
from autograder.judge.run_check import student_with_answer
from autograder.spec.catalogue import replaced
from autograder.spec.course import exercise, exercises, notebooks
from autograder.untrusted.wire import decode, encode

FEW = [exercise(name) for name in ("softmax", "causal_mask", "encode", "perplexity", "split_heads", "learning_rate")]
ALL = [declared for notebook in notebooks() for declared in exercises(notebook)]
SOFTMAX, ATTENTION = exercise("softmax"), exercise("SelfAttention")
GLOBAL_SHIFT = replaced(SOFTMAX.source, "scores.amax(dim=dim, keepdim=True)", "scores.max()")


def renamed(name: str, names: dict[str, str]) -> str:
    source = exercise(name).source
    for old, new in names.items():
        source = source.replace(old, new)
    return source


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "count"), [(FEW, 2), pytest.param(ALL, 0, marks=pytest.mark.long)], ids=["a few", "all"]
)
def test_a_mistake_and_a_lapse_are_both_named_and_each_is_paid_for(asked, count):
    found: list[Outcome] = []
    for declared in asked:
        for two in drawn(declared, count):
            with contextlib.suppress(TimeoutError), patience(20):  # some loop over all numbers, or without an end
                found += filter(None, [outcome(declared, two)])
    assert len(found) > 20
    # Some lapses change what a check sees next: with its input changed in place, a second call looks like dropout
    assert sum(one.named for one in found) >= 0.95 * len(found)
    assert sum(one.fair for one in found) >= 0.98 * len(found)


@pytest.mark.parametrize(
    ("name", "mistake", "lapse"),
    [
        ("encode", "lazy", "bad_input_accepted"),  # no value of it is ever seen
        ("decode", "range_checked", "error_of_another_type"),  # which valid input meets, too
        ("encode", "not_named", "error_of_another_type"),  # both are of one error
        ("ids_to_text", "last_missing", "bad_input_accepted"),  # a text is an answer here, and no message
        ("cosine_similarity", "centred", "input_changed"),  # PyTorch refuses the gradients
        ("sequence_log_prob", "math_log", "single_precision_inside"),  # it cuts the gradient off by itself
        ("analogy", "similarity_returned", "tensor_returned"),  # of a number that no id can be
        ("noam_rate", "terms_added", "tensor_returned"),  # whose fifth digit is rounded the other way in float32
        ("RMSNorm", "weight_unused", "gradient_cut_off"),  # no gradient reaches the weight in either
        ("Embedding", "not_a_parameter", "double_precision"),  # its table stays on the CPU, in float32
        ("next_token_distribution", "index_returned", "default_missing"),  # of another dtype and shape besides
        ("text_perplexity", "first_token_predicted", "bad_input_accepted"),  # which valid input meets
        ("GPT", "positions_one_short", "default_missing"),  # a probe calls the model
        ("DecoderBlock", "attention_arguments_swapped", "default_missing"),  # its outputs are errors
    ],
)
def test_a_lapse_costs_what_it_costs_alone_beside(name, mistake, lapse):
    declared = exercise(name)
    [first, *_] = [one for one in declared.mistakes if one.name == mistake]
    both, alone = (LAPSES[lapse](declared, source) for source in (first.source, declared.source))
    assert both is not None
    assert alone is not None
    assert outcome(declared, Two(mistake, lapse, both, first.source, alone)) == Outcome(named=True, fair=True)


@pytest.mark.parametrize(
    ("change", "lapse"),
    [
        ("return (RESULT).detach()", "gradient_cut_off"),
        ("result = RESULT\nscores.mul_(2)\nreturn result", "input_changed"),
        ("return (RESULT).float()", "single_precision"),
    ],
)
def test_a_lapse_hides_no_misconception(change, lapse):
    def with_lapse(source: str) -> str:
        result = "exps / exps.sum(dim=dim, keepdim=True)"
        return replaced(source, f"return {result}", change.replace("RESULT", result))

    verdict = verdict_on(SOFTMAX, with_lapse(GLOBAL_SHIFT))
    assert named(verdict) == {"global_shift", lapse}
    alone = verdict_on(SOFTMAX, GLOBAL_SHIFT).earned + verdict_on(SOFTMAX, with_lapse(SOFTMAX.source)).earned
    assert verdict.earned >= alone - SOFTMAX.points - 0.02


TWO = [  # what is changed in a right answer, and both faults' names
    (
        "attention_maps",
        {"return [tok": "weights = weights.mT\n    return [tok", "model.train(was_training)": "pass"},
        {"transposed", "mode_not_restored"},
    ),
    (
        "greedy_decode",
        {"B = len": "model.eval()\n    B = len", "row[: row.index(eos_id)] if": "[i for i in row if i != eos_id] if"},
        {"eos_filtered", "eval_mode"},
    ),
    (
        "LearnedPositionalEmbedding",
        {"return x +": "return x * x.shape[-1] ** 0.5 +", "if max_len < T": "if False"},
        {"scaled", "bad_input_accepted"},
    ),
    (
        "merge_pair",  # the results have other lengths
        {"merged = []": "return ' '.join(symbols).replace(' '.join(pair), ''.join(pair)).split()\n    merged = []"},
        {"text_replaced", "list"},
    ),
    (
        "cross_entropy",  # most lines end in an error
        {
            "torch.log_softmax(logits, dim=-1)": "torch.log(logits.exp() / logits.exp().sum(-1, keepdim=True))",
            "log_probs.gather(-1, targets.unsqueeze(-1))": "log_probs[torch.arange(len(targets)), targets]",
        },
        {"no_shift", "stops_with_an_error"},
    ),
]


@pytest.mark.parametrize(("name", "changes", "faults"), TWO, ids=[row[0] for row in TWO])
def test_what_is_left_behind_or_refused_is_seen_beside_a_mistake(name, changes, faults):
    source = exercise(name).source
    for old, new in changes.items():
        source = source.replace(old, new)
    assert named(verdict_on(exercise(name), source)) == faults


def test_headlines_stand_in_the_order_of_what_they_cost():
    verdict = verdict_on(SOFTMAX, replaced(GLOBAL_SHIFT, "return ", "scores.mul_(2)\nreturn "))
    shares = [diagnosis.share for diagnosis in verdict.diagnoses]
    assert shares == sorted(shares, reverse=True)


def test_each_fault_is_told_once_and_other_lines_are_not_judged():
    verdict = verdict_on(ATTENTION, renamed("SelfAttention", {"q_proj": "W_query"}))
    assert [line.judged for line in verdict.lines] == [True] + [False] * (len(verdict.lines) - 1)
    assert {line.message for line in verdict.lines[1:]} == {SAME_FAULT}
    assert "`W_query` should be `q_proj`" in verdict.lines[0].message


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("SelfAttention", {"q_proj": "query", "k_proj": "key", "v_proj": "value"}),
        ("SelfAttention", {"q_proj": "W_query", "k_proj": "W_key", "v_proj": "W_value"}),
        ("SelfAttention", {"q_proj": "first", "k_proj": "second", "v_proj": "third"}),
        (
            "SwiGLU",
            {"self.gate": "self.w1", "self.up": "self.w3", "self.down": "self.w2"},
        ),  # all of one shape in places
        ("MultiHeadAttention", {"q_proj": "wq", "k_proj": "wk", "v_proj": "wv", "out_proj": "wo"}),
        ("TransformerBlock", {"self.attn": "self.att"}),
        ("TransformerBlock", {"norm1": "ln_1", "norm2": "ln_2"}),
        ("LayerNorm", {"self.weight": "self.gamma", "self.bias": "self.beta"}),
        ("GPT", {"self.blocks": "self.trf_blocks"}),
        ("GPT", {"token_embedding": "wte", "position_embedding": "wpe"}),
        ("DecoderBlock", {"self_attn": "masked_attn", "cross_attn": "enc_dec_attn"}),
    ],
)
def test_other_names_of_layers_cost_a_quarter_whatever_they_are(name, names):
    verdict = verdict_on(exercise(name), renamed(name, names))
    assert named(verdict) == {"other_names"}
    assert verdict.earned == 0.75 * verdict.points


IN_WRAPPERS = """
class Sublayer(nn.Module):
    def __init__(self, size, dropout):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(size), nn.Dropout(dropout)

    def forward(self, x, part):
        return self.norm(x + self.dropout(part(x)))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.0):
        super().__init__()
        self.self_attn, self.src_attn = (Attention(embed_dim, num_heads) for _ in range(2))
        self.feed_forward = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))
        self.sublayers = nn.ModuleList(Sublayer(embed_dim, dropout) for _ in range(3))

    def forward(self, x, memory, mask=None, memory_mask=None):
        x = self.sublayers[0](x, lambda y: self.self_attn(y, mask))
        x = self.sublayers[1](x, lambda y: self.src_attn(y, memory_mask, memory))
        return self.sublayers[2](x, self.feed_forward)
"""


def test_layers_inside_of_others_are_found_as_layers_under_other_names():
    verdict = verdict_on(exercise("DecoderBlock"), IN_WRAPPERS)
    assert named(verdict) == {"other_names"}
    assert verdict.earned == 0.75 * verdict.points


# Run at the end of __init__. Some write their own names, and those of the box as second ones; lists hold layers again.
SECOND_NAMES = {
    "made before": """
    for table in (self._modules, self._parameters):
        made = [*table.items()]
        table.clear()
        table.update((f"own_{name}", part) for name, part in made)
        table.update(made)""",
    "in a dictionary": "self.parts = nn.ModuleDict(self.named_children())",
    "in a list": "self.weights_to_print = nn.ParameterList(self.parameters())",
}
MODULES = [declared.name for declared in ALL if "(nn.Module)" in declared.source]


@pytest.mark.parametrize("how", SECOND_NAMES)
@pytest.mark.parametrize("name", MODULES)
def test_a_right_module_may_have_a_second_name_for_its_layers(name, how):
    more = f"""
_make = {name}.__init__


def _make_with_second_names(self, *args, **kwargs):
    _make(self, *args, **kwargs)
    {SECOND_NAMES[how].strip()}


{name}.__init__ = _make_with_second_names
"""
    assert verdict_on(exercise(name), exercise(name).source + more).full


OWN_NORM = """
class Norm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.a_2, self.b_2, self.eps = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width)), eps

    def forward(self, x):
        var, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return self.a_2 * (x - mean) / torch.sqrt(var + self.eps) + self.b_2

"""


@pytest.mark.parametrize("name", ["TransformerBlock", "DecoderBlock"])
def test_a_norm_of_ones_own_may_call_its_parameters_as_it_likes(name):
    source = exercise(name).source
    assert "LayerNorm(embed_dim)" in source
    assert verdict_on(exercise(name), OWN_NORM + re.sub(r"(nn\.)?LayerNorm\(", "Norm(", source)).full


def test_a_layer_that_waits_for_its_first_call_is_told_apart_from_an_error():
    lazy = ATTENTION.source.replace("nn.Linear(embed_dim, head_dim)", "nn.LazyLinear(head_dim)")
    verdict = verdict_on(ATTENTION, lazy)
    assert "no parameters before its first call" in verdict.lines[0].message
    assert not verdict.diagnoses


@pytest.mark.parametrize(
    ("name", "names", "value"),
    [
        ("SwiGLU", {"self.gate": "self.w1", "self.up": "self.w3", "self.down": "self.w2"}, {"F.silu": "torch.square"}),
        ("RMSNorm", {"self.weight": "self.scale"}, {"torch.sqrt": "torch.exp"}),
    ],
)
def test_other_names_of_layers_hide_no_wrong_value(name, names, value):
    [(old, new)] = value.items()
    verdict = verdict_on(exercise(name), replaced(renamed(name, names), old, new))
    assert named(verdict) == {"other_names"}
    assert "values differ" in next(
        line.message for line in verdict.lines if "equals" in line.title or "values" in line.title
    )
    assert verdict.earned == 0
    assert not verdict.score_explanation


def test_the_judge_runs_no_source_that_holds_a_name_of_a_student(monkeypatch):
    name = "q = print(1) #"
    ran = []
    monkeypatch.setattr(
        aspects, "student_with_answer", lambda *given: ran.append(given[1]) or student_with_answer(*given)
    )
    source = renamed(
        "SelfAttention",
        {
            "self.q_proj(": f"getattr(self, {name!r})(",
            "self.q_proj = nn.Linear(embed_dim, head_dim)": f"self._modules[{name!r}] = nn.Linear(embed_dim, head_dim)",
        },
    )
    verdict = verdict_on(ATTENTION, source)
    assert ran
    assert not any("print" in text for text in ran)
    assert f"`{name}` should be `q_proj`" in verdict.lines[0].message
    assert verdict.earned == 0.75 * verdict.points


def test_layers_made_in_another_order_are_told_by_their_names():
    box, own = (
        {"kinds": dict.fromkeys(names, "Linear"), "shapes": {"weight": (2, 3)}}
        for names in (("q_proj", "k_proj", "v_proj"), ("key", "query", "value"))
    )
    assert names_of_the_box(own, box) == {"query": "q_proj", "key": "k_proj", "value": "v_proj"}


def test_a_process_that_ends_while_layers_are_compared_stops_no_check(caplog):
    student = student_with_answer(ATTENTION, ATTENTION.source)
    send = student.send
    ended = encode({"problem": {"kind": "died"}})
    student.send = lambda request: ended if decode(request)["do"] == "define" else send(request)
    first = ATTENTION.checks[0]
    assert aspects.separated(ATTENTION, [first], student).failures == {first.title: None}
    assert not caplog.records


@pytest.mark.parametrize("name", ["softmax", "scaled_dot_product_attention", "masked_softmax"])
def test_precision_lost_inside_is_one_sentence_and_fails_one_line(name):
    [lost] = [one for one in exercise(name).mistakes if one.name == "single_precision_inside"]
    verdict = verdict_on(exercise(name), lost.source)
    assert named(verdict) == {"single_precision_inside"}
    assert sum(not line.passed for line in verdict.lines) == 1


def test_digits_that_are_lost_are_named_as_no_other_lapse():
    """Beside them, the numbers of a program that only draws random numbers, or changes its input, are as near."""
    step = exercise("recall_step")
    verdict = verdict_on(step, replaced(step.source, "model(pages)", "[part.float() for part in model(pages)]"))
    assert [line.passed for line in verdict.lines] == [True, True, True, False]
    assert "only roughly right" in verdict.lines[-1].message
    assert named(verdict) == set()


TRANSPOSED_AND_ON_THE_CPU = """
def count_bigrams(ids, vocab_size):
    if ((ids < 0) | (ids >= vocab_size)).any():
        raise ValueError("ids must lie between 0 and vocab_size - 1")
    counts = torch.zeros(vocab_size, vocab_size, dtype=torch.long)
    return counts.index_put_((ids[1:], ids[:-1]), torch.ones(len(ids[1:]), dtype=torch.long), accumulate=True)
"""


def test_a_result_on_the_wrong_device_is_compared_in_its_values():
    verdict = verdict_on(exercise("count_bigrams"), TRANSPOSED_AND_ON_THE_CPU)
    assert named(verdict) == {"transposed", "device_not_kept"}


@pytest.mark.parametrize("name", ["sinusoidal_encoding", "split_heads", "grouped_query_attention"])
def test_an_answer_that_always_stops_shows_no_needless_refusal(name):
    declared = exercise(name)
    body = f"def {name}(*args, **kwargs):\n    return in_a_cell_that_is_gone(*args)"
    assert named(verdict_on(declared, body)) == {"stops_with_an_error", "error_of_another_type"}
