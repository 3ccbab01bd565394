"""Wrong and right answers to `skipgram_step`. The reference (03-embeddings):

def skipgram_step(vectors, contexts, centre, context, negatives, learning_rate):
    c, o, n = vectors[centre], contexts[context], contexts[negatives]  # (B, C), (B, C), (B, K, C)
    true, drawn = (c * o).sum(dim=-1), (n * c[:, None, :]).sum(dim=-1)  # (B,), (B, K): scores
    missing = (torch.sigmoid(true) - 1) / len(centre)  # (B,): the answer, minus the right one
    wrong = torch.sigmoid(drawn) / len(centre)  # (B, K)
    at_centre = missing[:, None] * o + (wrong[:, :, None] * n).sum(dim=1)  # (B, C)
    at_context, at_negatives = missing[:, None] * c, wrong[:, :, None] * c[:, None, :]  # (B, C), (B, K, C)
    new_vectors = vectors.index_add(0, centre, -learning_rate * at_centre)
    new_contexts = contexts.index_add(0, context, -learning_rate * at_context)
    new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * at_negatives.flatten(0, 1))
    return new_vectors, new_contexts
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

SHARES = " / len(centre)", ""  # of the learning rate, for a pair

# Right answers in other styles


class autograd(RightAnswer):
    code = """
    v, u = (table.detach().clone().requires_grad_() for table in (vectors, contexts))
    c, o, n = v[centre], u[context], u[negatives]
    true, drawn = (c * o).sum(dim=-1), (c[:, None] * n).sum(dim=-1)
    loss = (-F.logsigmoid(true) - F.logsigmoid(-drawn).sum(dim=-1)).mean()
    grads = torch.autograd.grad(loss, [v, u])
    return vectors.detach() - learning_rate * grads[0], contexts.detach() - learning_rate * grads[1]
    """


class takes_earlier_exercise(RightAnswer):
    code = """
    v, u = vectors.detach().clone().requires_grad_(True), contexts.detach().clone().requires_grad_(True)
    sgns_loss(v[centre], u[context], u[negatives]).backward()
    with torch.no_grad(): v -= learning_rate * v.grad; u -= learning_rate * u.grad
    return v.detach(), u.detach()
    """


class one_pair_at_a_time(RightAnswer):
    code = """
    new_vectors, new_contexts, rate = vectors.clone(), contexts.clone(), learning_rate / len(centre)
    for i, j, drawn in zip(centre.tolist(), context.tolist(), negatives.tolist()):
        for k, answer in [(j, 1.0)] + [(k, 0.0) for k in drawn]:
            miss = torch.sigmoid(vectors[i] @ contexts[k]) - answer
            new_vectors[i] -= rate * miss * contexts[k]
            new_contexts[k] -= rate * miss * vectors[i]
    return new_vectors, new_contexts
    """


# Mistakes


class uphill(Misconception):
    """The step goes uphill, in all vectors or in some: each gradient is subtracted."""

    variants = [
        {"-learning_rate": "learning_rate"},
        *({f"-learning_rate * at_{name}": f"learning_rate * at_{name}"} for name in ("centre", "context", "negatives")),
    ]


class sum_over_batch(Misconception):
    """The losses of the batch are summed: take their mean over the B pairs."""

    edits = {"/ len(centre)": ""}


class mean_over_negatives(Misconception):
    """The negatives are averaged too: sum the answers of a pair, and take the mean over B only."""

    variants = [
        {"len(centre)  # (B, K)": "negatives.numel()"},
        {"(centre)": "(centre) / (1 + negatives.shape[1])"},
        {"* n).sum(dim=1": "* n).mean(dim=1"},
    ]


class last_one_wins(Misconception):
    """Of a row that occurs several times one gradient, or the mean, counts: add them all up (index_add)."""

    variants = [
        """
        new_vectors, new_contexts = vectors.clone(), contexts.clone()
        asked = torch.cat([context[:, None], negatives], 1)
        c, o = vectors[centre], contexts[asked]
        miss = torch.sigmoid((c[:, None] * o).sum(-1))
        miss[:, 0] -= 1
        rate = learning_rate / len(centre)
        new_vectors[centre] -= rate * (miss[:, :, None] * o).sum(1)
        new_contexts[asked] -= rate * miss[:, :, None] * c[:, None]
        return new_vectors, new_contexts
        """,
        {
            "index_add(0, centre, -learning_rate * at_centre)": """
                clone()
                new_vectors[centre] -= learning_rate * at_centre
            """
        },
        {
            (
                "new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * "
                "at_negatives.flatten(0, 1))"
            ): ("new_contexts[negatives] -= learning_rate * at_negatives")
        },
        {
            "index_add(0, context, -learning_rate * at_context)": """
                clone()
                new_contexts[context] -= learning_rate * at_context
            """
        },
        {
            "index_add(0, centre, -learning_rate * at_centre)": """
                clone()
                new_vectors[centre] -= learning_rate * at_centre
            """,
            "index_add(0, context, -learning_rate * at_context)": """
                clone()
                new_contexts[context] -= learning_rate * at_context
            """,
            (
                "new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * "
                "at_negatives.flatten(0, 1))"
            ): ("new_contexts[negatives] -= learning_rate * at_negatives"),
        },
        """
        new_vectors, new_contexts, rate = vectors.clone(), contexts.clone(), learning_rate / len(centre)
        for i, j, drawn in zip(centre.tolist(), context.tolist(), negatives.tolist()):
            miss, wrong = torch.sigmoid(vectors[i] @ contexts[j]) - 1, torch.sigmoid(contexts[drawn] @ vectors[i])
            new_vectors[i] -= rate * (miss * contexts[j] + wrong @ contexts[drawn])
            new_contexts[j] -= rate * miss * vectors[i]
            new_contexts[drawn] -= rate * wrong[:, None] * vectors[i]
        return new_vectors, new_contexts
        """,
        {
            "new_vectors = vectors.index_add(0, centre, -learning_rate * at_centre)": """
            often = torch.bincount(centre, minlength=len(vectors)).clamp(min=1)[:, None]
            new_vectors = vectors + torch.zeros_like(vectors).index_add(0, centre, -learning_rate * at_centre) / often
        """
        },
        *(
            f"""
            asked = torch.cat([context[:, None], negatives], 1)
            c, o = vectors[centre], contexts[asked]
            miss = torch.sigmoid((c[:, None] * o).sum(-1))
            miss[:, 0] -= 1
            miss = miss[:, :, None] * learning_rate{share}
            def moved(table, rows, changes):
                often = torch.bincount(rows, minlength=len(table)).clamp(min=1)[:, None]
                return table - torch.zeros_like(table).index_add(0, rows, changes) / often
            new_contexts = moved(contexts, asked.flatten(), (miss * c[:, None]).flatten(0, 1))
            return moved(vectors, centre, (miss * o).sum(1)), new_contexts
            """
            for share in SHARES
        ),
    ]


class one_pair_after_the_other(Misconception):
    """Pairs, answers, or the second table start from rows that have moved: all gradients are at the old tables."""

    variants = [
        one_pair_at_a_time.edited(
            {
                "vectors[i] @ contexts[k]": "new_vectors[i] @ new_contexts[k]",
                "* contexts[k]": "* new_contexts[k]",
                "* vectors[i]": "* new_vectors[i]",
            }
        ),
        *(
            f"""
            vectors, contexts, rate = vectors.clone(), contexts.clone(), learning_rate{share}
            for i, j, drawn in zip(centre.tolist(), context.tolist(), negatives.tolist()):
                change = torch.zeros_like(vectors[i])
                for k, answer in [(j, 1.0)] + [(k, 0.0) for k in drawn]:
                    miss = torch.sigmoid(vectors[i] @ contexts[k]) - answer
                    change += miss * contexts[k]
                    contexts[k] -= rate * miss * vectors[i]
                vectors[i] -= rate * change
            return vectors, contexts
            """
            for share in SHARES
        ),
        *(
            {
                "c, o, n =": f"""
                for b in range(len(centre) if len(centre) > 1 else 0):
                    pair = [ids[b : b + 1] for ids in (centre, context, negatives)]
                    vectors, contexts = skipgram_step(vectors, contexts, *pair, learning_rate{share})
                if len(centre) > 1: return vectors, contexts
                c, o, n =
                """
            }
            for share in SHARES
        ),
        {
            "new_contexts = contexts.index_add(0, context, -learning_rate * at_context)": """
            c = new_vectors[centre]
            new_contexts = contexts.index_add(0, context, -learning_rate * missing[:, None] * c)
            at_negatives = wrong[:, :, None] * c[:, None, :]
        """
        },
        {
            "new_contexts = contexts.index_add(0, context, -learning_rate * at_context)": """
            c = new_vectors[centre]
            missing = (torch.sigmoid((c * o).sum(dim=-1)) - 1) / len(centre)
            wrong = torch.sigmoid((n * c[:, None, :]).sum(dim=-1)) / len(centre)
            new_contexts = contexts.index_add(0, context, -learning_rate * missing[:, None] * c)
            at_negatives = wrong[:, :, None] * c[:, None, :]
        """
        },
        {
            "return new_vectors": """
                o, n = new_contexts[context], new_contexts[negatives]
                missing = (torch.sigmoid((c * o).sum(dim=-1)) - 1) / len(centre)
                wrong = torch.sigmoid((n * c[:, None, :]).sum(dim=-1)) / len(centre)
                at_centre = missing[:, None] * o + (wrong[:, :, None] * n).sum(dim=1)
                return vectors.index_add(0, centre, -learning_rate * at_centre)
            """
        },
        {
            "return new_vectors": """
                o, n = new_contexts[context], new_contexts[negatives]
                at_centre = missing[:, None] * o + (wrong[:, :, None] * n).sum(dim=1)
                return vectors.index_add(0, centre, -learning_rate * at_centre)
            """
        },
    ]


class own_context_skipped(Misconception):
    """A negative that is the pair's own context is left out: it counts like any other."""

    edits = {"(drawn) /": "(drawn) * (negatives != context[:, None]) /"}


