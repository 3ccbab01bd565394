"""Make models whose next tokens follow from a formula, and cases of decoding with them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from autograder.spec import (
    DependentCase,
    FunctionUnderTest,
    Kept,
    Reply,
    Student,
    ValuesDiffer,
    Wrong,
    define_in_judge,
    device_is_kept,
    drawn,
    generator_unchanged,
    kind,
    unchanged,
)

# A model for decoding, in the student's process and here. What follows depends on the source and on every token so far,
# in whatever batch they stand; bos is never written. What `scripted` makes notes how it was asked, in no attribute of
# the model, which could be changed.
SCRIPTED = """
class Scripted(nn.Module):
    def __init__(self, V, bos_id, eos_id, eos_bonus, seed):
        super().__init__()
        self.anchor = nn.Parameter(torch.zeros(()))
        self.V, self.bos_id, self.eos_id, self.eos_bonus, self.seed = V, bos_id, eos_id, eos_bonus, seed

    def check(self, source_ids, target_ids):
        for name, ids in (("source_ids", source_ids), ("target_ids", target_ids)):
            if ids.dim() != 2:
                raise ValueError(f"the model wants {name} of shape [batch, length], not {list(ids.shape)}")
        if len(source_ids) != len(target_ids):
            raise ValueError(f"the model got {len(source_ids)} rows of source_ids and {len(target_ids)} of target_ids")
        if not target_ids.numel():
            raise LookupError("the model got no target_ids: they begin with bos_id")

    def forward(self, source_ids, target_ids):
        self.check(source_ids, target_ids)
        state = (source_ids * torch.arange(1, source_ids.shape[1] + 1, device=source_ids.device)).sum(1)  # (B,)
        state = (31 * state + self.seed) % 10007
        states = []
        for t in range(target_ids.shape[1]):
            state = (37 * state + 101 * target_ids[:, t] + 11) % 10007
            states.append(state)
        states = torch.stack(states, 1)[:, :, None]  # (B, T, 1)
        tokens = torch.arange(self.V, device=target_ids.device)
        logits = (states * (2 * tokens + 3) * 97 + 53 * tokens * tokens) % 10007 / 2000.0  # from 0 to 5
        logits = logits + self.eos_bonus * (tokens == self.eos_id) - 40.0 * (tokens == self.bos_id)
        return logits + self.anchor

def scripted(training, *args):
    modes, graphs = [], []

    class Noting(Scripted):
        def forward(self, source_ids, target_ids):
            modes.append(self.training)
            graphs.append(torch.is_grad_enabled())
            if len(target_ids) > 1000 or len(modes) > 500:
                raise RuntimeError("the model was asked more than 500 times, or got more than 1000 rows at once")
            return super().forward(source_ids, target_ids)

    model = Noting(*args).train(training)

    def noted(what):
        put = not training and (model.training or any(modes))
        modes_changed = {"eval_mode": training and not model.training, "training_mode": put}
        facts = {"modes": {"lapses": modes_changed}, "all": {"lapses": modes_changed | {"graphs_kept": any(graphs)}}}
        return {"calls": len(modes), **facts}[what]

    return model, noted
