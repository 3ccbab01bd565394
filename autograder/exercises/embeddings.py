"""Notebook 03: an embedding is a table look-up; similarity, neighbours, analogies; skip-gram with negative sampling."""

from __future__ import annotations

import contextlib
import inspect
import math
from collections import Counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from .compare import a_pair, a_tensor, dtype_name, kind, same_gradients, same_tensor, unchanged
from .declare import Alternative, Check, Exercise, Mistake, Question, Wrong, edited, written
from .draw import device_is_kept, normal

# --- references -------------------------------------------------------------------------------------------------------


def one_hot_lookup(ids, weight):
    """Look up rows of a table by a matrix product with one-hot rows.

    ids: LongTensor [...], each in 0 … V-1; weight: [V, C]. Returns [..., C] in the dtype of weight,
    equal to weight[ids], but without indexing: row i of the identity matrix picks out row i of weight.
    Example: ids [2, 0], weight [[1., 2.], [3., 4.], [5., 6.]] -> [[5., 6.], [1., 2.]]
    """
    one_hot = F.one_hot(ids, num_classes=weight.shape[0])  # (..., V): a single 1 in each row, at the id
    return one_hot.to(weight.dtype) @ weight  # (..., V) @ (V, C) gives (..., C)


class Embedding(nn.Module):
    """A table with one learned vector for each id, looked up by row (Bengio et al. 2003, section 2).

    num_embeddings: the number of ids, V; embedding_dim: the width of a vector, C.
    One parameter: weight [V, C], drawn from N(0, 1).
    forward: ids [...] (int64 or int32, any shape) -> [..., C]; an id outside 0 … V-1, a negative one
    too, is an IndexError.
    Example: Embedding(10, 4)(torch.tensor([[7, 7, 2]])) has shape [1, 3, 4]
    """

    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))  # (V, C)

    def forward(self, ids):
        V = self.weight.shape[0]
        if ((ids < 0) | (ids >= V)).any():  # a negative index would quietly count from the end
            raise IndexError(f"ids must lie in 0 … {V - 1}")
        return self.weight[ids]  # (..., C)


def embedding_cost(vocab_size, embed_dim):
    """What an embedding table costs: (number of parameters: int, mebibytes in float32: float).

    A float32 takes 4 bytes; a mebibyte is 2**20 bytes.
    Example: (32100, 512) -> (16435200, 62.70, rounded here)
    """
    parameters = vocab_size * embed_dim
    return parameters, parameters * 4 / 2**20


def cosine_similarity(a, b):
    """Cosine of the angle between vectors: their dot product divided by both lengths.

    a, b: [..., C], broadcast against each other. Returns [...], between -1 and 1.
    Only directions count, not lengths: a vector of length 1e-6 or 1e6 has its cosine too. A zero
    vector has no direction: its cosine is 0, and nothing is NaN, gradients neither.
    Example: [3, 4] and [30, 40] -> 1; [1, 0] and [0, 2] -> 0
    """
    dots = (a * b).sum(dim=-1)  # (...)
    a_norm = a.norm(dim=-1).clamp(min=1e-8)  # (...): never 0, so that 0 / 0 cannot happen
    b_norm = b.norm(dim=-1).clamp(min=1e-8)
    return dots / (a_norm * b_norm)


def nearest_neighbours(query, weight, k, exclude=()):
    """Ids of the k rows of weight most similar to query by cosine, best first.

    query: [C]; weight: [V, C]; exclude: any iterable of ids that are never returned, such as the
    query's own; k: at most the number of ids that are left. Returns LongTensor [k].
    Example: query [1, 0], weight [[0, 1], [9, 9], [.1, 0]], k = 2 -> [2, 1]
    """
    similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
    for id in exclude:
        similarity[id] = float("-inf")  # worse than any cosine
    return similarity.topk(k).indices  # (k,): sorted, largest first


def analogy(a, b, c, weight):
    """The id that is to c as b is to a, such as man : king = woman : ? (Mikolov et al. 2013).

    a, b, c: ids; weight: [V, C]. Returns the id (int) whose row is nearest by cosine to b - a + c, made of
    the rows as they are (not normalised first); never a, b or c themselves, which would often be nearest.
    """
    target = weight[b] - weight[a] + weight[c]  # (C,)
    return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()


def skipgram_pairs(ids, window):
    """Training pairs (centre, context) of skip-gram (Mikolov et al. 2013, section 3.2).

    ids: list of ints, a text; window: how far context reaches to each side.
    Returns a list of tuples, in any order: each place of the text with each other place within the window.
    Example: ids [7, 3, 5], window 1 -> [(7, 3), (3, 7), (3, 5), (5, 3)]
    """
    pairs = []
    for i, centre in enumerate(ids):
        first = max(0, i - window)  # the window ends where the text does
        last = min(len(ids) - 1, i + window)
        for j in range(first, last + 1):
            if j != i:  # places are compared, not ids: a word may be its own neighbour
                pairs.append((centre, ids[j]))
    return pairs


def sgns_loss(centre, context, negatives):
    """Loss of skip-gram with negative sampling (Mikolov et al. 2013b, equation 4).

    centre, context: [B, C], pairs that occur; negatives: [B, K, C], words drawn at random for each pair.
    Returns a scalar: -log σ(centre · context) - Σ_k log σ(-centre · negative_k), the mean over B.
    Stable: scores of ±1e4 give finite losses.
    Example: all vectors zero -> (1 + K) ln 2
    """
    positive = (centre * context).sum(dim=-1)  # (B,)
    negative = (negatives * centre[:, None, :]).sum(dim=-1)  # (B, K)
    loss = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1)  # (B,); log(sigmoid(x)) would give -inf
    return loss.mean()


# --- what the checks share --------------------------------------------------------------------------------------------


def _mistake(name: str, sentence: str, *sources: str) -> Mistake:
    return Mistake(name, sentence, sources[0], sources[1:])


def _around(reference: Any, *lines: str) -> str:
    """A function that does something around the right answer: in its lines, RIGHT is a call of the reference."""
    name, parameters = reference.__name__, inspect.signature(reference).parameters.values()
    call = f"right_{name}({', '.join(parameter.name for parameter in parameters)})"
    body = "\n    ".join(lines).replace("RIGHT", call)
    signature = ", ".join(map(str, parameters))
    source = edited(reference, (f"def {name}(", f"def right_{name}("))
    return written(f"{source}\n\ndef {name}({signature}):\n    {body}\n")


def _gradients_agree(student: Any, name: str, reference: Any, args: list, names: list[str], where: str = "") -> None:
    """The gradients of a weighted sum of the result, with respect to every float tensor among the arguments."""
    leaves = [a.clone().requires_grad_(True) if _is_float(a) else a for a in args]
    result = reference(*leaves)
    upstream = normal(result.numel(), dtype=result.dtype).reshape(result.shape)
    expected = torch.autograd.grad((result * upstream).sum(), [leaf for leaf in leaves if _is_float(leaf)])
    answer = student.call(name, args, where=where, upstream=[upstream])
    if not isinstance(answer["value"], torch.Tensor):
        raise Wrong(f"There is no result to take gradients of: yours returned {kind(answer['value'])}.")
    same_gradients(answer["gradients"].get("inputs", []), list(expected), names, where)


def _answers(student: Any) -> list:
    """The answers recorded for the check that is running, by which a mistake is recognised."""
    return list(student.record.values())[-1]


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _whole(got: Any, what: str) -> int:
    if type(got) is not int:
        raise Wrong(f"{what} should be an int; yours is {kind(got)}.")
    return got


# --- one_hot_lookup ---------------------------------------------------------------------------------------------------

PRODUCTS = {
    "mm",
    "bmm",
    "mv",
    "addmm",
    "addmv",
    "baddbmm",
    "matmul",
    "linear",
    "einsum",
    "_sparse_mm",
    "_sparse_addmm",
    "dot",
    "_int_mm",
}


def _lookup_values(student: Any) -> None:
    for shape, V, C in (
        *(((5,), 7, 3), ((2, 3), 4, 6), ((2, 3, 4), 5, 2), ((), 6, 4), ((1,), 3, 5), ((3, 1), 2, 1)),
        *(((4,), 4, 4), ((1, 1), 1, 3), ((30,), 6, 5), ((3,), 10, 2), ((2, 2), 100, 3)),
    ):
        with student.case():
            weight, ids = normal(V, C), _ids(shape, V)
            where = f"for ids of shape {tuple(shape)}, V = {V}, C = {C}"
            got = student.value("one_hot_lookup", ids, weight, where=where)
            same_tensor(got, weight[ids], "The result", where)
    with contextlib.suppress(Wrong):  # a table of whole numbers is nobody's duty, but it tells mistakes apart
        student.value("one_hot_lookup", torch.tensor([1, 0]), torch.tensor([[1, 2, 3], [4, 5, 6]]))


def _ids(shape: tuple, V: int) -> torch.Tensor:
    """Ids that look random and depend on the topic only; the largest id V-1 need not be among them."""
    return (normal(*shape, 1).mul(1e3).abs().long() % V).squeeze(-1)


def _lookup_product(student: Any) -> None:
    """A row that is not asked for still takes part in a matrix product: 0 · inf is NaN. Indexing never sees it.

    A product with a sparse one-hot matrix skips it too, so that the operations that ran are looked at as well.
    """
    ids, weight = torch.tensor([[0, 3, 1], [4, 4, 0]]), normal(5, 3)
    got = student.value("one_hot_lookup", ids, weight)
    same_tensor(got, weight[ids], "The result")
    weight[2] = math.inf
    answer = student.call("one_hot_lookup", [ids, weight], trace=True)
    got = a_tensor(answer["value"], "The result")
    if not got.isnan().any() and not PRODUCTS & set(answer["operations"]):
        raise Wrong(
            "The values are right, but they do not come from a matrix product: rows are picked out by their index. Make "
            "one-hot rows of the ids and multiply them with `weight` (`@`); that shows what the index does."
        )


def _lookup_gradient(student: Any) -> None:
    for shape, V, C in (((6,), 5, 3), ((2, 4), 6, 4)):
        with student.case():
            _gradients_agree(student, "one_hot_lookup", one_hot_lookup, [_ids(shape, V), normal(V, C)], ["weight"])


def _lookup_manners(student: Any) -> None:
    for dtype, V, C in ((torch.float64, 5, 3), (torch.float64, 4, 4), (torch.float32, 6, 2)):
        with student.case():
            ids, weight = _ids((2, 3), V), normal(V, C, dtype=dtype)
            where = f"in {dtype_name(weight)}"
            answer = student.call("one_hot_lookup", [ids, weight], where=where)
            same_tensor(answer["value"], weight[ids], "The result", where)
            unchanged(answer["inputs"], [ids, weight], "ids, weight")
    for shape, V, C in (((0,), 3, 2), ((2, 0), 4, 3)):
        with student.case():
            weight, ids = normal(V, C), _ids(shape, V)
            where = f"for no ids, of shape {tuple(shape)}"
            same_tensor(student.value("one_hot_lookup", ids, weight, where=where), weight[ids], "The result", where)


def _lookup_device(student: Any) -> None:
    ids, weight = torch.tensor([[1, 0], [3, 3]]), normal(4, 3)
    same_tensor(student.value("one_hot_lookup", ids, weight), weight[ids], "The result")
    device_is_kept(student, "one_hot_lookup", [ids, weight])


def _lookup(*lines: str) -> str:
    body = "\n    ".join(lines)
    return written(f"def one_hot_lookup(ids, weight):\n    {body}\n")


_HOT = "F.one_hot(ids, num_classes=weight.shape[0])"
_HOT_FLOAT = "one_hot.to(weight.dtype)"
_CAST = "V, C = weight.shape\n    one_hot = F.one_hot(ids, V).to(weight.dtype)"


ONE_HOT_LOOKUP = Exercise(
    name="one_hot_lookup",
    notebook="03-embeddings",
    points=2,
    reference=one_hot_lookup,
    checks=[
        Check("the rows of the ids, for ids of any shape", 1.0, _lookup_values),
        Check("by a matrix product", 0.4, _lookup_product),
        Check("gradients reach the table", 0.25, _lookup_gradient),
        Check("float64, no ids at all, inputs unchanged", 0.25, _lookup_manners),
        Check("stays on the inputs' device", 0.1, _lookup_device),
    ],
    working=written(
        """
        import torch
        import torch.nn.functional as F

        def one_hot_lookup(ids, weight):
            return F.linear(F.one_hot(ids, len(weight)).to(weight.dtype), weight.mT)
        """
    ),
    mistakes=[
        _mistake(
            "indexing",
            "The rows are picked out by their index (`weight[ids]`, F.embedding, gather …). The values are right, but the point "
            "here is that a matrix product of one-hot rows with the table gives the same.",
            _lookup("return weight[ids]"),
            _lookup("return F.embedding(ids, weight)"),
            _lookup(
                "rows = [weight[i] for i in ids.flatten().tolist()]", "return torch.stack(rows).view(*ids.shape, -1)"
            ),
            _lookup("return weight.index_select(0, ids.flatten()).reshape(*ids.shape, weight.shape[1])"),
            _lookup(_CAST, "return weight[one_hot.argmax(-1)]"),
        ),
        _mistake(
            "integers_multiplied",
            "F.one_hot gives whole numbers, and PyTorch does not multiply an integer matrix with a float one: convert it to the "
            "dtype of weight first.",
            edited(one_hot_lookup, (_HOT_FLOAT, "one_hot")),
        ),
        _mistake(
            "float32_only",
            "The one-hot rows are always float32 (`.float()`), so a table in float64 fails, or comes back as float32: "
            "`.to(weight.dtype)`.",
            edited(one_hot_lookup, (_HOT_FLOAT, "one_hot.float()")),
            edited(one_hot_lookup, (f"return {_HOT_FLOAT} @ weight", "return one_hot.float() @ weight.float()")),
        ),
        _mistake(
            "classes_guessed",
            "F.one_hot is left to guess the number of classes, and takes the largest id it sees plus 1: the rows are too short "
            "unless the last id is among them. Say how many: num_classes=weight.shape[0].",
            edited(one_hot_lookup, (", num_classes=weight.shape[0]", "")),
            edited(one_hot_lookup, ("num_classes=weight.shape[0]", "num_classes=int(ids.max()) + 1")),
            edited(
                one_hot_lookup,
                (_HOT, "torch.eye(int(ids.max()) + 1, dtype=weight.dtype, device=weight.device)[ids]"),
            ),
        ),
        _mistake(
            "fixed_vocabulary",
            "The number of ids is a fixed number in the code: it is weight.shape[0], whatever table comes.",
            edited(one_hot_lookup, ("weight.shape[0]", "10")),
            edited(one_hot_lookup, ("weight.shape[0]", "100")),
            edited(one_hot_lookup, ("weight.shape[0]", "7")),
        ),
        _mistake(
            "numpy",
            "NumPy or plain lists are used on the way: the result is cut off from weight (or the call fails while it is being trained), and it works on the CPU "
            "only. PyTorch has F.one_hot and `@`.",
            _lookup(
                "one_hot = F.one_hot(ids, len(weight)).to(weight.dtype).numpy()",
                "return torch.from_numpy(one_hot @ weight.numpy())",
            ),
            _lookup(
                "one_hot = F.one_hot(ids, len(weight)).float().numpy()",
                "return torch.tensor(one_hot @ weight.numpy())",
            ),
            _lookup(
                "one_hot = F.one_hot(ids, len(weight)).to(weight.dtype).numpy()",
                "return torch.from_numpy(one_hot @ weight.detach().numpy())",
            ),
        ),
        _mistake(
            "width_for_classes",
            "The one-hot rows are as wide as a vector (C). They need one place for each id: V = weight.shape[0].",
            edited(one_hot_lookup, ("weight.shape[0]", "weight.shape[1]")),
        ),
        _mistake(
            "transposed_table",
            "The table is transposed in the product: (…, V) @ (V, C) fits as it is (F.linear transposes by itself).",
            edited(one_hot_lookup, ("@ weight", "@ weight.T")),
            edited(one_hot_lookup, (f"{_HOT_FLOAT} @ weight", f"F.linear({_HOT_FLOAT}, weight)")),
        ),
        _mistake(
            "order_swapped",
            "The factors are the wrong way round: one-hot rows (…, V) first, then the table (V, C).",
            edited(one_hot_lookup, (f"{_HOT_FLOAT} @ weight", f"weight @ {_HOT_FLOAT}")),
        ),
        _mistake(
            "elementwise",
            "`*` multiplies element by element; the matrix product is `@`.",
            edited(one_hot_lookup, (f"{_HOT_FLOAT} @ weight", f"{_HOT_FLOAT} * weight")),
        ),
        _mistake(
            "one_hot_returned",
            "The one-hot rows themselves are returned: they still have to be multiplied with the table.",
            edited(one_hot_lookup, (f"return {_HOT_FLOAT} @ weight", f"return {_HOT_FLOAT}")),
            edited(one_hot_lookup, (f"return {_HOT_FLOAT} @ weight", "return one_hot")),
        ),
        _mistake(
            "ids_from_one",
            "The ids are taken to count from 1: id 0 is the first row.",
            edited(one_hot_lookup, ("one_hot(ids,", "one_hot((ids - 1) % weight.shape[0],")),
            edited(one_hot_lookup, ("one_hot(ids,", "one_hot((ids + 1) % weight.shape[0],")),
            edited(one_hot_lookup, ("one_hot(ids,", "one_hot(ids - 1,")),
            edited(one_hot_lookup, ("one_hot(ids,", "one_hot(ids + 1,")),
        ),
        _mistake(
            "flattened",
            "The dimensions of ids are merged into one: ids (B, T) give (B, T, C).",
            edited(one_hot_lookup, ("one_hot(ids,", "one_hot(ids.flatten(),")),
        ),
        _mistake(
            "flat_ids_only",
            "It works for ids of one shape only (a list of ids, a matrix of zeros of len(ids) rows): ids may have any number of "
            "dimensions, also none.",
            _lookup(
                "one_hot = torch.zeros(len(ids), weight.shape[0], dtype=weight.dtype, device=weight.device)",
                "one_hot[torch.arange(len(ids), device=ids.device), ids] = 1",
                "return one_hot @ weight",
            ),
            _lookup(
                "one_hot = torch.zeros(ids.shape[0], weight.shape[0], dtype=weight.dtype, device=weight.device)",
                "for row, i in enumerate(ids):",
                "    one_hot[row, i] = 1",
                "return one_hot @ weight",
            ),
            _lookup(
                "one_hot = torch.zeros(len(ids), weight.shape[0], dtype=weight.dtype, device=weight.device)",
                "one_hot.scatter_(1, ids[:, None], 1.0)",
                "return one_hot @ weight",
            ),
            _lookup(
                "B, T = ids.shape",
                "one_hot = F.one_hot(ids.reshape(B * T), len(weight)).to(weight.dtype)",
                "return (one_hot @ weight).view(B, T, -1)",
            ),
        ),
        _mistake(
            "summed_over_ids",
            "The vectors of different ids are added up or averaged: each id keeps a vector of its own.",
            _around(one_hot_lookup, "return RIGHT.sum(dim=0)"),
            _around(one_hot_lookup, "return RIGHT.sum(dim=-2)"),
            _around(one_hot_lookup, "return RIGHT.mean(dim=-2)"),
            _lookup(_CAST, "return one_hot.sum(dim=-2) @ weight"),
        ),
        _mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so a batch of one, or C = 1, changes the shape.",
            _around(one_hot_lookup, "return RIGHT.squeeze()"),
        ),
        _mistake(
            "empty_refused",
            "No ids at all, as in shape (0,), are refused or fail: the result is then empty, of shape (0, C).",
            _around(one_hot_lookup, "assert ids.numel() > 0", "return RIGHT"),
            _around(one_hot_lookup, "if ids.max() >= len(weight):", "    raise IndexError", "return RIGHT"),
            _lookup(
                "V, C = weight.shape",
                "eye = torch.eye(V, dtype=weight.dtype, device=weight.device)",
                "rows = [eye[i] for i in ids.flatten().tolist()]",
                "return (torch.stack(rows) @ weight).view(*ids.shape, C)",
            ),
        ),
        _mistake(
            "detached",
            "The result is cut off from weight (`.detach()`, `.data`, `no_grad` …), so the table could not be trained.",
            edited(one_hot_lookup, ("@ weight", "@ weight.detach()")),
            edited(one_hot_lookup, ("@ weight", "@ weight.data")),
            _around(one_hot_lookup, "with torch.no_grad():", "    return RIGHT"),
        ),
        _mistake(
            "table_changed",
            "The caller's table is changed: nothing may be written into weight.",
            _around(one_hot_lookup, "result = RIGHT", "weight.mul_(0)", "return result"),
            _around(one_hot_lookup, "result = RIGHT", "weight[ids] = 0", "return result"),
        ),
        _mistake(
            "device_and_dtype_dropped",
            "The one-hot rows are new tensors of float32 on the CPU: give them `dtype=weight.dtype, device=weight.device`.",
            _lookup("return torch.eye(weight.shape[0])[ids] @ weight"),
            _lookup("return torch.zeros(*ids.shape, weight.shape[0]).scatter_(-1, ids.unsqueeze(-1), 1.0) @ weight"),
        ),
        _mistake(
            "device_dropped",
            "A tensor is made without `device=…`: on a GPU the product of a CPU tensor with weight fails.",
            _lookup("return torch.eye(weight.shape[0], dtype=weight.dtype)[ids] @ weight"),
            _lookup("return (ids.unsqueeze(-1) == torch.arange(len(weight))).to(weight.dtype) @ weight"),
            _lookup(
                "one_hot = torch.zeros(*ids.shape, weight.shape[0], dtype=weight.dtype)",
                "return one_hot.scatter_(-1, ids.unsqueeze(-1), 1.0) @ weight",
            ),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the product.",
            edited(one_hot_lookup, ("return one_hot", "_ = one_hot")),
            _around(one_hot_lookup, "print(RIGHT)"),
        ),
    ],
    alternatives=[
        Alternative("eye", _lookup("eye = torch.eye(len(weight)).to(weight)", "return eye[ids] @ weight")),
        Alternative(
            "scatter",
            _lookup(
                "one_hot = torch.zeros(*ids.shape, weight.size(0), dtype=weight.dtype, device=weight.device)",
                "one_hot.scatter_(-1, ids.unsqueeze(-1), 1)",
                "return torch.matmul(one_hot, weight)",
            ),
        ),
        Alternative(
            "comparison",
            _lookup(
                "vocabulary = torch.arange(weight.shape[0], device=ids.device)",
                "return (ids[..., None] == vocabulary).type_as(weight) @ weight",
            ),
        ),
        Alternative(
            "loop_and_einsum",
            _lookup(
                "flat = ids.reshape(-1)",
                "one_hot = weight.new_zeros(len(flat), len(weight))",
                "for row, i in enumerate(flat.tolist()):",
                "    one_hot[row, i] = 1.0",
                'return torch.einsum("nv,vc->nc", one_hot, weight).reshape(*ids.shape, weight.shape[1])',
            ),
        ),
        Alternative("product_by_hand", _lookup(_CAST, "return (one_hot[..., None] * weight).sum(dim=-2)")),
        Alternative(
            "sparse",
            _lookup(
                "flat, V = ids.flatten(), len(weight)",
                "places = torch.stack([torch.arange(len(flat), device=ids.device), flat])",
                "ones = torch.ones(len(flat), dtype=weight.dtype, device=weight.device)",
                "one_hot = torch.sparse_coo_tensor(places, ones, (len(flat), V), check_invariants=False)",
                "return torch.sparse.mm(one_hot, weight).reshape(*ids.shape, weight.shape[1])",
            ),
        ),
    ],
)


