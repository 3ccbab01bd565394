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
    """The row is another one (row 0, the step's, the token before the latest): use probs[ids[-1]]."""

    variants = [
        {"probs[ids[-1]]": ["probs[0]", "probs.mean(dim=0)", "torch.ones(len(probs))"]},
        {"_ in": "step in", "ids[-1]": "step % len(probs)"},
        {"-": "-2] if len(ids) > 1 else ids[-"},
    ]


class one_too_few(Minor):
    """One token too few, or too many, is returned: num_tokens new ones after the start id."""

    variants = [
        {"(num_tokens)": "(num_tokens - 1)"},
        {"(num_tokens)": "(num_tokens + 1)"},
        {"return ids": "return ids[:-1]"},
    ]


class start_left_out(Minor):
    """The start id is missing: the list begins with it."""

    edits = {"return ids": "return ids[1:]"}


class start_ignored(Minor):
    """The first token is 0, or is drawn: the list begins with start_id itself."""

    variants = [
        {"[start_id]": "[0]"},
        {"return ids": "return ids[1:] + [torch.multinomial(probs[ids[-1]], 1, generator=generator).item()]"},
        {"[start_id]": "[torch.randint(len(probs), (1,), generator=generator).item()]"},
    ]


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


class all_at_once(Misconception):
    """Tokens are drawn together, or from one number: draw one at a time, from the latest token's row."""

    variants = [
        "return [start_id] + torch.multinomial(probs[start_id], num_tokens, generator=generator).tolist()",
        {
            "ids =": "u = torch.rand(1, generator=generator)\nids =",
            DRAW: "(row.cumsum(0) <= u).sum().clamp(max=len(probs) - 1)",
        },
        {
            DRAW: "torch.rand(1, generator=generator)",
            "append(next_id.item())": "extend((row.cumsum(0) > next_id).nonzero().flatten().tolist())",
        },
    ]


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


class logarithms(Misconception):
    """Logarithms are passed to torch.multinomial: it takes the probabilities themselves."""

    edits = {"probs[ids[-1]]": "-probs[ids[-1]].clamp(min=1e-9).log()"}


class temperature(Misconception):
    """The row is changed (a power, top-k, rounded, smoothed, no repeats): draw from the row as it is."""

    variants = [
        {
            "[ids[-1]]": [
                "[ids[-1]] ** 2",
                "[ids[-1]] ** 0.5",
                "[ids[-1]] * (probs[ids[-1]] >= probs[ids[-1]].topk(2).values[-1])",
            ]
        },
        {"[ids[-1]]": ["[ids[-1]] + 1e-2", "[ids[-1]] + 0.1", "[ids[-1]] + 1"]},
        {
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
        },
        {
            "next_id = torch.multinomial(row, num_samples=1, generator=generator)": """
            best = row.topk(min(40, len(row)))
            next_id = best.indices[torch.multinomial(best.values, num_samples=1, generator=generator)]
        """
        },
        {"[ids[-1]]": "[ids[-1]].clone()\nrow[ids[-1]] = 0"},
    ]


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
    edits = {", generator=generator": ""}


class seeded_anew(Misconception):
    """Each call begins at the same place (the generator is copied, or seeded anew), so two calls write one text: draw
    from the generator itself, as it comes.
    """

    edits = {
        "ids =": [
            "generator.manual_seed(generator.initial_seed())\nids =",
            "generator = generator.clone_state()\nids =",
        ]
    }


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
    """A tensor or a tuple is returned: a list of Python ints is asked for."""

    variants = [
        {"return ids": "return torch.tensor(ids)"},
        {"return ids": "return tuple(ids)"},
    ]


class tensors_in_the_list(Minor):
    """Tensors, lists or strings come back: a list of Python ints is asked for, `.item()` of each draw."""

    variants = [
        {"next_id.item()": ["next_id", "next_id[0]"]},
        global_generator.edited({".item()": ""}),
        {"item": "tolist", "[ids[-1]]": "[ids[-1]].reshape(-1)"},
        {"return ids": ["return ' '.join(map(str, ids))", "return [str(token) for token in ids]"]},
    ]


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