class vectors_only(Misconception):
    """Only one of the two tables is moved: centres, contexts and negatives are all trained."""

    variants = [
        {", new_contexts": ", contexts.clone()"},
        {"new_vectors,": "vectors.clone(),"},
    ]


class negatives_from_vectors(Misconception):
    """The negatives are looked up in `vectors`: they are rows of `contexts`."""

    based_on = autograd
    edits = {"[context], u": "[context], v"}


class negatives_not_moved(Misconception):
    """The negatives are not moved: they are pushed away from the centre."""

    edits = {
        "new_contexts = new_contexts.index_add(0, negatives.flatten(), -learning_rate * at_negatives.flatten(0, 1))": ""
    }


class context_not_moved(Misconception):
    """The true context is not moved, or its change is lost: both changes belong in one new table."""

    edits = {"index_add(0, context, -learning_rate * at_context)": "clone()"}


class positive_only(Misconception):
    """The negatives are left out: without them all vectors turn the same way."""

    based_on = negatives_not_moved
    edits = {"o + (wrong[:, :, None] * n).sum(dim=1)": "o"}


class negatives_only(Misconception):
    """The true pair is left out of the loss: −log σ(c·o) belongs to it."""

    based_on = context_not_moved
    edits = {"missing[:, None] * o + (": "("}