# --- Embedding --------------------------------------------------------------------------------------------------------

_PUT = """
def put(module, value):
    with torch.no_grad():
        module.weight.copy_(value)
"""


def _state(student: Any, module: Any) -> dict:
    """The module's state. How the table begins, and what it is called if not `weight`, says nothing about other mistakes."""
    state = student.state(module)
    called = {"weight": "weight"}
    kinds = [
        (called.get(name, "inside" if "." in str(name) else "other"), dtype_name(p), list(p.shape))
        for name, p in state["parameters"].items()
        if isinstance(p, torch.Tensor)
    ]
    _answers(student)[-1] = {"value": [kinds, len(state["trainable"])]}
    return state


def _table(student: Any, V: int, C: int, dtype: str = "") -> tuple[Any, torch.Tensor, str]:
    """A built module, the numbers put into its table, and the name of the parameter that is its table.

    A table that has another name, or is no parameter, is filled all the same: that is marked elsewhere.
    """
    module = student.build("Embedding", V, C)
    if dtype:
        student.move(module, dtype)
    weight = normal(V, C, dtype=torch.float64 if dtype else torch.float32)
    parameters = _state(student, module)["parameters"]
    tables = [n for n, p in parameters.items() if isinstance(p, torch.Tensor) and tuple(p.shape) == (V, C)]
    name = "weight" if "weight" in tables or not tables else tables[0]
    if tables:
        student.load(module, {name: weight})
    else:
        try:
            student.value(student.probe("put", _PUT), module, weight)
        except Wrong:
            raise Wrong(f"Embedding({V}, {C}) holds no table `weight` of shape ({V}, {C}).") from None
    return module, weight, name


def _embedding_parameters(student: Any) -> None:
    for V, C in ((7, 3), (4, 9)):
        with student.case():
            state = _state(student, student.build("Embedding", V, C))
            parameters = state["parameters"]
            weight = parameters.get("weight")
            if not isinstance(weight, torch.Tensor):
                there = f" (there is {', '.join(map(str, parameters))[:80]})" if parameters else ""
                raise Wrong(
                    f"Embedding({V}, {C}) has no parameter `weight`{there}: make `self.weight = nn.Parameter(…)` in `__init__`."
                )
            if tuple(weight.shape) != (V, C):
                raise Wrong(
                    f"`weight` of Embedding({V}, {C}) should have shape ({V}, {C}), one row for each id; yours has "
                    f"{tuple(weight.shape)}."
                )
            if "weight" not in state["trainable"]:
                raise Wrong("`weight` is frozen (requires_grad=False), so it cannot be trained.")
            if weight.dtype != torch.float32:
                raise Wrong(f"`weight` should be float32, PyTorch's default; yours is {dtype_name(weight)}.")
            if len(parameters) > 1:
                raise Wrong(
                    f"There should be one parameter, `weight`; yours has {', '.join(map(str, parameters))[:120]}."
                )
    with student.case():
        built = student.build("Embedding", num_embeddings=5, embedding_dim=2)
        named = _state(student, built)["parameters"].get("weight")
        if not isinstance(named, torch.Tensor) or tuple(named.shape) != (5, 2):
            raise Wrong("Embedding(num_embeddings=5, embedding_dim=2) should build the same as Embedding(5, 2).")


def _embedding_values(student: Any) -> None:
    for shape, V, C in (
        *(((5,), 7, 3), ((2, 3), 4, 6), ((2, 3, 4), 5, 2), ((), 6, 4), ((1, 1), 1, 3), ((3, 1), 5, 1)),
        *(((4, 4), 4, 4), ((40,), 6, 2), ((1,), 9, 5)),
    ):
        with student.case():
            _look_up(student, _ids(shape, V), V, C, f"for ids of shape {tuple(shape)}, Embedding({V}, {C})")


def _look_up(student: Any, ids: torch.Tensor, V: int, C: int, where: str) -> None:
    module, weight, _ = _table(student, V, C)
    same_tensor(student.value(module, ids, where=where), weight[ids.long()], "The result", where)


def _embedding_fresh(student: Any) -> None:
    """Properties of 6,000 draws from N(0, 1), each about six standard errors wide: a right table fails one in 10^8."""
    parameters = _state(student, student.build("Embedding", 120, 50))["parameters"].values()
    weight = next((p for p in parameters if isinstance(p, torch.Tensor) and tuple(p.shape) == (120, 50)), None)
    if weight is None or weight.device.type != "cpu":
        raise Wrong(
            "There is no parameter of shape (num_embeddings, embedding_dim), whose first values could be looked at."
        )
    weight = weight.double()
    if not weight.isfinite().all():
        raise Wrong("The fresh `weight` holds values that are not finite: is its memory left as it was (torch.empty)?")
    mean, std, far = weight.mean().item(), weight.std().item(), (weight.abs() > 2).double().mean().item()
    alike = max(weight.mean(0).std().item(), weight.mean(1).std().item()) > 0.3 * std or std == 0
    tails = ((weight - mean) ** 4).mean().item() / max(std, 1e-9) ** 4  # 1.8 if uniform, 3 if normal
    _answers(student)[-1] = {"value": [alike, "uniform" if tails < 2.2 else "normal", abs(std - 1) < 0.06]}
    if abs(mean) > 0.08 or abs(std - 1) > 0.06:
        raise Wrong(
            f"`weight` should start as draws from N(0, 1); the mean of yours is {mean:.2g} and the standard deviation {std:.2g}."
        )
    if not 0.03 < far < 0.062:
        raise Wrong(
            "`weight` starts with mean 0 and variance 1, but it is not normal: too few or too many values beyond ±2."
        )
    if alike:
        raise Wrong("The rows or columns of the fresh `weight` are alike: every number is a draw of its own.")


def _refused(student: Any, bad: tuple, V: int = 5) -> None:
    """Ids that must raise an IndexError; right ones do not, before and after."""
    module, weight, _ = _table(student, V, 3)
    for ids in (torch.arange(V), torch.tensor([V - 1, 0])):
        same_tensor(student.value(module, ids), weight[ids], "The result for ids in range")
    for ids in bad:
        with student.case():
            shown = ids.tolist()
            try:
                student.value(module, ids)
            except Wrong as wrong:
                facts = getattr(wrong, "facts", {})
                if facts.get("kind") != "raised":
                    raise
                if facts.get("type") != "IndexError":
                    raise Wrong(
                        f"Ids {shown} with num_embeddings = {V} should raise an IndexError; yours raised {facts.get('type')}."
                    ) from None
            else:
                raise Wrong(
                    f"Ids {shown} with num_embeddings = {V} should raise an IndexError; yours returned something."
                )


def _embedding_beyond(student: Any) -> None:
    _refused(student, (torch.tensor(5), torch.tensor([0, 5, 1]), torch.tensor([[1, 2], [3, 1000]])))


def _embedding_negative(student: Any) -> None:
    _refused(student, (torch.tensor(-1), torch.tensor([0, 4, -1]), torch.tensor([[1, -5], [3, 2]]), torch.tensor([-6])))


def _embedding_gradient(student: Any) -> None:
    for shape, V, C in (((3,), 6, 4), ((2, 5), 9, 3), ((), 4, 2)):
        with student.case():
            module, weight, name = _table(student, V, C)
            ids = _ids(shape, V)
            where = f"for ids of shape {tuple(shape)}"
            upstream = normal(*shape, C)
            answer = student.call(module, [ids], where=where, upstream=[upstream])
            same_tensor(answer["value"], weight[ids], "The result", where)
            expected = torch.zeros_like(weight).index_put((ids,), upstream, accumulate=True)
            mine = answer["gradients"].get("parameters", {}).get(name)
            answer["gradients"]["parameters"] = {"weight": mine}  # in the record too, whatever its name
            if isinstance(mine, torch.Tensor) and mine.shape == expected.shape:
                unused = expected.abs().sum(-1) == 0
                if mine[unused].abs().sum() > 0:
                    raise Wrong("Rows of ids that do not occur get a gradient: only the rows used may get one.")
            same_gradients([mine], [expected], ["`weight`"], where)


def _embedding_manners(student: Any) -> None:
    module, weight, name = _table(student, 6, 3)
    other, other_weight, _ = _table(student, 6, 3)
    ids = torch.tensor([[2, 5, 2], [0, 1, 5]])
    answer = student.call(module, [ids], training=True)
    same_tensor(answer["value"], weight[ids], "The result", "in training mode")
    unchanged(answer["inputs"], [ids], "ids")
    same_tensor(student.call(module, [ids], training=False)["value"], weight[ids], "The result", "in evaluation mode")
    same_tensor(student.value(other, ids), other_weight[ids], "The result", "of a second module")
    after = _state(student, module)["parameters"].get(name)
    if isinstance(after, torch.Tensor) and not torch.equal(after, weight):
        raise Wrong("A call changes the table: only training may do that.")
    for ids32 in (_ids((6,), 5).int(), _ids((2, 3), 5).int()):
        with student.case():
            _look_up(student, ids32, 5, 3, f"for int32 ids of shape {tuple(ids32.shape)}")
    for shape in ((0,), (2, 0)):
        with student.case():
            _look_up(student, _ids(shape, 4), 4, 3, f"for no ids, of shape {shape}")
    with student.case():
        module, weight, _ = _table(student, 5, 3, "float64")
        same_tensor(student.value(module, ids % 5, where="in float64"), weight[ids % 5], "The result", "in float64")
    with student.case():
        module, _, _ = _table(student, 6, 3)
        device_is_kept(student, module, [ids])


def _embedding(
    init: str, *forward: str, base: str = "nn.Module", signature: str = "num_embeddings, embedding_dim"
) -> str:
    """A class from the lines of its `__init__` (after super) and of its forward."""
    first, body = "\n        ".join(init.split("\n")), "\n        ".join(forward)
    return written(
        f"class Embedding({base}):\n    def __init__(self, {signature}):\n        super().__init__()\n        {first}\n\n"
        f"    def forward(self, ids):\n        {body}\n"
    )


def _class(*edits: tuple[str, str]) -> str:
    return edited(Embedding, *edits)


_PARAMETER = "self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))"
_EMPTY = "self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim))"
_DRAW = "torch.randn(num_embeddings, embedding_dim)"
_RANGE = "((ids < 0) | (ids >= V)).any()"
_LOOK = "return self.weight[ids]"

