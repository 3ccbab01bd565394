"""`NeuralNgram`: its three parts, logits with given weights, leading dimensions, gradients."""

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import dtype_name, same_gradients, same_tensor, shape_name, shape_of, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import device_is_kept, generator_unchanged, normal, outline, parameters_unchanged
from autograder.spec.student import Student

ROLES = ("embedding.weight", "hidden.weight", "hidden.bias", "output.weight", "output.bias")


def _shapes(V: int, n: int, E: int, H: int) -> dict[str, tuple[int, ...]]:
    return dict(zip(ROLES, ((V, E), (H, (n - 1) * E), (H,), (V, H), (V,)), strict=True))


def _names(parameters: dict, V: int, n: int, E: int, H: int) -> dict[str, str]:
    """Return what the parts are called in a student's module; other names are marked elsewhere."""
    found: dict[str, str] = {}
    for role, shape in _shapes(V, n, E, H).items():
        free = [str(n) for n, p in parameters.items() if shape_of(p) == shape and str(n) not in found.values()]
        if not free:
            raise Wrong(f"NeuralNgram({V}, {n}, {E}, {H}) holds no parameter `{role}` of shape {shape}.")
        found[role] = role if role in free else free[0]
    return found


class _Built:
    """A student's module: `names` are those of its parts, `state` the numbers put into them, both by ROLES."""

    def __init__(self, student: Student, V: int, n: int, E: int, H: int, dtype: torch.dtype = torch.float32) -> None:
        self.student = student
        self.module: Any = student.build("NeuralNgram", V, n, E, H)
        if dtype == torch.float64:
            student.move(self.module, "float64")
        try:
            self.names = _names(student.state(self.module, record=False)["parameters"], V, n, E, H)
        except Wrong:
            outline(student, self.module, 0)
            raise
        self.state = {role: normal(*shape, dtype=dtype) for role, shape in _shapes(V, n, E, H).items()}
        student.load(self.module, self.in_theirs())

    def in_theirs(self) -> dict[str, torch.Tensor]:
        return {self.names[role]: value for role, value in self.state.items()}

    def compared(self, context: torch.Tensor, where: str, **options: Any) -> dict[str, Any]:
        answer = self.student.call(self.module, [context], where=where, **options)
        same_tensor(answer["value"], _logits(self.state, context), "The logits", where)
        return answer


def _logits(state: dict[str, torch.Tensor], context: torch.Tensor) -> torch.Tensor:
    vectors = F.embedding(context, state["embedding.weight"]).flatten(-2)
    hidden = F.relu(F.linear(vectors, state["hidden.weight"], state["hidden.bias"]))
    return F.linear(hidden, state["output.weight"], state["output.bias"])


def _contexts(V: int, *shape: int) -> torch.Tensor:
    return (normal(*shape).mul(997).abs().long() % V).contiguous()


def _asked(student: Student, leading: tuple[int, ...], V: int, n: int, E: int, H: int) -> None:
    with student.case():
        built = _Built(student, V, n, E, H)
        context = _contexts(V, *leading, n - 1)
        built.compared(context, f"for contexts of shape {shape_name(context)} and NeuralNgram({V}, {n}, {E}, {H})")


def _parts(student: Student) -> None:
    for sizes in ((7, 4, 3, 5), (11, 2, 6, 4), (5, 9, 2, 13)):
        with student.case():
            module = student.build("NeuralNgram", *sizes)
            outline(student, module, 2)
            state = student.state(module, record=False)
            parameters = state["parameters"]
            for role, shape in _shapes(*sizes).items():
                part = parameters.get(role)
                if not isinstance(part, torch.Tensor):
                    there = ", ".join(map(str, parameters))[:120] or "nothing"
                    raise Wrong(f"NeuralNgram{sizes} has no parameter `{role}`; there is {there}.")
                if part.shape != shape:
                    raise Wrong(f"`{role}` should have shape {shape}; yours has {shape_name(part)}.")
                if part.dtype != torch.float32:
                    raise Wrong(f"`{role}` should be float32; yours is {dtype_name(part)}.")
                if role not in state["trainable"]:
                    raise Wrong(f"`{role}` is frozen (requires_grad=False), so it cannot be trained.")
                if role.endswith("weight") and part.std() < 1e-4:
                    raise Wrong(f"All numbers of `{role}` begin alike, so they would learn the same.")
            if extra := sorted(set(map(str, parameters)) - set(ROLES)):
                raise Wrong(f"Three parts are all there is; yours has more parameters: {', '.join(extra)[:120]}.")
    with student.case():
        named = student.build("NeuralNgram", vocab_size=4, n=3, embed_dim=2, hidden_dim=5)
        _names(student.state(named, record=False)["parameters"], 4, 3, 2, 5)


def _values(student: Student) -> None:
    for leading, *sizes in ((4, 7, 4, 3, 5), (5, 11, 2, 6, 4), (1, 5, 9, 2, 13), (3, 3, 4, 3, 3), (40, 6, 17, 4, 8)):
        _asked(student, (leading,), *sizes)
    _asked(student, (2,), 9, 3, 1, 2)


def _leading(student: Student) -> None:
    for leading in ((2, 6), (), (3, 1, 4), (2, 1, 1, 2)):
        _asked(student, leading, 7, 5, 3, 4)


def _gradient(student: Student) -> None:
    for leading, dtype in (((6,), torch.float32), ((2, 5), torch.float64)):
        with student.case():
            built, context = _Built(student, 5, 4, 3, 6, dtype), _contexts(5, *leading, 3)
            where = f"for contexts of shape {shape_name(context)}"
            leaves = {role: value.clone().requires_grad_(True) for role, value in built.state.items()}
            result = _logits(leaves, context)
            upstream = normal(*result.shape, dtype=dtype)
            expected = torch.autograd.grad((result * upstream).sum(), list(leaves.values()))
            gradients = built.compared(context, where, upstream=[upstream])["gradients"].get("parameters", {})
            mine = {role: gradients.get(built.names[role]) for role in ROLES}
            student.note_gradients(mine)
            same_gradients(list(mine.values()), list(expected), [f"`{role}`" for role in ROLES], where)


def _manners(student: Student) -> None:
    built, other = _Built(student, 7, 4, 3, 5), _Built(student, 7, 4, 3, 5)
    context = _contexts(7, 6, 3)
    for training, where in ((True, "in training mode"), (False, "in evaluation mode")):
        answer = built.compared(context, where, training=training)
        unchanged(answer["inputs"], [context], "`context`")
        generator_unchanged(answer)
    other.compared(context, "of a second module")
    parameters_unchanged(student, built.module, built.in_theirs(), record=False)
    with student.case():
        _Built(student, 6, 3, 4, 5, torch.float64).compared(_contexts(6, 5, 2), "in float64")
    with student.case():
        built.compared(_contexts(7, 3, 6).T, "for contexts that are not contiguous")
    device_is_kept(student, built.module, [_contexts(7, 6, 3)])


EXERCISE = Exercise(
    Check("the three parts, and nothing else", 1.0, _parts),
    Check("logits with given weights", 2.0, _values),
    Check("any number of leading dimensions", 0.75, _leading, further=True),
    Check("gradients reach every part", 0.5, _gradient, further=True),
    Check("float64, input unchanged, modules independent, any layout and device", 0.75, _manners, further=True),
)
