# Copy of transformer_exercises/shared_modules/notebook_tools.py: edit that file, then run `autograder release`.
"""Check the machine, explain errors in tests, and show figures with alternative text, in every notebook.

Importing this module does the first two. It holds nothing that an answer needs.
Libraries are imported where they are used, so that a missing one is named before anything stops.
"""

import builtins

BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"  # Okabe and Ito: seen by the colour-blind, too
BLUE, RED, PURPLE, GREY = "#0072B2", "#D55E00", "#CC79A7", "#777777"


def look_around():
    """Print one line about this machine, and a sentence for each thing that is in the way."""
    import os
    import platform
    import re
    import shutil
    import sys
    from pathlib import Path

    import torch

    mps = torch.backends.mps.is_available()
    graphics = torch.cuda.get_device_name() if torch.cuda.is_available() else "Apple GPU" if mps else "no GPU"
    found = [
        f"Python {platform.python_version()}",
        f"torch {torch.__version__}",
        f"{os.cpu_count()} CPU cores",
        graphics,
    ]
    wrong = []
    if sys.version_info < (3, 11):  # noqa: UP036 (this runs on students' machines)
        wrong.append(f"Python {platform.python_version()} is too old for this course: install 3.11 or newer.")
    memory = Path("/proc/meminfo")  # Windows and macOS do not tell without a library
    available = re.search(r"MemAvailable:\s+(\d+)", memory.read_text()) if memory.exists() else None
    if available:
        free = int(available[1]) / 2**20
        found.append(f"{free:.0f} GiB of memory free")
        if free < 1:
            wrong.append("Less than 1 GiB of memory is free: close other notebooks (Kernel → Shut Down All Kernels).")
    if shutil.disk_usage(".").free < 2**28:
        wrong.append("The disk is nearly full, so the notebook may not be saved: make room first.")
    # Marking of one's own copy names its folder and the command that helps: one instruction is enough.
    if not os.access(".", os.W_OK) and "autograder.learning" not in sys.modules:
        wrong.append("This folder cannot be written to, so nothing is saved: copy the course to a folder of your own.")
    print(" · ".join(found))
    print("\n".join(f"✗ {sentence}" for sentence in wrong) or "Everything is here.")
    print("Run All Cells goes on where an exercise is not answered yet; its test says so.")


def plainly(shell, kind, error, trace, tb_offset=None):
    """Show what went wrong: in a test its sentence and the line of the student's code, elsewhere what Python says."""
    import traceback

    steps = [(step, line) for step, line in traceback.walk_tb(trace) if _is_cell(step)]
    if issubclass(kind, SyntaxError) and not steps:
        shell.showsyntaxerror()
        return
    said = _plain(kind, error, steps)
    if not said:
        said = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
    shell._showtraceback(kind, error, said)


def _plain(kind, error, steps):
    """Return what a test cell shows of an error, and any cell that is stopped or not answered yet. Else nothing."""
    import re

    if not steps:
        return []
    test, line = steps[0]
    last, last_line = steps[-1]
    if isinstance(error, KeyboardInterrupt):
        return [f"■ Stopped, in line {last_line}:  {_code(last, last_line)}", "  Run the cell again when you like."]
    if isinstance(error, NotImplementedError) and str(error).startswith("Not answered yet"):
        return [_wrapped(f"○ {getattr(last.f_code, 'co_qualname', last.f_code.co_name)}: {error}")]
    chosen = re.fullmatch(r"(q\d\w*) *= *([A-Za-z])(?: *#.*)?", _code(last, last_line))
    if chosen and isinstance(error, NameError):
        return [f'✗ {chosen[1]}: write the letter in quotation marks, {chosen[1]} = "{chosen[2].upper()}"']
    if not _code(test, 1).startswith("# @title Test"):
        return []
    if isinstance(error, AssertionError) and last is test:
        name, unanswered, _ = str(error).partition(" is not answered yet")
        answer = test.f_globals.get(name) if unanswered else None
        if isinstance(answer, str):
            return [_wrapped(f'✗ {name} is "{answer}": write one capital letter of the options')]
        if answer is not None:  # C, say, without quotation marks, where C is a number
            return [f'✗ {name}: write the letter in quotation marks, such as {name} = "A"']
        return [_wrapped(f"{'○' if unanswered else '✗'} {error}")] if str(error) else []
    lines = [_wrapped(f"✗ {kind.__name__}: {error}")]
    if last is test:
        return [*lines, f"  in the test, line {line}:  {_code(test, line)}"]
    lines.append(f"  in your code, line {last_line}:  {_code(last, last_line)}")
    return [*lines, f"  called in the test, line {line}:  {_code(test, line)}"]


def _is_cell(step):
    """Return whether this code stands in a cell: then it is in no file."""
    import linecache
    from pathlib import Path

    name = step.f_code.co_filename
    return not name.startswith("<frozen") and not Path(name).exists() and bool(linecache.getline(name, 1))


