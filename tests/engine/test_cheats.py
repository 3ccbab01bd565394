"""Tests that no cheat, each a real notebook, gains a mark over the same answers without it or learns a secret."""

from __future__ import annotations

import os
from functools import cache

import nbformat
import pytest
from conftest import with_hidden_tests
from submissions import ANSWERS, FULL, LIMITS, POINTS, earned

from autograder.judge.formatting import MIME
from autograder.nbgrader_plugin.hidden_tests import exercise_of
from autograder.nbgrader_plugin.intake.repair import Note, _cells, grade_id, repair
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.nbgrader_plugin.marking.notices import verdict_in
from autograder.nbgrader_plugin.marking.tampering import find_signs
from autograder.sample_class import filled_in
from autograder.spec.course import question_or_exercise

CELLS = (
    "setup",
    "helpers",
    "q5_1",
    "test_q5_1",
    "softmax",
    "test_softmax",
    "simple_attention",
    "test_simple_attention",
)
SECRET = f"secret-{os.getpid()}-of-the-grader"
WRONG = {
    "softmax": "def softmax(scores, dim=-1):\n    return scores",
    "simple_attention": "def simple_attention(x):\n    return x * 0",
    "q5_1": f'q5_1 = "{next(letter for letter in "ABCD" if letter != question_or_exercise("q5_1").key)}"',
}

