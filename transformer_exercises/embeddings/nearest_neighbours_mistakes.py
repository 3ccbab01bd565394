"""Wrong and right answers to `nearest_neighbours`. The reference (03-embeddings):

def nearest_neighbours(query, weight, k, exclude=()):
    similarity = cosine_similarity(query, weight)  # (V,): the query meets every row
    for id in exclude:
        similarity[id] = float("-inf")  # worse than any cosine
    return similarity.topk(k).indices  # (k,): sorted, largest first
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

SIMILARITY = "cosine_similarity(query, weight)"

# Right answers in other styles


class rows_removed_and_translated(RightAnswer):
    code = """
    keep = torch.tensor([i for i in range(weight.shape[0]) if i not in set(exclude)], device=weight.device)
    return keep[cosine_similarity(query, weight[keep]).topk(k)[1]]
    """


class masked(RightAnswer):
    code = """
    blocked = torch.zeros(len(weight), dtype=torch.bool, device=weight.device)
    if exclude: blocked[list(exclude)] = True
    scores = F.cosine_similarity(query[None, :], weight, dim=1)
    return scores.masked_fill(blocked, -math.inf).sort(descending=True)[1][:k]
    """


class python_loop(RightAnswer):
    code = """
    scored = [(float(cosine_similarity(query, row)), i) for i, row in enumerate(weight) if i not in exclude]
    return torch.tensor([i for _, i in sorted(scored, reverse=True)][:k], dtype=torch.long, device=weight.device)
    """


class stable_sort(RightAnswer):
    code = """
    order = (-cosine_similarity(query, weight)).argsort(stable=True).tolist()
    return torch.tensor([i for i in order if i not in set(exclude)][:k], dtype=torch.long, device=weight.device)
    """


# Mistakes


class dot_product(Misconception):
    """Rows are ranked by their dot product with the query, which favours long rows: divide by the lengths."""

    edits = {SIMILARITY: "weight @ query"}


class squared_lengths(Misconception):
    """The dot product is divided by the squares of the lengths, which favours short rows: take the root."""

    edits = {SIMILARITY: "weight @ query / (weight * weight).sum(-1).clamp(min=1e-8)"}


class euclidean(Misconception):
    """Rows are ranked by their distance from the query: the cosine looks at directions only, not at lengths."""

    edits = {SIMILARITY: "-(weight - query).norm(dim=-1)"}


class worst_first(Minor):
    """The least similar come first: sort in descending order (`descending=True`, or topk)."""

    variants = [
        {"topk(k).indices": ["topk(k, largest=False).indices", "argsort()[:k]"]},
        {"topk(k).indices": "argsort()[:k]", "-": ""},
    ]


class ascending(Minor):
    """The right ids, but the best comes last: the most similar is first."""

    edits = {"topk(k).indices": ["topk(k).indices.flip(0)", "argsort()[-k:]"]}


class unsorted(Minor):
    """The right ids, but in order of their number (or of the table): the most similar comes first."""

    edits = {"indices": "indices.sort().values"}


class looked_up_by_value(Misconception):
    """Ids are looked up by their similarity (`index`), so rows that are equally similar get one id: argsort and topk
    give the places themselves.
    """

    edits = {
        "return similarity.topk(k).indices": """
            values = similarity.tolist()
            best = sorted(values, reverse=True)[:k]
            return torch.tensor([values.index(value) for value in best], dtype=torch.long, device=weight.device)
        """
    }


class similarities_returned(Minor):
    """The similarities are returned: the ids are asked for (`.indices`)."""

    edits = {"indices": "values"}


class both_returned(Minor):
    """topk gives two things, values and indices: only the indices are asked for."""

    variants = [
        {".indices": ""},
        {
            "return similarity.topk(k).indices": """
                values, ids = similarity.topk(k)
                return ids, values
            """
        },
    ]


class rows_returned(Misconception):
    """The rows (vectors) are returned: their ids are asked for."""

    edits = {"similarity.topk(k).indices": "weight[similarity.topk(k).indices]"}


class list_returned(Minor):
    """A list is returned: a LongTensor is asked for (topk's indices are one)."""

    edits = {
        "similarity.topk(k).indices": [
            "similarity.topk(k).indices.tolist()",
            "list(similarity.topk(k).indices)",
            "sorted(range(len(weight)), key=lambda i: -similarity[i])[:k]",
        ]
    }


class exclude_ignored(Misconception):
    """`exclude` is not looked at: the ids in it must never come back."""

    edits = {"in exclude": "in ()"}


class tuple_as_index(Misconception):
    """A tuple as an index is one index per dimension: `similarity[()]` is everything. Make it a list, or loop."""

    variants = [
        {"for id in exclude": "if len(exclude) > 0", "id": "exclude"},
        {"in exclude": "in [exclude]"},
    ]


class empty_exclude_fails(Minor):
    """Of nothing to exclude, torch.tensor makes floats, which are no index: say dtype=torch.long."""

    edits = {"in exclude": ["in [torch.tensor(exclude)]", "in [torch.tensor(list(exclude))]"]}


class sets_fail(Misconception):
    """It works for one kind of `exclude` only: it may be a list, a tuple or a set."""

    variants = [
        {"id in exclude": "n in range(len(exclude))", "id": "exclude[n]"},
        {"for id in exclude": "if len(exclude)", "id": "torch.tensor(exclude)"},
        {"in exclude": "in [torch.tensor(exclude, dtype=torch.long, device=weight.device)]"},
        {"in exclude": ["in exclude + ()", "in exclude | set()", "in exclude + []"]},
    ]


class only_one_excluded(Misconception):
    """Only one of the excluded ids is left out: `exclude` may hold several."""

    variants = [
        {"in exclude": ["in list(exclude)[:1]", "in list(exclude)[-1:]"]},
        {"for id in": "if", "id": "exclude[0]"},
    ]


class filtered_too_late(Misconception):
    """The excluded ids are removed from the k (or k + 1) best, so fewer than k may be left: exclude first."""

    variants = [
        {
            "for id in exclude": [
                "top = similarity.topk(k).indices.tolist()\nfor id in ()",
                "top = similarity.topk(min(k + 1, len(weight))).indices.tolist()\nfor id in ()",
            ],
            "return similarity.topk(k).indices": (
                "return torch.tensor([i for i in top if i not in exclude][:k], dtype=torch.long, device=weight.device)"
            ),
        },
        {
            "for id in exclude": [
                "top = similarity.topk(k).indices.tolist()\nfor id in ()",
                "top = similarity.topk(min(k + 1, len(weight))).indices.tolist()\nfor id in ()",
            ],
            "return similarity.topk(k).indices": "return torch.tensor([i for i in top if i not in exclude][:k])",
        },
    ]


class renumbered(Misconception):
    """The excluded rows are taken out, and the ids returned count those left: translate back, or give them −inf."""

    edits = {
        "similarity =": """
            weight = weight[[i for i in range(len(weight)) if i not in exclude]]
            similarity =
        """,
        "for id in exclude": "for id in ()",
        "topk(k).indices": ["topk(k).indices", "argsort(descending=True)[:k]"],
    }


class excluded_get_0(Misconception):
    """An excluded id gets similarity 0 (or −1), which is more than a dissimilar id has: give it −inf."""

    variants = [
        {'float("-inf")': ["0", "-1"]},
        {'float("-inf")': ["0", "-1"], "topk(k).indices": "argsort(descending=True)[:k]"},
    ]


class first_dropped(Misconception):
    """The best is always dropped, as if it were the query itself: only ids in `exclude` are left out."""

    edits = {
        "topk(k).indices": [
            "topk(min(k + 1, len(weight))).indices[1:]",
            "topk(k + 1).indices[1:]",
            "argsort(descending=True)[1 : k + 1]",
        ],
    }


class one_too_many(Minor):
    """k + 1 or k − 1 ids are returned."""

    edits = {"topk(k).indices": ["argsort(descending=True)[: k + 1]", "argsort(descending=True)[: k - 1]"]}


class k_ignored(Misconception):
    """All the ids are returned, or a fixed number: k are asked for."""

    edits = {
        "topk(k).indices": [
            "argsort(descending=True)",
            "argsort(descending=True)[:5]",
            "argsort(descending=True)[:10]",
            "argmax()",
            "argmax().view(1)",
        ]
    }


class absolute_value(Misconception):
    """The sign of the cosine is lost: an opposite row is the least similar, not the most."""

    edits = {"(query, weight)": "(query, weight).abs()"}


class normalised_columns(Misconception):
    """The wrong dimension is normalised: each row of weight (dim=-1) has a length."""

    edits = {SIMILARITY: "F.normalize(weight, dim=0) @ query"}


class zero_rows_nan(Misconception):
    """A row of zeros gives 0/0 = NaN, which topk puts first: its similarity is 0."""

    edits = {SIMILARITY: "weight @ query / (weight.norm(dim=-1) * query.norm())"}


class extra_dimension(Minor):
    """The result has a dimension too many: (k,) is asked for."""

    variants = [{"(query, weight)": "(query, weight)[None]", "[id]": "[:, id]"}, {"indices": "indices[:, None]"}]


class other_dtype(Misconception):
    """The ids are not int64: a LongTensor is asked for."""

    edits = {"indices": ["indices.int()", "indices.float()"]}


class table_changed(Misconception):
    """The caller's table or query is changed (normalised or overwritten in place): make new tensors."""

    variants = [
        {
            "return": """
                with torch.no_grad(): weight /= weight.norm(dim=-1, keepdim=True).clamp(min=1e-8)
                return
            """
        },
        {
            "similarity =": [
                "for i in exclude: weight[i] = 0\nsimilarity =",
                "for i in exclude: weight[i] = -weight[i]\nsimilarity =",
            ],
            "for id in exclude": "for id in ()",
        },
        {
            "similarity =": """
                weight /= weight.norm(dim=-1, keepdim=True).clamp(min=1e-8)
                similarity =
            """
        },
        {"return": "with torch.no_grad(): weight[list(exclude)] = 0\nreturn"},
    ]


class written_in_place(Misconception):
    """A leaf that is being trained is written to in place, which PyTorch refuses: change the similarities."""

    edits = {"similarity =": "weight[list(exclude)] = weight[list(exclude)]\nsimilarity ="}


class exclude_consumed(Misconception):
    """The caller's list `exclude` is changed (append, remove, pop): make one of your own."""

    edits = {
        "return": [
            "if isinstance(exclude, list): exclude.clear()\nreturn",
            "if isinstance(exclude, list): exclude.append(0)\nreturn",
        ]
    }


class rounded(Fundamental, common_mistakes.rounded):
    pass