def _code(step, line):
    import linecache

    return linecache.getline(step.f_code.co_filename, line).strip()


def _wrapped(text):
    import textwrap

    return "\n".join(textwrap.fill(line, 100, subsequent_indent="  ") for line in text.splitlines())


def subplots(*shape, **options):
    """Return a new figure and its axes, as `plt.subplots` does, in the course's style."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
    return plt.subplots(*shape, **options)


def show(fig, alt):
    """Display the figure as a PNG with the alternative text `alt`, and close it."""
    import io

    import matplotlib.pyplot as plt
    from IPython.display import Image, display
    from PIL import Image as Picture
    from PIL import ImageChops, ImageFilter

    drawn, kept = io.BytesIO(), io.BytesIO()
    fig.savefig(drawn, format="png", dpi=200, bbox_inches="tight")
    plt.close(fig)
    # Twice the pixels that it is shown with, so that fine screens are sharp, and 256 colours where these are enough.
    full = Picture.open(drawn).convert("RGB")
    few = full.quantize(256, Picture.Quantize.MAXCOVERAGE, kmeans=1000)
    lost = ImageChops.difference(full, few.convert("RGB")).filter(ImageFilter.MinFilter(3))  # in areas, not along edges
    pixels = few if max(lost.tobytes()) <= 4 else full
    pixels.crop((0, 0, full.width // 2 * 2, full.height // 2 * 2)).save(kept, format="png")  # even, to be halved
    display(Image(data=kept.getvalue(), format="png", alt=alt, retina=True))


def heat_map(ax, values, rows, columns, words, colours="cividis", **limits):
    """Draw a table of numbers as colours. `words(number)` is written into each cell, black or white, as it can be read.

    rows and columns are labels. `colours` names a colour map, and `limits` are `vmin` and `vmax` of `imshow`.
    """
    image = ax.imshow(values, cmap=colours, **limits)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            red, green, blue, _ = image.cmap(float(image.norm(float(value))))
            light = 0.3 * red + 0.59 * green + 0.11 * blue > 0.5
            ax.text(j, i, words(value), ha="center", va="center", color=BLACK if light else "white")
    turned = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"} if max(map(len, map(str, columns))) > 2 else {}
    ax.set_xticks(range(len(columns)), columns, **turned)
    ax.set_yticks(range(len(rows)), rows)
    return image


def compare_guess(guess, truth, unit="", close=None):
    """Print how near a guess comes to the answer. It costs no points, and no guess is a mistake.

    A number is well guessed within the share `close` of the answer, by default a tenth; a text in any case of letters.
    """
    answer, share = f"{_spoken(truth)} {unit}".strip(), 0.1 if close is None else close
    if guess is None or guess is ...:
        print(f"No guess yet: the answer is {answer}.")
        return
    try:
        exact = float(guess) == float(truth)
        near = abs(float(guess) - float(truth)) <= share * abs(float(truth))
    except (TypeError, ValueError):  # not both are numbers
        exact = near = str(guess).strip().casefold() == str(truth).strip().casefold()
    if exact:
        print(f"Well guessed: it is {answer}.")
    elif near:
        print(f"Well guessed: you said {_spoken(guess)}, and it is {answer}.")
    else:
        print(f"You guessed {_spoken(guess)}; the answer is {answer}.")


def cells_of(name):
    """Return the cells of notebook `name` in the folder beside this one, also of one that was renamed: the newest."""
    import json
    from pathlib import Path

    own = Path("..", name, f"{name}.ipynb")
    others = sorted(own.parent.glob("*.ipynb"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in [own] if own.exists() else others:
        cells = json.loads(path.read_text("utf-8"))["cells"]
        if any("grade_id" in cell["metadata"].get("nbgrader", {}) for cell in cells):  # no notes of the student's
            return cells
    raise FileNotFoundError(f"no notebook of the course in {own.parent}")


def _spoken(value):
    """Return a number with at most three digits after the point and with commas; anything else as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return f"{number:,.0f}" if number.is_integer() or abs(number) >= 1000 else f"{number:.3g}"


def text_bars():
    """Make `tqdm.auto` print its bars as text: a widget is not there when the notebook is opened again."""
    import sys

    import tqdm.auto

    class TextBar(tqdm.std.tqdm):
        def __init__(self, *args, **options):
            super().__init__(*args, **{"file": sys.stdout, "ncols": 100, **options})

    tqdm.auto.tqdm = TextBar


_shell = getattr(builtins, "get_ipython", None)
if _shell and getattr(
    _shell(), "kernel", None
):  # in a notebook, and not where answers are marked or this file is tested
    _shell().set_custom_exc((Exception, KeyboardInterrupt), plainly)
    look_around()
    text_bars()