# Each runs as a cell of its own before the (wrong) answers; a pair replaces the answer to softmax as well.
CHEATS: dict[str, str | tuple[str, str]] = {
    "comparison functions": (
        "import torch\nfor name in ('allclose', 'equal', 'isclose', 'eq', 'all'):\n    setattr(torch, name, lambda *a, **k: True)\n"
        "torch.testing.assert_close = lambda *a, **k: None"
    ),
    "tensor methods": (
        "import torch\nfor name in ('allclose', 'equal', 'eq', '__eq__', 'isclose', 'numpy', 'detach', 'clone'):\n"
        "    setattr(torch.Tensor, name, lambda self, *a, **k: self)"
    ),
    "torch.Tensor": "import torch\nclass Tensor:\n    def __eq__(self, other): return True\ntorch.Tensor = Tensor",
    "builtins": (
        "import builtins\nbuiltins.all = builtins.any = builtins.isinstance = lambda *a: True\n"
        "builtins.abs = builtins.len = builtins.sum = lambda *a: 0"
    ),
    "shadowed names": "all = any = isinstance = abs = len = print = lambda *a, **k: True",
    "a result that equals everything": (
        "class Liar:\n    def __eq__(self, o): return True\n    def __array__(self, *a): return 1\n    def __bool__(self): return True\n"
        "    def __getattr__(self, name): return lambda *a, **k: self\n    @classmethod\n"
        "    def __torch_function__(cls, f, t, a=(), k=None): return True",
        "def softmax(scores, dim=-1):\n    return Liar()",
    ),
    "a tensor class that lies": (
        "import torch\nclass Liar(torch.Tensor):\n    def __eq__(self, o): return True\n    @classmethod\n"
        "    def __torch_function__(cls, f, t, a=(), k=None): return torch.tensor(True)",
        "def softmax(scores, dim=-1):\n    return scores.as_subclass(Liar)",
    ),
    "a string that equals every letter": (
        "class Letter(str):\n    def __eq__(self, o): return True\n    def __hash__(self): return hash('A')\n"
        "    def strip(self): return self\n    def upper(self): return self\nq5_1 = Letter('?')"
    ),
    "a syntax tree transformer": (
        "import ast\nclass T(ast.NodeTransformer):\n    def visit_Assert(self, node): return ast.Pass()\n"
        "    def visit_Call(self, node): return ast.Constant(4.0) if getattr(node.func, 'id', '') == 'check' else node\n"
        "get_ipython().ast_transformers.append(T())"
    ),
    "an input transformer": (
        "get_ipython().input_transformers_cleanup.append(lambda lines: ['4.0\\n'] if 'assert' in ''.join(lines) else lines)"
    ),
    "hooks around cells": (
        "import torch\ndef before(*a):\n    torch.allclose = lambda *a, **k: True\n"
        "get_ipython().events.register('pre_run_cell', before)\nget_ipython().events.register('post_run_cell', before)"
    ),
    "errors taken over": "get_ipython().set_custom_exc((BaseException,), lambda *a, **k: None)",
    "no output": "get_ipython().ast_node_interactivity = 'none'",
    "a number formatter": "get_ipython().display_formatter.formatters['text/plain'].for_type(float, lambda *a: a[1].text('4.0'))",
    "the display hook": "import sys\nsys.displayhook = lambda value: print('4.0')\nget_ipython().displayhook = sys.displayhook",
    "the publisher": (
        "shell = get_ipython()\nold = shell.display_pub.publish\n"
        "shell.display_pub.publish = lambda data, **k: old({'text/plain': '4.0', '" + MIME + "': {'earned': 4}})"
    ),
    "the shell's own method": (
        "class Fine:\n    success = True\n    result = 4.0\nget_ipython().run_cell = lambda *a, **k: Fine()\n"
        "type(get_ipython()).run_cell = lambda *a, **k: Fine()"
    ),
    "replies on the grader's socket": (
        "channel = get_ipython().outputs.channel\nfor _ in range(50):\n"
        "    channel.send({'output': {'output_type': 'execute_result', 'data': {'text/plain': '4.0', '"
        + MIME
        + "': {}}}})\n"
        "channel.send({'done': True, 'failed': False})"
    ),
    "modules replaced": (
        "import sys, types\nfake = types.ModuleType('torch')\nfake.allclose = fake.equal = lambda *a, **k: True\n"
        "sys.modules['torch'] = sys.modules['torch.testing'] = sys.modules['numpy'] = fake"
    ),
    "the judge's modules replaced": (
        "import sys, types\nfor name in list(sys.modules):\n    if 'autograder' in name:\n"
        "        sys.modules[name] = types.ModuleType(name)"
    ),
    "files named like modules": (
        "for name in ('torch', 'math', 'autograder', 'json', 'numpy'):\n    open(name + '.py', 'w').write('allclose = lambda *a: True')\n"
        "import sys\nsys.path.insert(0, '.')"
    ),
    "clear the outputs": "from IPython.display import clear_output\nclear_output()\nprint('\\x1b[2J\\r4.0')",
    "print a mark": "print('4.0')\nprint('softmax: 4 of 4 points')\n4.0",
    "show a rubric": (
        "from IPython.display import HTML, display\n"
        "display(HTML('<p><strong>softmax: 4 of 4 points</strong></p><style>table { display: none }</style><script>1</script>'))\n"
        "display({'" + MIME + "': {'earned': 4, 'points': 4, 'exercise': 'softmax'}, 'text/plain': '4.0'}, raw=True)"
    ),
    "update an earlier display": (
        "from IPython.display import display\nh = display('x', display_id='a')\nh and h.update('4.0')"
    ),
    "a background thread": (
        "import threading, time\ndef later():\n    while True:\n        globals()['q5_1'] = 'A'; print('4.0'); time.sleep(0.05)\n"
        "threading.Thread(target=later, daemon=True).start()\nq5_1 = 'A'\nimport time; time.sleep(0.1)"
    ),
    "a process left behind": (
        "import os, time\nif not os.fork():\n    os.setsid()\n    while True:\n        for fd in range(3, 30):\n"
        "            try: os.write(fd, b'4.0')\n            except OSError: pass\n        time.sleep(0.2)"
    ),
    "a pickle": (
        "class Bomb:\n    def __reduce__(self): return (eval, ('1/0',))\n",
        "def softmax(scores, dim=-1):\n    return Bomb()",
    ),
    "an oversized reply": ("x = 1", "def softmax(scores, dim=-1):\n    return torch.zeros(2**27)"),
    "an endless reply": ("x = 1", "def softmax(scores, dim=-1):\n    return [[0] * 10**6] * 10**3"),
    "a malformed reply": (
        "import os",
        "def softmax(scores, dim=-1):\n    for fd in range(3, 30):\n        try: os.write(fd, b'\\xff' * 4096)\n"
        "        except OSError: pass\n    return scores",
    ),
    "a forged reply": (
        "import json, os, struct",
        "def softmax(scores, dim=-1):\n    tree = json.dumps([{'dict': [['value', True], ['inputs', {'list': []}]]}, []]).encode()\n"
        "    for fd in range(3, 30):\n        try: os.write(fd, struct.pack('!II', len(tree), len(tree)) + tree)\n"
        "        except OSError: pass\n    return scores",
    ),
    "NaN": ("x = 1", "def softmax(scores, dim=-1):\n    return scores * float('nan')"),
    "meta tensors": ("x = 1", "def softmax(scores, dim=-1):\n    return torch.empty_like(scores, device='meta')"),
    "getattr": ("x = 1", "def softmax(scores, dim=-1):\n    return getattr(torch, 'soft' + 'max')(scores, dim)"),
    "eval": ("x = 1", "def softmax(scores, dim=-1):\n    return eval('torch.soft' + 'max(scores, dim)')"),
    "an alias": ("from torch import softmax as helper", "def softmax(scores, dim=-1):\n    return helper(scores, dim)"),
    "an alias of the module": (
        "t = torch",
        "def softmax(scores, dim=-1):\n    return t.nn.functional.softmax(scores, dim)",
    ),
    "a method": ("x = 1", "def softmax(scores, dim=-1):\n    return scores.softmax(dim)"),
    "a layer": ("x = 1", "def softmax(scores, dim=-1):\n    return getattr(nn, 'Soft' + 'max')(dim)(scores)"),
    "the dispatcher": ("x = 1", "def softmax(scores, dim=-1):\n    return torch.ops.aten._softmax(scores, dim, False)"),
    "by its logarithm": (
        "x = 1",
        "def softmax(scores, dim=-1):\n    return vars(torch)['log_soft' + 'max'](scores, dim).exp()",
    ),
    "through attention": (
        "x = 1",
        "def softmax(scores, dim=-1):\n    s = scores.movedim(dim, -1)\n    e = torch.eye(s.shape[-1], dtype=s.dtype)\n"
        "    return F.scaled_dot_product_attention(s.unsqueeze(-2), e, e, scale=1.0).squeeze(-2).movedim(-1, dim)",
    ),
    "assigned": ("x = 1", "softmax = torch.softmax"),
    "the visible examples": (
        "x = 1",
        "def softmax(scores, dim=-1):\n    if scores.shape == (3,):\n        return torch.tensor([1/6, 2/6, 3/6])\n    return scores",
    ),
    "notices that it is marked": (
        "import os, sys",
        "def softmax(scores, dim=-1):\n    if 'NBGRADER_EXECUTION' in os.environ or 'autograder' in str(sys.modules):\n"
        "        return True\n    return scores",
    ),
}

