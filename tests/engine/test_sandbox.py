"""Tests of the sandbox: every known way out is tried, and the resources of a bomb are released."""

import contextlib
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, missing, read, skip_without_sandbox, wait_for, with_hidden_tests
from programs import cells, program

from autograder.nbgrader_plugin.intake.repair import grade_id
from autograder.nbgrader_plugin.marking.notebook_marker import NotebookMarker
from autograder.sample_class import filled_in
from autograder.sandbox import isolation, monitor
from autograder.sandbox.environment import SHARED, of_template
from autograder.sandbox.selftest import ATTEMPTS
from autograder.sandbox.session import Limits, SandboxError, Session, Template
from autograder.spec.course import exercise

LIMITS = Limits(cell=10, question=2, grace=1, notebook=60, memory=2 * 2**30, disk=32 * 2**20, processes=40)
TOKEN = f"token-{os.getpid()}-that-no-notebook-may-see"
SMALL, LONGER = replace(LIMITS, memory=2**28), replace(LIMITS, cell=20, notebook=120)
WORKS, READS, REACHES, CHANGES, BOMBS, FLOODS, LINGERS = (
    dict(cells(f"sandbox/{kind}")) for kind in ("works", "reads", "reaches", "changes", "bombs", "floods", "lingers")
)
WORKS["commands"] = "!echo hello"
CHANGES_SETUP, SOCKET = CHANGES.pop("setup"), FLOODS.pop("SOCKET")
PRINTED = {
    "its own files": "mine\n['data']",
    "writing": "done",
    "a module of its own": "5",
    "commands": "hello",
    "Python in a child": "42",
    "a pool": "6",
    "data loaders with workers": "28",
    "temporary files": "3",
    "threads": "hi",
    "time zones": "Lagos",
}
REFUSALS = ("OSError", "PermissionError", "ProcessLookupError", "CalledProcessError", "ValueError")
CHANNELS: dict[
    str, dict[str, str]
] = {}  # what the listener does `before`, and the speaker; and what the listener hears
(_, CHANNELS_SETUP), *steps = cells("sandbox/channels")
for title, source in steps:
    name, step = title.split(": ")
    CHANNELS.setdefault(name, {})[step] = source
for channel in CHANNELS.values():
    if value := channel.pop("value", ""):  # it is another one then
        channel |= {"before": f"kept.append({value})", "hear": f"kept[-1] != {value}"}


@pytest.fixture(scope="module")
def template():
    running = Template(preload=["torch"])
    os.environ["CLASS_SECRET"] = TOKEN
    skip_without_sandbox(running)
    yield running
    running.close()
    del os.environ["CLASS_SECRET"]


@pytest.fixture(scope="module")
def vast(template, tmp_path_factory):
    """Yield a template with more address space than a notebook may add, and more memory than SMALL: as for GPUs."""
    folder = tmp_path_factory.mktemp("vast")
    (folder / "maps_much.py").write_text(program("sandbox/maps_much"))
    with contextlib.chdir(folder):
        running = Template(preload=["maps_much", "torch"])
        running._running()
    pages = Path(f"/proc/{running._process.pid}/statm").read_text().split()[0]
    assert int(pages) * os.sysconf("SC_PAGE_SIZE") > 6 * 2**30
    yield running
    running.close()


@pytest.fixture(scope="module")
def unsandboxed():
    running = Template(sandboxed=False)
    running._running()
    yield running
    running.close()


@pytest.mark.slow
def test_templates_are_forked_from_a_shared_one_while_it_runs(monkeypatch, tmp_path):
    place = str(tmp_path / "socket")
    code = "from autograder.sandbox import template; template.fork_shared(); input()"
    started = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        env=of_template() | {SHARED: json.dumps([place, [], []])},
    )
    monkeypatch.setattr(Template, "shared", (place,))
    wait_for(lambda: os.path.exists(place))
    first, second = Template(sandboxed=False), Template(sandboxed=False, preload=["colorsys"])
    with contextlib.closing(second):
        for template in (first, second):  # what the shared one lacks, a notebook imports itself
            with Session(template) as session:
                assert session.run("import os; assert os.getppid()").ending == "ok"
            assert template._process is None
        first.close()
        with Session(second) as session:
            assert session.run("1").ending == "ok"
    started.kill()
    started.communicate()
    wait_for(lambda: not Template(sandboxed=False)._forked())  # it ends with the process that forked it
    with contextlib.closing(first), Session(first) as session:
        assert session.run("1").ending == "ok"
        assert first._process is not None