EMBEDDING = Exercise(
    name="Embedding",
    notebook="03-embeddings",
    points=4,
    reference=Embedding,
    checks=[
        Check("one parameter, `weight`, of shape (num_embeddings, embedding_dim)", 0.75, _embedding_parameters),
        Check("the rows of the ids, for ids of any shape", 1.25, _embedding_values),
        Check("gradients in the rows used, and only there", 0.5, _embedding_gradient),
        Check("`weight` starts as draws from N(0, 1)", 0.5, _embedding_fresh),
        Check("an id beyond the last row is an IndexError", 0.3, _embedding_beyond),
        Check("a negative id is an IndexError", 0.3, _embedding_negative),
        Check("int32 ids, no ids at all, float64, inputs unchanged, device", 0.4, _embedding_manners),
    ],
    working=written(
        """
        from torch import nn

        class Embedding(nn.Embedding):
            def __init__(self, num_embeddings, embedding_dim):
                super().__init__(num_embeddings, embedding_dim)
        """
    ),
    mistakes=[
        _mistake(
            "negative_ids_wrap",
            "A negative id counts from the end, as in any Python index, and quietly gives a wrong row (`weight[-1]` is the last): "
            "test the range yourself and raise an IndexError.",
            _embedding(_PARAMETER, _LOOK),
            _class((_RANGE, "(ids >= V).any()")),
            _class((_RANGE, "ids.numel() and ids.max() >= V")),
            _embedding(_PARAMETER, "return torch.stack([self.weight[i] for i in ids.flatten()]).view(*ids.shape, -1)"),
        ),
        _mistake(
            "other_error",
            "An id out of range raises an error of another type: an IndexError is asked for, which is what PyTorch raises too.",
            _class(("raise IndexError", "raise ValueError")),
            _class(("raise IndexError", "raise KeyError")),
            _embedding(_PARAMETER, "assert ((ids >= 0) & (ids < len(self.weight))).all()", _LOOK),
            _embedding(
                _PARAMETER, "return F.one_hot(ids.long(), len(self.weight)).to(self.weight.dtype) @ self.weight"
            ),
        ),
        _mistake(
            "ids_clamped",
            "An id out of range is quietly replaced by another one (clamp, min, %): it should raise an IndexError, for it is always "
            "a mistake of the caller's.",
            _embedding(_PARAMETER, "return self.weight[ids.clamp(0, len(self.weight) - 1)]"),
            _embedding(_PARAMETER, "return self.weight[ids % len(self.weight)]"),
            _embedding(_PARAMETER, "return self.weight[ids.clamp(max=len(self.weight) - 1)]"),
            _embedding(
                _PARAMETER,
                "one_hot = ids[..., None] == torch.arange(len(self.weight), device=ids.device)",
                "return one_hot.to(self.weight.dtype) @ self.weight",
            ),
        ),
        _mistake(
            "error_not_raised",
            "For an id out of range something is printed or returned (None, NaN, zeros): raise an IndexError, so that nobody goes on with it.",
            _class(("raise IndexError(", "return print(")),
            _class(
                (
                    'raise IndexError(f"ids must lie in 0 … {V - 1}")',
                    "return torch.full((*ids.shape, self.weight.shape[1]), math.nan)",
                )
            ),
            _class(
                (
                    'raise IndexError(f"ids must lie in 0 … {V - 1}")',
                    "return torch.zeros(*ids.shape, self.weight.shape[1])",
                )
            ),
            _class(("raise IndexError(", "return IndexError(")),
        ),
        _mistake(
            "last_id_refused",
            "The last id is refused: with V rows, ids from 0 to V − 1 are right.",
            _class(("ids >= V)", "ids >= V - 1)")),
        ),
        _mistake(
            "first_id_refused",
            "Id 0 is refused: with V rows, ids from 0 to V − 1 are right.",
            _class(("(ids < 0)", "(ids <= 0)")),
            _class((_RANGE, "not ((ids > 0) & (ids < V)).all()")),
        ),
        _mistake(
            "one_too_many_allowed",
            "The test of the range is off by one: with V rows, the last id is V − 1, so V is out of range already (`>=`, not `>`).",
            _class(
                (
                    "if ((ids < 0) | (ids >= V)).any()",
                    "ids = torch.where(ids == V, V - 1, ids)\n        if ((ids < 0) | (ids > V)).any()",
                )
            ),
        ),
        _mistake(
            "layer_inside",
            "The module holds an nn.Embedding, whose table is then called `….weight`. Hold the table itself: "
            "`self.weight = nn.Parameter(…)`.",
            _embedding("self.embedding = nn.Embedding(num_embeddings, embedding_dim)", "return self.embedding(ids)"),
            _embedding("self.emb = nn.Embedding(num_embeddings, embedding_dim)", "return self.emb(ids)"),
            _embedding("self.table = nn.Embedding(num_embeddings, embedding_dim)", "return self.table(ids)"),
        ),
        _mistake(
            "other_name",
            "The table has another name: it should be `self.weight`, as in nn.Embedding, so that weights can be loaded into it.",
            _class(("self.weight", "self.table")),
            _class(("self.weight", "self.embedding")),
            _class(("self.weight", "self.weights")),
            _class(("self.weight", "self.W")),
        ),
        _mistake(
            "linear_layer",
            "The table is inside an nn.Linear, (C, V) and perhaps with a bias: hold a parameter `weight` of shape "
            "(num_embeddings, embedding_dim) yourself.",
            _embedding(
                "self.linear = nn.Linear(num_embeddings, embedding_dim, bias=False)",
                "return self.linear(F.one_hot(ids.long(), self.linear.in_features).to(self.linear.weight.dtype))",
            ),
            _embedding(
                "self.linear = nn.Linear(num_embeddings, embedding_dim)",
                "return self.linear(F.one_hot(ids.long(), self.linear.in_features).to(self.linear.weight.dtype))",
            ),
            _embedding(
                "self.fc = nn.Linear(num_embeddings, embedding_dim)",
                "return self.fc(F.one_hot(ids.long(), self.fc.in_features).to(self.fc.weight.dtype))",
            ),
        ),
        _mistake(
            "not_a_parameter",
            "`weight` is a plain tensor, so `parameters()` does not list it and no optimizer would train it: wrap it in nn.Parameter.",
            _class((_PARAMETER, f"self.weight = {_DRAW}")),
            _class((_PARAMETER, f"self.weight = {_DRAW}.requires_grad_()")),
            _class((_PARAMETER, f"self.register_buffer('weight', {_DRAW})")),
        ),
        _mistake(
            "frozen",
            "`weight` is frozen (requires_grad=False): it is there to be trained.",
            _class((_DRAW + ")", _DRAW + ", requires_grad=False)")),
        ),
        _mistake(
            "sizes_swapped",
            "The two sizes are swapped: Embedding(num_embeddings, embedding_dim) holds num_embeddings rows of embedding_dim numbers.",
            _class((_DRAW, "torch.randn(embedding_dim, num_embeddings)")),
            _class(("self, num_embeddings, embedding_dim", "self, embedding_dim, num_embeddings")),
            _class(
                (_DRAW, "torch.randn(embedding_dim, num_embeddings)"),
                ("shape[0]", "shape[1]"),
                (_LOOK, "return self.weight.T[ids]"),
            ),
        ),
        _mistake(
            "extra_parameter",
            "There is a second parameter beside `weight`, such as a bias: an embedding is a table and nothing else.",
            _class(
                (_PARAMETER, f"{_PARAMETER}\n        self.bias = nn.Parameter(torch.zeros(embedding_dim))"),
                (_LOOK, f"{_LOOK} + self.bias"),
            ),
            _class((_PARAMETER, f"{_PARAMETER}\n        self.bias = nn.Parameter(torch.zeros(embedding_dim))")),
            _class((_PARAMETER, f"{_PARAMETER}\n        self.scale = nn.Parameter(torch.ones(1))")),
        ),
        _mistake(
            "uniform",
            "The table starts uniform (torch.rand, or xavier_uniform_ and the like): N(0, 1) is asked for (torch.randn or "
            "nn.init.normal_).",
            _class((_DRAW, _DRAW.replace("randn", "rand"))),
            _class((_DRAW, f"2 * {_DRAW.replace('randn', 'rand')} - 1")),
            *[
                _class((_PARAMETER, f"{_EMPTY}\n        nn.init.{fill}"))
                for fill in (
                    *("uniform_(self.weight)", "uniform_(self.weight, -1, 1)", "uniform_(self.weight, -0.1, 0.1)"),
                    *(
                        "uniform_(self.weight, -1.0, 1.0)",
                        "xavier_uniform_(self.weight)",
                        "kaiming_uniform_(self.weight)",
                    ),
                    "kaiming_uniform_(self.weight, a=math.sqrt(5))",
                )
            ],
        ),
        _mistake(
            "other_spread",
            "The table starts normal, but with another standard deviation: N(0, 1) is asked for, 1.",
            *[
                _class((_DRAW, f"{factor} * {_DRAW}"))
                for factor in (
                    "0.02",
                    "0.01",
                    "0.1",
                    "embedding_dim**-0.5",
                    "num_embeddings**-0.5",
                    "embedding_dim**0.5",
                )
            ],
            *[
                _class((_PARAMETER, f"{_EMPTY}\n        nn.init.{fill}"))
                for fill in ("xavier_normal_(self.weight)", "kaiming_normal_(self.weight)")
            ],
        ),
        _mistake(
            "all_alike",
            "The table starts with all numbers alike (zeros or ones), so all ids start as the same: N(0, 1) is asked for.",
            _class((_DRAW, "torch.zeros(num_embeddings, embedding_dim)")),
            _class((_DRAW, "torch.ones(num_embeddings, embedding_dim)")),
            _class((_DRAW, "torch.randn(embedding_dim).repeat(num_embeddings, 1)")),
            _class((_DRAW, "torch.randn(num_embeddings, 1).repeat(1, embedding_dim)")),
        ),
        _mistake(
            "padding_row",
            "Row 0 is treated as padding (zeros, or never trained): here id 0 is an id like the others.",
            _class((_LOOK, "return self.weight[ids] * (ids != 0).unsqueeze(-1)")),
            written(
                """
                class Embedding(nn.Embedding):
                    def __init__(self, num_embeddings, embedding_dim):
                        super().__init__(num_embeddings, embedding_dim, padding_idx=0)
                """
            ),
        ),
        _mistake(
            "scaled",
            "The rows are scaled on the way out (by √C, or to length 1): the result is the rows as they are.",
            _class((_LOOK, f"{_LOOK} * self.weight.shape[1] ** 0.5")),
            _class((_LOOK, "return F.normalize(self.weight[ids], dim=-1)")),
        ),
        _mistake(
            "one_shape_only",
            "It works for ids of one shape only: ids may have any number of dimensions, also none.",
            _class((_LOOK, "B, T = ids.shape\n        return self.weight[ids]")),
            _class((_LOOK, "return torch.stack([self.weight[i] for i in ids])")),
            _class((_LOOK, "return self.weight.index_select(0, ids)")),
        ),
        _mistake(
            "flattened",
            "The dimensions of ids are merged into one: ids (B, T) give (B, T, C).",
            _class(("self.weight[ids]", "self.weight[ids.flatten()]")),
        ),
        _mistake(
            "long_only",
            "Ids of int32 fail or mean something else: convert them (`.long()`), for PyTorch's embedding takes int32 as well.",
            _class(
                (
                    _LOOK,
                    "one_hot = F.one_hot(ids, len(self.weight)).to(self.weight.dtype)\n        return one_hot @ self.weight",
                )
            ),
            _class(
                (
                    _LOOK,
                    "if ids.dtype != torch.int64:\n            raise TypeError('LongTensor expected')\n        return self.weight[ids]",
                )
            ),
        ),
        _mistake(
            "detached",
            "The result is cut off from the table (`.data`, `.detach()`, `no_grad`): no gradient would ever reach it.",
            _class((_LOOK, "return self.weight.data[ids]")),
            _class((_LOOK, "return self.weight[ids].detach()")),
            _class((_LOOK, "with torch.no_grad():\n            return self.weight[ids]")),
        ),
        _mistake(
            "new_table_each_call",
            "The table is drawn anew in each call of forward: make it once, in `__init__`.",
            _class((_LOOK, "return torch.randn(self.weight.shape)[ids]")),
            _class(
                (_LOOK, "self.weight = nn.Parameter(torch.randn_like(self.weight))\n        return self.weight[ids]")
            ),
        ),
        _mistake(
            "columns",
            "Columns are looked up instead of rows: each id has a row of `weight`.",
            _class((_LOOK, "return self.weight[:, ids]")),
            _class((_LOOK, "return self.weight.T[ids]")),
        ),
        _mistake(
            "empty_refused",
            "No ids at all, as in shape (0,), fail (the maximum of nothing is an error): the result is then empty.",
            _class((_RANGE, "ids.min() < 0 or ids.max() >= V")),
        ),
        _mistake(
            "range_of_first_only",
            "The range of only one of the ids is tested (or an id is refused only if all are out of range): any bad id is an IndexError.",
            _class(
                (_RANGE, "((ids < 0) | (ids >= V)).all()"), ("self.weight[ids]", "self.weight[ids.clamp(0, V - 1)]")
            ),
            _class(
                (_RANGE, "((ids < 0) | (ids >= V)).flatten()[:1].any()"),
                ("self.weight[ids]", "self.weight[ids.clamp(0, V - 1)]"),
            ),
        ),
        _mistake(
            "all_instead_of_any",
            "Ids are refused only if all of them are out of range (or only one is looked at); a negative one then quietly counts "
            "from the end. Any id out of range is an IndexError: `.any()`.",
            _class((_RANGE, "((ids < 0) | (ids >= V)).all() and ids.numel()")),
            _class((_RANGE, "((ids < 0) | (ids >= V)).flatten()[:1].any()")),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned by forward (None): `return` the rows.",
            _class((_LOOK, "self.weight[ids]")),
        ),
        _mistake(
            "not_a_module",
            "The class is no nn.Module: write `class Embedding(nn.Module)`, and call super().__init__() first.",
            _class(("class Embedding(nn.Module)", "class Embedding"), ("        super().__init__()\n", "")),
            _class(("class Embedding(nn.Module)", "class Embedding")),
        ),
    ],
    alternatives=[
        Alternative(
            "functional",
            _embedding(
                "self.weight = nn.Parameter(torch.empty(num_embeddings, embedding_dim))\nnn.init.normal_(self.weight)",
                "return F.embedding(ids, self.weight)",
            ),
        ),
        Alternative(
            "one_hot_product",
            _embedding(
                "self.num_embeddings = num_embeddings\nself.weight = nn.Parameter(torch.normal(0.0, 1.0, (num_embeddings, embedding_dim)))",
                "if ids.numel() and (ids.min() < 0 or ids.max() >= self.num_embeddings):",
                "    raise IndexError(f'id out of range [0, {self.num_embeddings})')",
                "return F.one_hot(ids.long(), self.num_embeddings).to(self.weight.dtype) @ self.weight",
            ),
        ),
        Alternative(
            "gather",
            _embedding(
                "w = torch.zeros(num_embeddings, embedding_dim).normal_()\nself.weight = nn.Parameter(w)",
                "flat = ids.reshape(-1)",
                "for i in flat.tolist():",
                "    if not 0 <= i < self.weight.size(0):",
                "        raise IndexError(i)",
                "return self.weight.index_select(0, flat).reshape(tuple(ids.shape) + (self.weight.size(1),))",
            ),
        ),
        Alternative(
            "takes_earlier_exercise",
            _embedding(
                "self.register_parameter('weight', nn.Parameter(torch.randn(num_embeddings, embedding_dim)))",
                "if ((ids < 0) | (ids >= len(self.weight))).any():",
                "    raise IndexError('id out of range')",
                "return one_hot_lookup(ids.long(), self.weight)",
            ),
        ),
    ],
)


# --- embedding_cost ---------------------------------------------------------------------------------------------------

TABLES = ((32100, 512), (32100, 128), (50257, 64), (1000, 300), (30522, 768))


def _cost(student: Any, V: int, C: int) -> tuple[tuple, str]:
    where = f"for vocab_size = {V} and embed_dim = {C}"
    return a_pair(student.value("embedding_cost", V, C, where=where), "(parameters, mebibytes)"), where


def _cost_parameters(student: Any) -> None:
    for V, C in TABLES:
        with student.case():
            (parameters, _), where = _cost(student, V, C)
            if _whole(parameters, f"The number of parameters {where}") != V * C:
                raise Wrong(
                    f"The number of parameters {where} is wrong: how many numbers are in a table of V rows of C?"
                )


def _cost_mebibytes(student: Any) -> None:
    for V, C in TABLES:
        with student.case():
            (_, mebibytes), where = _cost(student, V, C)
            if type(mebibytes) is not float:
                raise Wrong(f"The mebibytes {where} should be a float; yours are {kind(mebibytes)}.")
            if not abs(mebibytes - V * C * 4 / 2**20) < 0.0051:  # rounded to two digits is as good
                raise Wrong(f"The mebibytes {where} are wrong: a float32 takes 4 bytes, a mebibyte is 2**20 bytes.")


def _costs(result: str) -> str:
    return written(
        f"def embedding_cost(vocab_size, embed_dim):\n    parameters = vocab_size * embed_dim\n    {result}\n"
    )