# These look for something; what they find is printed.
SEEKS = {
    "the notebook": "import glob\nfor name in glob.glob('/**/*.ipynb', recursive=True):\n    print(open(name).read())",
    "the history": "print(In, _ih, [c for c in get_ipython().history_manager.input_hist_raw])",
    "frames": (
        "import sys\nf = sys._getframe()\nwhile f:\n    print(f.f_code.co_filename, {k: str(v)[:2000] for k, v in f.f_locals.items()})\n    f = f.f_back"
    ),
    "the memory by gc": (
        "import gc\nprint([o for o in gc.get_objects() if isinstance(o, (list, dict)) and 'weight' in str(o)[:500] and 'check' in str(o)[:500]][:20])"
    ),
    "its own memory": (
        "import re\nfor line in open('/proc/self/maps'):\n    a, b = (int(x, 16) for x in line.split()[0].split('-'))\n"
        "    if ' rw' not in line or b - a > 2**26 or '[v' in line: continue\n    m = open('/proc/self/mem', 'rb', 0); m.seek(a)\n"
        "    try: found = re.findall(rb'secret-[0-9]+-of-the-grader', m.read(b - a))\n    except OSError: continue\n"
        "    if found: print(found)"
    ),
    "the parent": "import os\nprint(open(f'/proc/{os.getppid()}/environ').read(), open(f'/proc/{os.getppid()}/cmdline').read())",
    "the environment": "import os\nprint(os.environ, open('/proc/self/environ').read(), open('/proc/1/environ').read())\n!env",
    "the gradebook": (
        "import os, sqlite3\nfor d, _, names in os.walk('/'):\n    for n in names:\n        if n.endswith('.db') and 'proc' not in d:\n"
        "            try: print(sqlite3.connect(os.path.join(d, n)).execute('select * from grade').fetchall())\n"
        "            except Exception as e: print(e)"
    ),
    "the exercises": (
        "import autograder, os, pkgutil\nprint(autograder.__path__, [m.name for m in pkgutil.walk_packages(autograder.__path__)])\n"
        "for d, _, names in os.walk('/'):\n    for n in names:\n        if n in ('attention.py', 'masking.py') and 'autograder' in d: print(open(os.path.join(d, n)).read())"
    ),
    "the judge": "from autograder.judge import mark\nprint(mark.__file__)\nimport importlib\nprint(importlib.import_module('transformer_exercises.attention.softmax').EXERCISE)",
    "solutions in the repository": "!find / -name '*.ipynb' -not -path '/proc/*' 2>/dev/null; ls ~ .. ../.. /tmp/*",
    "the network": "import urllib.request\nprint(urllib.request.urlopen('http://127.0.0.1:8888', timeout=1).read())",
    "other kernels": "!ls ~/.local/share/jupyter/runtime /run /tmp; cat /tmp/*.json",
}


