"""Wrong and right answers to `generate_bigram`. The reference (01-language-modelling):

def generate_bigram(probs, start_id, num_tokens, generator):
    ids = [start_id]
    for _ in range(num_tokens):
        row = probs[ids[-1]]  # (V,): what may follow the latest token
        next_id = torch.multinomial(row, num_samples=1, generator=generator)  # (1,)
        ids.append(next_id.item())
    return ids
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

DRAW = "torch.multinomial(row, num_samples=1, generator=generator)"

# Right answers in other styles


class while_loop(RightAnswer):
    code = """
    ids = [start_id]
    while len(ids) < num_tokens + 1: ids.append(int(torch.multinomial(probs[ids[-1]], 1, generator=generator)))
    return ids
    """


class cumulative(RightAnswer):
    code = """
    cumulative = probs.double().cumsum(dim=1); last, ids = start_id, [start_id]
    for u in torch.rand(num_tokens, generator=generator, dtype=torch.float64).tolist():
        last = min(int(torch.searchsorted(cumulative[last], u, right=True)), probs.shape[1] - 1); ids.append(last)
    return ids
    """


class recursion(RightAnswer):
    code = """
    if num_tokens == 0: return [start_id]
    next_id = torch.multinomial(probs[start_id], 1, replacement=True, generator=generator).item()
    return [start_id] + generate_bigram(probs, next_id, num_tokens - 1, generator)
    """


# Mistakes


class start_row_always(Misconception):
    """Every token is drawn from the row of the start id: the row is that of the *latest* token, ids[-1]."""

    variants = [
        {"ids[-1]": "start_id"},
        """
    return [start_id] + torch.multinomial(probs[start_id], num_tokens, replacement=True, generator=generator).tolist()
        """,
        while_loop.edited(
            {
                "while len(ids) < num_tokens + 1": "if num_tokens",
                ".append(int(torch.multinomial(probs[ids[-1]], 1, generator=generator))": (
                    "+= torch.multinomial(probs[start_id], num_tokens, replacement=True, generator=generator).tolist("
                ),
            }
        ),
    ]


class columns(Misconception):
    """Columns are read instead of rows: what follows i stands in row i."""

    edits = {"ids[-1]": ":, ids[-1]"}


class first_row_always(Misconception):
    """The row does not depend on the latest token (row 0, or the step's number): use probs[ids[-1]]."""

    variants = [
        {"probs[ids[-1]]": ["probs[0]", "probs.mean(dim=0)", "torch.ones(len(probs))"]},
        {"_ in": "step in", "ids[-1]": "step % len(probs)"},
    ]


class two_back(Misconception):
    """The row is that of the token before the latest: use ids[-1]."""

    edits = {"-": "-2] if len(ids) > 1 else ids[-"}


class one_too_few(Minor):
    """The start id is counted among the num_tokens: it comes on top, so the list has num_tokens + 1 ids."""

    edits = {"(num_tokens)": "(num_tokens - 1)"}


class one_too_many(Minor):
    """One token too many is drawn: num_tokens new ones after the start id."""

    edits = {"(num_tokens)": "(num_tokens + 1)"}


class start_left_out(Minor):
    """The start id is missing: the list begins with it."""

    edits = {"return ids": "return ids[1:]"}


class start_ignored(Minor):
    """The text always begins with token 0: it begins with start_id."""

    edits = {"[start_id]": "[0]"}


class start_drawn(Minor):
    """The first token is drawn (or replaced by its follower): the list begins with start_id itself."""

    variants = [
        {"return ids": "return ids[1:] + [torch.multinomial(probs[ids[-1]], 1, generator=generator).item()]"},
        {"[start_id]": "[torch.randint(len(probs), (1,), generator=generator).item()]"},
    ]


class last_left_out(Minor):
    """The last token is missing: num_tokens new ones come after the start id."""

    edits = {"return ids": "return ids[:-1]"}


class last_only(Misconception):
    """Only the last token is returned: the whole list is asked for."""

    edits = {"return ids": ["return ids[-1]", "return ids[-1:]", "return next_id.item()"]}


class returns_too_early(Minor):
    """The `return` stands inside the loop, so only one token is drawn."""

    edits = {"(next_id.item())": "(next_id.item())\nreturn ids"}


class stops_early(Misconception):
    """The text ends at some token (a `break`), as if it were an end token: num_tokens are always drawn."""

    edits = {
        "(next_id.item())": [
            "(next_id.item())\nif ids[-1] == 0: break",
            "(next_id.item())\nif ids[-1] == len(probs) - 1: break",
        ]
    }


class several_in_a_step(Misconception):
    """More than one token is added in a step: leave the inner loop with `break` when one is found."""

    edits = {
        DRAW: "torch.rand(1, generator=generator)",
        "append(next_id.item())": "extend((row.cumsum(0) > next_id).nonzero().flatten().tolist())",
    }


class all_at_once(Misconception):
    """All tokens are drawn at once, without replacement: draw one at a time, from the latest token's row."""

    code = "return [start_id] + torch.multinomial(probs[start_id], num_tokens, generator=generator).tolist()"


class one_number_for_all(Misconception):
    """One random number decides all tokens: draw a new one for each."""

    edits = {
        "ids =": "u = torch.rand(1, generator=generator)\nids =",
        DRAW: "(row.cumsum(0) <= u).sum().clamp(max=len(probs) - 1)",
    }


class reversed_(Minor):
    """The list is in reverse: the start id comes first, each new token at the end."""

    edits = {"return ids": "return ids[::-1]"}


class latest_not_updated(Misconception):
    """The first drawn token is repeated: nothing new is drawn inside the loop."""

    edits = {DRAW: f"next_id if len(ids) > 1 else {DRAW}"}


class greedy(Misconception):
    """The likeliest token is taken each time (argmax): that is not sampling."""

    edits = {DRAW: "row.argmax()"}


class uniform(Fundamental):
    """All tokens are drawn alike, whatever the table says: draw from the row of the latest token."""

    edits = {"multinomial(row, num_samples=1, generator=generator)": "randint(len(row), (1,), generator=generator)"}


class uniform_among_possible(Misconception):
    """All possible tokens are drawn alike: their probabilities should decide."""

    edits = {"probs[ids[-1]]": "(probs[ids[-1]] > 0).float()"}


class softmax(Misconception):
    """The row goes through a softmax, which flattens it: it holds probabilities already."""

    edits = {"probs[ids[-1]]": "torch.softmax(probs[ids[-1]], dim=-1)"}


class smoothed_again(Misconception):
    """A number is added to the probabilities, so impossible tokens get a chance: draw from the row as it is."""

    edits = {"[ids[-1]]": ["[ids[-1]] + 1e-2", "[ids[-1]] + 0.1", "[ids[-1]] + 1"]}


class logarithms(Misconception):
    """Logarithms are passed to torch.multinomial: it takes the probabilities themselves."""

    edits = {"probs[ids[-1]]": "-probs[ids[-1]].clamp(min=1e-9).log()"}


class temperature(Misconception):
    """The probabilities are sharpened or flattened (squared, a root, top-k): draw from the row as it is."""

    edits = {
        "[ids[-1]]": [
            "[ids[-1]] ** 2",
            "[ids[-1]] ** 0.5",
            "[ids[-1]] * (probs[ids[-1]] >= probs[ids[-1]].topk(2).values[-1])",
        ]
    }


class hundredths(Misconception):
    """Probabilities are rounded to hundredths: most tokens of a real vocabulary are rarer, and never come."""

    edits = {
        "next_id = torch.multinomial(row, num_samples=1, generator=generator)": [
            """
            pool = [j for j, p in enumerate(row.tolist()) for _ in range(round(100 * p))]
            next_id = torch.tensor(pool)[torch.randint(len(pool), (1,), generator=generator)]
            """,
            """
            drawn = torch.randint(100, (1,), generator=generator) / 100
            next_id = (row.cumsum(-1) <= drawn).sum().clamp(max=len(row) - 1)
            """,
        ]
    }


class likeliest_forty(Misconception):
    """Only the likeliest tokens of a row may come (top-k): draw from the row as it is."""

    edits = {
        "next_id = torch.multinomial(row, num_samples=1, generator=generator)": """
            best = row.topk(min(40, len(row)))
            next_id = best.indices[torch.multinomial(best.values, num_samples=1, generator=generator)]
        """
    }


class no_repeats(Misconception):
    """A token never follows itself: repeats are allowed, the table decides."""

    edits = {"[ids[-1]]": "[ids[-1]].clone()\nrow[ids[-1]] = 0"}


class cumulative_off_by_one(Minor):
    """Off by one: take the first token whose cumulative probability exceeds the number."""

    edits = {
        DRAW: [
            "(row.cumsum(0) < torch.rand(1, generator=generator)).sum().add(1).clamp(max=len(row) - 1)",
            "(row.cumsum(0) < torch.rand(1, generator=generator)).sum().sub(1).clamp(min=0)",
        ]
    }


class normal_numbers(Misconception):
    """Normal numbers are compared with cumulative probabilities: they need uniform ones, torch.rand."""

    based_on = cumulative_off_by_one
    edits = {"rand(1, generator=generator)).sum().add(1)": "randn(1, generator=generator)).sum()"}


class global_generator(common_mistakes.global_generator):
    variants = [{", generator=generator": ""}, {"ids =": "generator.manual_seed(generator.initial_seed())\nids ="}]


class other_source(shared_mistakes.other_source):
    edits = {
        DRAW: [
            'torch.tensor(__import__("random").choices(range(len(row)), row.tolist())[0])',
            'torch.tensor(__import__("numpy").random.choice(len(row), p=(row.double() / row.double().sum()).numpy()))',
        ]
    }


class generator_ignored(shared_mistakes.generator_ignored):
    edits = {
        "ids =": [
            "generator = torch.Generator().manual_seed(0)\nids =",
            "generator = torch.Generator().manual_seed(42)\nids =",
            "generator = torch.Generator()\nids =",
        ]
    }


class seeded_each_step(Misconception):
    """The generator is seeded anew before each token, so all draws are alike: draw from it as it comes."""

    variants = [
        {
            "row =": [
                "generator.manual_seed(0)\nrow =",
                "generator.manual_seed(42)\nrow =",
                "generator.manual_seed(generator.initial_seed())\nrow =",
            ]
        },
        {"=generator": "=torch.Generator()"},
    ]


class tensor(Misconception):
    """A tensor is returned: a list of Python ints is asked for (`.tolist()`)."""

    edits = {"return ids": "return torch.tensor(ids)"}


class tensors_in_the_list(Minor):
    """The list holds tensors: take the number out of each, with `.item()`."""

    variants = [{"next_id.item()": ["next_id", "next_id[0]"]}, global_generator.edited({".item()": ""})]


class lists_in_the_list(Minor):
    """The list holds lists: take the number out of each draw, with `.item()`."""

    edits = {"item": "tolist", "[ids[-1]]": "[ids[-1]].reshape(-1)"}


class tuple_(Misconception):
    """A tuple is returned: a list is asked for."""

    edits = {"return ids": "return tuple(ids)"}


class text(Minor):
    """A string is returned: a list of Python ints is asked for."""

    edits = {"return ids": ["return ' '.join(map(str, ids))", "return [str(token) for token in ids]"]}


class only_if_asked(Misconception):
    """For num_tokens = 0 the call fails or gives nothing: the list with the start id is asked for."""

    edits = {
        "return ids": [
            "return ids if num_tokens else None",
            "return ids if num_tokens else []",
            "assert num_tokens > 0\nreturn ids",
        ]
    }


class unknown_name(Fundamental):
    """Three arguments are taken: keep generate_bigram(probs, start_id, num_tokens, generator)."""

    based_on = global_generator
    edits = {", generator)": ")"}


class input_changed(common_mistakes.input_changed):
    edits = {
        "row = probs[ids[-1]]": [
            """
            row = probs[ids[-1]]
            row /= row.sum()
            row *= 1 + 1e-3
            """,
            "probs *= 1.001\nrow = probs[ids[-1]]",
        ]
    }
