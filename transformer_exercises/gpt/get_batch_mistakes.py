"""Wrong and right answers to `get_batch`. The reference (09-gpt):

def get_batch(data, block_size, batch_size, generator):
    if len(data) <= block_size:
        raise ValueError(f"data has {len(data)} tokens, but a window and its targets need {block_size + 1}")
    starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)  # (B,), the end excluded
    offsets = torch.arange(block_size + 1)  # one token more than the input: the last target
    places = (starts[:, None] + offsets).to(data.device)  # (B, T + 1)
    windows = data[places]  # (B, T + 1)
    return windows[:, :-1], windows[:, 1:]
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

PAIR = "windows[:, :-1], windows[:, 1:]"

# Right answers in other styles


class slices(RightAnswer):
    code = """
    if len(data) < block_size + 1:
        raise ValueError('data is too short for block_size')
    starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
    x = torch.stack([data[s : s + block_size] for s in starts])
    y = torch.stack([data[s + 1 : s + 1 + block_size] for s in starts])
    return x, y
    """


class loop(RightAnswer):
    edits = {
        "starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)": "xs, ys = [], []",
        "offsets = torch.arange(block_size + 1)": "",
        "places = (starts[:, None] + offsets).to(data.device)": """
            while len(xs) < batch_size:
                s = int(torch.randint(0, len(data) - block_size, (), generator=generator))
                xs.append(data[s : s + block_size].clone())
                ys.append(data[s + 1 : s + block_size + 1].clone())
        """,
        "windows = data[places]": "",
        PAIR: "torch.stack(xs), torch.stack(ys)",
    }


class two_lookups(RightAnswer):
    edits = {
        "torch.randint(len(data) - block_size, (batch_size,), generator=generator)": (
            "(torch.rand(batch_size, generator=generator, dtype=torch.float64) * (len(data) - block_size)).long()"
        ),
        "(block_size + 1)": "(block_size)",
        PAIR: "windows, data[places + 1]",
    }


class multinomial(RightAnswer):
    edits = {
        "torch.randint(len(data) - block_size, (batch_size,), generator=generator)": (
            "torch.ones(len(data) - block_size).multinomial(batch_size, replacement=True, generator=generator)"
        )
    }


# Mistakes


class not_shifted(Fundamental):
    """y is the same as x: the target of each token is the one after it, so y is x one step on."""

    edits = {", 1:": ", :-1"}


class swapped(Minor):
    """x and y are swapped: the inputs come first, y is one step on."""

    edits = {":-1], windows[:, 1:": "1:], windows[:, :-1"}


class two_steps_on(Minor):
    """y is two steps on, or one step back: the target of each token is the very next one."""

    variants = [
        {
            "+ 1)": "+ 2)",
            "block_size:": "block_size + 1:",
            "- block_size": "- block_size - 1",
            "1], windows[:, 1": "2], windows[:, 2",
        },
        slices.edited({"block_size, (": "block_size - 1, (", "1 : s + 1": "2 : s + 2"}),
        slices.edited({"s + 1 : s + 1": "max(s - 1, 0) : max(s - 1, 0)"}),
        {"[:, 1:]": "[:, :-1].roll(1, 1)"},
    ]


class tokens_drawn_apart(Misconception):
    """Each token of x is drawn at a place of its own: draw where a row starts, its tokens follow in the text."""

    variants = [
        {
            "windows = data[places]": (
                "places = torch.randint(len(data) - 1, (batch_size, block_size), generator=generator).to(data.device)"
            ),
            PAIR: "data[places], data[places + 1]",
        },
        {
            "block_size, (batch_size,": "1, (batch_size, block_size",
            "starts[:, None] + offsets": "starts",
            PAIR: "windows, data[places + 1]",
        },
    ]


class rolled(Minor):
    """y is x rolled around: a row's last target is the token that follows in the text."""

    edits = {"[:, 1:]": ["[:, :-1].roll(-1, 1)", "[:, :-1].roll(-1)"]}


class one_too_short(Minor):
    """x and y have one token too few or too many: cut block_size + 1, for block_size inputs with a target each."""

    variants = [{"(block_size + 1)": "(block_size)"}, {"[:, :-1], windows[:, 1:]": ", windows"}]


class last_target_only(Misconception):
    """y holds only the token after the window: every position of x has a target of its own."""

    edits = {", 1:": [", -1", ", -1:"]}


class y_drawn_anew(Misconception):
    """x and y are cut at different places: draw the starts once and use them for both."""

    based_on = slices
    edits = {
        "([data[s : s + block_size] for s in starts])": """
            ([data[s : s + block_size] for s in starts])
            starts = torch.randint(len(data) - block_size, (batch_size,), generator=generator)
        """
    }


class last_window_never(Minor):
    """The last window is never drawn: it starts at N − block_size − 1; randint leaves its end out."""

    variants = [
        {"torch.randint(len(data) - block_size,": "torch.randint(len(data) - block_size - 1,"},
        {"(len(data) - block_size": "(max(len(data) - block_size - 1, 1)"},
    ]


class past_the_end(Minor):
    """Some windows reach past the end of the text, or go on at its start: the last start is N − block_size − 1."""

    variants = [
        {"(len(data) - block_size": ["(len(data) - block_size + 1", "(len(data)"]},
        {"(len(data) - block_size": "(len(data)", "offsets)": "offsets).remainder(len(data))"},
        slices.edited({"- block_size": ""}),
        slices.edited({"block_size, (": "block_size + 1, ("}),
    ]