EMBEDDING_COST = Exercise(
    name="embedding_cost",
    notebook="03-embeddings",
    points=1,
    reference=embedding_cost,
    checks=[
        Check("the number of parameters", 0.5, _cost_parameters),
        Check("mebibytes in float32", 0.5, _cost_mebibytes),
    ],
    working=written(
        """
        import torch

        def embedding_cost(vocab_size, embed_dim):
            weight = torch.nn.Embedding(vocab_size, embed_dim, device="meta").weight
            return weight.numel(), weight.numel() * weight.element_size() / 1024**2
        """
    ),
    mistakes=[
        _mistake(
            "megabytes",
            "These are megabytes (10**6 bytes, or 1000 · 1024): a mebibyte is 2**20 = 1,048,576 bytes.",
            _costs("return parameters, parameters * 4 / 1e6"),
            _costs("return parameters, round(parameters * 4 / 1e6, 2)"),
            _costs("return parameters, parameters * 4 / (1000 * 1024)"),
        ),
        _mistake(
            "bytes_forgotten",
            "A parameter is counted as one byte: a float32 takes 4.",
            _costs("return parameters, parameters / 2**20"),
        ),
        _mistake(
            "bits",
            "A float32 has 32 bits, which are 4 bytes: memory is counted in bytes.",
            _costs("return parameters, parameters * 32 / 2**20"),
        ),
        _mistake(
            "double_precision",
            "A parameter is counted with 8 bytes: float32 takes 4 (8 is float64).",
            _costs("return parameters, parameters * 8 / 2**20"),
        ),
        _mistake(
            "half_precision",
            "A parameter is counted with 2 bytes: float32 takes 4 (2 is float16).",
            _costs("return parameters, parameters * 2 / 2**20"),
        ),
        _mistake(
            "other_unit",
            "The memory is in another unit: a mebibyte is 2**20 bytes (2**10 is a kibibyte, 2**30 a gibibyte).",
            _costs("return parameters, float(parameters * 4)"),
            _costs("return parameters, parameters * 4 / 1024"),
            _costs("return parameters, parameters * 4 / 2**30"),
            _costs("return parameters, parameters * 4"),
        ),
        _mistake(
            "power_written_as_xor",
            "`^` is not a power in Python (it compares bits): write 2**20.",
            _costs("return parameters, parameters * 4 / (2 ^ 20)"),
        ),
        _mistake(
            "whole_mebibytes",
            "The mebibytes are rounded to whole ones (`//`, int, round): keep the fraction, a float is asked for.",
            _costs("return parameters, parameters * 4 // 2**20"),
            _costs("return parameters, int(parameters * 4 / 2**20)"),
            _costs("return parameters, math.ceil(parameters * 4 / 2**20)"),
            _costs("return parameters, round(parameters * 4 / 2**20)"),
            _costs("return parameters, round(parameters * 4 / 2**20, 1)"),
            _costs("return parameters, float(parameters * 4 // 2**20)"),
        ),
        _mistake(
            "swapped",
            "The two results are the wrong way round: parameters first, then mebibytes.",
            _costs("return parameters * 4 / 2**20, parameters"),
        ),
        _mistake(
            "list",
            "A list is returned: `return parameters, mebibytes` makes a tuple.",
            _costs("return [parameters, parameters * 4 / 2**20]"),
        ),
        _mistake(
            "one_number",
            "Only one number is returned: both are asked for, parameters and mebibytes.",
            _costs("return parameters"),
            _costs("return parameters * 4 / 2**20"),
        ),
        _mistake(
            "dictionary",
            "A dictionary is returned: `return parameters, mebibytes` makes a tuple.",
            _costs("return {'parameters': parameters, 'mebibytes': parameters * 4 / 2**20}"),
        ),
        _mistake(
            "float_parameters",
            "The number of parameters is a float or a tensor: a count is an int.",
            _costs("return float(parameters), parameters * 4 / 2**20"),
            _costs("return parameters / 1, parameters * 4 / 2**20"),
            _costs("return torch.tensor(parameters), parameters * 4 / 2**20"),
        ),
        _mistake(
            "millions",
            "The parameters are counted in millions: return their number as it is, an int.",
            _costs("return parameters / 1e6, parameters * 4 / 2**20"),
            _costs("return round(parameters / 1e6, 2), parameters * 4 / 2**20"),
        ),
        _mistake(
            "tensors",
            "Tensors are returned: an int and a float are asked for.",
            _costs("return torch.tensor(parameters), torch.tensor(parameters * 4 / 2**20)"),
        ),
        _mistake(
            "text",
            "Text is returned: numbers are asked for (format them where they are printed).",
            _costs("return f'{parameters:,}', f'{parameters * 4 / 2**20:.2f}'"),
            _costs("return parameters, f'{parameters * 4 / 2**20:.2f}'"),
            _costs("return f'{parameters:,} parameters, {parameters * 4 / 2**20:.2f} MiB'"),
        ),
        _mistake(
            "bias_counted",
            "More is counted than the table: an embedding has V · C numbers and no bias.",
            _costs("parameters += embed_dim\n    return parameters, parameters * 4 / 2**20"),
            _costs("parameters += vocab_size\n    return parameters, parameters * 4 / 2**20"),
            _costs("parameters *= 2\n    return parameters, parameters * 4 / 2**20"),
        ),
        _mistake(
            "sum",
            "The sizes are added: a table of V rows of C numbers has V · C of them.",
            _costs("parameters = vocab_size + embed_dim\n    return parameters, parameters * 4 / 2**20"),
        ),
        _mistake(
            "fixed",
            "The numbers of the example are returned: compute them from vocab_size and embed_dim.",
            _costs("return 16435200, 62.70"),
            _costs("return 16435200, 62.6953125"),
            _costs("return 32100 * 512, 32100 * 512 * 4 / 2**20"),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` both numbers; printing is not returning.",
            _costs("print(parameters, parameters * 4 / 2**20)"),
        ),
    ],
    alternatives=[
        Alternative("rounded", _costs("return parameters, round(parameters * 4 / 1024 / 1024, 2)")),
        Alternative(
            "a_real_table",
            written(
                """
                def embedding_cost(vocab_size, embed_dim):
                    table = nn.Embedding(vocab_size, embed_dim)
                    parameters = sum(p.numel() for p in table.parameters())
                    size = sum(p.numel() * p.element_size() for p in table.parameters())
                    return parameters, size / (1 << 20)
                """
            ),
        ),
        Alternative(
            "named_constants",
            written(
                """
                BYTES_PER_FLOAT32 = torch.finfo(torch.float32).bits // 8
                MEBIBYTE = 1024 * 1024

                def embedding_cost(vocab_size: int, embed_dim: int) -> tuple[int, float]:
                    n = int(vocab_size * embed_dim)
                    return (n, n * BYTES_PER_FLOAT32 / MEBIBYTE)
                """
            ),
        ),
    ],
)


# --- cosine_similarity ------------------------------------------------------------------------------------------------


def _vectors(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Normal vectors of very different lengths."""
    return normal(*shape, dtype=dtype) * normal(*shape[:-1], 1, dtype=dtype).mul(0.8).exp()


def _cosine_values(student: Any) -> None:
    for shape in ((7,), (5, 3), (2, 3, 4), (4, 4), (1, 6), (3, 1), (2, 1, 5, 2), (0, 3), (2, 40)):
        with student.case():
            a, b = _vectors(*shape), _vectors(*shape)
            where = f"for a and b of shape {tuple(shape)}"
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)
    a = torch.tensor([[3.0, 4.0], [1.0, 0.0], [2.0, -1.0], [0.5, 0.5]])
    b = torch.tensor([[30.0, 40.0], [0.0, 2.0], [-2.0, 1.0], [7.0, 0.0]])
    where = "for parallel, perpendicular, opposite vectors and such as are 45° apart"
    same_tensor(student.value("cosine_similarity", a, b, where=where), cosine_similarity(a, b), "The result", where)


def _cosine_broadcast(student: Any) -> None:
    for one, other in (
        *(((5,), (3, 5)), ((3, 5), (5,)), ((4, 1, 5), (3, 5)), ((3, 5), (4, 1, 5)), ((2, 1, 3), (2, 4, 3))),
        *(((3, 1, 4), (1, 2, 4)), ((6, 4), (1, 4)), ((4,), (4, 4))),
    ):
        with student.case():
            a, b = _vectors(*one), _vectors(*other)
            where = f"for a of shape {tuple(one)} and b of shape {tuple(other)}"
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)


def _with_zeros() -> list[tuple[torch.Tensor, torch.Tensor, str]]:
    a, b = _vectors(5, 3), _vectors(5, 3)
    a[1], b[3] = 0, 0
    a[4], b[4] = 0, 0
    zero, some = torch.zeros(4), _vectors(4)
    return [
        (a, b, "with zero vectors in a, in b, and in both"),
        (zero, some, "for a zero vector a"),
        (some, zero, "for a zero vector b"),
        (zero, zero, "for two zero vectors"),
    ]


def _cosine_zeros(student: Any) -> None:
    for a, b, where in _with_zeros():
        with student.case():
            got = student.value("cosine_similarity", a, b, where=where)
            same_tensor(got, cosine_similarity(a, b), "The result", where)


def _cosine_zero_gradients(student: Any) -> None:
    for a, b, where in _with_zeros():
        with student.case():
            expected = cosine_similarity(a, b)
            answer = student.call("cosine_similarity", [a, b], where=where, upstream=[torch.ones_like(expected)])
            same_tensor(answer["value"], expected, "The result", where)
            for name, gradient in zip(("a", "b"), answer["gradients"].get("inputs", []), strict=False):
                if gradient is None:
                    raise Wrong(
                        f"No gradient reaches {name} {where}: the result is cut off from it.", "gradient_cut_off"
                    )
                if a_tensor(gradient, f"The gradient of {name}").isnan().any():
                    raise Wrong(
                        f"The gradient of {name} contains NaN {where}, although the values are right: backwards, 0 · inf or "
                        "0/0 happens at a length of 0 (where a root of a sum of squares, or a division, was not kept from 0)."
                    )


def _cosine_lengths(student: Any) -> None:
    """One vector may be tiny; two at once not, because PyTorch's own formula has once compared the product with 1e-8."""
    for one, other, digits in (
        (1e-6, 1, 0.02),
        (1, 1e-6, 0.02),
        (1e-3, 1e-3, 0.02),
        (1e6, 1e-6, 1e-4),
        (1e6, 1e6, 1e-4),
    ):
        with student.case():
            a, b = (F.normalize(normal(6, 5), dim=-1) * 2 * length for length in (one, other))
            where = f"for lengths of about {one:g} and {other:g}"
            got, expected = student.value("cosine_similarity", a, b, where=where), cosine_similarity(a, b)
            if a_tensor(got, "The result").shape == expected.shape and (got - expected).abs().max() < digits:
                continue
            same_tensor(got, expected, "The result", where)


def _cosine_gradient(student: Any) -> None:
    for one, other in (((5, 3), (5, 3)), ((4,), (2, 4)), ((3, 1, 2), (4, 2))):
        with student.case():
            where = f"for shapes {one} and {other}"
            args = [_vectors(*one), _vectors(*other)]
            _gradients_agree(student, "cosine_similarity", cosine_similarity, args, ["a", "b"], where)


def _cosine_manners(student: Any) -> None:
    for dtype, one, other in (
        (torch.float32, (5, 3), (5, 3)),
        (torch.float64, (4, 3), (4, 3)),
        (torch.float64, (3,), (2, 3)),
    ):
        with student.case():
            # long vectors: 1e-8 added to the product of their lengths must not show in float64 either
            a, b = 100 * _vectors(*one, dtype=dtype), 100 * _vectors(*other, dtype=dtype)
            where = f"in {dtype_name(a)}"
            answer = student.call("cosine_similarity", [a, b], where=where)
            same_tensor(answer["value"], cosine_similarity(a, b), "The result", where)
            unchanged(answer["inputs"], [a, b], "a, b")
    with student.case():
        device_is_kept(student, "cosine_similarity", [_vectors(5, 3), _vectors(5, 3)])


def _cosine(*lines: str) -> str:
    return written("def cosine_similarity(a, b):\n    " + "\n    ".join(lines) + "\n")


_NORMS = "a_norm, b_norm = a.norm(dim=-1), b.norm(dim=-1)"
_RAW = "dots / (a.norm(dim=-1) * b.norm(dim=-1))"
_DOTS = "dots = (a * b).sum(dim=-1)"
_QUOTIENT = "return dots / (a_norm * b_norm)"

COSINE_SIMILARITY = Exercise(
    name="cosine_similarity",
    notebook="03-embeddings",
    points=4,
    reference=cosine_similarity,
    checks=[
        Check("dot products over lengths, along the last dimension", 1.25, _cosine_values),
        Check("broadcasts", 0.75, _cosine_broadcast),
        Check("zero vectors give 0", 0.6, _cosine_zeros),
        Check("no NaN in the gradients of zero vectors", 0.25, _cosine_zero_gradients),
        Check("short and long vectors", 0.25, _cosine_lengths),
        Check("gradients", 0.5, _cosine_gradient),
        Check("float64, inputs unchanged, device", 0.4, _cosine_manners),
    ],
    working=written(
        """
        import torch.nn.functional as F

        def cosine_similarity(a, b):
            return F.cosine_similarity(a, b, dim=-1)
        """
    ),
    mistakes=[
        _mistake(
            "zero_vectors_nan",
            "A zero vector gives 0/0 = NaN. Keep the lengths away from 0 before dividing, for example with `clamp(min=1e-8)`.",
            edited(cosine_similarity, (".clamp(min=1e-8)", "")),
            edited(cosine_similarity, ("1e-8", "1e-50")),
            _cosine(
                "a, b = a / a.norm(dim=-1, keepdim=True), b / b.norm(dim=-1, keepdim=True)",
                "return (a * b).sum(dim=-1)",
            ),
            _cosine(_DOTS, "return dots / ((a * a).sum(-1).sqrt() * (b * b).sum(-1).sqrt())"),
            _cosine(_DOTS, "return dots / ((a * a).sum(-1) * (b * b).sum(-1)).sqrt()"),
        ),
        _mistake(
            "nan_gradient",
            "Zero vectors give 0, but their gradients are NaN: a division by 0 that is only covered afterwards (torch.where, "
            "nan_to_num), or the slope of a square root at 0, is infinite, and 0 · inf is NaN on the way back. Take the lengths with "
            "`.norm()` and keep them away from 0 before dividing (clamp).",
            _cosine(_DOTS, "a_norm, b_norm = ((t * t).sum(-1).sqrt().clamp(min=1e-8) for t in (a, b))", _QUOTIENT),
            _cosine(_DOTS, "norms = ((a * a).sum(-1) * (b * b).sum(-1)).sqrt()", "return dots / norms.clamp(min=1e-8)"),
            _cosine(
                _DOTS, "norms = (a * a).sum(-1).sqrt() * (b * b).sum(-1).sqrt()", "return dots / norms.clamp(min=1e-8)"
            ),
            _cosine(_DOTS, "norms = (a * a).sum(-1).sqrt() * (b * b).sum(-1).sqrt()", "return dots / (norms + 1e-8)"),
            _cosine(_DOTS, f"cosine = {_RAW}", "return torch.where(cosine.isnan(), torch.zeros_like(cosine), cosine)"),
            _cosine(_DOTS, f"cosine = {_RAW}", "return torch.nan_to_num(cosine)"),
            _cosine(_DOTS, f"return ({_RAW}).masked_fill(a.norm(dim=-1) * b.norm(dim=-1) == 0, 0.0)"),
        ),
        _mistake(
            "zero_vectors_not_0",
            "Zero vectors do not give 0: a zero vector has no direction, and its similarity to anything is 0 here.",
            _cosine(_DOTS, f"return ({_RAW}).nan_to_num(nan=1.0)"),
            _cosine(_DOTS, f"return ({_RAW}).nan_to_num(nan=-1.0)"),
            _cosine("a, b = a + 1e-8, b + 1e-8", _DOTS, f"return {_RAW}"),
            *[
                _cosine(f"a, b = a + {eps}, b + {eps}", _DOTS, f"return {_RAW}")
                for eps in ("1e-6", "1e-9", "1e-10", "1e-12")
            ],
        ),
        _mistake(
            "epsilon_too_large",
            "The number added (or clamped to) against division by zero is so large that it changes the result of short vectors: take "
            "a smaller one (1e-8).",
            *[
                _cosine(_DOTS, _NORMS, f"return dots / (a_norm * b_norm){use}")
                for use in (".clamp(min=1e-5)", ".clamp(min=1e-4)", ".clamp(min=1e-3)", ".clamp(min=1e-2)")
            ],
            *[
                _cosine(_DOTS, _NORMS, f"return dots / (a_norm * b_norm + {eps})")
                for eps in ("1e-7", "1e-6", "1e-5", "1e-4", "1e-3")
            ],
            *[
                _cosine(_DOTS, _NORMS, f"return dots / ((a_norm + {eps}) * (b_norm + {eps}))")
                for eps in ("1e-7", "1e-6", "1e-5", "1e-4", "1e-3")
            ],
            *[
                _cosine(_DOTS, _NORMS, f"return dots / (a_norm.clamp(min={eps}) * b_norm.clamp(min={eps}))")
                for eps in ("1e-5", "1e-4", "1e-3", "1e-2")
            ],
        ),
        _mistake(
            "dot_product",
            "This is the dot product: it still has to be divided by both lengths.",
            _cosine("return (a * b).sum(dim=-1)"),
        ),
        _mistake(
            "mean_for_sum",
            "The products are averaged: a dot product is their sum.",
            edited(cosine_similarity, ("(a * b).sum", "(a * b).mean")),
        ),
        _mistake(
            "numpy",
            "NumPy is used on the way: the call fails for tensors that are being trained, and on a GPU. PyTorch can do all of it.",
            _cosine(
                "dots = (a.numpy() * b.numpy()).sum(-1)",
                "a_norm, b_norm = (((t.numpy() ** 2).sum(-1) ** 0.5).clip(1e-8) for t in (a, b))",
                "return torch.as_tensor(dots / (a_norm * b_norm))",
            ),
            _cosine(
                "dots = (a.numpy() * b.numpy()).sum(-1)",
                "a_norm, b_norm = ((t.numpy() ** 2).sum(-1) ** 0.5 for t in (a, b))",
                "return torch.tensor(dots / (a_norm * b_norm + 1e-8))",
            ),
            _cosine(
                "dots = (a.numpy() * b.numpy()).sum(-1)",
                "a_norm, b_norm = ((t.numpy() ** 2).sum(-1) ** 0.5 for t in (a, b))",
                "return torch.tensor(dots / (a_norm * b_norm))",
            ),
        ),
        _mistake(
            "one_length",
            "Only one of the two lengths is divided by.",
            edited(cosine_similarity, ("(a_norm * b_norm)", "a_norm")),
            edited(cosine_similarity, ("(a_norm * b_norm)", "b_norm")),
        ),
        _mistake(
            "squared_lengths",
            "The lengths are not lengths but their squares: the root is missing.",
            _cosine(_DOTS, "return dots / ((a * a).sum(-1) * (b * b).sum(-1)).clamp(min=1e-8)"),
            _cosine(_DOTS, "return dots / ((a * a).sum(-1).clamp(min=1e-8) * (b * b).sum(-1).clamp(min=1e-8))"),
            _cosine(_DOTS, "return dots / ((a * a).sum(-1) * (b * b).sum(-1) + 1e-8)"),
        ),
        _mistake(
            "sum_of_lengths",
            "The dot product is divided by the sum of the lengths (a bracket is missing, or + in place of ·): divide by their product.",
            edited(cosine_similarity, ("a_norm * b_norm", "a_norm + b_norm")),
            edited(cosine_similarity, ("(a_norm * b_norm)", "a_norm * b_norm")),
        ),
        _mistake(
            "absolute_lengths",
            "The length of a vector is the root of the sum of its squares (the 2-norm); yours is another one, or a mean.",
            edited(cosine_similarity, ("norm(dim=-1)", "norm(p=1, dim=-1)")),
            edited(cosine_similarity, ("norm(dim=-1)", "abs().amax(dim=-1)")),
            edited(
                cosine_similarity,
                ("a.norm(dim=-1)", "(a * a).mean(dim=-1).clamp(min=1e-16).sqrt()"),
                ("b.norm(dim=-1)", "(b * b).mean(dim=-1).clamp(min=1e-16).sqrt()"),
            ),
        ),
        _mistake(
            "distance",
            "1 minus the cosine is a distance: a similarity is asked for, 1 for parallel vectors.",
            _around(cosine_similarity, "return 1 - RIGHT"),
        ),
        _mistake(
            "absolute_value",
            "The sign is lost: opposite vectors have −1.",
            _around(cosine_similarity, "return RIGHT.abs()"),
            _around(cosine_similarity, "return RIGHT.clamp(0, 1)"),
            _around(cosine_similarity, "return RIGHT**2"),
        ),
        _mistake(
            "rescaled",
            "The result is turned into an angle or rescaled: the cosine itself is asked for, from −1 to 1.",
            _around(cosine_similarity, "return (1 + RIGHT) / 2"),
            _around(cosine_similarity, "return torch.acos(RIGHT.clamp(-1, 1))"),
            _around(cosine_similarity, "return torch.cos(RIGHT)"),
            _around(cosine_similarity, "return torch.softmax(RIGHT, dim=-1)"),
        ),
        _mistake(
            "centred",
            "The mean is taken off first: that is a correlation, not a cosine.",
            edited(
                cosine_similarity,
                ("    dots", "    a, b = a - a.mean(-1, keepdim=True), b - b.mean(-1, keepdim=True)\n    dots"),
            ),
        ),
        _mistake(
            "first_dimension",
            "The sum or the length runs along the first dimension, or over everything: vectors lie along the last one (dim=-1).",
            edited(cosine_similarity, ("dim=-1", "dim=0")),
            edited(cosine_similarity, ("norm(dim=-1)", "norm()")),
            edited(cosine_similarity, (".sum(dim=-1)", ".sum()"), ("norm(dim=-1)", "norm()")),
            _cosine("return F.cosine_similarity(a, b, dim=0)"),
        ),
        _mistake(
            "dimension_1",
            "The dimension is counted from the front (dim=1, which is also F.cosine_similarity's default): it is the last one, dim=-1, "
            "whatever the number of dimensions.",
            edited(cosine_similarity, ("dim=-1", "dim=1")),
            _cosine("return F.cosine_similarity(a, b)"),
        ),
        _mistake(
            "all_pairs",
            "A matrix product compares each vector of a with each of b: here each is compared with its partner (broadcast), so that "
            "two tensors (n, C) give (n,).",
            _cosine(
                "a, b = F.normalize(a, dim=-1, eps=1e-8), F.normalize(b, dim=-1, eps=1e-8)",
                "return a @ b.transpose(-2, -1)",
            ),
            _cosine("a, b = F.normalize(a, dim=-1, eps=1e-8), F.normalize(b, dim=-1, eps=1e-8)", "return a @ b.T"),
            _cosine(
                "dots = a @ b.T", _NORMS.replace(")", ").clamp(min=1e-8)"), "return dots / (a_norm[..., None] * b_norm)"
            ),
            _cosine("return (a @ b.T) / (a.norm() * b.norm() + 1e-8)"),
        ),
        _mistake(
            "only_vectors",
            "It works for single vectors only (torch.dot, `a @ b`): leading dimensions and broadcasting are asked for.",
            _cosine("return torch.dot(a, b) / (a.norm().clamp(min=1e-8) * b.norm().clamp(min=1e-8))"),
            _cosine("return a @ b / (a.norm().clamp(min=1e-8) * b.norm().clamp(min=1e-8))"),
        ),
        _mistake(
            "rows_in_a_loop",
            "A loop over the first dimension works for two matrices only: single vectors, more dimensions and broadcasting are asked for.",
            _cosine(
                "rows = [(x @ y) / (x.norm() * y.norm()).clamp(min=1e-8) for x, y in zip(a, b)]",
                "return torch.stack(rows)",
            ),
            _cosine(
                "rows = [torch.dot(x, y) / (x.norm() * y.norm() + 1e-8) for x, y in zip(a, b)]",
                "return torch.stack(rows)",
            ),
        ),
        _mistake(
            "same_shape_only",
            "The shapes of a and b are required to be the same (or b is made like a): they are broadcast against each other.",
            _around(cosine_similarity, "assert a.shape == b.shape", "return RIGHT"),
            _around(
                cosine_similarity, "if a.shape != b.shape:", "    raise ValueError('shapes differ')", "return RIGHT"
            ),
        ),
        _mistake(
            "dimension_kept",
            "The last dimension is kept with size 1 (keepdim): (…, C) gives (…), one number for each pair.",
            edited(cosine_similarity, ("dim=-1", "dim=-1, keepdim=True")),
            _around(cosine_similarity, "return RIGHT.unsqueeze(-1)"),
        ),
        _mistake(
            "one_dimension_kept",
            "Some of the results keep a last dimension of size 1 and others do not, so that they are broadcast against each other.",
            edited(cosine_similarity, ("norm(dim=-1)", "norm(dim=-1, keepdim=True)")),
            edited(cosine_similarity, (".sum(dim=-1)", ".sum(dim=-1, keepdim=True)")),
        ),
        _mistake(
            "mean_over_batch",
            "One number is returned for all the pairs: each pair has its own.",
            _around(cosine_similarity, "return RIGHT.mean()"),
            _around(cosine_similarity, "return RIGHT.mean(dim=-1)"),
        ),
        _mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so that a batch of one changes the shape.",
            _around(cosine_similarity, "return RIGHT.squeeze()"),
        ),
        _mistake(
            "python_number",
            "A Python number (`.item()`) or a list is returned: a tensor is asked for.",
            _around(cosine_similarity, "right = RIGHT", "return right.item() if right.dim() == 0 else right"),
            _around(cosine_similarity, "return RIGHT.tolist()"),
            _around(cosine_similarity, "return RIGHT.item()"),
        ),
        _mistake(
            "branch_on_batch",
            "`if` looks at the whole batch: one zero vector makes all the results 0. Decide for each vector, with clamp or torch.where.",
            *[
                _cosine(
                    _DOTS, _NORMS, "if (a_norm == 0).any() or (b_norm == 0).any():", f"    return {result}", _QUOTIENT
                )
                for result in ("torch.zeros_like(dots)", "torch.tensor(0.0)", "0.0", "0")
            ],
        ),
        _mistake(
            "branch_on_one",
            "`if` wants a single True or False, and fails for a batch: use clamp or torch.where, which decide for each vector.",
            _cosine(_DOTS, _NORMS, "if a_norm == 0 or b_norm == 0:", "    return torch.zeros_like(dots)", _QUOTIENT),
            _cosine(_DOTS, _NORMS, "if a_norm * b_norm == 0:", "    return dots * 0", _QUOTIENT),
        ),
        _mistake(
            "rounded",
            "The result is rounded: keep all its digits.",
            _around(cosine_similarity, "return RIGHT.round(decimals=2)"),
            _around(cosine_similarity, "return RIGHT.round(decimals=4)"),
        ),
        _mistake(
            "detached",
            "The result is cut off from a and b (`.detach()`, `no_grad`, NumPy): it must stay differentiable.",
            _around(cosine_similarity, "return RIGHT.detach()"),
            _around(cosine_similarity, "with torch.no_grad():", "    return RIGHT"),
            _around(cosine_similarity, "a, b = a.detach(), b.detach()", "return RIGHT"),
        ),
        _mistake(
            "lengths_detached",
            "The lengths are cut off from the gradient (`.detach()`, `no_grad`): they depend on a and b too.",
            edited(cosine_similarity, ("norm(dim=-1)", "norm(dim=-1).detach()")),
        ),
        _mistake(
            "float32_only",
            "The computation is in float32 (`.float()`), whatever is given: keep the dtype.",
            _around(cosine_similarity, "a, b = a.float(), b.float()", "return RIGHT"),
        ),
        _mistake(
            "input_changed",
            "The caller's vectors are changed (`/=`, `div_`): make new tensors.",
            _around(
                cosine_similarity,
                "result = RIGHT",
                "with torch.no_grad():",
                "    a /= a.norm(dim=-1, keepdim=True).clamp(min=1e-8)",
                "    b /= b.norm(dim=-1, keepdim=True).clamp(min=1e-8)",
                "return result",
            ),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the quotient.",
            edited(cosine_similarity, ("return dots", "_ = dots")),
            _around(cosine_similarity, "print(RIGHT)"),
        ),
    ],
    alternatives=[
        Alternative(
            "unit_vectors",
            _cosine(
                "a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)", 'return torch.einsum("...c,...c->...", a, b)'
            ),
        ),
        Alternative(
            "epsilon_on_the_product", _cosine(_DOTS, "return dots / (a.norm(dim=-1) * b.norm(dim=-1)).clamp(min=1e-8)")
        ),
        Alternative("epsilon_added", _cosine(_DOTS, _NORMS, "return dots / (a_norm * b_norm + 1e-8)")),
        Alternative(
            "root_of_clamped_squares",
            _cosine(
                _DOTS,
                "squares = ((t * t).sum(-1).clamp(min=1e-16) for t in (a, b))",
                "return dots * next(squares).rsqrt() * next(squares).rsqrt()",
            ),
        ),
        Alternative(
            "vecdot_and_where",
            _cosine(
                "norms = torch.linalg.vector_norm(a, dim=-1) * torch.linalg.vector_norm(b, dim=-1)",
                "safe = torch.where(norms == 0, torch.ones_like(norms), norms)",
                "return torch.linalg.vecdot(*torch.broadcast_tensors(a, b)) / safe",
            ),
        ),
    ],
)


# --- nearest_neighbours -----------------------------------------------------------------------------------------------


def _clear(V: int, C: int, gap: float = 2e-3) -> tuple[torch.Tensor, torch.Tensor]:
    """A query and a table of rows of very different lengths, whose cosines lie too far apart for rounding to matter."""
    while True:
        query, weight = _vectors(C), _vectors(V, C)
        cosines = cosine_similarity(query, weight).sort().values
        if V < 2 or cosines.diff().min() > gap:
            return query, weight


def _neighbours(student: Any, args: list, where: str, kwargs: dict | None = None) -> torch.Tensor:
    """The ids that came back, checked against the reference's; an `exclude` may be in args or in kwargs."""
    kwargs = kwargs or {}
    got = student.call("nearest_neighbours", args, kwargs, where=where)["value"]
    if isinstance(got, (list, tuple)) and all(type(i) is int for i in got):
        got = torch.tensor(got, dtype=torch.int64)  # a list of ids is marked elsewhere, as is another dtype
    if isinstance(got, torch.Tensor) and got.device.type == "cpu" and torch.equal(got, got.long()):
        got = got.long()
    expected = nearest_neighbours(*args, **kwargs)
    same_tensor(got, expected, "The result", where)
    return expected


def _neighbours_values(student: Any) -> None:
    for V, C, k in ((5, 3, 2), (9, 4, 1), (12, 6, 12), (7, 2, 3), (4, 4, 2), (30, 8, 5), (1, 3, 1), (20, 5, 4)):
        with student.case():
            query, weight = _clear(V, C)
            _neighbours(student, [query, weight, k], f"for V = {V}, C = {C}, k = {k}")
    with student.case():
        query, weight = _clear(8, 3)
        _neighbours(student, [3 * weight[5], weight, 4], "for a query that is a multiple of a row")


def _neighbours_exclude(student: Any) -> None:
    query, weight = _clear(8, 3)
    best = nearest_neighbours(query, weight, 8).tolist()
    for exclude, k in (
        *(([best[0]], 3), ((best[0], best[1]), 3), ({best[1], best[3]}, 4), ((best[2],), 2), ([best[0], best[0]], 2)),
        *(([], 3), (set(), 2), ([best[7]], 7), ([0], 5), ((7, 0), 6), (best[:5], 3), (tuple(best[1:]), 1)),
    ):
        with student.case():
            where = f"with exclude = {exclude} of 8 ids, k = {k}"
            _neighbours(student, [query, weight, k], where, {"exclude": exclude})
    with student.case():
        _neighbours(student, [weight[2], weight, 3, (2,)], "with the query's own id excluded, given by position")


def _neighbours_negative(student: Any) -> None:
    """All that is left is dissimilar, some of it exactly opposite: a stand-in such as 0 or -1 would come before it."""
    query, weight = _clear(7, 4)
    weight = weight * -cosine_similarity(query, weight).sign()[:, None]
    weight[3] = 2 * query
    with student.case():
        _neighbours(student, [query, weight, 3, [3]], "when all ids that are left have a negative cosine")
    with student.case():
        query = torch.tensor([0.0, 2.0])  # all cosines are exactly -1
        weight = -query * torch.tensor([0.5, 4.0, 1.0, 8.0, 2.0, 0.25])[:, None]
        where = "when all ids that are left are exactly opposite to the query"
        got = a_tensor(student.value("nearest_neighbours", query, weight, 4, [0, 1], where=where), "The result")
        if sorted(got.flatten().tolist()) != [2, 3, 4, 5]:
            raise Wrong(f"{where.capitalize()}, an excluded id comes back, or one is missing.")


def _neighbours_zero_rows(student: Any) -> None:
    query, weight = _clear(9, 3)
    cosines = cosine_similarity(query, weight)
    weight[:4] *= cosines[:4].sign()[:, None]
    weight[4:] *= -cosines[4:].sign()[:, None]
    weight[6] = 0
    for k in (2, 4, 5, 9):
        with student.case():
            _neighbours(student, [query, weight, k], f"with a row of zeros (whose cosine is 0), k = {k}")


def _neighbours_manners(student: Any) -> None:
    query, weight = _clear(6, 4)
    exclude = [5, 2]
    with student.case():
        answer = student.call("nearest_neighbours", [query, weight, 2, exclude], after=True)
        same_tensor(answer["value"], nearest_neighbours(query, weight, 2, exclude), "The result")
        unchanged(answer["inputs"], [query, weight], "query, weight")
        if len(answer["after"]) == 4 and answer["after"][3] != exclude:
            raise Wrong("Your code changes the caller's list `exclude`: make one of your own.", "input_changed")
    with student.case():
        wide, table = query.double(), weight.double()
        where = "in float64"
        got = student.value("nearest_neighbours", wide, table, 3, where=where)
        same_tensor(got, nearest_neighbours(wide, table, 3), "The result", where)
    with student.case():
        where = "when weight is a parameter that is being trained"
        answer = student.call("nearest_neighbours", [query, weight, 3, (1,)], where=where, upstream=[None])
        same_tensor(answer["value"], nearest_neighbours(query, weight, 3, (1,)), "The result", where)
    with student.case():
        device_is_kept(student, "nearest_neighbours", [query, weight, 3])


def _nearest(*lines: str) -> str:
    return written("def nearest_neighbours(query, weight, k, exclude=()):\n    " + "\n    ".join(lines) + "\n")


_LOOP = '    for id in exclude:\n        similarity[id] = float("-inf")  # worse than any cosine\n'
_TOP = "return similarity.topk(k).indices"
_SIMILARITY = "cosine_similarity(query, weight)"
_KEEP = "keep = [i for i in range(len(weight)) if i not in exclude]"

NEAREST_NEIGHBOURS = Exercise(
    name="nearest_neighbours",
    notebook="03-embeddings",
    points=4,
    reference=nearest_neighbours,
    checks=[
        Check("the k most similar rows by cosine, best first", 1.5, _neighbours_values),
        Check("excluded ids are left out, as a list, tuple or set", 1.25, _neighbours_exclude),
        Check("excluded ids stay out when all others are dissimilar", 0.35, _neighbours_negative),
        Check("a row of zeros has cosine 0", 0.4, _neighbours_zero_rows),
        Check("a LongTensor, inputs unchanged, float64, device", 0.5, _neighbours_manners),
    ],
    working=written(
        """
        import torch
        import torch.nn.functional as F

        def nearest_neighbours(query, weight, k, exclude=()):
            order = F.cosine_similarity(query, weight, dim=-1).sort(descending=True).indices
            banned = torch.tensor([int(i) for i in exclude], dtype=torch.int64, device=order.device)
            return order if order.is_meta and k == len(order) else order[~torch.isin(order, banned)][:k] if len(banned) else order[:k]
        """
    ),
    mistakes=[
        _mistake(
            "dot_product",
            "Rows are ranked by their dot product with the query, which favours long rows: the cosine divides by the lengths.",
            edited(nearest_neighbours, (_SIMILARITY, "weight @ query")),
            edited(nearest_neighbours, (_SIMILARITY, "weight @ F.normalize(query, dim=0)")),
        ),
        _mistake(
            "squared_lengths",
            "The dot product is divided by the squares of the lengths (the root is missing), which favours short rows.",
            edited(nearest_neighbours, (_SIMILARITY, "weight @ query / (weight * weight).sum(-1).clamp(min=1e-8)")),
        ),
        _mistake(
            "euclidean",
            "Rows are ranked by their distance from the query: the cosine looks at directions only, not at lengths.",
            edited(nearest_neighbours, (_SIMILARITY, "-(weight - query).norm(dim=-1)")),
        ),
        _mistake(
            "worst_first",
            "The least similar come first: sort in descending order (`descending=True`, or topk).",
            edited(nearest_neighbours, (_TOP, "return similarity.topk(k, largest=False).indices")),
            edited(nearest_neighbours, (_TOP, "return similarity.argsort()[:k]")),
            edited(nearest_neighbours, (_TOP, "return similarity.argsort()[:k]"), ('"-inf"', '"inf"')),
        ),
        _mistake(
            "ascending",
            "The right ids, but the best comes last: the most similar is first.",
            edited(nearest_neighbours, (_TOP, "return similarity.topk(k).indices.flip(0)")),
            edited(nearest_neighbours, (_TOP, "return similarity.argsort()[-k:]")),
        ),
        _mistake(
            "unsorted",
            "The right ids, but in order of their number (or of the table): the most similar comes first.",
            edited(nearest_neighbours, (_TOP, "return similarity.topk(k).indices.sort().values")),
        ),
        _mistake(
            "similarities_returned",
            "The similarities are returned: the ids are asked for (`.indices`).",
            edited(nearest_neighbours, (".indices", ".values")),
        ),
        _mistake(
            "both_returned",
            "topk gives two things, values and indices: only the indices are asked for.",
            edited(nearest_neighbours, (".indices", "")),
            edited(nearest_neighbours, (_TOP, "values, ids = similarity.topk(k)\n    return values, ids")),
            edited(nearest_neighbours, (_TOP, "values, ids = similarity.topk(k)\n    return ids, values")),
        ),
        _mistake(
            "rows_returned",
            "The rows (vectors) are returned: their ids are asked for.",
            edited(nearest_neighbours, (_TOP, "return weight[similarity.topk(k).indices]")),
        ),
        _mistake(
            "list",
            "A list is returned: a LongTensor is asked for (topk's indices are one).",
            edited(nearest_neighbours, (".indices", ".indices.tolist()")),
            edited(nearest_neighbours, (_TOP, "return list(similarity.topk(k).indices)")),
            edited(nearest_neighbours, (_TOP, "return sorted(range(len(weight)), key=lambda i: -similarity[i])[:k]")),
        ),
        _mistake(
            "exclude_ignored",
            "`exclude` is not looked at: the ids in it must never come back.",
            edited(nearest_neighbours, (_LOOP, "")),
        ),
        _mistake(
            "default_excludes_all",
            "A tuple as an index is one index for each dimension, and the empty tuple means everything: `similarity[()] = −inf` wipes "
            "all out, `similarity[(1, 2)]` fails. Make it a list or a tensor first, or use a loop.",
            edited(nearest_neighbours, (_LOOP, '    similarity[exclude] = float("-inf")\n')),
        ),
        _mistake(
            "tuple_as_index",
            "A tuple as an index is one index for each dimension, so that `similarity[(1, 2)]` fails: make it a list or a tensor, or use a loop.",
            edited(
                nearest_neighbours, (_LOOP, '    if len(exclude) > 0:\n        similarity[exclude] = float("-inf")\n')
            ),
            edited(nearest_neighbours, (_LOOP, '    if exclude:\n        similarity[exclude] = float("-inf")\n')),
        ),
        _mistake(
            "empty_exclude_fails",
            "With nothing to exclude (the default), torch.tensor(exclude) is an empty tensor of floats, which is no index: say dtype=torch.long, "
            "or use a loop.",
            edited(nearest_neighbours, (_LOOP, '    similarity[torch.tensor(exclude)] = float("-inf")\n')),
            edited(nearest_neighbours, (_LOOP, '    similarity[torch.tensor(list(exclude))] = float("-inf")\n')),
        ),
        _mistake(
            "sets_fail",
            "It works for a list or tuple only: `exclude` may be any iterable of ids, a set too.",
            edited(
                nearest_neighbours,
                (_LOOP, '    for n in range(len(exclude)):\n        similarity[exclude[n]] = float("-inf")\n'),
            ),
            edited(
                nearest_neighbours,
                (_LOOP, '    if len(exclude):\n        similarity[torch.tensor(exclude)] = float("-inf")\n'),
            ),
            edited(
                nearest_neighbours,
                (
                    _LOOP,
                    '    similarity[torch.tensor(exclude, dtype=torch.long, device=weight.device)] = float("-inf")\n',
                ),
            ),
        ),
        _mistake(
            "lists_fail",
            "`exclude` is taken for a tuple or set of one kind (`exclude + (…)`, `exclude | …`): it may be any iterable of ids.",
            edited(nearest_neighbours, ("for id in exclude", "for id in exclude + ()")),
            edited(nearest_neighbours, ("for id in exclude", "for id in exclude | set()")),
            edited(nearest_neighbours, ("for id in exclude", "for id in exclude + []")),
        ),
        _mistake(
            "only_one_excluded",
            "Only one of the excluded ids is left out: `exclude` may hold several.",
            edited(nearest_neighbours, ("for id in exclude", "for id in list(exclude)[:1]")),
            edited(nearest_neighbours, ("for id in exclude", "for id in list(exclude)[-1:]")),
            edited(nearest_neighbours, (_LOOP, '    if exclude:\n        similarity[exclude[0]] = float("-inf")\n')),
        ),
        _mistake(
            "filtered_too_late",
            "The k (or k + 1) best are taken first and the excluded ids removed from them afterwards, so that fewer than k may be left: exclude first.",
            *[
                edited(
                    nearest_neighbours,
                    (_LOOP, ""),
                    (
                        _TOP,
                        f"top = similarity.topk({k}).indices.tolist()\n    left = [i for i in top if i not in exclude][:k]\n"
                        "    return torch.tensor(left, dtype=torch.long, device=weight.device)",
                    ),
                )
                for k in ("k", "min(k + 1, len(weight))")
            ],
            *[
                edited(
                    nearest_neighbours,
                    (_LOOP, ""),
                    (
                        _TOP,
                        f"top = similarity.topk({k}).indices.tolist()\n    return torch.tensor([i for i in top if i not in exclude][:k])",
                    ),
                )
                for k in ("k", "min(k + 1, len(weight))")
            ],
        ),
        _mistake(
            "renumbered",
            "The excluded rows are taken out of the table, and the ids returned count the rows that are left: translate them back, "
            "or keep the rows and give them −inf.",
            _nearest(_KEEP, "return cosine_similarity(query, weight[keep]).topk(k).indices"),
        ),
        _mistake(
            "excluded_get_0",
            "An excluded id gets similarity 0 (or −1), which is more than a dissimilar id has: give it −inf.",
            edited(nearest_neighbours, ('float("-inf")', "0")),
            edited(nearest_neighbours, ('float("-inf")', "-1")),
            edited(
                nearest_neighbours,
                (
                    _LOOP,
                    "    weight = weight.clone()\n    weight[list(exclude)] = 0\n    similarity = cosine_similarity(query, weight)\n",
                ),
            ),
        ),
        _mistake(
            "first_dropped",
            "The best is always dropped, as if it were the query itself: only ids in `exclude` are left out.",
            edited(nearest_neighbours, (_TOP, "return similarity.topk(min(k + 1, len(weight))).indices[1:]")),
            edited(nearest_neighbours, (_TOP, "return similarity.argsort(descending=True)[1 : k + 1]")),
        ),
        _mistake(
            "one_too_many",
            "k + 1 or k − 1 ids are returned.",
            edited(nearest_neighbours, (_TOP, "return similarity.argsort(descending=True)[: k + 1]")),
            edited(nearest_neighbours, (_TOP, "return similarity.argsort(descending=True)[: k - 1]")),
        ),
        _mistake(
            "k_ignored",
            "All the ids are returned, or a fixed number: k are asked for.",
            edited(nearest_neighbours, (_TOP, "return similarity.argsort(descending=True)")),
            edited(nearest_neighbours, (_TOP, "return similarity.argsort(descending=True)[:5]")),
            edited(nearest_neighbours, (_TOP, "return similarity.argsort(descending=True)[:10]")),
            edited(nearest_neighbours, (_TOP, "return similarity.argmax()")),
            edited(nearest_neighbours, (_TOP, "return similarity.argmax().view(1)")),
        ),
        _mistake(
            "absolute_value",
            "The sign of the cosine is lost: an opposite row is the least similar, not the most.",
            edited(nearest_neighbours, (_SIMILARITY, "cosine_similarity(query, weight).abs()")),
        ),
        _mistake(
            "normalised_columns",
            "The wrong dimension is normalised: each row of weight (dim=-1) has a length.",
            edited(nearest_neighbours, (_SIMILARITY, "F.normalize(weight, dim=0) @ query")),
        ),
        _mistake(
            "zero_rows_nan",
            "A row of zeros gives 0/0 = NaN, which topk puts first: its similarity is 0.",
            edited(nearest_neighbours, (_SIMILARITY, "weight @ query / (weight.norm(dim=-1) * query.norm())")),
            edited(nearest_neighbours, (_SIMILARITY, "(weight / weight.norm(dim=-1, keepdim=True)) @ query")),
        ),
        _mistake(
            "extra_dimension",
            "The result has a dimension too many: (k,) is asked for.",
            edited(
                nearest_neighbours,
                (_SIMILARITY, "cosine_similarity(query, weight)[None]"),
                ("similarity[id]", "similarity[:, id]"),
            ),
            edited(nearest_neighbours, (_TOP, "return similarity.topk(k).indices[:, None]")),
        ),
        _mistake(
            "squeezed",
            "`squeeze()` (or a special case) makes k = 1 a tensor without dimensions: (k,) is asked for, (1,) here.",
            edited(nearest_neighbours, (".indices", ".indices.squeeze()")),
            edited(
                nearest_neighbours,
                (_TOP, "if k == 1:\n        return similarity.argmax()\n    return similarity.topk(k).indices"),
            ),
        ),
        _mistake(
            "other_dtype",
            "The ids are not int64: a LongTensor is asked for.",
            edited(nearest_neighbours, (".indices", ".indices.int()")),
            edited(nearest_neighbours, (".indices", ".indices.float()")),
        ),
        _mistake(
            "table_changed",
            "The caller's table or query is changed (normalised or overwritten in place): make new tensors.",
            _around(
                nearest_neighbours,
                "result = RIGHT",
                "with torch.no_grad():",
                "    weight /= weight.norm(dim=-1, keepdim=True).clamp(min=1e-8)",
                "return result",
            ),
            edited(
                nearest_neighbours, (_LOOP, _LOOP + "    with torch.no_grad():\n        weight[list(exclude)] = 0\n")
            ),
            edited(
                nearest_neighbours,
                (_LOOP, ""),
                ("    similarity =", "    for i in exclude:\n        weight[i] = 0\n    similarity ="),
            ),
            edited(
                nearest_neighbours,
                (_LOOP, ""),
                ("    similarity =", "    for i in exclude:\n        weight[i] = -weight[i]\n    similarity ="),
            ),
            edited(
                nearest_neighbours,
                (
                    "    similarity =",
                    "    weight /= weight.norm(dim=-1, keepdim=True).clamp(min=1e-8)\n    similarity =",
                ),
            ),
        ),
        _mistake(
            "numpy",
            "NumPy is used on the way: it fails for a table that is being trained, and on a GPU. PyTorch has topk and argsort.",
            edited(
                nearest_neighbours,
                (_TOP, "order = similarity.numpy().argsort()[::-1]\n    return torch.tensor(order[:k].copy())"),
            ),
        ),
        _mistake(
            "written_in_place",
            "A leaf that is being trained is written to in place, which PyTorch refuses: work on the similarities instead.",
            edited(
                nearest_neighbours,
                ("    similarity =", "    weight[list(exclude)] = weight[list(exclude)]\n    similarity ="),
            ),
        ),
        _mistake(
            "exclude_consumed",
            "The caller's list `exclude` is changed (append, remove, pop): make one of your own.",
            edited(nearest_neighbours, (_LOOP, _LOOP + "    if isinstance(exclude, list):\n        exclude.clear()\n")),
            edited(
                nearest_neighbours, (_LOOP, _LOOP + "    if isinstance(exclude, list):\n        exclude.append(0)\n")
            ),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the ids.",
            edited(nearest_neighbours, (_TOP, "similarity.topk(k).indices")),
            _around(nearest_neighbours, "print(RIGHT)"),
        ),
    ],
    alternatives=[
        Alternative(
            "filtered_order",
            _nearest(
                "unit = F.normalize(weight, dim=-1)",
                "order = (unit @ F.normalize(query, dim=0)).argsort(descending=True)",
                "banned = set(int(i) for i in exclude)",
                "left = [i for i in order.tolist() if i not in banned]",
                "return torch.tensor(left[:k], device=weight.device)",
            ),
        ),
        Alternative(
            "rows_removed_and_translated",
            _nearest(
                "banned = set(exclude)",
                "keep = torch.tensor([i for i in range(weight.shape[0]) if i not in banned], device=weight.device)",
                "return keep[cosine_similarity(query, weight[keep]).topk(k)[1]]",
            ),
        ),
        Alternative(
            "masked",
            _nearest(
                "scores = F.cosine_similarity(query[None, :], weight, dim=1)",
                "blocked = torch.zeros(len(weight), dtype=torch.bool, device=weight.device)",
                "if exclude:",
                "    blocked[list(exclude)] = True",
                "scores, ids = scores.masked_fill(blocked, -math.inf).sort(descending=True)",
                "return ids[:k]",
            ),
        ),
        Alternative(
            "python_loop",
            _nearest(
                "scored = []",
                "for i, row in enumerate(weight):",
                "    if i not in exclude:",
                "        scored.append((float(cosine_similarity(query, row)), i))",
                "scored.sort(reverse=True)",
                "return torch.tensor([i for _, i in scored][:k], dtype=torch.long, device=weight.device)",
            ),
        ),
    ],
)


# --- analogy ----------------------------------------------------------------------------------------------------------


def _analogy_case(V: int, C: int, equal: bool = True, nearest: str = "") -> tuple[int, int, int, torch.Tensor]:
    """Three ids and a table in which the answer is clear: none of the three is nearer, unless one is named as `nearest`.

    With `equal`, their rows have one length, so that it does not matter whether they are normalised first; otherwise it
    does. The other rows always have very different lengths.
    """
    while True:
        weight = _vectors(V, C)
        a, b, c = torch.argsort(normal(V))[:3].tolist()
        if equal:
            weight[[a, b, c]] = 1.7 * F.normalize(weight[[a, b, c]], dim=-1)
        best, unit = _ranked(a, b, c, weight), _ranked(a, b, c, F.normalize(weight, dim=-1))
        clear = len(best) < 2 or best[0][0] - best[1][0] > 5e-3
        top = cosine_similarity(weight[b] - weight[a] + weight[c], weight).argmax().item()
        if clear and (best[0][1] == unit[0][1]) is equal and top == {"a": a, "b": b, "c": c}.get(nearest, best[0][1]):
            return a, b, c, weight


def _ranked(a: int, b: int, c: int, weight: torch.Tensor) -> list[tuple[float, int]]:
    cosines = cosine_similarity(weight[b] - weight[a] + weight[c], weight)
    return sorted(((cosines[i].item(), i) for i in range(len(weight)) if i not in (a, b, c)), reverse=True)


def _an_id(got: Any, where: str) -> int:
    """The id, also when it comes as a tensor, list or float: that is marked elsewhere."""
    if isinstance(got, (list, tuple)) and len(got) == 1:
        got = got[0]
    if isinstance(got, torch.Tensor) and got.numel() == 1:
        got = got.item()
    if type(got) is float and got.is_integer():
        got = int(got)
    return _whole(got, f"The result {where}")


def _analogy_asked(student: Any, a: int, b: int, c: int, weight: torch.Tensor, where: str) -> int:
    got = _an_id(student.value("analogy", a, b, c, weight, where=where), where)
    if got in (a, b, c):
        raise Wrong(f"The id of a, b or c itself is returned {where}: these three are never the answer.")
    if got != analogy(a, b, c, weight):
        raise Wrong(f"The id {where} is not the one whose row is nearest, by cosine, to b − a + c.")
    return got


def _analogy_values(student: Any) -> None:
    for V, C in ((12, 4), (9, 5), (20, 3), (15, 8), (5, 5), (30, 6), (10, 2), (4, 3)):
        with student.case():
            a, b, c, weight = _analogy_case(V, C)
            _analogy_asked(student, a, b, c, weight, f"for a = {a}, b = {b}, c = {c}, V = {V}, C = {C}")


def _analogy_never(student: Any) -> None:
    """Tables in which a, b or c would be nearest; and the same id twice."""
    for nearest in ("a", "b", "c"):
        with student.case():
            a, b, c, weight = _analogy_case(8, 3, nearest=nearest)
            _analogy_asked(student, a, b, c, weight, f"where {nearest} itself would be nearest")
    with student.case():
        a, b, c, weight = _analogy_case(8, 4)
        cosines = cosine_similarity(weight[b] - weight[a] + weight[c], weight)
        others = [i for i in range(8) if i not in (a, b, c)]
        weight[others] *= -cosines[others].sign()[:, None]
        _analogy_asked(student, a, b, c, weight, "where all the other rows are dissimilar to b − a + c")
    for twice, where in (((0, 1, 0), "for a = c"), ((2, 2, 1), "for a = b"), ((3, 1, 1), "for b = c")):
        with student.case():
            while True:
                weight = _vectors(9, 4)
                weight[[*twice]] = 1.7 * F.normalize(weight[[*twice]], dim=-1)
                best = _ranked(*twice, weight)
                if best[0][0] - best[1][0] > 5e-3:
                    break
            _analogy_asked(student, *twice, weight, where)


def _analogy_raw(student: Any) -> None:
    for V, C in ((9, 3), (14, 4)):
        with student.case():
            a, b, c, weight = _analogy_case(V, C, equal=False)
            where = f"for rows a, b and c of different lengths, V = {V}, C = {C}"
            got = _an_id(student.value("analogy", a, b, c, weight, where=where), where)
            if got != analogy(a, b, c, weight):
                raise Wrong(
                    f"The id {where} is wrong: b − a + c is made of the rows as they are, not normalised first."
                )


def _analogy_int(student: Any) -> None:
    a, b, c, weight = _analogy_case(10, 4)
    got = student.value("analogy", a, b, c, weight)
    _analogy_asked(student, a, b, c, weight, "in a small table")
    if type(got) is not int:
        raise Wrong(f"The id should be a Python int; yours is {kind(got)}: `.item()` takes a number out of a tensor.")


def _analogy_manners(student: Any) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            a, b, c, weight = _analogy_case(8, 3)
            weight = weight.to(dtype)
            where = f"in {dtype_name(weight)}"
            answer = student.call("analogy", [a, b, c, weight], where=where)
            if _an_id(answer["value"], where) != analogy(a, b, c, weight):
                raise Wrong(f"The id {where} is wrong.")
            unchanged(answer["inputs"], [weight], "weight")
    with student.case():
        a, b, c, weight = _analogy_case(8, 3)
        where = "when weight is a parameter that is being trained"
        got = student.call("analogy", [a, b, c, weight], where=where, upstream=[None])["value"]
        if _an_id(got, where) != analogy(a, b, c, weight):
            raise Wrong(f"The id {where} is wrong.")


def _analogies(*lines: str) -> str:
    return written("def analogy(a, b, c, weight):\n    " + "\n    ".join(lines) + "\n")


_SUM = "weight[b] - weight[a] + weight[c]"
_ASK = "nearest_neighbours(target, weight, k=1, exclude=(a, b, c))"

ANALOGY = Exercise(
    name="analogy",
    notebook="03-embeddings",
    points=3,
    reference=analogy,
    checks=[
        Check("the row nearest to b − a + c by cosine", 1.5, _analogy_values),
        Check("never a, b or c themselves", 0.7, _analogy_never),
        Check("made of the rows as they are", 0.25, _analogy_raw),
        Check("a Python int", 0.25, _analogy_int),
        Check("float64, weight unchanged", 0.3, _analogy_manners),
    ],
    working=written(
        """
        import torch
        import torch.nn.functional as F

        def analogy(a, b, c, weight):
            cosines = F.cosine_similarity(weight[b] - weight[a] + weight[c], weight, dim=-1)
            return cosines.index_fill(0, torch.tensor([a, b, c]), -2.0).argmax().item()
        """
    ),
    mistakes=[
        _mistake(
            "signs",
            "The three vectors are put together with other signs: it is b − a + c (take from b what a means, and add c).",
            *[
                edited(analogy, (_SUM, f"weight[a] * {a} + weight[b] * {b} + weight[c] * {c}"))
                for a, b, c in ((1, -1, 1), (1, 1, -1), (1, 1, 1), (-1, 1, -1), (-1, -1, 1))
            ],
        ),
        _mistake(
            "one_left_out",
            "One of the three vectors is left out: it is b − a + c.",
            edited(analogy, (_SUM, "weight[b] - weight[a]")),
            edited(analogy, (_SUM, "weight[b] + weight[c]")),
            edited(analogy, (_SUM, "weight[c] - weight[a]")),
        ),
        _mistake(
            "ids_added",
            "The arithmetic is done with the ids: they carry no meaning, the rows of weight do.",
            edited(analogy, (_SUM, "weight[(b - a + c) % len(weight)]")),
            _analogies("return b - a + c"),
        ),
        _mistake(
            "dot_product",
            "Rows are ranked by their dot product with b − a + c, which favours long rows: nearest by cosine is asked for.",
            _analogies(
                f"scores = weight @ ({_SUM})",
                "scores = scores.detach().clone()",
                "scores[[a, b, c]] = -math.inf",
                "return scores.argmax().item()",
            ),
        ),
        _mistake(
            "euclidean",
            "Rows are ranked by their distance from b − a + c: nearest by cosine is asked for.",
            _analogies(
                f"scores = -(weight - ({_SUM})).norm(dim=-1)",
                "scores = scores.detach().clone()",
                "scores[[a, b, c]] = -math.inf",
                "return scores.argmax().item()",
            ),
        ),
        _mistake(
            "itself_allowed",
            "a, b and c are not excluded, and one of them (often b or c) is nearest: they are never the answer.",
            edited(analogy, (", exclude=(a, b, c)", "")),
        ),
        _mistake(
            "not_all_excluded",
            "Only some of a, b and c are excluded: none of the three is ever the answer.",
            *[edited(analogy, ("(a, b, c))", f"({left}))")) for left in ("a, b", "a, c", "b, c", "a,", "b,", "c,")],
        ),
        _mistake(
            "normalised_first",
            "The rows are divided by their lengths before they are added (as in Mikolov's own program): here b − a + c is made of "
            "the rows as they are.",
            edited(
                analogy,
                ("    target =", "    unit = F.normalize(weight, dim=-1)\n    target ="),
                (_SUM, _SUM.replace("weight", "unit")),
            ),
            edited(analogy, ("    target", "    weight = F.normalize(weight, dim=-1)\n    target")),
        ),
        _mistake(
            "tensor_returned",
            "A tensor is returned: `.item()` makes it a Python int.",
            edited(analogy, (".item()", "")),
            edited(analogy, (".item()", "[0]")),
            edited(analogy, (".item()", ".squeeze()")),
        ),
        _mistake(
            "list_returned",
            "A list is returned: one id is asked for, an int.",
            edited(analogy, (".item()", ".tolist()")),
        ),
        _mistake(
            "float_returned",
            "A float is returned: an id is an int.",
            edited(analogy, (f"return {_ASK}.item()", f"return float({_ASK})")),
        ),
        _mistake(
            "similarity_returned",
            "A similarity is returned: the id of the nearest row is asked for (argmax, not max).",
            _analogies(
                f"scores = cosine_similarity({_SUM}, weight).detach().clone()",
                "scores[[a, b, c]] = -math.inf",
                "return scores.max().item()",
            ),
        ),
        _mistake(
            "vector_returned",
            "A vector is returned: the id of the nearest row is asked for.",
            edited(analogy, (f"return {_ASK}.item()", "return target")),
            edited(analogy, (f"return {_ASK}.item()", f"return weight[{_ASK}.item()]")),
        ),
        _mistake(
            "farthest",
            "The least similar row is returned: the nearest one is asked for.",
            edited(analogy, ("nearest_neighbours(target", "nearest_neighbours(-target")),
        ),
        _mistake(
            "second_best",
            "The second best is returned, as if the best were one of a, b and c: they are excluded already.",
            edited(analogy, ("k=1", "k=min(2, len(weight) - 3)"), (".item()", "[-1].item()")),
        ),
        _mistake(
            "always_the_fourth",
            "The fourth nearest row is returned, as if a, b and c were always the first three: exclude them, and take the nearest.",
            edited(
                analogy,
                (
                    f"return {_ASK}.item()",
                    "ids = nearest_neighbours(target, weight, k=min(4, len(weight)))\n    return ids[-1].item()",
                ),
            ),
            _analogies(f"return nearest_neighbours({_SUM}, weight, 4)[3].item()"),
        ),
        _mistake(
            "renumbered",
            "The rows of a, b and c are taken out of the table, and the id returned counts the rows that are left: translate it back.",
            _analogies(
                "keep = [i for i in range(len(weight)) if i not in (a, b, c)]",
                f"return nearest_neighbours({_SUM}, weight[keep], 1).item()",
            ),
        ),
        _mistake(
            "table_changed",
            "The caller's table is changed: `weight[b]` is a view, so `-=` and `+=` on it (or writing to rows a, b, c) change weight itself.",
            _analogies("target = weight[b]", "target -= weight[a]", "target += weight[c]", f"return {_ASK}.item()"),
            _around(analogy, "result = RIGHT", "with torch.no_grad():", "    weight[[a, b, c]] = 0", "return result"),
            _analogies(
                "target = weight[b]",
                "with torch.no_grad():",
                "    target += weight[c] - weight[a]",
                f"return {_ASK}.item()",
            ),
        ),
        _mistake(
            "zeroed_rows",
            "a, b and c get similarity 0 instead of −inf, so that one of them comes back when all others are dissimilar.",
            _analogies(
                f"scores = cosine_similarity({_SUM}, weight).detach().clone()",
                "scores[[a, b, c]] = 0",
                "return scores.argmax().item()",
            ),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the id.",
            edited(analogy, (f"return {_ASK}", f"{_ASK}")),
            _around(analogy, "print(RIGHT)"),
        ),
    ],
    alternatives=[
        Alternative(
            "by_hand",
            _analogies(
                "target = weight[b] + weight[c] - weight[a]",
                "scores = (weight @ target) / (weight.norm(dim=1) * target.norm()).clamp(min=1e-8)",
                "scores = scores.detach().clone()",
                "for i in (a, b, c):",
                "    scores[i] = -float('inf')",
                "return int(scores.argmax())",
            ),
        ),
        Alternative(
            "first_that_is_allowed",
            _analogies(
                "order = nearest_neighbours(weight[b] - weight[a] + weight[c], weight, min(4, len(weight)))",
                "for i in order.tolist():",
                "    if i not in {a, b, c}:",
                "        return i",
            ),
        ),
        Alternative("exclude_set", _analogies(f"return int(nearest_neighbours({_SUM}, weight, 1, {{a, b, c}})[0])")),
        Alternative(
            "loop",
            _analogies(
                f"target, best, best_id = {_SUM}, -2.0, None",
                "for i in range(weight.size(0)):",
                "    if i in [a, b, c]:",
                "        continue",
                "    s = cosine_similarity(target, weight[i]).item()",
                "    if s > best:",
                "        best, best_id = s, i",
                "return best_id",
            ),
        ),
    ],
)


# --- skipgram_pairs ---------------------------------------------------------------------------------------------------


def _same_pairs(got: Any, ids: list[int], window: int, where: str, exact: bool = False) -> None:
    """The same pairs as often, in any order; pairs may be lists or a tensor unless `exact`: that is marked elsewhere."""
    if isinstance(got, torch.Tensor) and not exact:
        got = got.tolist()
    if not isinstance(got, (list, tuple)):
        raise Wrong(f"A list of pairs is asked for; {where} yours is {kind(got)}.")
    if exact and type(got) is not list:
        raise Wrong(f"A list is asked for; {where} yours is {kind(got)}.")
    pairs = []
    for pair in got:
        if isinstance(pair, torch.Tensor) and not exact:
            pair = pair.tolist()
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise Wrong(f"Every entry should be a pair (centre, context) {where}; one of yours is {kind(pair)}.")
        if exact and (type(pair) is not tuple or any(type(i) is not int for i in pair)):
            raise Wrong(f"Every pair should be a tuple of two ints {where}; one of yours is {kind(pair)}.")
        pair = [i.item() if isinstance(i, torch.Tensor) and i.numel() == 1 else i for i in pair]
        if any(type(i) is not int for i in pair):
            raise Wrong(
                f"A pair is two ids, two ints {where}; one of yours holds {kind(next(i for i in pair if type(i) is not int))}."
            )
        pairs.append(tuple(pair))
    mine, expected = Counter(pairs), Counter(skipgram_pairs(ids, window))
    if mine == expected:
        return
    missing, extra = (expected - mine).total(), (mine - expected).total()
    if set(mine) == set(expected):
        raise Wrong(f"The right pairs {where}, but not as often as they occur: {missing} missing, {extra} too many.")
    raise Wrong(f"{missing} pairs are missing {where}, and {extra} do not belong there.")


def _pairs_of(student: Any, ids: list[int], window: int) -> None:
    with student.case():
        where = f"for ids {ids} and window = {window}" if len(ids) < 12 else f"for {len(ids)} ids and window = {window}"
        _same_pairs(student.value("skipgram_pairs", ids, window, where=where), ids, window, where)


def _pairs_values(student: Any) -> None:
    for ids, window in (
        *(([7, 3, 5], 1), ([10, 20, 30, 40, 50, 60], 2), ([5, 0, 2, 9, 4, 8, 1, 3], 3), ([1, 2], 1)),
        *((list(range(40, 0, -1)), 4), ([4, 1, 3, 2, 0], 4)),
    ):
        _pairs_of(student, ids, window)


def _pairs_repeated(student: Any) -> None:
    for ids, window in (([4, 4, 7], 1), ([1, 2, 1, 2, 1], 2), ([3, 3, 3, 3], 3), ([i * i % 7 for i in range(60)], 3)):
        _pairs_of(student, ids, window)


def _pairs_edges(student: Any) -> None:
    for ids, window in (
        ([6, 2, 9], 5),
        ([8, 1], 4),
        ([3], 2),
        ([], 2),
        ([5, 6, 7], 0),
        ([0, 1, 2, 3], 3),
        ([2, 5, 1, 7], 100),
    ):
        _pairs_of(student, ids, window)


def _pairs_manners(student: Any) -> None:
    for ids, window in (([3, 1, 2, 0], 2), ([9, 8], 1)):
        with student.case():
            where = f"for ids {ids} and window = {window}"
            answer = student.call("skipgram_pairs", [ids, window], where=where, after=True)
            _same_pairs(answer["value"], ids, window, where, exact=True)
            if len(answer["after"]) == 2 and answer["after"][0] != ids:
                raise Wrong("Your code changes the caller's list `ids`: make a list of your own.", "input_changed")


def _pairs(*lines: str) -> str:
    return written("def skipgram_pairs(ids, window):\n    " + "\n    ".join(lines) + "\n")


_FIRST = "first = max(0, i - window)"
_LAST = "last = min(len(ids) - 1, i + window)"
_SELF = "if j != i:"
_APPEND = "pairs.append((centre, ids[j]))"
_EACH = ("pairs = []", "for i in range(len(ids)):")

SKIPGRAM_PAIRS = Exercise(
    name="skipgram_pairs",
    notebook="03-embeddings",
    points=4,
    reference=skipgram_pairs,
    checks=[
        Check("all the pairs within the window", 1.75, _pairs_values),
        Check("words that occur more than once", 0.75, _pairs_repeated),
        Check("short texts, wide windows, no window", 1.0, _pairs_edges),
        Check("a list of tuples, input unchanged", 0.5, _pairs_manners),
    ],
    working=written(
        """
        import itertools

        def skipgram_pairs(ids, window):
            return [(ids[i], ids[j]) for i, j in itertools.permutations(range(len(ids)), 2) if abs(i - j) <= window]
        """
    ),
    mistakes=[
        _mistake(
            "right_edge",
            "The window is one short on the right: `range` ends before its second number, so i + window + 1 is needed.",
            edited(skipgram_pairs, ("i + window)", "i + window - 1)")),
        ),
        _mistake(
            "left_edge",
            "The window is one short on the left: it begins at i − window.",
            edited(skipgram_pairs, ("i - window)", "i - window + 1)")),
        ),
        _mistake(
            "window_too_narrow",
            "The window is too narrow on both sides: `window` counts how far context reaches to each side.",
            edited(skipgram_pairs, ("i - window)", "i - window + 1)"), ("i + window)", "i + window - 1)")),
            edited(skipgram_pairs, ("    pairs = []", "    window //= 2\n    pairs = []")),
        ),
        _mistake(
            "window_too_wide",
            "The window reaches too far: `window` places to each side.",
            edited(skipgram_pairs, ("i + window)", "i + window + 1)")),
            edited(skipgram_pairs, ("i - window)", "i - window - 1)")),
            edited(skipgram_pairs, ("    pairs = []", "    window += 1\n    pairs = []")),
            edited(skipgram_pairs, (_FIRST, "first = 0"), (_LAST, "last = len(ids) - 1")),
        ),
        _mistake(
            "itself",
            "Each word is paired with itself, at its own place: leave j == i out.",
            edited(skipgram_pairs, (_SELF, "if True:")),
        ),
        _mistake(
            "same_word_skipped",
            "Ids are compared where places should be: the same word at another place is context too (`j != i`, not `ids[j] != centre`).",
            edited(skipgram_pairs, (_SELF, "if ids[j] != centre:")),
        ),
        _mistake(
            "first_place_of_the_word",
            "`ids.index(…)` finds the first place where a word occurs: use enumerate, for a word may occur more than once.",
            edited(
                skipgram_pairs,
                ("for i, centre in enumerate(ids):", "for centre in ids:\n        i = ids.index(centre)"),
            ),
        ),
        _mistake(
            "right_only",
            "Only context on the right is paired: the window reaches to both sides.",
            edited(skipgram_pairs, (_FIRST, "first = i")),
        ),
        _mistake(
            "left_only",
            "Only context on the left is paired: the window reaches to both sides.",
            edited(skipgram_pairs, (_LAST, "last = i")),
        ),
        _mistake(
            "farthest_only",
            "Only the words exactly `window` places away are paired: all those in between belong too.",
            edited(skipgram_pairs, (_SELF, "if abs(j - i) == window and j != i:")),
        ),
        _mistake(
            "neighbours_only",
            "Only the words next to each other are paired: the window reaches further.",
            edited(skipgram_pairs, (_SELF, "if abs(j - i) == 1:")),
        ),
        _mistake(
            "edges_skipped",
            "Words near the beginning or the end, whose window is not full, are left out: they have the context that there is.",
            edited(skipgram_pairs, (_SELF, "if j != i and window <= i < len(ids) - window:")),
            edited(skipgram_pairs, (_SELF, "if j != i and window <= i:")),
            edited(skipgram_pairs, (_SELF, "if j != i and i < len(ids) - window:")),
        ),
        _mistake(
            "wraps_around",
            "A negative index counts from the end, so that the first words get the last ones as context: stop at 0.",
            _pairs(
                *_EACH,
                "    for j in range(i - window, min(len(ids), i + window + 1)):",
                "        if j != i:",
                "            pairs.append((ids[i], ids[j]))",
                "return pairs",
            ),
            _pairs(
                *_EACH,
                "    for j in range(i - window, i + window + 1):",
                "        if j != i:",
                "            pairs.append((ids[i], ids[j % len(ids)]))",
                "return pairs",
            ),
            _pairs(
                *_EACH,
                "    for j in range(i - window, i + window + 1):",
                "        if j != i and j < len(ids):",
                "            pairs.append((ids[i], ids[j]))",
                "return pairs",
            ),
        ),
        _mistake(
            "empty_slice_at_the_edge",
            "A slice such as `ids[i - window : i]` is empty when its start is negative: begin at max(0, i − window).",
            _pairs(
                *_EACH,
                "    for context in ids[i - window : i] + ids[i + 1 : i + 1 + window]:",
                "        pairs.append((ids[i], context))",
                "return pairs",
            ),
        ),
        _mistake(
            "runs_off_the_end",
            "The window runs past the end (IndexError): it ends where the text does.",
            edited(skipgram_pairs, (_LAST, "last = i + window")),
        ),
        _mistake(
            "places_returned",
            "Places in the text are returned: pairs of ids are asked for.",
            edited(skipgram_pairs, (_APPEND, "pairs.append((i, j))")),
            edited(skipgram_pairs, (_APPEND, "pairs.append((centre, j))")),
            edited(skipgram_pairs, (_APPEND, "pairs.append((i, ids[j]))")),
        ),
        _mistake(
            "each_pair_once",
            "A pair that occurs more than once is kept only once (a set, or `not in pairs`): how often words meet is what is learned.",
            _around(skipgram_pairs, "return list(set(RIGHT))"),
            _around(skipgram_pairs, "return sorted(set(RIGHT))"),
            edited(skipgram_pairs, (_SELF, "if j != i and (centre, ids[j]) not in pairs:")),
        ),
        _mistake(
            "set",
            "A set is returned: a list is asked for, with every pair as often as it occurs.",
            _around(skipgram_pairs, "return set(RIGHT)"),
        ),
        _mistake(
            "one_direction",
            "Each two places are paired once: both are centres, so (x, y) and (y, x) both belong.",
            edited(skipgram_pairs, (_APPEND, "pairs.append((min(centre, ids[j]), max(centre, ids[j])))")),
            _around(skipgram_pairs, "return sorted({tuple(sorted(pair)) for pair in RIGHT})"),
        ),
        _mistake(
            "grouped",
            "The contexts of a centre are grouped together: one pair (centre, context) for each of them is asked for.",
            *[
                _pairs(
                    *_EACH,
                    "    context = ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window]",
                    f"    {add}",
                    "return pairs",
                )
                for add in (
                    "pairs.append((ids[i], context))",
                    "pairs.append([(ids[i], c) for c in context])",
                    "pairs.append((context, ids[i]))",
                )
            ],
            _pairs("return {c: ids[max(0, i - window) : i] + ids[i + 1 : i + 1 + window] for i, c in enumerate(ids)}"),
        ),
        _mistake(
            "two_lists",
            "Centres and contexts are returned in two lists: one list of pairs (centre, context) is asked for.",
            _around(skipgram_pairs, "pairs = RIGHT", "return [c for c, _ in pairs], [o for _, o in pairs]"),
            _around(skipgram_pairs, "return list(zip(*RIGHT))"),
        ),
        _mistake(
            "flat",
            "The ids are in one flat list: a list of pairs (centre, context) is asked for.",
            edited(skipgram_pairs, (_APPEND, "pairs += [centre, ids[j]]")),
        ),
        _mistake(
            "returned_too_early",
            "`return` stands inside the loop, which ends after the first word.",
            edited(skipgram_pairs, ("    return pairs", "        return pairs")),
        ),
        _mistake(
            "last_word_missed",
            "The loop ends one too early, so the last word is never a centre: range(len(ids)).",
            edited(skipgram_pairs, ("enumerate(ids)", "enumerate(ids[:-1])")),
        ),
        _mistake(
            "first_word_missed",
            "The loop begins at the second word, so the first is never a centre: places count from 0.",
            edited(skipgram_pairs, (_SELF, "if i > 0 and j != i:")),
        ),
        _mistake(
            "short_texts_refused",
            "A text that is empty, or shorter than the window, fails: it has the pairs that there are, perhaps none.",
            _around(skipgram_pairs, "assert len(ids) > window", "return RIGHT"),
            _around(skipgram_pairs, "if len(ids) < 2:", "    raise ValueError('too short')", "return RIGHT"),
            _around(skipgram_pairs, "if not ids:", "    raise ValueError('no ids')", "return RIGHT"),
            _around(skipgram_pairs, "assert window > 0", "return RIGHT"),
        ),
        _mistake(
            "none_for_nothing",
            "None is returned where there are no pairs: an empty list is asked for.",
            _around(skipgram_pairs, "return RIGHT or None"),
            _around(skipgram_pairs, "if len(ids) < 2:", "    return", "return RIGHT"),
        ),
        _mistake(
            "lists_for_tuples",
            "The pairs are lists: tuples are asked for, `(centre, context)`.",
            edited(skipgram_pairs, (_APPEND, "pairs.append([centre, ids[j]])")),
        ),
        _mistake(
            "tensor",
            "A tensor is returned: a list of tuples of ints is asked for.",
            _around(skipgram_pairs, "return torch.tensor(RIGHT)"),
            edited(skipgram_pairs, (_APPEND, "pairs.append(torch.tensor([centre, ids[j]]))")),
        ),
        _mistake(
            "generator",
            "A generator is returned (yield): a list is asked for.",
            _around(skipgram_pairs, "yield from RIGHT"),
        ),
        _mistake(
            "tuple",
            "A tuple is returned: a list of tuples is asked for.",
            _around(skipgram_pairs, "return tuple(RIGHT)"),
        ),
        _mistake(
            "ids_changed",
            "The caller's list is changed (pop, append, insert): make a list of your own.",
            _around(skipgram_pairs, "result = RIGHT", "while ids:", "    ids.pop()", "return result"),
            _around(skipgram_pairs, "result = RIGHT", "ids.extend([0] * window)", "return result"),
            _around(skipgram_pairs, "result = RIGHT", "ids.sort()", "return result"),
        ),
        _mistake(
            "padded",
            "The text is padded, and the padding turns up in the pairs: the window simply ends where the text does.",
            edited(skipgram_pairs, ("    pairs = []", "    ids = [0] * window + ids + [0] * window\n    pairs = []")),
            edited(skipgram_pairs, ("    pairs = []", "    ids = [-1] * window + ids + [-1] * window\n    pairs = []")),
            _pairs(
                *_EACH,
                "    for j in range(i - window, i + window + 1):",
                "        if j != i:",
                "            pairs.append((ids[i], ids[j] if 0 <= j < len(ids) else 0))",
                "return pairs",
            ),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return pairs`; printing is not returning.",
            edited(skipgram_pairs, ("    return pairs", "    print(pairs)")),
        ),
    ],
    alternatives=[
        Alternative(
            "slices",
            _pairs(
                "return [",
                "    (centre, context)",
                "    for i, centre in enumerate(ids)",
                "    for context in ids[max(i - window, 0) : i] + ids[i + 1 : i + window + 1]",
                "]",
            ),
        ),
        Alternative(
            "by_distance",
            _pairs(
                "pairs = []",
                "for d in range(1, window + 1):",
                "    for left, right in zip(ids, ids[d:]):",
                "        pairs += [(left, right), (right, left)]",
                "return pairs",
            ),
        ),
        Alternative(
            "offsets",
            _pairs(
                *_EACH,
                "    for offset in range(-window, window + 1):",
                "        j = i + offset",
                "        if offset == 0 or j < 0 or j >= len(ids):",
                "            continue",
                "        pairs.append((ids[i], ids[j]))",
                "return pairs",
            ),
        ),
    ],
)


