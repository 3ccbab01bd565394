"""`skipgram_step`: both tables after one step, rows that occur once and rows that occur often, large scores.

The mistakes: the last of several gradients wins, one table for two, signs, means and sums, a table that stays behind.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from autograder.spec.compare import a_pair, a_tensor, same_tensor, unchanged
from autograder.spec.exercise import Check, Exercise, Wrong
from autograder.spec.inputs import generator_unchanged, normal
from autograder.spec.student import Student

from .common import some_ids, stays_on_device

ARGUMENTS = ("vectors", "contexts", "centre", "context", "negatives", "learning_rate")
NAMES = ("The new `vectors`", "The new `contexts`")
INPUTS = "`vectors`, `contexts`, `centre`, `context`, `negatives`"


def _stepped(args: list) -> list[torch.Tensor]:
    """By autograd, which is the other road to it than the reference's."""
    *tables, centre, context, negatives, rate = args
    vectors, contexts = (table.clone().requires_grad_(True) for table in tables)
    true = (vectors[centre] * contexts[context]).sum(-1)
    drawn = torch.einsum("bc,bkc->bk", vectors[centre], contexts[negatives])
    loss = (F.softplus(-true) + F.softplus(drawn).sum(-1)).mean()
    gradients = torch.autograd.grad(loss, [vectors, contexts])
    return [table - rate * gradient for table, gradient in zip(tables, gradients, strict=True)]


def _different(V: int, *, B: int, K: int) -> list[torch.Tensor]:
    """Ids of which none occurs twice in its table."""
    shuffled = normal(V).argsort()
    centre, context, negatives = normal(V).argsort()[:B], shuffled[:B], shuffled[B : B + B * K].reshape(B, K)
    return [centre, context, negatives]