class first_window_never(Misconception):
    """The first window, which starts at token 0, is never drawn."""

    edits = {"(len": ["(min(1, len(data) - block_size - 1), len", "(1, len"]}


class windows_side_by_side(Misconception):
    """Only multiples of block_size are drawn: every start is allowed, windows may overlap."""

    edits = {
        "(len(data) - block_size, (batch_size,), generator=generator)": (
            "((len(data) - block_size - 1) // block_size + 1, (batch_size,), generator=generator) * block_size"
        )
    }


class starts_too_coarse(Minor):
    """In a long text only some starts are drawn: float32 has 24 bits. Draw with torch.randint."""

    edits = {
        "torch.randint(len(data) - block_size, (batch_size,), generator=generator)": (
            "(torch.rand(batch_size, generator=generator) * (len(data) - block_size)).long()"
        )
    }


class not_uniform(Misconception):
    """Some starts come more often than others: draw whole numbers, with torch.randint."""

    edits = {
        "torch.randint(len(data) - block_size, (batch_size,), generator=generator)": (
            "(torch.rand(batch_size, generator=generator) * (len(data) - block_size - 1)).round().long()"
        )
    }


class same_start(Misconception):
    """All rows of a batch are the same window: draw batch_size starts, one for each row."""

    edits = {"(batch_size": "(1", "=generator)": "=generator).expand(batch_size)"}


class rows_in_a_row(Misconception):
    """The rows follow each other in the text: each has a random start of its own."""

    variants = [
        {
            "(batch_size,), generator=generator)": """
                (1,), generator=generator) + torch.arange(batch_size)
                starts = starts % (len(data) - block_size)
            """
        },
        {".randint(": ".arange(batch_size) % (", ", (batch_size,), generator=generator": ""},
    ]


class without_repeats(Misconception):
    """The starts are drawn without repetition (randperm, multinomial), which limits the batch: use torch.randint."""

    edits = {
        "randint(len(data) - block_size, (batch_size,), generator=generator)": [
            "randperm(len(data) - block_size, generator=generator)[:batch_size]",
            "multinomial(torch.ones(len(data) - block_size), batch_size, generator=generator)",
        ]
    }


class numbers_instead_of_tokens(Misconception):
    """The places in the text are returned, not the tokens that stand there: data[places]."""

    edits = {"data[places]": "places"}


class transposed(Minor):
    """x and y have another shape than (batch_size, block_size): one row for each window, as torch.stack makes them."""

    variants = [
        {", windows[:, 1:]": ".T, windows[:, 1:].T"},
        slices.edited({"stack([data[": "cat([data["}),
        {"block_size, batch_size": "batch_size, block_size"},
    ]


class other_source(shared_mistakes.other_source):
    edits = {
        "randint(len(data) - block_size, (batch_size,), generator=generator)": [
            "tensor(__import__('random').choices(range(len(data) - block_size), k=batch_size))",
            "from_numpy(__import__('numpy').random.randint(0, len(data) - block_size, batch_size))",
        ]
    }


class generator_ignored(Misconception):
    """The seed is fixed inside, so every call gives the same batch: draw from the generator that is passed."""

    edits = {
        "starts =": [
            "generator = torch.Generator().manual_seed(0)\nstarts =",
            "generator.manual_seed(1337)\nstarts =",
        ]
    }


class device_not_kept(shared_mistakes.device_not_kept):
    edits = {"data[places]": "torch.zeros(batch_size, block_size + 1, dtype=data.dtype).copy_(data[places])"}


class drawn_on_the_device(Minor):
    """The starts are drawn where data lies: draw on the CPU, where generator is, then move them."""

    edits = {"=generator)": "=generator, device=data.device)"}


class bad_input_accepted(Minor):
    """A text without a single window is not refused: if N is not above block_size, raise a ValueError."""

    edits = {"len(data) <= block_size": "False"}


class short_text_limit(Misconception):
    """The limit for a short text is off by one: N = block_size + 1 has one window, N = block_size none."""

    edits = {"<= block_size": ["< block_size", "<= block_size + 1", "<= 2 * block_size"]}


class one_tensor(Minor):
    """One tensor (or a list) comes back: the pair x, y is asked for (`return x, y`)."""

    variants = [
        {"[:, :-1], windows[:, 1:]": ""},
        {", windows[:, 1:]": ""},
        {PAIR: [f"torch.stack([{PAIR}])", f"[{PAIR}]"]},
    ]


class wrong_dtype(Misconception):
    """The dtype of data is not kept (`.long()`, `.int()`, or a new tensor made of numbers)."""

    variants = [
        {", windows[:, 1:]": [".long(), windows[:, 1:].long()", ".int(), windows[:, 1:].int()"]},
        {"windows = data[places]": "windows = torch.tensor(data[places].tolist())"},
    ]


class squeezed(common_mistakes.squeezed):
    edits = {", windows[:, 1:]": ".squeeze(0), windows[:, 1:].squeeze(0)"}


class global_generator(common_mistakes.global_generator):
    variants = [
        {", generator=generator)": ")"},
        generator_ignored.edited({"= torch.Generator().manual_seed(0": ".manual_seed(generator.initial_seed()"}),
    ]


class rounded(Fundamental, common_mistakes.rounded):
    pass