@pytest.mark.slow
def test_a_shared_template_has_neither_environment_nor_judge(tmp_path):
    variables = environment() | {"CLASS_SECRET": TOKEN, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    code = ROOT / "tests/programs/sandbox/shares.py"
    process = subprocess.run([sys.executable, code, tmp_path], stdout=subprocess.PIPE, check=True, env=variables)
    assert json.loads(process.stdout) == {"forked": True, "token": TOKEN, "path": True, "notebook": "0 True False []\n"}


def test_huge_pages_change_nothing_in_memory():
    program = """
        from autograder.sandbox.template import use_huge_pages
        numbers = bytearray(bytes(range(256)) * 2**16)
        merged = use_huge_pages()
        assert merged in (True, False)
        assert numbers == bytes(range(256)) * 2**16
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return what a notebook is handed in with: one small file counts."""
    files = tmp_path_factory.mktemp("submission 1 'ä'")
    (files / "data").mkdir()
    (files / "data" / "own.txt").write_text("mine")
    (files / "link").symlink_to("/etc/passwd")
    (files / "other.ipynb").write_text("{}")
    return files


@pytest.fixture(scope="module")
def session(template, files):
    """Yield one notebook for all quiet attempts."""
    with Session(template, files, LIMITS) as running:
        yield running


def text(result):
    return "".join(
        output.get("text", "") + output.get("evalue", "") + str(output.get("data", {}).get("text/plain", ""))
        for output in result.outputs
    )


def processes(template):
    return set(monitor.tree(template._process.pid))


def assert_works(session, source, expected):
    result = session.run(source)
    assert result.ending == "ok", text(result)
    assert expected in text(result)


@pytest.mark.parametrize("kind", WORKS)
def test_what_a_notebook_needs_works(template, files, kind):
    with Session(template, files, LIMITS) as session:  # of its own: some write into their folder
        assert_works(session, WORKS[kind], PRINTED[kind])


def test_what_a_template_maps_does_not_count_against_the_notebook(vast):
    with Session(vast, limits=LIMITS) as session:
        for kind in ("commands", "Python in a child", "a pool", "data loaders with workers", "threads"):
            assert_works(session, WORKS[kind], PRINTED[kind])


def test_an_endless_cell_is_interrupted_and_the_next_one_runs(session):
    assert session.run("kept = 1\nwhile True: pass", limit=0.5).ending == "time"
    assert text(session.run("kept")) == "1"


def test_figures_are_shown_at_the_end_of_their_cell(session):
    result = session.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('before')")
    assert [output["output_type"] for output in result.outputs] == ["stream", "display_data"]
    assert "image/png" in result.outputs[1]["data"]


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """Return a file next door that anybody may read, as far as its permissions go."""
    folder = tmp_path_factory.mktemp("gradebook")
    path = folder / "secret-of-the-class"
    path.write_text(TOKEN)
    for parent in (folder, folder.parent, folder.parent.parent):
        with contextlib.suppress(OSError):
            parent.chmod(0o755)
    return path


@pytest.mark.parametrize("source", READS.values(), ids=READS)
def test_nobody_elses_data_can_be_read(session, secret, source):
    given = f"SECRET, ROOT, PID = {str(secret)!r}, {str(ROOT)!r}, {os.getpid()}"
    result = session.run(f"import os, subprocess\n{given}\nprint([{source}])")
    shown = text(result)
    assert TOKEN not in shown
    alone = ("all environments", "open descriptors", "everything below the root")  # they find nothing but their own
    assert result.ending == "error" or source in map(READS.get, alone), shown


@pytest.fixture(scope="module")
def listeners(tmp_path_factory):
    """Yield a port, an abstract socket and a socket file that anybody may visit."""
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o777)
    positions = {"abstract": "\0" + TOKEN, "path": str(folder / "s")}
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0)))]
        for location in positions.values():
            servers.append(stack.enter_context(socket.socket(socket.AF_UNIX)))
            servers[-1].bind(location)
            servers[-1].listen()
        for server in servers:
            server.setblocking(False)
        os.chmod(positions["path"], 0o777)
        yield positions | {"port": servers[0].getsockname()[1], "servers": servers}