# --- sgns_loss --------------------------------------------------------------------------------------------------------


def _sgns_inputs(B: int, K: int, C: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [normal(B, C, dtype=dtype), normal(B, C, dtype=dtype), normal(B, K, C, dtype=dtype)]


SGNS_NAMES = ["centre", "context", "negatives"]


def _sgns_values(student: Any) -> None:
    for B, K, C in (
        (4, 3, 5),
        (3, 1, 4),
        (1, 4, 6),
        (2, 5, 3),
        (3, 3, 3),
        (1, 1, 2),
        (5, 5, 2),
        (6, 2, 1),
        (2, 15, 20),
        (1, 1, 1),
    ):
        with student.case():
            args = _sgns_inputs(B, K, C)
            where = f"for B = {B}, K = {K}, C = {C}"
            same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)
    with student.case():
        args = [torch.zeros_like(t) for t in _sgns_inputs(3, 4, 2)]
        where = "when all vectors are zero"
        same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where)


def _sgns_extreme(B: int, K: int, C: int, positive: float, negative: float) -> list[torch.Tensor]:
    """Inputs whose scores with the context are all `positive`, and with the negatives all `negative`."""
    centre = torch.full((B, C), 10.0)
    shares = torch.full((B, C), 1.0 / C)
    return [centre, shares * positive / 10, (shares * negative / 10)[:, None].repeat(1, K, 1)]


