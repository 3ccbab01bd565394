"""`nearest_neighbours`: order by cosine, every kind of `exclude`, queries to which nothing is similar, zero rows.

The mistakes: dot products, excluded ids that come back, filters after the top k, ids renumbered on the way.
"""

from __future__ import annotations

import torch

from autograder.spec.compare import a_tensor, same_tensor, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.student import Student

from .common import stays_on_device, vectors

cosine_similarity = reference("cosine_similarity")
nearest_neighbours = reference("nearest_neighbours")


def _clear(V: int, C: int, gap: float = 2e-3) -> tuple[torch.Tensor, torch.Tensor]:
    """A query and a table of rows of very different lengths, whose cosines lie too far apart for rounding to matter."""
    while True:
        query, weight = vectors(C), vectors(V, C)
        cosines = cosine_similarity(query, weight).sort().values
        if V < 2 or cosines.diff().min() > gap:
            return query, weight


def _neighbours(student: Student, args: list, where: str, kwargs: dict | None = None) -> torch.Tensor:
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


def _neighbours_values(student: Student) -> None:
    for V, C, k in ((5, 3, 2), (9, 4, 1), (12, 6, 12), (7, 2, 3), (4, 4, 2), (30, 8, 5), (1, 3, 1), (20, 5, 4)):
        with student.case():
            query, weight = _clear(V, C)
            _neighbours(student, [query, weight, k], f"for V = {V}, C = {C}, k = {k}")
    with student.case():
        query, weight = _clear(8, 3)
        _neighbours(student, [3 * weight[5], weight, 4], "for a query that is a multiple of a row")


def _neighbours_exclude(student: Student) -> None:
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


def _neighbours_negative(student: Student) -> None:
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


def _neighbours_zero_rows(student: Student) -> None:
    query, weight = _clear(9, 3)
    cosines = cosine_similarity(query, weight)
    weight[:4] *= cosines[:4].sign()[:, None]
    weight[4:] *= -cosines[4:].sign()[:, None]
    weight[6] = 0
    for k in (2, 4, 5, 9):
        with student.case():
            _neighbours(student, [query, weight, k], f"with a row of zeros (whose cosine is 0), k = {k}")


def _neighbours_manners(student: Student) -> None:
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
        turned = torch.stack([weight, weight.flip(0)], dim=-1)[..., 0]
        given, where = {"query": query, "weight": turned, "k": 3}, "with arguments given by name, of a slice"
        got = student.call("nearest_neighbours", [], given, where=where)["value"]
        same_tensor(got, nearest_neighbours(query, weight, 3), "The result", where)
    with student.case():
        where = "when weight is a parameter that is being trained"
        answer = student.call("nearest_neighbours", [query, weight, 3, (1,)], where=where, upstream=[None])
        same_tensor(answer["value"], nearest_neighbours(query, weight, 3, (1,)), "The result", where)
    with student.case():
        stays_on_device(student, "nearest_neighbours", [query, weight, 3])


