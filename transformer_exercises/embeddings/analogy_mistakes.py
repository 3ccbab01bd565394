"""Wrong and right answers to `analogy`. The reference (03-embeddings):

def analogy(a, b, c, weight):
    target = weight[b] - weight[a] + weight[c]  # (C,)
    return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class by_hand(RightAnswer):
    code = """
    target = weight[b] + weight[c] - weight[a]
    scores = (weight @ target / (weight.norm(dim=1) * target.norm()).clamp(min=1e-8)).detach().clone()
    for i in (a, b, c): scores[i] = -float('inf')
    return int(scores.argmax())
    """


class first_that_is_allowed(RightAnswer):
    code = """
    order = nearest_neighbours(weight[b] - weight[a] + weight[c], weight, min(4, len(weight)))
    return next(i for i in order.tolist() if i not in {a, b, c})
    """


class exclude_set(RightAnswer):
    code = "return int(nearest_neighbours(weight[b] - weight[a] + weight[c], weight, 1, {a, b, c})[0])"


# Mistakes


class signs(Misconception):
    """The three vectors are put together with other signs: it is b − a + c (take from b what a means, and add c)."""

    variants = [
        {
            "[b] - weight[a] + weight[c]": [
                "[a] - weight[b] + weight[c]",
                "[a] + weight[b] - weight[c]",
                "[a] + weight[b] + weight[c]",
            ]
        },
        {
            "weight[b] - weight[a] + weight[c]": [
                "-weight[a] + weight[b] - weight[c]",
                "-weight[a] - weight[b] + weight[c]",
            ]
        },
    ]


class one_left_out(Misconception):
    """One of the three vectors is left out: it is b − a + c."""

    edits = {"b] - weight[a] + weight[c": ["b] - weight[a", "b] + weight[c", "c] - weight[a"]}


class ids_added(Fundamental):
    """The arithmetic is done with the ids: they carry no meaning, the rows of weight do."""

    variants = [
        {"b] - weight[a] + weight[c": "(b - a + c) % len(weight)"},
        {"nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()": "b - a + c"},
    ]


class three_nearest(Misconception):
    """Only the three nearest rows are looked at, which may be a, b and c: look at four, or leave these out first."""

    code = """
    order = nearest_neighbours(weight[b] - weight[a] + weight[c], weight, 3).tolist()
    return next((i for i in order if i not in (a, b, c)), order[0])
    """


class dot_product(Misconception):
    """Rows are ranked by their dot product with b − a + c, which favours long rows: the cosine is asked for."""

    edits = {  # in lines of its own, so that it can be joined to a mistake in what is excluded
        "return": """
            def nearest_neighbours(target, weight, k, exclude=()):
                scores = (weight @ target).detach().clone()
                scores[list(exclude)] = -math.inf
                return scores.argmax().reshape(k)
            return
        """
    }


class euclidean(Misconception):
    """Rows are ranked by their distance from b − a + c: nearest by cosine is asked for."""

    based_on = dot_product
    edits = {"weight @ target": "-(weight - target).norm(dim=-1)"}


class steps_compared(Misconception):
    """The steps from c are compared with the step from a to b: asked for is the row nearest to b − a + c."""

    based_on = dot_product
    edits = {"weight @ target": "F.cosine_similarity(weight - weight[c], weight[b] - weight[a], dim=-1)"}


class similarities_multiplied(Misconception):
    """The similarities to a, b and c are put together, not the rows: asked for is the row nearest to b − a + c."""

    based_on = dot_product
    edits = {
        "weight @ target": """(
                    lambda s: s[b] * s[c] / (s[a] + 1e-3)
                )((F.cosine_similarity(weight[:, None], weight, dim=-1) + 1) / 2)"""
    }


class itself_allowed(Misconception):
    """a, b and c are not excluded, and one of them (often b or c) is nearest: they are never the answer."""

    edits = {", exclude=(a, b, c)": ""}


class signs_and_itself_allowed(Fundamental):
    """It is b − a + c (take from b what a means, and add c), and a, b and c themselves are never the answer."""

    variants = [
        signs.edited({", exclude=(a, b, c)": ""}),
        signs.edited({", exclude=(a, b, c)).item()": [")[0]", ")"]}),
    ]


class dot_product_and_itself_allowed(Fundamental):
    """Rows are ranked by their cosine with b − a + c, not by a dot product; a, b and c are never the answer."""

    based_on = dot_product
    edits = {"scores[list(exclude)] = -math.inf": ""}


class not_all_excluded(Misconception):
    """Only some of a, b and c are excluded: none of the three is ever the answer."""

    edits = {"(a, b, c)": ["(a, b)", "(a, c)", "(b, c)", "(b,)", "(c,)", "(a,)"]}


class normalised_first(Misconception):
    """The rows are divided by their lengths before they are added: take them as they are."""

    edits = {
        "target = weight[b] - weight[a] + weight": """
            unit = F.normalize(weight, dim=-1)
            target = unit[b] - unit[a] + unit
        """
    }


class tensor_returned(Misconception):
    """A tensor is returned: `.item()` makes it a Python int."""

    edits = {".item()": ["", "[0]"]}


class list_returned(Minor):
    """A list is returned: one id is asked for, an int."""

    edits = {"item": "tolist"}


class float_returned(Misconception):
    """A float is returned: an id is an int."""

    edits = {
        "nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()": (
            "float(nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item())"
        )
    }


class similarity_returned(Minor):
    """A similarity is returned: the id of the nearest row is asked for (argmax, not max)."""

    based_on = dot_product
    edits = {"(weight @ target)": "cosine_similarity(target, weight)", "scores.argmax": "scores.max"}


class vector_returned(Misconception):
    """A vector is returned: the id of the nearest row is asked for."""

    edits = {
        "nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()": [
            "target",
            "weight[nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item()]",
        ]
    }


class farthest(Minor):
    """The least similar row is returned: the nearest one is asked for."""

    edits = {"(target": "(-target"}


class second_best(Minor):
    """The second best is returned, as if the best were a, b or c: they are excluded already."""

    edits = {"1, exclude=(a, b, c))": "min(2, len(weight) - 3), exclude=(a, b, c))[-1]"}


class always_the_fourth(Misconception):
    """The second, third or fourth nearest row is returned, as if a, b and c always came before it: exclude them."""

    variants = [{"1, exclude=(a, b, c))": f"min({place}, len(weight)))[-1]"} for place in (4, 2, 3)]


class renumbered(Misconception):
    """The rows of a, b and c are taken out, and the id returned counts those that are left: translate it back."""

    edits = {
        "target = weight[b] - weight[a] + weight[c]": "keep = [i for i in range(len(weight)) if i not in (a, b, c)]",
        "target, weight, k=1, exclude=(a, b, c)": "weight[b] - weight[a] + weight[c], weight[keep], 1",
    }


class table_changed(Misconception):
    """The caller's table is changed: `weight[b]` is a view, so `-=` and `+=` on it change weight itself."""

    variants = [
        {
            "[b] - weight[a] +": """
                [b]
                target -= weight[a]
                target +=
            """
        },
        {"return": "with torch.no_grad(): weight[[a, b, c]] = 0\nreturn"},
        {"] - weight[a] + weight[c": "]\nwith torch.no_grad(): target += weight[c] - weight[a"},
    ]


class zeroed_rows(Misconception):
    """a, b and c get similarity 0, more than dissimilar rows have: give them −inf."""

    based_on = similarity_returned
    edits = {"-math.inf": "0", "scores.max": "scores.argmax"}