def _sgns_stable(student: Any) -> None:
    for positive, negative in (
        (-1e4, 1.0),
        (1.0, 1e4),
        (1e4, -1e4),
        (-1e4, 1e4),
        (-200.0, 0.5),
        (0.5, 200.0),
        (-30.0, -30.0),
    ):
        with student.case():
            args = _sgns_extreme(2, 3, 4, positive, negative)
            where = f"when the scores with contexts are {positive:g} and with negatives {negative:g}"
            same_tensor(student.value("sgns_loss", *args, where=where), sgns_loss(*args), "The loss", where, rough=True)
    with student.case():
        args = _sgns_extreme(2, 3, 4, -1e4, 1e4)
        _gradients_agree(student, "sgns_loss", sgns_loss, args, SGNS_NAMES, "for scores of ±1e4")


def _sgns_gradient(student: Any) -> None:
    for B, K, C in ((4, 3, 5), (2, 1, 3), (3, 3, 3)):
        with student.case():
            where = f"for B = {B}, K = {K}, C = {C}"
            _gradients_agree(student, "sgns_loss", sgns_loss, _sgns_inputs(B, K, C), SGNS_NAMES, where)


def _sgns_manners(student: Any) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            args = _sgns_inputs(3, 4, 5, dtype)
            where = f"in {dtype_name(args[0])}"
            answer = student.call("sgns_loss", args, where=where)
            same_tensor(answer["value"], sgns_loss(*args), "The loss", where)
            unchanged(answer["inputs"], args, "centre, context, negatives")
    with student.case():
        device_is_kept(student, "sgns_loss", _sgns_inputs(3, 4, 5))


