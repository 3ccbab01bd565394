"""`NeuralNgram`: its three parts, logits with given weights, leading dimensions, gradients."""

from typing import Any

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Student,
    Wrong,
    device_is_kept,
    generator_unchanged,
    kind,
    normal,
    other_sizes,
    outline,
    parameters_unchanged,
    reference,
    same_gradients,
    same_tensor,
    shape_name,
    shape_of,
    unchanged,
)

from .random_inputs import some_ids


def _names(parameters: dict, sizes: tuple[int, ...]) -> dict[str, str]:
    """Return what the parts are called in a student's module; other names are marked elsewhere."""
    found: dict[str, str] = {}
    for role, part in reference("NeuralNgram")(*sizes).named_parameters():
        free = [str(n) for n, p in parameters.items() if shape_of(p) == part.shape and str(n) not in found.values()]
        if not free:
            raise Wrong(f"NeuralNgram{sizes} holds no parameter `{role}` of shape {shape_name(part)}.")
        found[role] = role if role in free else free[0]
    return found


class _Built:
    """A student's module and the reference, `right`, with the same weights; `names` are those of a student's parts."""

    def __init__(self, student: Student, *sizes: int, dtype: torch.dtype = torch.float32) -> None:
        self.student = student
        self.module: Any = student.build("NeuralNgram", *sizes)
        if dtype == torch.float64:
            student.move(self.module, "float64")
        try:
            self.names = _names(student.state(self.module, record=False)["parameters"], sizes)
        except Wrong:
            outline(student, self.module, 0)
            raise
        self.right = reference("NeuralNgram")(*sizes).to(dtype)
        self.right.load_state_dict({role: normal(*p.shape, dtype=dtype) for role, p in self.right.named_parameters()})
        self.state = {self.names[role]: value for role, value in self.right.state_dict().items()}
        student.load(self.module, self.state)

    def compared(self, context: torch.Tensor, where: str, **options: Any) -> dict[str, Any]:
        answer = self.student.call(self.module, [context], where=where, **options)
        same_tensor(answer["value"], self.right(context).detach(), "The logits", where)
        return answer


def _asked(*cases: tuple[int, ...]) -> CheckFunction:
    """Ask for logits: each case has the contexts' leading dimensions, and V, n, E and H."""

    def ask(student: Student) -> None:
        for *leading, V, n, E, H in cases:
            with student.case():
                built, context = _Built(student, V, n, E, H), some_ids(V, *leading, n - 1)
                built.compared(context, f"for contexts of shape {shape_name(context)} and NeuralNgram{V, n, E, H}")

    return ask


def _parts(student: Student) -> None:
    for known in ((7, 4, 3, 5), (11, 2, 6, 4), (5, 9, 2, 13)):
        with student.case():
            sizes = other_sizes(*known)
            module = student.build("NeuralNgram", *sizes)
            outline(student, module, 2)
            state = student.state(module, record=False)
            parameters, expected = state["parameters"], dict(reference("NeuralNgram")(*sizes).named_parameters())
            for role, right in expected.items():
                part = parameters.get(role)
                if not isinstance(part, torch.Tensor):
                    there = ", ".join(map(str, parameters))[:120] or "nothing"
                    raise Wrong(f"NeuralNgram{sizes} has no parameter `{role}`; there is {there}.")
                if (part.shape, part.dtype) != (right.shape, right.dtype):
                    raise Wrong(f"`{role}` should be {kind(right)}; yours is {kind(part)}.")
                if role not in state["trainable"]:
                    raise Wrong(f"`{role}` is frozen (requires_grad=False), so it cannot be trained.")
                if role.endswith("weight") and part.std() < 1e-4:
                    raise Wrong(f"All numbers of `{role}` begin alike, so they would learn the same.")
            if extra := sorted(set(map(str, parameters)) - set(expected)):
                raise Wrong(f"Three parts are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
    with student.case():
        named = student.build("NeuralNgram", vocab_size=4, n=3, embed_dim=2, hidden_dim=5)
        _names(student.state(named, record=False)["parameters"], (4, 3, 2, 5))


def _gradient(student: Student) -> None:
    for leading, dtype in (((6,), torch.float32), ((2, 5), torch.float64)):
        with student.case():
            built, context = _Built(student, 5, 4, 3, 6, dtype=dtype), some_ids(5, *leading, 3)
            where = f"for contexts of shape {shape_name(context)}"
            upstream = normal(*leading, 5, dtype=dtype)
            expected = torch.autograd.grad((built.right(context) * upstream).sum(), list(built.right.parameters()))
            gradients = built.compared(context, where, upstream=[upstream])["gradients"].get("parameters", {})
            mine = {role: gradients.get(name) for role, name in built.names.items()}
            student.note_gradients(mine)
            same_gradients(list(mine.values()), list(expected), [f"`{role}`" for role in mine], where)


def _side_effects(student: Student) -> None:
    built, other = _Built(student, 7, 4, 3, 5), _Built(student, 7, 4, 3, 5)
    context = some_ids(7, 6, 3)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        answer = built.compared(context, where, training=training)
        unchanged(answer["inputs"], [context], "`context`")
        generator_unchanged(answer)
    other.compared(context, "of a second module")
    parameters_unchanged(student, built.module, built.state, record=False)
    with student.case():
        _Built(student, 6, 3, 4, 5, dtype=torch.float64).compared(some_ids(6, 5, 2), "in float64")
    with student.case():
        built.compared(some_ids(7, 3, 6).T, "for contexts that are not contiguous")
    device_is_kept(student, built.module, [some_ids(7, 6, 3)])


_values = _asked(
    (4, 7, 4, 3, 5), (5, 11, 2, 6, 4), (1, 5, 9, 2, 13), (3, 3, 4, 3, 3), (40, 6, 17, 4, 8), (20, 9, 3, 1, 2)
)
_leading = _asked((2, 6, 7, 5, 3, 4), (7, 5, 3, 4), (3, 1, 4, 7, 5, 3, 4), (2, 1, 1, 2, 7, 5, 3, 4))
EXERCISE = Exercise(
    Check("the three parts, and nothing else", 1.0, _parts),
    Check("logits with given weights", 2.0, _values),
    Check("any number of leading dimensions", 0.75, _leading, dependent=True),
    Check("gradients reach every part", 0.5, _gradient, dependent=True),
    Check("float64, input unchanged, modules independent, any layout and device", 0.75, _side_effects, dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
)