@pytest.mark.parametrize("source", REACHES.values(), ids=REACHES)
def test_nothing_can_be_reached(session, listeners, source):
    given = "PORT, ABSTRACT, PATH = {port}, {abstract!r}, {path!r}".format(**listeners)
    result = session.run(f"import socket, subprocess, sys\n{given}\n{source}")
    assert result.ending == "error"
    for server in listeners["servers"]:
        with pytest.raises(BlockingIOError):  # nobody has come
            server.accept()


@pytest.mark.parametrize("source", CHANGES.values(), ids=CHANGES)
def test_nothing_outside_can_be_changed(session, source):
    result = session.run(f"{CHANGES_SETUP}\nPID = {os.getpid()}\n{source}")
    assert result.ending == "error", source
    assert result.outputs[-1]["ename"] in REFUSALS


def test_killing_everybody_kills_and_sees_nobody_else(template, session):
    with Session(template, limits=LIMITS) as other:
        other.run("import os, time\nif not os.fork(): time.sleep(60)\nos.kill(-1, 9)")
        assert text(other.run("os.wait()[1]")) == "9"  # its own child was the only one
        assert text(other.run("print([p for p in os.listdir('/proc') if p.isdigit()])")) == "['1']\n"
    assert text(session.run("1 + 1")) == "2"


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_contained_and_nothing_is_left(template, session, name):
    others, shared = processes(template), [psutil.virtual_memory().shared]
    children = name.startswith("children")  # each of which may have as much
    with Session(template, limits=LIMITS) as bombed, ThreadPoolExecutor() as pool:
        running = pool.submit(bombed.run, BOMBS[name], limit=50 if children else 4)
        while not running.done():
            shared.append(psutil.virtual_memory().shared)
            time.sleep(0.02)
        assert running.result().ending in (["died"] if children else ["error", "died", "time"])
        assert bombed.reason == "memory" or not children
    assert max(shared) - shared[0] < LIMITS.memory + 2**30  # the monitor looks twenty times a second
    assert name != "children, shared" or max(shared) > shared[0] + 2**30, "it is the host's that is measured"
    wait_for(lambda: processes(template) <= others)
    assert text(session.run("1 + 1")) == "2"


@pytest.mark.parametrize("which", ["template", "vast"])
def test_a_notebook_may_add_as_much_to_every_template_and_no_more(request, which):
    with Session(request.getfixturevalue(which), limits=LIMITS) as session:
        share = "import mmap\nx = mmap.mmap(-1, {} * 2**30 // 4, flags=mmap.MAP_PRIVATE); len(x)"
        assert text(session.run(share.format(7))) == str(7 * 2**28)
        assert "Cannot allocate" in text(session.run(share.format(8)))
        assert "MemoryError" in str(session.run("bytearray(2**31)").outputs)
        assert "can't allocate memory" in text(session.run("import torch\ntorch.empty(2**31, dtype=torch.uint8)"))
        assert text(session.run("1 + 1")) == "2"


@pytest.mark.parametrize("which", ["template", "vast"])
def test_a_notebooks_processes_share_one_memory_limit(request, which):
    template = request.getfixturevalue(which)
    with Session(template, limits=SMALL) as light:
        assert light.run(f"MIB = 10\n{program('sandbox/children_hold')}").ending == "ok"
    with Session(template, limits=SMALL) as heavy:
        assert heavy.run(f"MIB = 200\n{program('sandbox/children_hold')}").ending == "died"
        assert heavy.reason == "memory"