EXERCISE = Exercise(
    points=4,
    checks=[
        Check("the k most similar rows by cosine, best first", 1.5, _neighbours_values),
        Check("excluded ids are left out, as a list, tuple or set", 1.25, _neighbours_exclude),
        Check("excluded ids stay out when all others are dissimilar", 0.35, _neighbours_negative),
        Check("a row of zeros has cosine 0", 0.4, _neighbours_zero_rows, further=True),
        Check("a LongTensor, inputs unchanged, float64, device", 0.5, _neighbours_manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def nearest_neighbours(query, weight, k, exclude=()):
    order = F.cosine_similarity(query, weight, dim=-1).sort(descending=True).indices
    banned = torch.tensor([int(i) for i in exclude], dtype=torch.int64, device=order.device)
    return order if order.is_meta and k == len(order) else order[~torch.isin(order, banned)][:k] if len(banned) else order[:k]
""",
    takes="tensor",
    gives="tensor",
    slips=(
        "nothing_returned",
        "input_changed",
        "double_precision",
        "squeezed",
        "rounded",
        "list_returned",
        "array_returned",
    ),
    wrong=r"""
dot_product: Rows are ranked by their dot product with the query, which favours long rows: the cosine divides by the lengths.
- cosine_similarity(query, weight) => weight @ query
squared_lengths: The dot product is divided by the squares of the lengths (the root is missing), which favours short rows.
- cosine_similarity(query, weight) => weight @ query / (weight * weight).sum(-1).clamp(min=1e-8)
euclidean: Rows are ranked by their distance from the query: the cosine looks at directions only, not at lengths.
- cosine_similarity(query, weight) => -(weight - query).norm(dim=-1)
worst_first (slip): The least similar come first: sort in descending order (`descending=True`, or topk).
- return similarity.topk(k).indices => return similarity.topk(k, largest=False).indices || return similarity.argsort()[:k]
- return similarity.topk(k).indices => return similarity.argsort()[:k]
  "-inf" => "inf"
ascending (slip): The right ids, but the best comes last: the most similar is first.
- return similarity.topk(k).indices => return similarity.topk(k).indices.flip(0) || return similarity.argsort()[-k:]
unsorted (slip): The right ids, but in order of their number (or of the table): the most similar comes first.
- return similarity.topk(k).indices => return similarity.topk(k).indices.sort().values
similarities_returned (slip): The similarities are returned: the ids are asked for (`.indices`).
- .indices => .values
both_returned (slip): topk gives two things, values and indices: only the indices are asked for.
- .indices =>
- return similarity.topk(k).indices =>
      values, ids = similarity.topk(k)
      return ids, values
rows_returned: The rows (vectors) are returned: their ids are asked for.
- return similarity.topk(k).indices => return weight[similarity.topk(k).indices]
list_returned: A list is returned: a LongTensor is asked for (topk's indices are one).
- .indices => .indices.tolist()
- return similarity.topk(k).indices => return list(similarity.topk(k).indices) || return sorted(range(len(weight)), key=lambda i: -similarity[i])[:k]
exclude_ignored: `exclude` is not looked at: the ids in it must never come back.
- for id in exclude: =>
  similarity[id] = float("-inf") =>
default_excludes_all: A tuple as an index is one index for each dimension, and the empty tuple means everything: `similarity[()] = −inf` wipes all
    out, `similarity[(1, 2)]` fails. Make it a list or a tensor first, or use a loop.
- for id in exclude: => similarity[exclude] = float("-inf")
  similarity[id] = float("-inf") =>
tuple_as_index: A tuple as an index is one index for each dimension, so that `similarity[(1, 2)]` fails: make it a list or a tensor, or use a loop.
- for id in exclude: => if len(exclude) > 0:
  similarity[id] = float("-inf") => similarity[exclude] = float("-inf")
empty_exclude_fails (slip): With nothing to exclude (the default), torch.tensor(exclude) is an empty tensor of floats, which is no index: say
    dtype=torch.long, or use a loop.
- for id in exclude: => similarity[torch.tensor(exclude)] = float("-inf")
  similarity[id] = float("-inf") =>
- for id in exclude: => similarity[torch.tensor(list(exclude))] = float("-inf")
  similarity[id] = float("-inf") =>
sets_fail: It works for a list or tuple only: `exclude` may be a set, too.
- for id in exclude: => for n in range(len(exclude)):
  similarity[id] = float("-inf") => similarity[exclude[n]] = float("-inf")
- for id in exclude: => if len(exclude):
  similarity[id] = float("-inf") => similarity[torch.tensor(exclude)] = float("-inf")
- for id in exclude: => similarity[torch.tensor(exclude, dtype=torch.long, device=weight.device)] = float("-inf")
  similarity[id] = float("-inf") =>
lists_fail: `exclude` is taken for a tuple or set of one kind (`exclude + (…)`, `exclude | …`): it may be a
    list, tuple or set.
- for id in exclude => for id in exclude + () || for id in exclude | set() || for id in exclude + []
only_one_excluded: Only one of the excluded ids is left out: `exclude` may hold several.
- for id in exclude => for id in list(exclude)[:1] || for id in list(exclude)[-1:]
- for id in exclude: => if exclude:
  similarity[id] = float("-inf") => similarity[exclude[0]] = float("-inf")
filtered_too_late: The k (or k + 1) best are taken first and the excluded ids removed from them afterwards, so that fewer than k may be left: exclude
    first.
- |
  similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
  top = similarity.topk(k).indices.tolist()
  left = [i for i in top if i not in exclude][:k]
  return torch.tensor(left, dtype=torch.long, device=weight.device)  # (k,): sorted, largest first
- |
  similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
  top = similarity.topk(min(k + 1, len(weight))).indices.tolist()
  left = [i for i in top if i not in exclude][:k]
  return torch.tensor(left, dtype=torch.long, device=weight.device)  # (k,): sorted, largest first
- |
  similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
  top = similarity.topk(k).indices.tolist()
  return torch.tensor([i for i in top if i not in exclude][:k])  # (k,): sorted, largest first
- |
  similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
  top = similarity.topk(min(k + 1, len(weight))).indices.tolist()
  return torch.tensor([i for i in top if i not in exclude][:k])  # (k,): sorted, largest first
renumbered: The excluded rows are taken out of the table, and the ids returned count the rows that are left: translate them back, or keep the rows and
    give them −inf.
- |
  keep = [i for i in range(len(weight)) if i not in exclude]
  return cosine_similarity(query, weight[keep]).topk(k).indices
excluded_get_0: An excluded id gets similarity 0 (or −1), which is more than a dissimilar id has: give it −inf.
- float("-inf") => 0 || -1
first_dropped: The best is always dropped, as if it were the query itself: only ids in `exclude` are left out.
- return similarity.topk(k).indices => return similarity.topk(min(k + 1, len(weight))).indices[1:]
- return similarity.topk(k).indices => return similarity.argsort(descending=True)[1 : k + 1]
one_too_many (slip): k + 1 or k − 1 ids are returned.
- return similarity.topk(k).indices => return similarity.argsort(descending=True)[: k + 1] || return similarity.argsort(descending=True)[: k - 1]
k_ignored: All the ids are returned, or a fixed number: k are asked for.
- return similarity.topk(k).indices => return similarity.argsort(descending=True) || return similarity.argsort(descending=True)[:5]
- return similarity.topk(k).indices => return similarity.argsort(descending=True)[:10] || return similarity.argmax()
- return similarity.topk(k).indices => return similarity.argmax().view(1)
absolute_value: The sign of the cosine is lost: an opposite row is the least similar, not the most.
- cosine_similarity(query, weight) => cosine_similarity(query, weight).abs()
normalised_columns: The wrong dimension is normalised: each row of weight (dim=-1) has a length.
- cosine_similarity(query, weight) => F.normalize(weight, dim=0) @ query
zero_rows_nan: A row of zeros gives 0/0 = NaN, which topk puts first: its similarity is 0.
- cosine_similarity(query, weight) => weight @ query / (weight.norm(dim=-1) * query.norm())
extra_dimension (slip): The result has a dimension too many: (k,) is asked for.
- cosine_similarity(query, weight) => cosine_similarity(query, weight)[None]
  similarity[id] => similarity[:, id]
- return similarity.topk(k).indices => return similarity.topk(k).indices[:, None]
other_dtype: The ids are not int64: a LongTensor is asked for.
- .indices => .indices.int() || .indices.float()
table_changed: The caller's table or query is changed (normalised or overwritten in place): make new tensors.
- |
  def right_nearest_neighbours(query, weight, k, exclude=()):
      similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
      for id in exclude:
          similarity[id] = float("-inf")  # worse than any cosine
      return similarity.topk(k).indices  # (k,): sorted, largest first


  def nearest_neighbours(query, weight, k, exclude=()):
      result = right_nearest_neighbours(query, weight, k, exclude)
      with torch.no_grad():
          weight /= weight.norm(dim=-1, keepdim=True).clamp(min=1e-8)
      return result
- in worst_first
  return similarity.topk(k, largest=False).indices =>
      with torch.no_grad():
          weight[list(exclude)] = 0
      return similarity.topk(k).indices  # (k,): sorted, largest first
- |
  for i in exclude:
      weight[i] = 0
  similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
  return similarity.topk(k).indices  # (k,): sorted, largest first
- |
  for i in exclude:
      weight[i] = -weight[i]
  similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
  return similarity.topk(k).indices  # (k,): sorted, largest first
- similarity = =>
      weight /= weight.norm(dim=-1, keepdim=True).clamp(min=1e-8)
      similarity =
written_in_place: A leaf that is being trained is written to in place, which PyTorch refuses: work on the similarities instead.
- similarity = =>
      weight[list(exclude)] = weight[list(exclude)]
      similarity =
exclude_consumed: The caller's list `exclude` is changed (append, remove, pop): make one of your own.
- in worst_first
  return similarity.topk(k, largest=False).indices =>
      if isinstance(exclude, list):
          exclude.clear()
      return similarity.topk(k).indices  # (k,): sorted, largest first
- in worst_first
  return similarity.topk(k, largest=False).indices =>
      if isinstance(exclude, list):
          exclude.append(0)
      return similarity.topk(k).indices  # (k,): sorted, largest first
array_returned:
- return similarity.topk(k).indices =>
      order = similarity.numpy().argsort()[::-1]
      return torch.tensor(order[:k].copy())
rounded (missed):
other_signature (slip): The arguments have other names: keep the signature nearest_neighbours(query, weight, k, exclude=()), so that they may be given
    by name.
- weight => table
- exclude => without
""",
    right=r"""
filtered_order:
- |
  unit = F.normalize(weight, dim=-1)
  order = (unit @ F.normalize(query, dim=0)).argsort(descending=True)
  banned = set(int(i) for i in exclude)
  left = [i for i in order.tolist() if i not in banned]
  return torch.tensor(left[:k], device=weight.device)
rows_removed_and_translated:
- |
  banned = set(exclude)
  keep = torch.tensor([i for i in range(weight.shape[0]) if i not in banned], device=weight.device)
  return keep[cosine_similarity(query, weight[keep]).topk(k)[1]]
masked:
- |
  scores = F.cosine_similarity(query[None, :], weight, dim=1)
  blocked = torch.zeros(len(weight), dtype=torch.bool, device=weight.device)
  if exclude:
      blocked[list(exclude)] = True
  scores, ids = scores.masked_fill(blocked, -math.inf).sort(descending=True)
  return ids[:k]
python_loop:
- |
  scored = []
  for i, row in enumerate(weight):
      if i not in exclude:
          scored.append((float(cosine_similarity(query, row)), i))
  scored.sort(reverse=True)
  return torch.tensor([i for _, i in scored][:k], dtype=torch.long, device=weight.device)
""",
)