def _sgns(*lines: str) -> str:
    return written("def sgns_loss(centre, context, negatives):\n    " + "\n    ".join(lines) + "\n")


_POSITIVE = "(centre * context).sum(dim=-1)"
_NEGATIVE = "(negatives * centre[:, None, :]).sum(dim=-1)"
_LOSS = "-F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1)"
_SCORES = (f"positive = {_POSITIVE}", f"negative = {_NEGATIVE}")

SGNS_LOSS = Exercise(
    name="sgns_loss",
    notebook="03-embeddings",
    points=5,
    reference=sgns_loss,
    checks=[
        Check("values, for many combinations of sizes", 2.25, _sgns_values),
        Check("stable for scores of ±1e4", 1.0, _sgns_stable),
        Check("gradients reach centre, context and negatives", 1.0, _sgns_gradient),
        Check("float64, inputs unchanged, device", 0.75, _sgns_manners),
    ],
    working=written(
        """
        import torch
        import torch.nn.functional as F

        def sgns_loss(centre, context, negatives):
            scores = torch.cat([context[:, None], negatives], dim=1) @ centre[:, :, None]
            labels = torch.zeros_like(scores)
            labels[:, 0] = 1
            return F.binary_cross_entropy_with_logits(scores, labels, reduction="sum") / len(centre)
        """
    ),
    mistakes=[
        _mistake(
            "mean_over_negatives",
            "The negatives are averaged: their terms are summed for each pair, and only the mean over B is taken.",
            edited(sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "F.logsigmoid(-negative).mean(dim=-1)")),
            edited(sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "F.logsigmoid(-negative).mean()")),
        ),
        _mistake(
            "mean_over_everything",
            "The mean is taken over positive and negative terms together (as binary_cross_entropy_with_logits does by itself): sum the "
            "1 + K terms of a pair, and take the mean over B.",
            edited(sgns_loss, (".mean()", ".mean() / (1 + negatives.shape[1])")),
        ),
        _mistake(
            "sum_over_batch",
            "The losses of the batch are summed: the mean over B is asked for.",
            edited(sgns_loss, (".mean()", ".sum()")),
            edited(sgns_loss, ("- F.logsigmoid(-negative).sum(dim=-1)", "- F.logsigmoid(-negative).sum()")),
        ),
        _mistake(
            "no_mean",
            "One loss for each pair is returned: a scalar is asked for, their mean.",
            edited(sgns_loss, (".mean()", "")),
        ),
        _mistake(
            "one_number_in_a_tensor",
            "The result has shape (1,): a scalar (no dimensions) is asked for.",
            edited(sgns_loss, (".mean()", ".mean(dim=0, keepdim=True)")),
            edited(sgns_loss, (".mean()", ".mean().view(1)")),
        ),
        _mistake(
            "negatives_not_negated",
            "The negatives are treated like contexts: their score has a minus sign inside the σ, −log σ(−c·n).",
            edited(sgns_loss, ("logsigmoid(-negative)", "logsigmoid(negative)")),
        ),
        _mistake(
            "negatives_added",
            "The term of the negatives is added to the loss without its minus sign, so it is pushed the wrong way: −Σ log σ(−c·n).",
            edited(sgns_loss, ("- F.logsigmoid(-negative)", "+ F.logsigmoid(-negative)")),
        ),
        _mistake(
            "negatives_twice_wrong",
            "The minus sign of the negatives is outside σ instead of inside: +log σ(c·n) is not −log σ(−c·n).",
            edited(sgns_loss, ("- F.logsigmoid(-negative)", "+ F.logsigmoid(negative)")),
        ),
        _mistake(
            "positive_negated",
            "The score of the true pair has a minus sign: −log σ(c·o) pulls the two together, the negatives are pushed away.",
            edited(sgns_loss, ("logsigmoid(positive)", "logsigmoid(-positive)")),
            edited(sgns_loss, ("-F.logsigmoid(positive)", "F.logsigmoid(positive)")),
            edited(
                sgns_loss,
                ("logsigmoid(positive)", "logsigmoid(-positive)"),
                ("logsigmoid(-negative)", "logsigmoid(negative)"),
            ),
        ),
        _mistake(
            "sign_of_the_loss",
            "The sign of the whole is wrong: log-probabilities are negative, and a loss is minus their sum.",
            edited(sgns_loss, (_LOSS, "F.logsigmoid(positive) + F.logsigmoid(-negative).sum(dim=-1)")),
        ),
        _mistake(
            "no_logarithm",
            "The logarithm is missing: −log σ(…), not −σ(…).",
            edited(sgns_loss, ("logsigmoid", "sigmoid")),
        ),
        _mistake(
            "no_sigmoid",
            "The σ is missing: scores are turned into probabilities first, log σ(…).",
            edited(sgns_loss, (_LOSS, "-positive + negative.sum(dim=-1)")),
            edited(sgns_loss, (_LOSS, "-torch.log(positive) - torch.log(-negative).sum(dim=-1)")),
        ),
        _mistake(
            "other_base",
            "The logarithm has another base: the natural one is asked for (torch.log).",
            edited(sgns_loss, (".mean()", ".mean() / math.log(2)")),
            edited(sgns_loss, (".mean()", ".mean() / math.log(10)")),
        ),
        _mistake(
            "unstable",
            "log(sigmoid(x)) is log(0) = −inf for very negative scores, and its gradient NaN: F.logsigmoid computes both in one "
            "step, without overflow.",
            edited(
                sgns_loss,
                ("F.logsigmoid(positive)", "torch.log(torch.sigmoid(positive))"),
                ("F.logsigmoid(-negative)", "torch.log(torch.sigmoid(-negative))"),
            ),
            edited(
                sgns_loss,
                ("F.logsigmoid(positive)", "torch.log(torch.sigmoid(positive))"),
                ("F.logsigmoid(-negative)", "torch.log(1 - torch.sigmoid(negative))"),
            ),
            edited(sgns_loss, ("F.logsigmoid(-negative)", "torch.log(torch.sigmoid(-negative))")),
            edited(sgns_loss, ("F.logsigmoid(-negative)", "torch.log(1 - torch.sigmoid(negative))")),
            edited(sgns_loss, ("F.logsigmoid(positive)", "torch.log(torch.sigmoid(positive))")),
            edited(
                sgns_loss,
                (_LOSS, "torch.log(1 + torch.exp(-positive)) + torch.log(1 + torch.exp(negative)).sum(dim=-1)"),
            ),
            edited(
                sgns_loss, (_LOSS, "torch.log1p(torch.exp(-positive)) + torch.log1p(torch.exp(negative)).sum(dim=-1)")
            ),
        ),
        _mistake(
            "epsilon_in_the_logarithm",
            "A small number added inside the logarithm, or scores and probabilities that are clamped, avoid −inf but give wrong losses "
            "and no gradient just where the model errs most: use F.logsigmoid.",
            *[
                edited(
                    sgns_loss,
                    ("F.logsigmoid(positive)", f"torch.log(torch.sigmoid(positive) + {eps})"),
                    ("F.logsigmoid(-negative)", f"torch.log({inner} + {eps})"),
                )
                for eps in ("1e-10", "1e-9", "1e-8", "1e-7", "1e-12", "1e-6")
                for inner in ("torch.sigmoid(-negative)", "1 - torch.sigmoid(negative)")
            ],
            *[
                edited(
                    sgns_loss,
                    ("F.logsigmoid(positive)", f"torch.log(torch.sigmoid(positive).clamp(min={eps}))"),
                    ("F.logsigmoid(-negative)", f"torch.log(torch.sigmoid(-negative).clamp(min={eps}))"),
                )
                for eps in ("1e-10", "1e-9", "1e-8", "1e-7", "1e-12", "1e-6")
            ],
            *[
                edited(
                    sgns_loss,
                    (_POSITIVE, f"{_POSITIVE}.clamp(-{n}, {n})"),
                    (_NEGATIVE, f"{_NEGATIVE}.clamp(-{n}, {n})"),
                )
                for n in (10, 20, 50)
            ],
            edited(
                sgns_loss,
                (
                    _LOSS,
                    "F.binary_cross_entropy(positive.sigmoid(), torch.ones_like(positive), reduction='none') + F.binary_cross_entropy(negative.sigmoid(), torch.zeros_like(negative), reduction='none').sum(dim=-1)",
                ),
            ),
        ),
        _mistake(
            "positive_only",
            "The negatives are left out: without them all vectors would become the same.",
            edited(sgns_loss, (" - F.logsigmoid(-negative).sum(dim=-1)", "")),
        ),
        _mistake(
            "negatives_only",
            "The true pair is left out: −log σ(c·o) belongs to the loss.",
            edited(sgns_loss, ("-F.logsigmoid(positive) - ", "-")),
        ),
        _mistake(
            "sum_over_the_wrong_dimension",
            "The terms of the negatives are summed over the batch and averaged over K: sum over the K negatives (dim=1), average over B.",
            edited(sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "F.logsigmoid(-negative).sum(dim=0).mean()")),
        ),
        _mistake(
            "positive_counted_for_each_negative",
            "The term of the true pair is counted K times, once for each negative: it belongs to the loss once.",
            edited(sgns_loss, ("-F.logsigmoid(positive) -", "-negatives.shape[1] * F.logsigmoid(positive) -")),
        ),
        _mistake(
            "squeezed",
            "`squeeze()` removes every dimension of size 1, so that B = 1 or K = 1 fails or changes the shape: name the dimension, squeeze(-1).",
            edited(sgns_loss, (_NEGATIVE, "torch.bmm(negatives, centre[:, :, None]).squeeze()")),
            edited(
                sgns_loss,
                (_POSITIVE, "torch.bmm(context[:, None], centre[:, :, None]).squeeze()"),
                (_NEGATIVE, "torch.bmm(negatives, centre[:, :, None]).squeeze()"),
            ),
            edited(sgns_loss, (_NEGATIVE, f"{_NEGATIVE}.squeeze()")),
            edited(
                sgns_loss, (_NEGATIVE, f"{_NEGATIVE}.squeeze()"), ("(-negative).sum(dim=-1)", "(-negative).sum(dim=1)")
            ),
        ),
        _mistake(
            "numpy",
            "NumPy or plain numbers are used on the way: nothing could be trained through them, and they fail on a GPU.",
            _sgns(
                "import numpy as np",
                "positive = (centre * context).sum(-1).numpy()",
                "negative = (negatives * centre[:, None]).sum(-1).numpy()",
                "return torch.tensor((np.logaddexp(0, -positive) + np.logaddexp(0, negative).sum(-1)).mean())",
            ),
        ),
        _mistake(
            "one_negative",
            "Only one of the K negatives counts: their terms are summed.",
            edited(sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "F.logsigmoid(-negative)[:, 0]")),
            edited(sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "F.logsigmoid(-negative)[:, -1]")),
        ),
        _mistake(
            "summed_inside",
            "The scores of the negatives are summed before the logarithm of σ: each negative has its own log σ, and these are summed.",
            edited(sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "F.logsigmoid(-negative.sum(dim=-1))")),
            edited(
                sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "torch.log(torch.sigmoid(-negative).sum(dim=-1))")
            ),
            edited(sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", "F.logsigmoid(-negative.mean(dim=-1))")),
        ),
        _mistake(
            "context_with_negatives",
            "The negatives are compared with the context: all scores are with the centre.",
            edited(sgns_loss, ("centre[:, None, :]", "context[:, None, :]")),
        ),
        _mistake(
            "no_dimension_for_negatives",
            "centre (B, C) is multiplied with negatives (B, K, C) without a dimension for K: it fails, or, when B = K or B = 1, pairs the wrong "
            "vectors. `centre[:, None, :]` or `unsqueeze(1)`.",
            edited(sgns_loss, ("centre[:, None, :]", "centre")),
            edited(sgns_loss, ("centre[:, None, :]", "centre[None]")),
        ),
        _mistake(
            "scores_across_the_batch",
            "`centre @ context.T` compares each centre with every context of the batch: each has a context of its own (row by row).",
            edited(
                sgns_loss,
                (_POSITIVE, "centre @ context.T"),
                ("-F.logsigmoid(positive) -", "-F.logsigmoid(positive).mean(dim=-1) -"),
            ),
            edited(
                sgns_loss,
                (_POSITIVE, "centre @ context.T"),
                ("-F.logsigmoid(positive) -", "-F.logsigmoid(positive).sum(dim=-1) -"),
            ),
            edited(sgns_loss, (_POSITIVE, "centre @ context.T")),
        ),
        _mistake(
            "not_summed_over_features",
            "The products are not summed over the features: a dot product is one number for each pair (sum over the last dimension).",
            edited(
                sgns_loss,
                (_POSITIVE, "centre * context"),
                (_NEGATIVE, "negatives * centre[:, None, :]"),
                (_LOSS, "-F.logsigmoid(positive).sum(-1) - F.logsigmoid(-negative).sum(dim=(-1, -2))"),
            ),
            edited(
                sgns_loss,
                (_POSITIVE, "(centre * context).mean(dim=-1)"),
                (_NEGATIVE, "(negatives * centre[:, None, :]).mean(dim=-1)"),
            ),
            edited(sgns_loss, (_POSITIVE, "(centre * context).sum(dim=0)")),
            edited(sgns_loss, (_POSITIVE, "(centre * context).sum()")),
        ),
        _mistake(
            "cosines",
            "The scores are cosines: dot products are asked for, lengths count.",
            edited(
                sgns_loss,
                (
                    "    positive =",
                    "    centre, context, negatives = (F.normalize(t, dim=-1) for t in (centre, context, negatives))\n    positive =",
                ),
            ),
        ),
        _mistake(
            "scaled",
            "The scores are divided by √C: here they are plain dot products (the root belongs to attention).",
            edited(
                sgns_loss,
                (_POSITIVE, f"{_POSITIVE} / centre.shape[-1] ** 0.5"),
                (_NEGATIVE, f"{_NEGATIVE} / centre.shape[-1] ** 0.5"),
            ),
        ),
        _mistake(
            "softmax",
            "This is a softmax over the context and the negatives: skip-gram with negative sampling asks a yes/no question about each, with σ.",
            edited(
                sgns_loss,
                (_LOSS, "torch.logsumexp(torch.cat([positive[:, None], negative], dim=-1), dim=-1) - positive"),
            ),
        ),
        _mistake(
            "fixed_number_of_negatives",
            "The number of negatives is fixed in the code: K is negatives.shape[1].",
            *[
                edited(
                    sgns_loss, ("F.logsigmoid(-negative).sum(dim=-1)", f"F.logsigmoid(-negative).mean(dim=-1) * {K}")
                )
                for K in (2, 3, 4, 5, 10)
            ],
            *[
                edited(
                    sgns_loss,
                    ("F.logsigmoid(-negative).sum(dim=-1)", f"sum(F.logsigmoid(-negative[:, k]) for k in range({K}))"),
                )
                for K in (3, 5)
            ],
        ),
        _mistake(
            "python_number",
            "A Python number is returned (`.item()`): a scalar tensor is asked for, with its gradient.",
            edited(sgns_loss, (".mean()", ".mean().item()")),
        ),
        _mistake(
            "detached",
            "The loss is cut off from its inputs (`.detach()`, `.data`, `no_grad`, torch.tensor(…)): nothing could be trained.",
            edited(sgns_loss, (".mean()", ".mean().detach()")),
            _around(sgns_loss, "with torch.no_grad():", "    return RIGHT"),
            edited(sgns_loss, (".mean()", ".mean().clone().detach().requires_grad_()")),
        ),
        _mistake(
            "negatives_detached",
            "No gradient reaches some of the inputs (`.detach()`): centre, context and negatives are all trained.",
            edited(sgns_loss, ("(negatives * centre", "(negatives.detach() * centre")),
            edited(sgns_loss, ("* context)", "* context.detach())")),
            edited(sgns_loss, ("(negatives * centre[:, None, :])", "(negatives * centre.detach()[:, None, :])")),
        ),
        _mistake(
            "float32_only",
            "The computation is in float32 (`.float()`), or the result is: keep the dtype.",
            _around(
                sgns_loss,
                "centre, context, negatives = centre.float(), context.float(), negatives.float()",
                "return RIGHT",
            ),
            _around(sgns_loss, "return RIGHT.float()"),
        ),
        _mistake(
            "input_changed",
            "The caller's tensors are changed (`*=`, `neg_()`): make new ones.",
            _around(sgns_loss, "result = RIGHT", "with torch.no_grad():", "    negatives.neg_()", "return result"),
        ),
        _mistake(
            "nothing_returned",
            "Nothing is returned (None): `return` the loss.",
            edited(sgns_loss, ("return loss.mean()", "loss.mean()")),
            _around(sgns_loss, "print(RIGHT)"),
        ),
    ],
    alternatives=[
        Alternative(
            "softplus_and_einsum",
            _sgns(
                'positive = torch.einsum("bc,bc->b", centre, context)',
                'negative = torch.einsum("bkc,bc->bk", negatives, centre)',
                "return (F.softplus(-positive) + F.softplus(negative).sum(1)).mean()",
            ),
        ),
        Alternative(
            "batched_product",
            _sgns(
                "pos = torch.bmm(context.unsqueeze(1), centre.unsqueeze(2)).view(-1)",
                "neg = torch.bmm(negatives, centre.unsqueeze(2)).squeeze(2)",
                "return -(F.logsigmoid(pos).mean() + F.logsigmoid(-neg).sum(1).mean())",
            ),
        ),
        Alternative(
            "loops",
            _sgns(
                "losses = []",
                "for c, o, ns in zip(centre, context, negatives):",
                "    loss = -F.logsigmoid(torch.dot(c, o))",
                "    for n in ns:",
                "        loss = loss - F.logsigmoid(-(c @ n))",
                "    losses.append(loss)",
                "return torch.stack(losses).mean()",
            ),
        ),
        Alternative(
            "logaddexp",
            _sgns(
                *_SCORES,
                "zero = torch.zeros((), dtype=centre.dtype, device=centre.device)",
                "total = torch.logaddexp(zero, -positive).sum() + torch.logaddexp(zero, negative).sum()",
                "return total / centre.shape[0]",
            ),
        ),
    ],
)


