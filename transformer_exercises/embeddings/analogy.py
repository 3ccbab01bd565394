"""`analogy`: tables with one clear answer, in which a, b or c would win or rows differ in length.

The mistakes: signs, dot products for cosines, a, b or c not excluded, rows normalised before they are added.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import dtype_name, kind, unchanged
from autograder.spec.course import reference
from autograder.spec.exercise import Check, Exercise, ValuesDiffer, Wrong
from autograder.spec.inputs import normal
from autograder.spec.student import Student

from .common import an_int, vectors

analogy = reference("analogy")
cosine_similarity = reference("cosine_similarity")


def _analogy_case(V: int, C: int, equal: bool = True, nearest: str = "") -> tuple[int, int, int, torch.Tensor]:
    """Three ids and a table in which the answer is clear: none of the three is nearer but one named as `nearest`.

    With `equal`, their rows have one length, so that it does not matter whether they are normalised first; otherwise it
    does. The other rows always have very different lengths.
    """
    while True:
        weight = vectors(V, C)
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
    return an_int(got, f"The result {where}")


def _analogy_asked(student: Student, a: int, b: int, c: int, weight: torch.Tensor, where: str) -> int:
    got = _an_id(student.value("analogy", a, b, c, weight, where=where), where)
    if got in (a, b, c):
        raise ValuesDiffer(f"The id of a, b or c itself is returned {where}: these three are never the answer.")
    if got != analogy(a, b, c, weight):
        raise ValuesDiffer(f"The id {where} is not the one whose row is nearest, by cosine, to b − a + c.")
    return got


def _analogy_values(student: Student) -> None:
    for V, C in ((12, 4), (9, 5), (20, 3), (15, 8), (5, 5), (30, 6), (10, 2), (4, 3)):
        with student.case():
            a, b, c, weight = _analogy_case(V, C)
            _analogy_asked(student, a, b, c, weight, f"for a = {a}, b = {b}, c = {c}, V = {V}, C = {C}")


def _analogy_never(student: Student) -> None:
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
                weight = vectors(9, 4)
                weight[[*twice]] = 1.7 * F.normalize(weight[[*twice]], dim=-1)
                best = _ranked(*twice, weight)
                if best[0][0] - best[1][0] > 5e-3:
                    break
            _analogy_asked(student, *twice, weight, where)


def _analogy_raw(student: Student) -> None:
    for V, C in ((9, 3), (14, 4)):
        with student.case():
            a, b, c, weight = _analogy_case(V, C, equal=False)
            where = f"for rows a, b and c of different lengths, V = {V}, C = {C}"
            got = _an_id(student.value("analogy", a, b, c, weight, where=where), where)
            if got != analogy(a, b, c, weight):
                raise ValuesDiffer(
                    f"The id {where} is wrong: b − a + c is made of the rows as they are, not normalised first."
                )


def _analogy_int(student: Student) -> None:
    a, b, c, weight = _analogy_case(10, 4)
    got = student.value("analogy", a, b, c, weight)
    _analogy_asked(student, a, b, c, weight, "in a small table")
    if type(got) is not int:
        raise Wrong(f"The id should be a Python int; yours is {kind(got)}: `.item()` takes a number out of a tensor.")


def _analogy_manners(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            a, b, c, weight = _analogy_case(8, 3)
            weight = weight.to(dtype)
            where = f"in {dtype_name(weight)}"
            answer = student.call("analogy", [a, b, c, weight], where=where)
            if _an_id(answer["value"], where) != analogy(a, b, c, weight):
                raise ValuesDiffer(f"The id {where} is wrong.")
            unchanged(answer["inputs"], [weight], "weight")
    with student.case():
        a, b, c, weight = _analogy_case(8, 3)
        given, where = {"a": a, "b": b, "c": c, "weight": weight.T.contiguous().T}, "with arguments given by name"
        if _an_id(student.call("analogy", [], given, where=where)["value"], where) != analogy(a, b, c, weight):
            raise ValuesDiffer(f"The id {where}, of a transpose, is wrong.")
    with student.case():
        a, b, c, weight = _analogy_case(8, 3)
        where = "when weight is a parameter that is being trained"
        got = student.call("analogy", [a, b, c, weight], where=where, upstream=[None])["value"]
        if _an_id(got, where) != analogy(a, b, c, weight):
            raise ValuesDiffer(f"The id {where} is wrong.")


EXERCISE = Exercise(
    points=3,
    checks=[
        Check("the row nearest to b − a + c by cosine", 1.5, _analogy_values),
        Check("never a, b or c themselves", 0.7, _analogy_never, further=True),
        Check("made of the rows as they are", 0.25, _analogy_raw, further=True),
        Check("a Python int", 0.25, _analogy_int, further=True),
        Check("float64, weight unchanged", 0.3, _analogy_manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def analogy(a, b, c, weight):
    cosines = F.cosine_similarity(weight[b] - weight[a] + weight[c], weight, dim=-1)
    return cosines.index_fill(0, torch.tensor([a, b, c]), -2.0).argmax().item()
""",
    takes="number",
    gives="number",
    slips=(
        "nothing_returned",
        "text_returned",
    ),
    wrong=r"""
signs: The three vectors are put together with other signs: it is b − a + c (take from b what a means, and add c).
- weight[b] - weight[a] + weight[c] => weight[a] * 1 + weight[b] * -1 + weight[c] * 1 || weight[a] * 1 + weight[b] * 1 + weight[c] * -1
- weight[b] - weight[a] + weight[c] => weight[a] * 1 + weight[b] * 1 + weight[c] * 1 || weight[a] * -1 + weight[b] * 1 + weight[c] * -1
- weight[b] - weight[a] + weight[c] => weight[a] * -1 + weight[b] * -1 + weight[c] * 1
one_left_out: One of the three vectors is left out: it is b − a + c.
- weight[b] - weight[a] + weight[c] => weight[b] - weight[a] || weight[b] + weight[c] || weight[c] - weight[a]
ids_added (missed): The arithmetic is done with the ids: they carry no meaning, the rows of weight do.
- weight[b] - weight[a] + weight[c] => weight[(b - a + c) % len(weight)]
- target = weight[b] - weight[a] + weight[c] => return b - a + c
  return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() =>
dot_product: Rows are ranked by their dot product with b − a + c, which favours long rows: nearest by cosine is asked for.
- |
  scores = weight @ (weight[b] - weight[a] + weight[c])
  scores = scores.detach().clone()
  scores[[a, b, c]] = -math.inf
  return scores.argmax().item()
euclidean: Rows are ranked by their distance from b − a + c: nearest by cosine is asked for.
- in dot_product
  weight @ (weight[b] - weight[a] + weight[c] => -(weight - (weight[b] - weight[a] + weight[c])).norm(dim=-1
itself_allowed: a, b and c are not excluded, and one of them (often b or c) is nearest: they are never the answer.
- , exclude=(a, b, c) =>
not_all_excluded: Only some of a, b and c are excluded: none of the three is ever the answer.
- (a, b, c)) => (a, b)) || (a, c)) || (b, c)) || (a,)) || (b,)) || (c,))
normalised_first: The rows are divided by their lengths before they are added (as in Mikolov's own program): here b − a + c is made of the rows as
    they are.
- target = weight[b] - weight[a] + weight[c] =>
      unit = F.normalize(weight, dim=-1)
      target = unit[b] - unit[a] + unit[c]  # (C,)
tensor_returned: A tensor is returned: `.item()` makes it a Python int.
- .item() =>
- .item() => [0]
list_returned: A list is returned: one id is asked for, an int.
- .item() => .tolist()
float_returned: A float is returned: an id is an int.
- return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() => return float(nearest_neighbours(target, weight, k=1, exclude=(a, b, c)))
similarity_returned (slip): A similarity is returned: the id of the nearest row is asked for (argmax, not max).
- |
  scores = cosine_similarity(weight[b] - weight[a] + weight[c], weight).detach().clone()
  scores[[a, b, c]] = -math.inf
  return scores.max().item()
vector_returned: A vector is returned: the id of the nearest row is asked for.
- return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() => return target
- return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() => return weight[nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()]
farthest (slip): The least similar row is returned: the nearest one is asked for.
- nearest_neighbours(target => nearest_neighbours(-target
second_best (slip): The second best is returned, as if the best were one of a, b and c: they are excluded already.
- 1, exclude=(a, b, c)) => min(2, len(weight) - 3), exclude=(a, b, c))[-1]
always_the_fourth: The fourth nearest row is returned, as if a, b and c were always the first three: exclude them, and take the nearest.
- return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() =>
      ids = nearest_neighbours(target, weight, k=min(4, len(weight)))
      return ids[-1].item()
renumbered: The rows of a, b and c are taken out of the table, and the id returned counts the rows that are left: translate it back.
- target = weight[b] - weight[a] + weight[c] => keep = [i for i in range(len(weight)) if i not in (a, b, c)]
  return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() => return nearest_neighbours(weight[b] - weight[a] + weight[c], weight[keep], 1).item()
table_changed: The caller's table is changed: `weight[b]` is a view, so `-=` and `+=` on it (or writing to rows a, b, c) change weight itself.
- target = weight[b] - weight[a] + weight[c] =>
      target = weight[b]
      target -= weight[a]
      target += weight[c]
- |
  def right_analogy(a, b, c, weight):
      target = weight[b] - weight[a] + weight[c]  # (C,)
      return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()


  def analogy(a, b, c, weight):
      result = right_analogy(a, b, c, weight)
      with torch.no_grad():
          weight[[a, b, c]] = 0
      return result
- target = weight[b] - weight[a] + weight[c] =>
      target = weight[b]
      with torch.no_grad():
          target += weight[c] - weight[a]
zeroed_rows: a, b and c get similarity 0 instead of −inf, so that one of them comes back when all others are dissimilar.
- |
  scores = cosine_similarity(weight[b] - weight[a] + weight[c], weight).detach().clone()
  scores[[a, b, c]] = 0
  return scores.argmax().item()
other_signature (slip): The arguments have other names: keep the signature analogy(a, b, c, weight), so that they may be given by name.
- weight => table
""",
    right=r"""
by_hand:
- |
  target = weight[b] + weight[c] - weight[a]
  scores = (weight @ target) / (weight.norm(dim=1) * target.norm()).clamp(min=1e-8)
  scores = scores.detach().clone()
  for i in (a, b, c):
      scores[i] = -float('inf')
  return int(scores.argmax())
first_that_is_allowed:
- |
  order = nearest_neighbours(weight[b] - weight[a] + weight[c], weight, min(4, len(weight)))
  for i in order.tolist():
      if i not in {a, b, c}:
          return i
exclude_set:
- target = weight[b] - weight[a] + weight[c] => return int(nearest_neighbours(weight[b] - weight[a] + weight[c], weight, 1, {a, b, c})[0])
  return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() =>
loop:
- |
  target, best, best_id = weight[b] - weight[a] + weight[c], -2.0, None
  for i in range(weight.size(0)):
      if i in [a, b, c]:
          continue
      s = cosine_similarity(target, weight[i]).item()
      if s > best:
          best, best_id = s, i
  return best_id
""",
)