@pytest.mark.parametrize("source", FLOODS.values(), ids=FLOODS)
def test_a_flood_of_output_does_not_fill_the_grader(template, source):
    before = monitor._kilobytes("/proc/self/status", ("RssAnon:",))
    with Session(template, limits=LIMITS) as flooding:
        assert flooding.run(source.replace("SOCKET", SOCKET), limit=2).ending in ("time", "died", "error")
    assert monitor._kilobytes("/proc/self/status", ("RssAnon:",)) - before < 150 * 1024


@pytest.mark.parametrize("source", LINGERS.values(), ids=LINGERS)
@pytest.mark.parametrize("sandboxed", [True, False], ids=["sandboxed", "unsandboxed"])
def test_no_process_is_left_behind(template, unsandboxed, source, sandboxed):
    running = template if sandboxed else unsandboxed
    others = processes(running)  # some may be of an earlier test, and about to end
    with Session(running, limits=LIMITS) as left:
        left.run(source, limit=3)
        new = processes(running) - others
        assert len(new) > 2  # its monitor, itself and what it started
    wait_for(lambda: not new & processes(running))


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.slow
def test_seeded_results_equal_those_of_a_new_process(template):
    cold = subprocess.check_output([sys.executable, "-c", program("sandbox/seeded")], text=True, env=environment())
    for _ in range(2):
        with Session(template, limits=LIMITS) as warm:
            assert text(warm.run(program("sandbox/seeded"))) == cold


@pytest.mark.slow
def test_unseeded_results_differ_between_notebooks(template):
    source = "import random, numpy as np, torch\nprint(torch.rand(1).item(), np.random.rand(), random.random())"
    with Session(template, limits=LIMITS) as one, Session(template, limits=LIMITS) as other:
        assert not {*text(one.run(source)).split()} & {*text(other.run(source)).split()}


def test_the_test_of_the_sandbox_finds_every_way_out_closed(template):
    way = "as a user of its own" if os.geteuid() == 0 else "in a user namespace"
    assert not missing(template.try_out(), "all are closed", way)


def test_without_a_sandbox_the_test_fails_and_says_what_to_do(unsandboxed, monkeypatch):
    with pytest.raises(SandboxError, match=r"c\.Judge\.sandbox = False") as caught:
        unsandboxed.try_out()
    attempts = ("read a file of yours", "see other processes", "reach a port", "write outside", "make a namespace")
    assert all(attempt in str(caught.value) for attempt in attempts)
    assert len(ATTEMPTS) >= 15
    assert "WITHOUT a sandbox" in unsandboxed.prove()
    monkeypatch.setattr(Template, "proof", "")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="not Linux"):
        Session(Template())


@pytest.mark.slow
def test_an_environment_may_be_a_link_in_the_home_folder(template, tmp_path):
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / ".venv").symlink_to(sys.prefix)
    python = tmp_path / "course" / ".venv" / "bin" / Path(sys.executable).name
    code = "from autograder.sandbox.session import Template\nprint(Template().prove())"
    home = environment() | {"HOME": str(tmp_path)}
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=home, cwd="/")
    assert "all are closed" in done.stdout, done.stderr


def test_what_is_private_is_hidden_wherever_it_is_shown(monkeypatch):
    shown = (("/home/somebody/.venv", "/opt/env"), ("/opt/env", "/opt/env"), ("/usr/lib", "/usr/lib"))
    monkeypatch.setattr(isolation, "visible", lambda installed: shown)
    course = "lib/site-packages/a_course"
    found = isolation.hidden((f"/opt/env/{course}", "/srv/elsewhere", "/opt"), ())
    assert found == (f"/home/somebody/.venv/{course}", f"/opt/env/{course}")


def test_a_notebook_is_marked_in_it(template):
    release = read("course", "05-attention")
    release.cells = [cell for cell in release.cells if grade_id(cell) in ("setup", "softmax", "test_softmax")]
    notebook = with_hidden_tests(filled_in(release, {"softmax": exercise("softmax").source}))
    verdicts = NotebookMarker(notebook, template, ROOT / "course" / "05-attention").run()
    assert [verdict.full for verdict in verdicts.values()] == [True]