class centre_pulled_only(Misconception):
    """The centre gets one part of its gradient: the context pulls, every negative pushes it."""

    variants = [{"o + (wrong[:, :, None] * n).sum(dim=1)": "o"}, {"missing[:, None] * o + (": "("}]


class negatives_pulled(Misconception):
    """The negatives' part has the wrong sign: −log σ(−c·n), whose gradient is +σ(c·n), pushes them away."""

    variants = [
        {"torch.sigmoid(drawn)": "-torch.sigmoid(-drawn)"},
        {"= torch": "= -torch"},
    ]


class positive_pushed(Misconception):
    """The true context is pushed away: its gradient is σ(c·o) − 1, which is negative."""

    edits = {"torch.sigmoid(true) - 1": ["1 - torch.sigmoid(true)", "torch.sigmoid(true)"]}


class no_sigmoid(Misconception):
    """The σ is missing: the gradient is σ(score) minus the right answer."""

    variants = [{"torch.sigmoid(true) - 1": "-torch.ones_like(true)", "sigmoid": "ones_like"}, {"torch.sigmoid": ""}]


class softmax(Misconception):
    """This is a softmax over context and negatives: each is a yes/no question here, with σ."""

    edits = {
        "missing = (torch.sigmoid(true) - 1)": """
            p = torch.softmax(torch.cat([true[:, None], drawn], dim=1), dim=1) / len(centre)
            missing = p[:, 0] - 1
        """,
        "torch.sigmoid(drawn) / len(centre)": "p[:, 1:]",
    }