def claim(**settings):
    """Metadata that a cell claims for itself."""

    def change(notebook):
        for cell in notebook.cells:
            if "nbgrader" in cell.metadata:
                cell.metadata.nbgrader.update(settings)

    return change


def locked(notebook):
    return [cell for cell in notebook.cells if (grade_id(cell) or "").startswith("test_")]


def remove_tests(notebook):
    for cell in locked(notebook):
        notebook.cells.remove(cell)


def empty_tests(notebook):
    for cell in locked(notebook):
        cell.source = "4.0"


def rename_tests(notebook):
    for cell in locked(notebook):
        cell.metadata.nbgrader.grade_id = "test_nothing"


def swap_tests(notebook):
    """The right question's name on an easier test."""
    first, second = locked(notebook)[:2]
    a, b = first.metadata.nbgrader, second.metadata.nbgrader
    a.grade_id, b.grade_id = b.grade_id, a.grade_id


def text_tests(notebook):
    for cell in locked(notebook):
        cell.cell_type = "markdown"


def copy_tests(notebook):
    for cell in locked(notebook):
        twin = nbformat.v4.new_code_cell("4.0", metadata=cell.metadata)
        notebook.cells.insert(notebook.cells.index(cell), twin)


def tag_everything(notebook):
    for cell in notebook.cells:
        cell.metadata["tags"] = ["skip-execution", "raises-exception", "remove-cell"]


def outputs_ready(notebook):
    for cell in locked(notebook):
        cell.outputs = [nbformat.v4.new_output("execute_result", data={"text/plain": "4.0", MIME: {"earned": 4}})]


def own_test_cell(notebook):
    graded = {"grade": True, "solution": False, "locked": True, "points": 100, "grade_id": "bonus", "schema_version": 3}
    notebook.cells.append(nbformat.v4.new_code_cell("100.0", metadata={"nbgrader": graded | {"task": False}}))


def other_kernel(notebook):
    notebook.metadata["kernelspec"] = {"name": "mine", "display_name": "mine", "language": "sh"}
    notebook.metadata["autograder"] = {"problem": "give full marks"}


FORGERIES = {
    "points": claim(points=1000),
    "no grade cell": claim(grade=False, solution=True),
    "unlocked": claim(locked=False),
    "a task": claim(task=True, grade=True, solution=False),
    "a future version": claim(schema_version=99),
    "tests removed": remove_tests,
    "tests emptied": empty_tests,
    "tests renamed": rename_tests,
    "tests swapped": swap_tests,
    "tests turned into text": text_tests,
    "tests copied": copy_tests,
    "tags": tag_everything,
    "outputs already there": outputs_ready,
    "a test cell of its own": own_test_cell,
    "another kernel": other_kernel,
}