"""


def without_ties() -> str:
    """Return the source of the model; while inputs are drawn, one whose logits all differ, since nobody tried them."""
    known, apart = "% 10007 / 2000.0", "% 10007 / 2000.0 + tokens / (2001.0 * self.V)"
    return drawn(SCRIPTED, lambda _: SCRIPTED.replace(known, apart))


def ids_differ(got: Any, expected: list[int], bos_id: int, eos_id: int, max_len: int, where: str) -> bool:
    """Say what is remarkable about a wrong list of ids, or return that it is wrong; the caller says how."""
    if not isinstance(got, list):
        raise Wrong(f"The ids of a sentence should be a list of ints {where}; yours is {kind(got)}.", "form")
    if strange := [token for token in got if type(token) is not int]:
        raise Wrong(f"The ids should be ints {where}; among yours is {kind(strange[0])}.", "not_ints")
    if got == expected:
        return False
    if got[:1] == [bos_id]:
        raise ValuesDiffer(f"bos_id is in the result {where}: it is only what the model is given first.", "bos_kept")
    if eos_id in got:
        raise ValuesDiffer(f"eos_id is in the result {where}: a sentence ends before its first eos_id.", "eos_kept")
    if len(got) > max_len:
        raise ValuesDiffer(f"The result has more than max_len new tokens {where}.", "too_long")
    return True


Facts = tuple[Any, ...]  # what a model is made of: V, bos_id, eos_id and more


def scripted(student: Student, args: Facts, training: bool = False, code: str = SCRIPTED) -> list[Kept]:
    """Return handles for a model and for the function that tells what it noted."""
    return student.build_parts(2, student.probe("scripted", code), training, *args)


def noted(student: Student, notes: Kept, what: str) -> Any:
    """Return what a scripted model noted: the number of "calls", changes of the "modes", or "all" lapses."""
    if not student.call(notes, ["calls"], record=False)["value"]:
        raise Wrong("The model itself is never asked: each new token comes from the logits that `model(…)` returns.")
    return student.value(notes, what)


def decodes(
    args: Facts,
    source: torch.Tensor,
    where: str = "",
    *,
    by_name: Sequence[str] = (),
    training: bool = False,
    code: str = "",
    right: Any = None,
    then: Callable[[Student, Reply, Kept, Any], None] = lambda *_: None,
    besides: Callable[[Student, Kept], None] = lambda *_: None,
    **named: Any,
) -> DependentCase:
    """Make a case of a scripted model and of further arguments, `named` in the signature's order, which are passed so.

    Those that `by_name` lists are passed by name, in its order. `code` is another model's source. `right` stands for
    what the reference gives. `then` asks for more, of the answer, the model's notes and what is right; `besides`,
    also where the ids are wrong.
    """

    def check(student: Student, tested: FunctionUnderTest) -> None:
        source_code = code or without_ties()
        model, notes = scripted(student, args, training, source_code)
        given = {"model": model, "source_ids": source, "bos_id": args[1], "eos_id": args[2], **named}
        by_place = [value for name, value in given.items() if name not in by_name]
        answer = student.call(tested.name, by_place, {name: given[name] for name in by_name if name in given}, where)
        given["model"] = define_in_judge(source_code, "Scripted")(*args)
        expected = tested.right(**given) if right is None else right
        with student.case():
            besides(student, notes)
        tested.same(answer["value"], expected, args[1], args[2], named["max_len"], where)
        then(student, answer, notes, expected)

    return check


def side_effects(
    args: Facts, source: torch.Tensor, code: str = "", what: str = "modes", **named: Any
) -> Iterator[DependentCase]:
    """Make cases where source_ids, modes and the generator stay, names work, and every tensor names its device.

    `what` the models note decides: the "modes" alone, or "all", graphs for gradients too.
    """

    def stays(student: Student, answer: Reply, *_: Any) -> None:
        unchanged(answer["inputs"][:1], [source], "source_ids")
        generator_unchanged(answer)

    def keeps_modes(student: Student, notes: Kept) -> None:
        changed = noted(student, notes, what)["lapses"]
        for symptom, put in (
            ("eval_mode", "training mode and is left in eval mode"),
            ("training_mode", "eval mode and is put into training mode"),
        ):
            if changed[symptom]:
                raise Wrong(f"The model was in {put}: leave it as you found it.", symptom)
        if changed.get("graphs_kept"):
            raise Wrong("The model keeps graphs for gradients that nobody needs: `@torch.no_grad()`.", "graphs_kept")

    def names_device(student: Student, tested: FunctionUnderTest) -> None:
        short = named | {"max_len": min(named["max_len"], 4)}  # operations there are slow
        try:
            device_is_kept(
                student, tested.name, [scripted(student, args)[0], source, args[1], args[2], *short.values()]
            )
        except Wrong as wrong:
            if wrong.symptom != "device_not_kept":
                raise
            apart = "on a GPU it would be on the CPU, apart from source_ids and the model"
            raise Wrong(f"A tensor is made without `device=…`: {apart}.", wrong.symptom) from None

    where, names = "with a model that is in training mode", ("model", "source_ids", "bos_id", "eos_id", *named)
    for training, said in ((False, ""), (True, where)):
        yield decodes(args, source, said, code=code, training=training, then=stays, besides=keeps_modes, **named)
    yield decodes(args, source, "with the arguments given by name", code=code, by_name=names[::-1], **named)
    yield names_device