class no_logarithm(Misconception):
    """The logarithm is missing: the loss is made of −log σ(…), not of −σ(…)."""

    edits = {
        "(torch.sigmoid(true) - 1)": "-torch.sigmoid(true) * torch.sigmoid(-true)",
        "(drawn) /": "(drawn) * torch.sigmoid(-drawn) /",
    }


class one_table(Misconception):
    """Contexts (or negatives) are looked up in `vectors`: as a context, a word has a row in the other table."""

    edits = {"contexts[context], contexts": ["vectors[context], vectors", "contexts[context], vectors"]}


class tables_swapped(Misconception):
    """Tables, or centre and context, are swapped: centres are rows of `vectors`, the others of `contexts`."""

    variants = [
        {"new_vectors, new_contexts": "new_contexts, new_vectors"},
        {"vectors[centre], contexts[context], contexts": "contexts[centre], vectors[context], vectors"},
        {
            "[negatives]  # (B, C), (B, C), (B, K, C)": """
            [negatives]
            centre, context = context, centre
            c, o = vectors[centre], contexts[context]
        """
        },
    ]


class rate_ignored(Minor):
    """The learning rate is ignored, or fixed in the code."""

    edits = {"-learning_rate": ["-0.1", "-0.025", "-1.0"]}


class updates_returned(Misconception):
    """The changes, or only the rows used, are returned: return both whole new tables."""

    variants = [
        {
            "new_vectors, new_contexts": [
                "new_vectors - vectors, new_contexts - contexts",
                "(vectors - new_vectors) / learning_rate, (contexts - new_contexts) / learning_rate",
            ]
        },
        {", new_contexts": "[centre], new_contexts[context]"},
    ]


class tables_returned(Fundamental):
    """The old tables, or the loss, are returned: the two tables after the step are asked for."""

    variants = [
        {"new_vectors, new_contexts": "vectors, contexts"},
        {"new_vectors, new_contexts": "(-F.logsigmoid(true) - F.logsigmoid(-drawn).sum(dim=-1)).mean()"},
    ]


class list_of_two(Minor):
    """A list of two is returned: return the tuple, `return vectors, contexts`."""

    edits = {"new_vectors, new_contexts": "[new_vectors, new_contexts]"}


class two_steps(Minor, shared_mistakes.two_steps):
    edits = {"new_vectors, new_contexts": "2 * new_vectors - vectors, 2 * new_contexts - contexts"}