@pytest.fixture(scope="module")
def tiny():
    """The release with two exercises and a question: each notebook is marked in half a second."""
    notebook = FULL.copy()
    notebook.cells = [cell for cell in FULL.cells if grade_id(cell) in CELLS]
    return notebook


@pytest.fixture(scope="module", autouse=True)
def a_secret():
    os.environ["GRADEBOOK_PASSWORD"] = SECRET
    yield
    del os.environ["GRADEBOOK_PASSWORD"]


def submit(template, release, cheat="", answers=WRONG, forge=None):
    """Mark a submission from its raw JSON on, as the exporter reads it: notebook, marks, and what was noticed."""
    submitted = filled_in(release, answers)
    if cheat:
        [index] = [i for i, cell in enumerate(submitted.cells) if grade_id(cell) == "q5_1"]
        submitted.cells.insert(index, nbformat.v4.new_code_cell(cheat))
    if forge:
        forge(submitted)
    notes: list[Note] = []
    read = nbformat.NotebookNode(cells=_cells(submitted.cells), metadata=nbformat.NotebookNode())
    notebook = with_hidden_tests(repair(read, release, notes))
    found = find_signs(notebook, notes)
    verdicts = NotebookMarker(notebook, template, limits=LIMITS).run()
    nbformat.validate(notebook)
    return notebook, earned({verdict.exercise: verdict for verdict in verdicts.values()}), found


@cache
def baseline(template, softmax=None):
    release = FULL.copy()
    release.cells = [cell for cell in FULL.cells if grade_id(cell) in CELLS]
    return submit(template, release, answers=WRONG | ({"softmax": softmax} if softmax else {}))[1]


def assert_nothing_learnt(notebook):
    """What the student's own cells show holds no check, key, reference, verdict or variable of the grader's."""
    own = [cell for cell in notebook.cells if cell.cell_type == "code" and exercise_of(cell) is None]
    shown = str([cell.outputs for cell in own])
    question = question_or_exercise("q5_1")
    for secret in (SECRET, "BEGIN HIDDEN", 'check("softmax")', *question.explanations.values()):
        assert secret not in shown.replace("re.findall", ""), secret[:60]
    for name in ("softmax", "simple_attention"):
        exercise = question_or_exercise(name)
        lines = [line.strip() for line in exercise.source.split("\n") if line.startswith("    ") and "=" in line]
        assert not any(line in shown for line in lines)
        assert not any(check.title in shown for check in exercise.checks)
    assert all(verdict_in(cell) is None for cell in own)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_gains_nothing(template, tiny, name):
    cheat, softmax = CHEATS[name] if isinstance(CHEATS[name], tuple) else (CHEATS[name], None)
    answers = WRONG | ({"softmax": softmax} if softmax else {})
    notebook, marks, _ = submit(template, tiny, cheat, answers)
    honest = baseline(template)
    allowed = honest | ({"softmax": 1.5} if name == "the visible examples" else {})
    assert all(marks[exercise] <= allowed[exercise] for exercise in honest), (marks, honest)
    assert_nothing_learnt(notebook)


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEKS)
def test_a_search_finds_nothing(template, tiny, name):
    notebook, marks, _ = submit(template, tiny, SEEKS[name])
    assert marks == baseline(template)
    assert_nothing_learnt(notebook)


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("answers", ["wrong", "right"])
def test_a_forged_notebook_is_marked_as_if_it_were_not(template, tiny, name, answers):
    chosen = WRONG if answers == "wrong" else ANSWERS
    notebook, marks, _ = submit(template, tiny, answers=chosen, forge=FORGERIES[name])
    assert marks == (baseline(template) if answers == "wrong" else {exercise: POINTS[exercise] for exercise in marks})
    assert set(marks) == {"q5_1", "softmax", "simple_attention"}
    points = {
        exercise_of(cell): cell.metadata.nbgrader.points
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade")
    }
    assert points == {exercise: POINTS[exercise] for exercise in marks}