def _tables(V: int, C: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [normal(V, C, dtype=dtype), normal(V, C, dtype=dtype)]


def _two(got: Any, expected: list[torch.Tensor], where: str, rough: bool = False) -> None:
    for mine, own, name in zip(a_pair(got, "(vectors, contexts)"), expected, NAMES, strict=True):
        same_tensor(mine, own, name, where, rough)


def _asked(student: Student, args: list, where: str, rough: bool = False) -> None:
    with student.case():
        _two(student.value("skipgram_step", *args, where=where), _stepped(args), where, rough)


def _step_values(student: Student) -> None:
    tables = [torch.tensor([[1.0, 0.0], [0.0, 2.0]]), torch.tensor([[2.0, 5.0], [-1.0, 3.0]])]
    ids = [torch.tensor([0]), torch.tensor([0]), torch.tensor([[1]])]
    _asked(student, [*tables, *ids, 1.0], "for the pair of the example")
    for V, C, B, K, rate in ((12, 3, 2, 4, 0.5), (9, 4, 1, 3, 2.0), (15, 5, 6, 1, 0.1), (11, 2, 3, 2, 25.0)):
        where = f"for V = {V}, C = {C}, B = {B}, K = {K}, learning rate {rate:g}, no id twice"
        _asked(student, [*_tables(V, C), *_different(V, B=B, K=K), rate], where)


def _step_repeated(student: Student) -> None:
    for centre, context, negatives, where in (
        ([1, 1, 1], [0, 2, 3], [[4, 5], [6, 7], [8, 9]], "when one centre has three contexts"),
        ([0, 2, 3], [5, 5, 5], [[1, 2], [3, 4], [6, 7]], "when one context has three centres"),
        ([0, 2], [1, 3], [[4, 4, 4], [5, 6, 7]], "when a negative is drawn three times for one pair"),
        ([0, 2], [1, 3], [[4, 5, 6], [4, 5, 6]], "when two pairs have the same negatives"),
        ([0, 2], [1, 3], [[1, 5, 6], [7, 1, 3]], "when a negative happens to be a true context"),
        ([0, 0], [0, 0], [[0], [0]], "when it is the same id throughout"),
    ):
        ids = [torch.tensor(centre), torch.tensor(context), torch.tensor(negatives)]
        _asked(student, [*_tables(10, 3), *ids, 1.5], where)
    for V, B, K in ((6, 40, 5), (4, 17, 3)):
        ids = [some_ids((B,), V), some_ids((B,), V), some_ids((B, K), V)]
        _asked(student, [*_tables(V, 4), *ids, 3.0], f"for V = {V}, B = {B}, K = {K}")


def _step_stable(student: Student) -> None:
    for true, drawn in ((-1e4, 1e4), (1e4, -1e4), (-200.0, 0.5), (0.5, 200.0)):
        vectors = torch.full((5, 4), 10.0)
        contexts = normal(5, 4) * 0.0
        contexts[0], contexts[1:] = true / 40, drawn / 40
        ids = [torch.tensor([3, 1]), torch.tensor([0, 0]), torch.tensor([[1, 2, 4], [3, 2, 1]])]
        where = f"when the scores with contexts are {true:g} and with negatives {drawn:g}"
        _asked(student, [vectors, contexts, *ids, 2.0], where, rough=True)


_KEPT = """
def kept(tensor):
    return tensor.clone()
"""

_TRAINED = """
def trained(tensor):
    return tensor.requires_grad
"""


def _step_again(student: Student) -> None:
    """The very same tables, as a training loop or a careful reader would pass them twice."""
    tables, ids = _tables(9, 3), _different(9, B=2, K=3)
    expected, keeping = _stepped([*tables, *ids, 2.0]), student.probe("kept", _KEPT)
    theirs = [student.call(keeping, [table], keep=True, record=False)["value"] for table in tables]
    for where in ("the first time", "the second time, with the same arguments"):
        with student.case():
            got = student.call("skipgram_step", [*theirs, *ids, 2.0], where=where)["value"]
            _two(got, expected, where)
            if any(a_tensor(one, "A table").was_differentiable for one in got):  # type: ignore[attr-defined]
                raise Wrong(
                    "A graph hangs on the result (`requires_grad` is True): each further step makes it longer, and a "
                    "thousand of them fill the memory. Return both tables detached.",
                    "graph_kept",
                )
            if any(student.value(student.probe("trained", _TRAINED), table) for table in theirs):
                raise Wrong(
                    "The tables that were given ask for gradients now (`requires_grad_`): they should stay as they "
                    "were. Work with copies.",
                    "input_changed",
                )


def _step_manners(student: Student) -> None:
    for V, dtype in ((10, torch.float32), (13, torch.float64)):
        with student.case():
            args: list = [*_tables(V, 3, dtype), *_different(V, B=2, K=3), 1.5]
            answer = student.call("skipgram_step", args)
            _two(answer["value"], _stepped(args), "in float64" if dtype == torch.float64 else "")
            unchanged(answer["inputs"], args[:5], INPUTS)
            generator_unchanged(answer)
    *_, centre, context, negatives, _ = args
    turned = [normal(3, 13).T, normal(3, 13).T, centre, context, negatives.T.contiguous().T]
    with student.case():
        where = "for transposes (not contiguous)"
        _two(student.value("skipgram_step", *turned, 1.5, where=where), _stepped([*turned, 1.5]), where)
    with student.case():
        given, where = dict(zip(ARGUMENTS, [*turned, 1.5], strict=True)), "with arguments given by name"
        _two(student.call("skipgram_step", [], given, where=where)["value"], _stepped([*turned, 1.5]), where)
    with student.case():
        stays_on_device(student, "skipgram_step", [*_tables(10, 3), *_different(10, B=2, K=3), 1.5])


EXERCISE = Exercise(
    points=5,
    checks=[
        Check("both tables after a step, every id once", 2.25, _step_values),
        Check("rows that occur several times get all their gradients", 1.0, _step_repeated),
        Check("stable for scores of ±1e4", 0.5, _step_stable, further=True),
        Check("the same call twice, and no graph on the result", 0.5, _step_again, further=True),
        Check("dtype kept, inputs unchanged, any device", 0.75, _step_manners, further=True),
    ],
    working=r"""
import torch
import torch.nn.functional as F

def skipgram_step(vectors, contexts, centre, context, negatives, learning_rate):
    tables = [torch.nn.Parameter(table.detach().clone()) for table in (vectors, contexts)]
    asked = F.embedding(torch.cat([context[:, None], negatives], dim=1), tables[1])
    scores = torch.bmm(asked, F.embedding(centre, tables[0])[:, :, None])[:, :, 0]
    answers = torch.zeros_like(scores)
    answers[:, 0] = 1
    loss = F.binary_cross_entropy_with_logits(scores, answers, reduction="sum") / len(centre)
    loss.backward()
    torch.optim.SGD(tables, lr=learning_rate).step()
    return tables[0].detach(), tables[1].detach()
""",
    takes="tensor",
    gives="pair",
    slips=(
        "nothing_returned",
        "input_changed",
        "single_precision",
        "double_precision",
        "rounded",
        "list_returned",
        "global_generator",
    ),
    wrong=r"""
uphill: The step goes uphill: the gradient points to where the loss rises, so it is subtracted.
- -learning_rate => learning_rate
sum_over_batch: The losses of the batch are summed: the loss is their mean over the B pairs.
- / len(centre) =>
mean_over_negatives: The negatives are averaged: their terms are summed for each pair, and only the mean over B is taken.
- / len(centre)  # (B, K) => / negatives.numel()  # (B, K)
- in autograd
  F.logsigmoid(-drawn).sum(dim=-1) => F.logsigmoid(-drawn).mean(dim=-1)
mean_over_everything: The mean is taken over all 1 + K answers: sum the answers of a pair, and take the mean over B.
- / len(centre) => / len(centre) / (1 + negatives.shape[1])
last_one_wins: Where a row occurs several times, only one of its gradients counts (`table[ids] -= …` writes each row once): add them all up, with
    index_add or index_put(…, accumulate=True).
- new_vectors = vectors.index_add(0, centre, -learning_rate * at_centre) =>
      new_vectors = vectors.clone()
      new_vectors[centre] -= learning_rate * at_centre
  new_contexts = contexts.index_add(0, context, -learning_rate * at_context) =>
      new_contexts = contexts.clone()
      new_contexts[context] -= learning_rate * at_context
  new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * at_negatives.flatten(0, 1)) =>
      new_contexts[negatives] -= learning_rate * at_negatives
- new_vectors = vectors.index_add(0, centre, -learning_rate * at_centre) =>
      new_vectors = vectors.clone()
      new_vectors[centre] -= learning_rate * at_centre
- new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * at_negatives.flatten(0, 1)) =>
      new_contexts[negatives] -= learning_rate * at_negatives
- new_contexts = contexts.index_add(0, context, -learning_rate * at_context) =>
      new_contexts = contexts.clone()
      new_contexts[context] -= learning_rate * at_context
mean_of_repeated: Where a row occurs several times, the mean of its gradients is taken: they are added up.
- new_vectors = vectors.index_add(0, centre, -learning_rate * at_centre) =>
      often = torch.bincount(centre, minlength=len(vectors)).clamp(min=1)[:, None]
      new_vectors = vectors + torch.zeros_like(vectors).index_add(0, centre, -learning_rate * at_centre) / often
one_pair_after_the_other: The pairs are gone through one after the other, each with the tables that the last one left: all gradients are those at
    the old tables.
- |
  vectors, contexts = vectors.clone(), contexts.clone()
  for i, j, drawn in zip(centre, context, negatives):
      c, o, n = vectors[i].clone(), contexts[j].clone(), contexts[drawn].clone()
      miss, wrong = torch.sigmoid(c @ o) - 1, torch.sigmoid(n @ c)
      vectors[i] -= learning_rate * (miss * o + wrong @ n) / len(centre)
      contexts[j] -= learning_rate * miss * c / len(centre)
      contexts.index_add_(0, drawn, -learning_rate * wrong[:, None] * c / len(centre))
  return vectors, contexts
contexts_after_vectors: The second table is moved with the first one's new rows: both gradients are those at the old tables.
- new_contexts = contexts.index_add(0, context, -learning_rate * at_context) =>
      c = new_vectors[centre]
      new_contexts = contexts.index_add(0, context, -learning_rate * missing[:, None] * c)
      at_negatives = wrong[:, :, None] * c[:, None, :]
own_context_skipped: A negative that happens to be the pair's own context is left out: here it counts like any other.
- wrong = torch.sigmoid(drawn) / len(centre) => wrong = torch.sigmoid(drawn) * (negatives != context[:, None]) / len(centre)
vectors_only: Only the table of centre vectors is moved: contexts and negatives are trained, too.
- return new_vectors, new_contexts => return new_vectors, contexts.clone()
contexts_only: Only the table of context vectors is moved: the centre vectors are trained, too.
- return new_vectors, new_contexts => return vectors.clone(), new_contexts
negatives_from_vectors: The negatives are looked up in `vectors`: context and negatives are both rows of `contexts`.
- in autograd
  u[context], u[negatives] => u[context], v[negatives]
negatives_not_moved: The negatives are not moved (or get no gradient): they are pushed away from the centre.
- new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * at_negatives.flatten(0, 1)) =>
context_not_moved: The true context is not moved, or what happened to it is lost where the negatives start from the old table again: both changes
    belong in one new table.
- contexts.index_add(0, context, -learning_rate * at_context) => contexts.clone()
positive_only: The negatives are left out of the loss: without them all vectors turn the same way.
- missing[:, None] * o + (wrong[:, :, None] * n).sum(dim=1) => missing[:, None] * o
  new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * at_negatives.flatten(0, 1)) =>
negatives_only: The true pair is left out of the loss: −log σ(c·o) belongs to it.
- missing[:, None] * o + ( => (
  contexts.index_add(0, context, -learning_rate * at_context) => contexts.clone()
centre_pulled_only: The centre gets the gradient of only one part: it is pulled to the true context and pushed away from every negative.
- missing[:, None] * o + (wrong[:, :, None] * n).sum(dim=1) => missing[:, None] * o
- missing[:, None] * o + ( => (
negatives_pulled: The negatives are pulled to the centre: their terms have a minus sign inside the σ, −log σ(−c·n).
- wrong = torch.sigmoid(drawn) => wrong = -torch.sigmoid(-drawn)
sign_of_negatives: The negatives' part has the wrong sign: its gradient is +σ(c·n), so that the step makes the score smaller.
- wrong = torch.sigmoid(drawn) => wrong = -torch.sigmoid(drawn)
positive_pushed: The true context is pushed away: its gradient is σ(c·o) − 1, which is negative.
- torch.sigmoid(true) - 1 => 1 - torch.sigmoid(true) || torch.sigmoid(true)
no_sigmoid: The σ is missing, so the push does not depend on how wrong the answer was: the gradient is σ(score) minus the right answer.
- torch.sigmoid(true) - 1 => -torch.ones_like(true)
  torch.sigmoid(drawn) => torch.ones_like(drawn)
- torch.sigmoid(true) - 1 => true - 1
  torch.sigmoid(drawn) => drawn
softmax: This is the gradient of a softmax over context and negatives: skip-gram with negative sampling asks a yes/no question about each, with σ.
- missing = (torch.sigmoid(true) - 1) / len(centre) =>
      p = torch.softmax(torch.cat([true[:, None], drawn], dim=1), dim=1) / len(centre)
      missing = p[:, 0] - 1 / len(centre)
  torch.sigmoid(drawn) / len(centre) => p[:, 1:]
no_logarithm: The logarithm is missing: the loss is made of −log σ(…), not of −σ(…).
- (torch.sigmoid(true) - 1) / len(centre) => -torch.sigmoid(true) * torch.sigmoid(-true) / len(centre)
  torch.sigmoid(drawn) / len(centre) => torch.sigmoid(drawn) * torch.sigmoid(-drawn) / len(centre)
one_table: The contexts (or the negatives) are looked up in `vectors`: a word has two vectors, and as a context it uses the other table.
- contexts[context], contexts[negatives] => vectors[context], vectors[negatives]
- contexts[negatives]  # => vectors[negatives]  #
tables_swapped: The two tables are swapped: centres are rows of `vectors`, contexts and negatives of `contexts`; they are returned in this order.
- return new_vectors, new_contexts => return new_contexts, new_vectors
- c, o, n = vectors[centre], contexts[context], contexts[negatives] => c, o, n = contexts[centre], vectors[context], vectors[negatives]
pair_turned: Centre and context are swapped: `centre` names rows of `vectors`, `context` rows of `contexts`.
- contexts[negatives]  # (B, C), (B, C), (B, K, C) =>
      contexts[negatives]
      centre, context = context, centre
      c, o = vectors[centre], contexts[context]
rate_ignored (slip): The learning rate is ignored, or fixed in the code: use the argument.
- -learning_rate => -0.1 || -0.025 || -1.0
updates_returned: What is returned are the changes (or the gradients): the new tables are asked for.
- return new_vectors, new_contexts => return new_vectors - vectors, new_contexts - contexts
- return new_vectors, new_contexts => return (vectors - new_vectors) / learning_rate, (contexts - new_contexts) / learning_rate
rows_returned: Only the rows that were used are returned: both whole tables are asked for.
- return new_vectors, new_contexts => return new_vectors[centre], new_contexts[context]
tables_returned (missed): The tables come back as they went in: no step is taken.
- return new_vectors, new_contexts => return vectors, contexts
loss_returned (missed): The loss is returned: the two new tables are asked for.
- |
  c, o, n = vectors[centre], contexts[context], contexts[negatives]
  return (-F.logsigmoid((c * o).sum(-1)) - F.logsigmoid(-(n * c[:, None]).sum(-1)).sum(-1)).mean()
list_of_two (slip): A list of two is returned: return the tuple, `return vectors, contexts`.
- return new_vectors, new_contexts => return [new_vectors, new_contexts]
two_steps (slip): Two steps are taken: one call is one step.
- return new_vectors, new_contexts => return 2 * new_vectors - vectors, 2 * new_contexts - contexts
normalised: The vectors are brought to length 1 (or compared by cosine): the tables are taken as they are.
- return new_vectors, new_contexts => return F.normalize(new_vectors, dim=-1), F.normalize(new_contexts, dim=-1)
- c, o, n = vectors[centre], contexts[context], contexts[negatives] => c, o, n = (F.normalize(t, dim=-1) for t in (vectors[centre], contexts[context], contexts[negatives]))
clipped: The scores (or the gradients) are clipped: the loss is taken as it is.
- (c * o).sum(dim=-1) => (c * o).sum(dim=-1).clamp(-1, 1)
  (n * c[:, None, :]).sum(dim=-1) => (n * c[:, None, :]).sum(dim=-1).clamp(-1, 1)
- return new_vectors, new_contexts =>
      shorten = lambda change: change.clamp(-0.01, 0.01)
      return vectors + shorten(new_vectors - vectors), contexts + shorten(new_contexts - contexts)
scaled: The scores are divided by √C: here they are plain dot products.
- (c * o).sum(dim=-1) => (c * o).sum(dim=-1) / c.shape[-1] ** 0.5
  (n * c[:, None, :]).sum(dim=-1) => (n * c[:, None, :]).sum(dim=-1) / c.shape[-1] ** 0.5
other_optimiser: The step is that of another optimiser: plain gradient descent is asked for, without momentum, decay or rates of its own.
- |
  tables = [table.detach().clone().requires_grad_() for table in (vectors, contexts)]
  c, o, n = tables[0][centre], tables[1][context], tables[1][negatives]
  (-F.logsigmoid((c * o).sum(-1)) - F.logsigmoid(-(n * c[:, None]).sum(-1)).sum(-1)).mean().backward()
  torch.optim.Adam(tables, lr=learning_rate).step()
  return tables[0].detach(), tables[1].detach()
- return new_vectors, new_contexts => return 0.99 * new_vectors, 0.99 * new_contexts
unstable: σ or its logarithm overflows for large scores, and the step is NaN or infinite: torch.sigmoid and F.logsigmoid do not.
- torch.sigmoid(true) - 1 => true.exp() / (1 + true.exp()) - 1
  torch.sigmoid(drawn) => drawn.exp() / (1 + drawn.exp())
- in autograd
  F.logsigmoid(true) => torch.sigmoid(true).log()
  F.logsigmoid(-drawn) => (1 - torch.sigmoid(drawn)).log()
- in autograd
  F.logsigmoid(true) => torch.sigmoid(true).log()
  F.logsigmoid(-drawn) => torch.sigmoid(-drawn).log()
epsilon_in_the_logarithm: A small number inside the logarithm avoids −inf, but where the model errs most nothing is learnt: use F.logsigmoid.
- in autograd
  F.logsigmoid(true) => (torch.sigmoid(true) + 1e-9).log()
  F.logsigmoid(-drawn) => (torch.sigmoid(-drawn) + 1e-9).log()
- in autograd
  F.logsigmoid(true) => (torch.sigmoid(true) + 1e-10).log()
  F.logsigmoid(-drawn) => (1 - torch.sigmoid(drawn) + 1e-10).log()
graph_kept: A graph hangs on the result, so each further step makes it longer: detach the new tables.
- in autograd
  return vectors.detach() - learning_rate * at_vectors, contexts.detach() - learning_rate * at_contexts => return v - learning_rate * at_vectors, u - learning_rate * at_contexts
gradients_pile_up: The caller's own tables are asked for gradients, and keep them: backward() adds to what is there, so the second call with the same
    tables takes a longer step. Begin each call with fresh copies.
- |
  vectors.requires_grad_(True)
  contexts.requires_grad_(True)
  c, o, n = vectors[centre], contexts[context], contexts[negatives]
  (-F.logsigmoid((c * o).sum(-1)) - F.logsigmoid(-(n * c[:, None]).sum(-1)).sum(-1)).mean().backward()
  return vectors.detach() - learning_rate * vectors.grad, contexts.detach() - learning_rate * contexts.grad
input_changed:
- vectors.index_add( => vectors.index_add_(
- contexts.index_add(0, context => contexts.index_add_(0, context
- vectors.index_add( => vectors.index_add_(
  contexts.index_add(0, context => contexts.index_add_(0, context
device_not_kept: A tensor is made without `device=…`: on a GPU the call fails, or the result comes back on the CPU.
- return new_vectors, new_contexts => return new_vectors + torch.zeros(vectors.shape, dtype=vectors.dtype), new_contexts
view_needed (slip): `view` refuses tensors that are not contiguous, such as transposes: use `reshape` or `flatten`.
- negatives.flatten() => negatives.view(-1)
other_signature (slip): The arguments have other names: keep the signature skipgram_step(vectors, contexts, centre, context, negatives, learning_rate), so
    that they may be given by name.
- learning_rate => lr
tables_ask_for_gradients (slip): The caller's own tables are asked for gradients (`requires_grad_`), and stay so: begin with copies.
- |
  vectors.requires_grad_(True)
  contexts.requires_grad_(True)
  c, o, n = vectors[centre], contexts[context], contexts[negatives]
  loss = (-F.logsigmoid((c * o).sum(-1)) - F.logsigmoid(-(n * c[:, None]).sum(-1)).sum(-1)).mean()
  at_vectors, at_contexts = torch.autograd.grad(loss, [vectors, contexts])
  return vectors.detach() - learning_rate * at_vectors, contexts.detach() - learning_rate * at_contexts
""",
    right=r"""
autograd:
- |
  v, u = (table.detach().clone().requires_grad_() for table in (vectors, contexts))
  c, o, n = v[centre], u[context], u[negatives]
  true, drawn = (c * o).sum(dim=-1), (c[:, None] * n).sum(dim=-1)
  loss = (-F.logsigmoid(true) - F.logsigmoid(-drawn).sum(dim=-1)).mean()
  at_vectors, at_contexts = torch.autograd.grad(loss, [v, u])
  return vectors.detach() - learning_rate * at_vectors, contexts.detach() - learning_rate * at_contexts
takes_earlier_exercise:
- |
  v = vectors.detach().clone().requires_grad_(True)
  u = contexts.detach().clone().requires_grad_(True)
  sgns_loss(v[centre], u[context], u[negatives]).backward()
  with torch.no_grad():
      v -= learning_rate * v.grad
      u -= learning_rate * u.grad
  return v.detach(), u.detach()
one_pair_at_a_time:
- |
  new_vectors, new_contexts, rate = vectors.clone(), contexts.clone(), learning_rate / len(centre)
  for i, j, drawn in zip(centre.tolist(), context.tolist(), negatives.tolist()):
      for k, answer in [(j, 1.0)] + [(k, 0.0) for k in drawn]:
          miss = torch.sigmoid(vectors[i] @ contexts[k]) - answer
          new_vectors[i] -= rate * miss * contexts[k]
          new_contexts[k] -= rate * miss * vectors[i]
  return new_vectors, new_contexts
all_answers_together:
- |
  asked = torch.cat([context.unsqueeze(1), negatives], dim=1)
  c, rows = vectors[centre], contexts[asked]
  miss = torch.sigmoid(torch.einsum("bkc,bc->bk", rows, c))
  miss[:, 0] -= 1
  miss = miss / centre.numel()
  at_vectors = torch.zeros_like(vectors).index_add_(0, centre, torch.einsum("bk,bkc->bc", miss, rows))
  at_contexts = torch.zeros_like(contexts).index_put_((asked,), miss.unsqueeze(-1) * c.unsqueeze(1), accumulate=True)
  return vectors - learning_rate * at_vectors, contexts - learning_rate * at_contexts
""",
)