class normalised(Misconception):
    """Plain gradient descent on plain dot products is asked for: no clipping, scaling, unit lengths or momentum."""

    variants = [
        {"new_vectors, new_contexts": "F.normalize(new_vectors, dim=-1), F.normalize(new_contexts, dim=-1)"},
        {
            "vectors[centre], contexts[context], contexts[negatives]": (
                "(F.normalize(t, dim=-1) for t in (vectors[centre], contexts[context], contexts[negatives]))"
            )
        },
        {", (n * c[:, None, :]).sum(dim=-1)": ".clamp(-1, 1), (n * c[:, None, :]).sum(dim=-1).clamp(-1, 1)"},
        {
            "return new_vectors, new_contexts": (
                "return vectors + (new_vectors - vectors).clip(-1e-2, 1e-2), contexts + (new_contexts - "
                "contexts).clip(-1e-2, 1e-2)"
            )
        },
        {"sum(dim=-1)": "sum(dim=-1) / c.shape[-1] ** 0.5"},
        autograd.edited(
            {
                "grads = torch.autograd.grad(loss, [v, u])": """
                    loss.backward()
                    torch.optim.Adam([v, u], lr=learning_rate).step()
                """,
                "vectors.detach() - learning_rate * grads[0], contexts.detach() - learning_rate * grads[1]": (
                    "v.detach(), u.detach()"
                ),
            }
        ),
        {"new_vectors,": "0.99 * new_vectors, 0.99 *"},
    ]


class unstable(Misconception):
    """σ or its logarithm overflows for large scores: torch.sigmoid and F.logsigmoid do not."""

    variants = [
        {
            "torch.sigmoid(true)": "true.exp() / (1 + true.exp())",
            "torch.sigmoid(drawn)": "drawn.exp() / (1 + drawn.exp())",
        },
        autograd.edited(
            {
                "F.logsigmoid(true) - F.logsigmoid(-drawn)": (
                    "torch.sigmoid(true).log() - (1 - torch.sigmoid(drawn)).log()"
                )
            }
        ),
    ]


class epsilon_in_the_logarithm(Misconception):
    """A small number in the logarithm stops learning where the model errs most: use F.logsigmoid."""

    based_on = autograd
    edits = {
        "F.logsigmoid(true) - F.logsigmoid(-drawn)": [
            "(torch.sigmoid(true) + 1e-9).log() - (torch.sigmoid(-drawn) + 1e-9).log()",
            "(torch.sigmoid(true) + 1e-10).log() - (1 - torch.sigmoid(drawn) + 1e-10).log()",
        ]
    }


class graph_kept(Misconception):
    """A graph hangs on the result and grows with each step: detach the new tables."""

    based_on = autograd
    edits = {"vectors.detach() - learning_rate * grads[0], contexts.detach()": "v - learning_rate * grads[0], u"}


class tables_ask_for_gradients(Minor):
    """The caller's own tables ask for gradients from then on: begin with copies."""

    based_on = autograd
    edits = {"detach().clone().requires_grad_()": "requires_grad_()"}


class gradients_pile_up(Misconception):
    """The caller's tables keep gradients, so the second call takes a longer step: begin with fresh copies."""

    based_on = tables_ask_for_gradients
    edits = {"grads = torch.autograd.grad(loss, [v, u])": "loss.backward()\ngrads = v.grad, u.grad"}


class input_changed(common_mistakes.input_changed):
    variants = [
        {"vectors.index_add(": "vectors.index_add_("},
        {"index_add(0, context": "index_add_(0, context"},
        {"vectors.index_add(": "vectors.index_add_(", "index_add(0, context": "index_add_(0, context"},
        {
            "return": """
                vectors.copy_(new_vectors)
                contexts.copy_(new_contexts)
                return
            """
        },
    ]


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {"new_vectors,": "new_vectors + torch.zeros(vectors.shape, dtype=vectors.dtype),"}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"flatten()": "view(-1)"}