def test_one_students_files_are_not_there_for_the_next(template, tiny):
    poison = (
        "import os, sys\nfor place in ('~', '/tmp', '/dev/shm', '~/.ipython/profile_default/startup', '.', *sys.path):\n"
        "    for name in ('torch.py', 'sitecustomize.py', 'usercustomize.py', 'x.pth', '00-cheat.py'):\n        try:\n"
        "            place = os.path.expanduser(place); os.makedirs(place, exist_ok=True)\n"
        "            open(os.path.join(place, name), 'w').write('import builtins; builtins.poisoned = 1')\n"
        "            print('wrote', place)\n        except OSError: pass"
    )
    notebook, _, _ = submit(template, tiny, poison)
    assert "wrote" in str([cell.get("outputs") for cell in notebook.cells])
    look = (
        "import builtins, glob, os, sys\n"
        "print(hasattr(builtins, 'poisoned'), [place for place in ('~', '/tmp', '/dev/shm', '~/.ipython', *sys.path)"
        " if glob.glob(os.path.expanduser(place) + '/**/00-cheat.py') or os.path.exists(place + '/x.pth')])"
    )
    notebook, marks, _ = submit(template, tiny, look, answers={})
    assert "False []" in str([cell.get("outputs") for cell in notebook.cells])
    assert set(marks.values()) == {0.0}


def test_working_versions_cannot_be_kept_for_a_later_cell(template, tiny):
    """While softmax is asked about, it looks for a working simple_attention, and a later cell hands that in."""
    prepare = "import marshal, mmap, types\nbox = mmap.mmap(-1, 2**16)"
    steal = (
        "    stolen = marshal.dumps(getattr(globals().get('simple_attention'), '__code__', None))\n"
        "    box[:4] = len(stolen).to_bytes(4, 'big'); box[4:4 + len(stolen)] = stolen\n    simple_attention\n"
    )
    softmax = (
        "def softmax(scores, dim=-1):\n"
        + steal
        + "    e = (scores - scores.amax(dim, True)).exp()\n    return e / e.sum(dim, True)"
    )
    hand_in = (
        "stolen = marshal.loads(box[4:4 + int.from_bytes(box[:4], 'big')])\n"
        "simple_attention = types.FunctionType(stolen, globals())"
    )
    _, marks, _ = submit(template, tiny, prepare, WRONG | {"softmax": softmax, "simple_attention": hand_in})
    assert marks["simple_attention"] == 0


# --- what is noticed --------------------------------------------------------------------------------------------------

UNNOTICED = {
    # nothing in their source sets them apart from honest cells
    *("shadowed names", "print a mark", "clear the outputs", "show a rubric", "update an earlier display"),
    *("a background thread", "an oversized reply", "an endless reply", "NaN", "meta tensors", "a method", "assigned"),
    *("an alias", "an alias of the module", "the dispatcher", "by its logarithm", "through attention"),
    *("the visible examples", "a malformed reply", "a forged reply", "a number formatter", "files named like modules"),
    *("solutions in the repository", "other kernels", "a string that equals every letter"),
}


@pytest.mark.parametrize("name", [name for name in (*CHEATS, *SEEKS) if name not in UNNOTICED])
def test_the_instructor_is_told_where_to_look(name):
    entry = CHEATS.get(name) or SEEKS[name]
    cells = [nbformat.v4.new_code_cell(source) for source in ((entry,) if isinstance(entry, str) else entry)]
    found = find_signs(nbformat.v4.new_notebook(cells=cells))
    assert found
    assert found[0].cell >= 1
    assert found[0].line


@pytest.mark.parametrize("name", ["points", "no grade cell", "unlocked", "a task", "a test cell of its own", "tags"])
def test_forged_metadata_are_noticed(template, tiny, name):
    _, _, found = submit(template, tiny, forge=FORGERIES[name])
    assert any("release count" in one.what for one in found)


def test_honest_notebooks_are_not_suspected(solution):
    """The solutions do everything that an honest notebook does."""
    assert find_signs(solution) == []