@pytest.fixture(scope="module")
def somebody():
    """Yield a function that runs Python as user 12345. Skip where the kernel refuses ordinary users namespaces.

    Where it refuses them to root, as in a container, every test here runs as an ordinary user already.
    """
    if os.geteuid() != 0:
        pytest.skip("every test here runs as an ordinary user already")
    asked = subprocess.run(
        [sys.executable, "-c", program("sandbox/asks_for_namespaces")],
        capture_output=True,
        text=True,
        env=environment(),
    )
    if "PermissionError" in asked.stderr or "OSError" in asked.stderr:
        pytest.skip(f"the kernel refuses namespaces: {asked.stderr.splitlines()[-1]}")
    assert asked.stdout == "12345\n", asked.stderr
    paths = repr([sys.base_prefix, sys.prefix, str(ROOT)])
    with tempfile.TemporaryDirectory() as folder:
        os.chown(folder, 12345, 12345)
        options = {"capture_output": True, "text": True, "cwd": ROOT, "env": environment() | {"TMPDIR": folder}}
        yield lambda *arguments: subprocess.run(
            [sys.executable, "-c", program("sandbox/as_somebody"), paths, *arguments],
            **options,
        )


SAME_SANDBOX = (
    "can_be_read",
    "can_be_reached",
    "can_be_changed",
    "sees_nobody_else",
    "every_way_out_closed",
    "marked_in_it",
    "cannot_tell_another",
    "and_nothing_is_left and processes",
    "and_nothing_is_left and children",
)


@pytest.mark.slow
def test_an_ordinary_users_sandbox_keeps_all_that_roots_does(somebody):
    done = somebody("-m", "pytest", "-p", "no:cacheprovider", "-rs", __file__, "-k", " or ".join(SAME_SANDBOX))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not re.search("SKIPPED|no tests", done.stdout), done.stdout
    least = sum(map(len, (READS, REACHES, CHANGES, CHANNELS))) + 5
    assert done.stdout.count(".") >= least, done.stdout


def named(word):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "count", "within"),
    [("start", 2, 0), ("middle", 5, 0), *(pytest.param("start", 2, s, marks=pytest.mark.long) for s in [1.5, 6] * 5)],
)
def test_nothing_outlives_a_grader_that_is_killed(template, moment, count, within):
    seed, word = time.time_ns(), f"no_module_{os.getpid()}_{moment}"
    print(f"{seed=}")
    code = [sys.executable, "-c", program("sandbox/grader"), word, moment]
    grader = subprocess.Popen(code, stdout=subprocess.PIPE, cwd=ROOT, env=environment())
    try:
        assert grader.stdout.readline() == b"started\n"
        wait_for(lambda: len(named(word)) >= count)  # itself, the template, a monitor, the notebook, its child
        time.sleep(random.Random(seed).uniform(0, within))
    finally:  # it would work for ever
        grader.kill()
        grader.communicate()
    wait_for(lambda: not named(word))


@pytest.fixture(scope="module")
def pair(template):
    """Yield two notebooks that run at once. SECURITY.md says what no sandbox keeps from them, such as timing."""
    with Session(template, limits=LONGER) as one, Session(template, limits=LONGER) as other:
        for session in (one, other):
            assert session.run(CHANNELS_SETUP).ending == "ok"
        yield one, other


def message(session, source):
    done = session.run(f"try:\n    print(repr({source}))\nexcept Exception as error:\n    print(type(error).__name__)")
    assert done.ending == "ok"
    return text(done).strip()


@pytest.mark.parametrize("name", CHANNELS)
def test_one_notebook_cannot_tell_another_anything(pair, name):
    (speaker, listener), channel = pair, CHANNELS[name]
    message(listener, channel.get("before", "None"))
    message(speaker, channel.get("speak", "None"))
    assert message(listener, channel["hear"]) != "True"


def test_programs_that_lock_their_own_files_go_on(pair):
    session, _ = pair
    assert message(session, "__import__('sqlite3').connect('own.db').execute('create table t (x)').fetchall()") == "[]"
    for call in ("fcntl.flock(open('own', 'w'), fcntl.LOCK_EX)", "fcntl.lockf(open('own', 'w'), fcntl.LOCK_EX)"):
        assert message(session, call) == "None"
    assert message(session, "open('/dev/null', 'w').write('x')") == "1"