EXERCISES = [
    ONE_HOT_LOOKUP,
    EMBEDDING,
    EMBEDDING_COST,
    COSINE_SIMILARITY,
    NEAREST_NEIGHBOURS,
    ANALOGY,
    SKIPGRAM_PAIRS,
    SGNS_LOSS,
]
QUESTIONS = [
    Question(
        name="q3_1",
        notebook="03-embeddings",
        points=1,
        key="B",
        explanations={
            "A": (
                "That is what section 3 showed for a table that is used at the input only. Here the table is "
                "used a second time. Which rows does the loss depend on through that second use?"
            ),
            "B": (
                "Yes. The softmax divides by a sum over the scores of all words, so the loss depends on every "
                "row of the table. That is why a model with tied weights has dense gradients for its table."
            ),
            "C": (
                "The cross-entropy does pick one log-probability. But what is that log-probability made of? "
                "Write out the softmax: would its value change if the score of some fourth word rose?"
            ),
            "D": (
                "A copied row passes its gradient on unchanged, as the gradient picture of section 3 showed, so "
                "the input rows do count. And ask what else the loss depends on besides the right word's score."
            ),
        },
    ),
    Question(
        name="q3_2",
        notebook="03-embeddings",
        points=1,
        key="D",
        explanations={
            "A": (
                "It is natural to expect opposite vectors for opposite meanings. But nothing in the loss knows "
                "about opposites. What does the loss pull together, and is it different for these two words?"
            ),
            "B": (
                'Close vectors are often read as "same meaning". But the training saw no meanings, only windows. '
                "You could swap these two words in many sentences and still have English, though not the same "
                "message."
            ),
            "C": (
                "Standing side by side raises the score of one word's centre vector with the other's context "
                "vector. The cosine here compares two centre vectors. What makes those alike?"
            ),
            "D": (
                "Yes. Weather, water, tea, days: the same words stand around both, so the same contexts pull on "
                "both vectors. Opposites keep the same company, and vectors from windows cannot tell them from "
                "synonyms."
            ),
        },
    ),
    Question(
        name="q3_3",
        notebook="03-embeddings",
        points=1,
        key="A",
        explanations={
            "A": (
                "Yes. The table knows only the id, and the id is the same. The other words of the sentence come "
                "in through the layers, as they did for the chicken and the road."
            ),
            "B": (
                "That would be convenient, but the look-up sees one id and nothing else. Where would a second "
                "row come from, and who would choose, before anything has been read?"
            ),
            "C": (
                "The table changes during training, when an optimiser takes a step. Reading a sentence takes no "
                "step: our reader read eight new sentences, and its table was the same before and after."
            ),
            "D": (
                "The positions do differ here, and they do enter the sum. But take the two chicken sentences: "
                "there, the word in question stood at the same place in both."
            ),
        },
    ),
]
