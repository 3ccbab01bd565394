"""Tests of the sandbox: every known way out is tried, and the resources of a bomb are released."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT, skip_without_cage

from autograder.sandbox import cage, monitor
from autograder.sandbox.selftest import ATTEMPTS
from autograder.sandbox.session import Limits, SandboxError, Session, Template

LIMITS = Limits(cell=10, question=2, grace=1, notebook=60, memory=2 * 2**30, disk=32 * 2**20, processes=40)
TOKEN = f"token-{os.getpid()}-that-no-notebook-may-see"


@pytest.fixture(scope="module")
def template():
    running = Template(preload=["torch"])
    os.environ["CLASS_SECRET"] = TOKEN
    skip_without_cage(running)
    yield running
    running.close()
    del os.environ["CLASS_SECRET"]


MAPS_MUCH = """
import mmap

reserved = mmap.mmap(-1, 6 * 2**30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
used = b"x" * (400 * 2**20)
"""


@pytest.fixture(scope="module")
def vast(template, tmp_path_factory):
    """A template with more address space than a notebook may add, and more real memory than SMALL: as torch for GPUs."""
    folder = tmp_path_factory.mktemp("vast")
    (folder / "maps_much.py").write_text(MAPS_MUCH)
    with contextlib.chdir(folder):
        running = Template(preload=["maps_much", "torch"])
        running._running()
    status = Path(f"/proc/{running._process.pid}/statm").read_text().split()
    assert int(status[0]) * os.sysconf("SC_PAGE_SIZE") > 6 * 2**30
    yield running
    running.close()


SMALL = replace(LIMITS, memory=2**28)


@pytest.fixture(scope="module")
def uncaged():
    running = Template(caged=False)
    running._running()
    yield running
    running.close()


@pytest.fixture(scope="module")
def session(template, tmp_path_factory):
    """One notebook for all quiet attempts; what it was handed in with is one small file."""
    files = tmp_path_factory.mktemp("submission 1 'ä'")
    (files / "data").mkdir()
    (files / "data" / "own.txt").write_text("mine")
    (files / "link").symlink_to("/etc/passwd")
    (files / "other.ipynb").write_text("{}")
    with Session(template, files, LIMITS) as running:
        yield running


def text(result):
    """All that a cell printed, showed or complained about."""
    return "".join(
        output.get("text", "") + output.get("evalue", "") + str(output.get("data", {}).get("text/plain", ""))
        for output in result.outputs
    )


def processes(template):
    """How many processes the template and its notebooks are."""
    return len(monitor.tree(template._process.pid))


def wait_for(condition, seconds=5.0):
    end = time.monotonic() + seconds
    while not (seen := condition()) and time.monotonic() < end:  # once seen is seen: it may pass
        time.sleep(0.02)
    return seen


# --- (a) what a notebook needs, works ---------------------------------------------------------------------------------

WORKS = {
    "its own files": ("print(open('data/own.txt').read()); import os; print(os.listdir('.'))", "mine\n['data']"),
    "writing": ("open('new', 'w').write('x'); open('data/own.txt', 'a').write('y'); print('done')", "done"),
    "a module of its own": ("open('helper.py', 'w').write('x = 5')\nimport helper\nprint(helper.x)", "5"),
    "commands": ("!echo hello", "hello"),
    "Python in a child": (
        "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(6 * 7)'], text=True))",
        "42",
    ),
    "a pool": ("import multiprocessing as m\nwith m.Pool(2) as pool:\n    print(sum(pool.map(abs, range(4))))", "6"),
    "data loaders with workers": (
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "print(sum(batch.sum() for batch in DataLoader(torch.arange(8), batch_size=2, num_workers=2)))",
        "28",
    ),
    "temporary files": ("import tempfile\nwith tempfile.TemporaryFile() as f:\n    print(f.write(b'abc'))", "3"),
    "threads": ("import threading\nt = threading.Thread(target=print, args=['hi'])\nt.start(); t.join()", "hi"),
    "time zones": (
        "import zoneinfo, datetime\nprint(datetime.datetime.now(zoneinfo.ZoneInfo('Africa/Lagos')).tzinfo)",
        "Lagos",
    ),
}


@pytest.mark.parametrize("kind", ["commands", "Python in a child", "a pool", "data loaders with workers", "threads"])
def test_what_a_template_maps_does_not_count_against_the_notebook(vast, kind):
    source, expected = WORKS[kind]
    with Session(vast, limits=LIMITS) as session:
        result = session.run(source)
    assert result.ending == "ok", text(result)
    assert expected in text(result)


@pytest.mark.parametrize(("source", "expected"), WORKS.values(), ids=WORKS)
def test_what_a_notebook_needs_works(session, source, expected):
    result = session.run(source)
    assert result.ending == "ok", text(result)
    assert expected in text(result)


def test_figures_appear_at_the_end_of_their_cell(session):
    result = session.run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nprint('before')")
    assert [output["output_type"] for output in result.outputs] == ["stream", "display_data"]
    assert "image/png" in result.outputs[1]["data"]


def test_an_endless_cell_is_interrupted_and_the_next_one_runs(session):
    assert session.run("kept = 1\nwhile True: pass", limit=0.5).ending == "time"
    assert text(session.run("kept")) == "1"


# --- (b) nothing of anyone else's can be read ---------------------------------------------------------------------------

READS = {
    "the gradebook": "open({secret!r}).read()",
    "by way of the first process": "open('/proc/1/root' + {secret!r}).read()",
    "by way of the grader": "open('/proc/{pid}/root' + {secret!r}).read()",
    "the grader's memory": "open('/proc/{pid}/mem', 'rb').read(1)",
    "the grader's environment": "open('/proc/{pid}/environ').read()",
    "all environments": "''.join(open(f'/proc/{{p}}/environ').read() for p in os.listdir('/proc') if p.isdigit())",
    "a path that climbs": "open('../../../../../../../..' + {secret!r}).read()",
    "a symbolic link": "os.symlink({secret!r}, 'a-link'); open('a-link').read()",
    "a hard link": "os.link({secret!r}, 'hard'); open('hard').read()",
    "a command": "subprocess.check_output(['cat', {secret!r}], text=True)",
    "open descriptors": "''.join(os.readlink(f'/proc/self/fd/{{f}}') for f in os.listdir('/proc/self/fd'))",
    "the solutions": "os.listdir({root!r} + '/solutions')",
    "the exercises": "open({root!r} + '/transformer_exercises/attention/softmax.py').read()",
    "importing the exercises": "__import__('importlib').import_module('transformer_exercises.attention.softmax')",
    "importing the judge": "__import__('autograder.judge.mark')",
    "everything below the root": (
        "[open(os.path.join(d, n)).read() for t in ('/tmp', '/home', '/mnt', '/root', '/work', '/srv', '/var', '/opt')"
        " for d, _, names in os.walk(t) for n in names if n == 'secret-of-the-class']"
    ),
    "the passwords": "open('/etc/shadow').read()",
    "the kernel's log": "open('/dev/kmsg').read(1)",
    "the disks": "open('/dev/vda', 'rb').read(1), open('/dev/sda', 'rb').read(1)",
}
ALLOWED = ("all environments", "open descriptors", "everything below the root")  # they find nothing but their own


@pytest.fixture(scope="module")
def secret(tmp_path_factory):
    """A file next door that anybody may read, as far as its permissions go."""
    folder = tmp_path_factory.mktemp("gradebook")
    path = folder / "secret-of-the-class"
    path.write_text(TOKEN)
    for parent in (folder, folder.parent, folder.parent.parent):
        with contextlib.suppress(OSError):
            parent.chmod(0o755)
    return path


@pytest.mark.parametrize("source", READS.values(), ids=READS)
def test_nobody_elses_data_can_be_read(session, secret, source):
    filled = source.format(secret=str(secret), pid=os.getpid(), root=str(ROOT))
    result = session.run(f"import os, subprocess\nprint([{filled}])")
    shown = text(result)
    assert TOKEN not in shown
    assert result.ending == "error" or source in map(READS.get, ALLOWED), shown


def test_only_its_own_processes_are_seen(session):
    assert text(session.run("import os\nprint([p for p in os.listdir('/proc') if p.isdigit()])")) == "['1']\n"


# --- (c) nothing can be reached ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listeners(tmp_path_factory):
    """A port, an abstract socket and a socket file that count their visitors."""
    hits: list[str] = []
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o777)
    path = str(folder / "s")
    abstract = "\0" + TOKEN
    servers = {"port": socket.create_server(("127.0.0.1", 0))}
    for name, address in (("abstract", abstract), ("path", path)):
        servers[name] = socket.socket(socket.AF_UNIX)
        servers[name].bind(address)
        servers[name].listen()
    os.chmod(path, 0o777)

    def count(name):
        with contextlib.suppress(OSError):
            while True:
                servers[name].accept()[0].close()
                hits.append(name)

    for name in servers:
        threading.Thread(target=count, args=[name], daemon=True).start()
    yield {"port": servers["port"].getsockname()[1], "abstract": abstract, "path": path, "hits": hits}
    for server in servers.values():
        server.close()


REACHES = {
    "a port": "socket.create_connection(('127.0.0.1', {port}), 0.5)",
    "a port, by IPv6": "socket.create_connection(('::ffff:127.0.0.1', {port}), 0.5)",
    "an abstract socket": "socket.socket(socket.AF_UNIX).connect({abstract!r})",
    "a socket file": "socket.socket(socket.AF_UNIX).connect({path!r})",
    "the internet": "socket.create_connection(('192.0.2.1', 80), 0.5)",
    "UDP": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
    "raw packets": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "the kernel's routing": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "a virtual machine's host": "socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
    "a child that tries": (
        "subprocess.check_call([sys.executable, '-c', 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'])"
    ),
}


@pytest.mark.parametrize("source", REACHES.values(), ids=REACHES)
def test_nothing_can_be_reached(session, listeners, source):
    result = session.run("import socket, subprocess, sys\n" + source.format(**listeners))
    assert result.ending == "error"
    assert listeners["hits"] == []


# --- (d) nothing outside can be changed -------------------------------------------------------------------------------

CHANGES = {
    "the root": "open('/new', 'w')",
    "the packages": "open(torch.__file__, 'a')",
    "a start-up file for the next student": "open(os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), 'x.pth'), 'w')",
    "the system": "open('/usr/lib/x', 'w')",
    "the devices": "os.mknod('/dev/x')",
    "removing the interpreter": "os.unlink(sys.executable)",
    "permissions": "os.chmod('/usr/bin', 0o777)",
    "times": "os.utime('/usr/bin')",
    "kernel settings": "open('/proc/sys/kernel/hostname', 'w').write('x')",
    "mounting": "check(libc.mount(b'x', b'/tmp', b'tmpfs', 0, None))",
    "unmounting": "check(libc.umount2(b'/tmp', 2))",
    "a namespace": "check(libc.unshare(0x10000000))",
    "a namespace by clone": "check(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0))",
    "another root": "os.chroot('/tmp')",
    "tracing": "check(libc.ptrace(16, 1, 0, 0))",
    "io_uring": "check(libc.syscall(425, 8, None))",
    "bpf": "check(libc.syscall(321, 0, None, 0))",
    "perf": "check(libc.syscall(298, None, 0, 0, 0, 0))",
    "cached pages": "check(libc.syscall(451, 0, None, None, 0))",
    "a system call of the next kernel": "check(libc.syscall(480, 0, 0, 0))",
    "keys": "check(libc.syscall(250, 0, -3, 0))",
    "memory without a limit": "os.memfd_create('x')",
    "System V shared memory": "check(libc.shmget(0, 4096, 0o1600))",
    "becoming root": "os.setuid(0)",
    "root by command": "subprocess.check_call('su -c id || sudo -n id', shell=True)",
    "the host name": "socket.sethostname('x')",
    "the clock": "time.clock_settime(time.CLOCK_REALTIME, 0)",
    "raising limits": "[resource.setrlimit(k, (-1, -1)) for k in (resource.RLIMIT_AS, resource.RLIMIT_NPROC)]",
    "the grader": "os.kill({pid}, 9)",
    "priority": "os.nice(-5)",
}


@pytest.mark.parametrize("source", CHANGES.values(), ids=CHANGES)
def test_nothing_outside_can_be_changed(session, source):
    prelude = """
        import ctypes, os, resource, socket, subprocess, sys, time, torch
        libc = ctypes.CDLL(None, use_errno=True)
        def check(result):
            if result < 0:
                raise OSError(ctypes.get_errno(), "refused")
    """
    result = session.run(textwrap.dedent(prelude) + source.format(pid=os.getpid()))
    assert result.ending == "error", source
    assert result.outputs[-1]["ename"] in (
        "OSError",
        "PermissionError",
        "ProcessLookupError",
        "CalledProcessError",
        "ValueError",
    )


def test_killing_everybody_kills_nobody_else(template, session):
    with Session(template, limits=LIMITS) as other:
        other.run("import os, time\nif not os.fork(): time.sleep(60)\nos.kill(-1, 9)")
        assert text(other.run("os.wait()[1]")) == "9"  # its own child was the only one
    assert text(session.run("1 + 1")) == "2"


# --- (e) bombs --------------------------------------------------------------------------------------------------------

BOMBS = {
    "numpy": "import numpy as np\nx = [np.ones(2**24) for _ in range(200)]",
    "torch": "import torch\nx = [torch.ones(2**25) for _ in range(200)]",
    "one enormous tensor": "import torch\ntorch.empty(10**11)",
    "lists": "x = [0]\nwhile True:\n    x += x",
    "shared memory": "import mmap\nx = []\nwhile True:\n    x.append(mmap.mmap(-1, 2**26)); x[-1].write(b'x' * 2**26)",
    "children": (
        "import os, time\nfor _ in range(12):\n    if not os.fork():\n        x = b'x' * (300 * 2**20)\n        time.sleep(60)\n"
        "time.sleep(8)"
    ),
    "children, shared": (
        "import mmap, os, time\nfor _ in range(12):\n    if not os.fork():\n        m = mmap.mmap(-1, 300 * 2**20)\n"
        "        m.write(b'x' * (300 * 2**20))\n        time.sleep(60)\ntime.sleep(8)"
    ),
    "disk": "f = open('full', 'wb')\nfor _ in range(100):\n    f.write(b'x' * 2**20); f.flush()",
    "shared memory as files": "f = open('/dev/shm/full', 'wb')\nfor _ in range(100):\n    f.write(b'x' * 2**20); f.flush()",
    "a million files": "for i in range(10**6):\n    open(f'/tmp/{i}', 'w').close()",
    "open files": "x = [open('/dev/null') for _ in range(10**4)]",
    "processes": "import os, time\nfor _ in range(500):\n    if not os.fork():\n        time.sleep(60)",
    "threads": "import threading, time\nfor _ in range(500):\n    threading.Thread(target=time.sleep, args=[60]).start()",
    "a fork bomb": "import os\nwhile True:\n    os.fork()",
    "a fork bomb that never gives up": (
        "import os\nwhile True:\n    try:\n        os.fork()\n    except BaseException:\n        pass"
    ),
}


def free_memory():
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


@pytest.mark.slow
@pytest.mark.parametrize("source", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_contained_and_nothing_is_left(template, session, source):
    others = processes(template)
    least = [free_memory()]
    with Session(template, limits=LIMITS) as bombed:
        stop = threading.Event()

        def look():
            while not stop.wait(0.02):
                least.append(free_memory())

        looking = threading.Thread(target=look)
        looking.start()
        result = bombed.run(source, limit=4)
        stop.set()
        looking.join()
        assert result.ending in ("error", "died", "time")
    assert least[0] - min(least) < LIMITS.memory + 2**30  # the watchdog looks twenty times a second
    assert wait_for(lambda: processes(template) <= others)
    assert text(session.run("1 + 1")) == "2"


@pytest.mark.slow
def test_the_monitor_says_that_it_was_the_memory(template):
    with Session(template, limits=LIMITS) as bombed:
        assert bombed.run(BOMBS["children"]).ending == "died"
        assert bombed.reason == "memory"


@pytest.mark.parametrize("which", ["template", "vast"])
def test_a_notebook_may_add_as_much_to_every_template_and_no_more(request, which):
    with Session(request.getfixturevalue(which), limits=LIMITS) as session:
        share = "import mmap\nx = mmap.mmap(-1, {} * 2**30 // 4, flags=mmap.MAP_PRIVATE); len(x)"
        assert text(session.run(share.format(7))) == str(7 * 2**28)
        assert "Cannot allocate" in text(session.run(share.format(8)))
        assert "MemoryError" in str(session.run("bytearray(2**31)").outputs)
        assert "can't allocate memory" in text(session.run("import torch\ntorch.empty(2**31, dtype=torch.uint8)"))
        assert text(session.run("1 + 1")) == "2"


CHILDREN_HOLD = """
import os, time
for _ in range(6):
    if not os.fork():
        x = b"x" * ({} * 2**20)
        time.sleep(60)
time.sleep(1)
"""


@pytest.mark.parametrize("which", ["template", "vast"])
def test_processes_are_charged_for_what_they_add_together_and_not_for_the_template(request, which):
    template = request.getfixturevalue(which)
    with Session(template, limits=SMALL) as light:
        assert light.run(CHILDREN_HOLD.format(10)).ending == "ok"
    with Session(template, limits=SMALL) as heavy:
        assert heavy.run(CHILDREN_HOLD.format(200)).ending == "died"
        assert heavy.reason == "memory"


FLOODS = {
    "print": "while True:\n    print('x' * 10**6)",
    "display": "from IPython.display import HTML, display\nwhile True:\n    display(HTML('x' * 10**6))",
    "frames of its own making": (
        "import os, struct, json\nheader = json.dumps([{'output': 'x' * 10**6}, []]).encode()\n"
        "fd = next(f for f in range(3, 64) if os.path.exists(f'/proc/self/fd/{f}') "
        "and 'socket' in os.readlink(f'/proc/self/fd/{f}'))\n"
        "while True:\n    os.write(fd, struct.pack('!II', len(header), len(header)) + header)"
    ),
    "empty frames": (
        "import os, struct\nframe = struct.pack('!II', 6, 6) + b'[1,[]]'\n"
        "fd = next(f for f in range(3, 64) if os.path.exists(f'/proc/self/fd/{f}') "
        "and 'socket' in os.readlink(f'/proc/self/fd/{f}'))\n"
        "while True:\n    os.write(fd, struct.pack('!II', 10, 10) + b'[{},     []]'[:10])"
    ),
}


@pytest.mark.parametrize("source", FLOODS.values(), ids=FLOODS)
def test_a_flood_of_output_does_not_fill_the_grader(template, source):
    before = monitor._kilobytes("/proc/self/status", ("RssAnon:",))
    with Session(template, limits=LIMITS) as flooding:
        assert flooding.run(source, limit=2).ending in ("time", "died", "error")
    assert monitor._kilobytes("/proc/self/status", ("RssAnon:",)) - before < 150 * 1024


# --- (f) nothing is left ----------------------------------------------------------------------------------------------

LINGERS = {
    "a daemon": (
        "import os, time\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n        time.sleep(600)\n    os._exit(0)"
    ),
    "a stopped process": "import os, signal\nif not os.fork():\n    os.kill(os.getpid(), signal.SIGSTOP)",
    "one that ignores signals": (
        "import os, signal, time\nif not os.fork():\n    for s in range(1, 30):\n        try: signal.signal(s, signal.SIG_IGN)\n"
        "        except OSError: pass\n    time.sleep(600)"
    ),
    "a command in the background": "import subprocess\np = subprocess.Popen('nohup sleep 600 &', shell=True)",
}


@pytest.mark.parametrize("source", LINGERS.values(), ids=LINGERS)
@pytest.mark.parametrize("caged", [True, False], ids=["caged", "uncaged"])
def test_no_process_is_left_behind(template, uncaged, source, caged):
    running = template if caged else uncaged
    others = processes(running)
    with Session(running, limits=LIMITS) as left:
        left.run(source, limit=3)
        assert processes(running) > others + 2  # its monitor, itself and what it started
    assert wait_for(lambda: processes(running) <= others)


@pytest.mark.slow
def test_nothing_survives_the_graders_death(template):
    """Killed without a chance to tidy up: the leash closes, and the monitor does the rest."""
    code = textwrap.dedent("""
        import time
        from autograder.sandbox import monitor
        from autograder.sandbox.session import Session, Template
        template = Template()
        session = Session(template)
        session.run("import os\\nif not os.fork():\\n    import time; time.sleep(600)")
        print(*monitor.tree(template._process.pid), flush=True)
        time.sleep(600)
    """)
    grader = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment())
    pids = [int(pid) for pid in grader.stdout.readline().split()]
    assert len(pids) == 4  # the template, a monitor, the notebook and its child
    grader.send_signal(signal.SIGKILL)
    grader.communicate()
    assert wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))


# --- the same results -------------------------------------------------------------------------------------------------

SEEDED = """
import hashlib, random, numpy as np, torch
from torch import nn
torch.manual_seed(0); np.random.seed(0); random.seed(0)
model = nn.Sequential(nn.Conv1d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14, 4))
optimiser = torch.optim.AdamW(model.parameters())
for x in torch.utils.data.DataLoader(torch.randn(40, 3, 16), batch_size=8, shuffle=True):
    optimiser.zero_grad(); model(x).logsumexp(-1).sum().backward(); optimiser.step()
layer = nn.TransformerEncoderLayer(16, 2, batch_first=True)
parts = [*model.parameters(), layer(torch.randn(2, 5, 16)), torch.rand(5).double() @ torch.from_numpy(np.random.rand(5))]
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in parts) + str(random.random()).encode())
print(digest.hexdigest(), torch.get_num_threads())
"""


def environment():
    return os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@pytest.mark.slow
def test_seeded_results_are_those_of_a_cold_process(template):
    cold = subprocess.check_output([sys.executable, "-c", SEEDED], text=True, env=environment())
    for _ in range(2):
        with Session(template, limits=LIMITS) as warm:
            assert text(warm.run(SEEDED)) == cold


def test_unseeded_results_differ_from_child_to_child(template):
    source = "import random, numpy as np, torch\nprint(torch.rand(1).item(), np.random.rand(), random.random())"
    seen = []
    for _ in range(2):
        with Session(template, limits=LIMITS) as warm:
            seen.append(text(warm.run(source)).split())
    assert not set(seen[0]) & set(seen[1])


# --- the test of itself -----------------------------------------------------------------------------------------------


def test_the_test_of_the_cage_finds_every_way_out_closed(template):
    assert "all are closed" in template.try_out()


def test_without_a_cage_the_test_fails_and_says_what_to_do(uncaged):
    """The control: the attempts do succeed where nothing stops them."""
    with pytest.raises(SandboxError, match=r"c\.Judge\.sandbox = False") as caught:
        uncaged.try_out()
    attempts = ("read a file of yours", "see other processes", "reach a port", "write outside", "make a namespace")
    assert all(attempt in str(caught.value) for attempt in attempts)
    assert len(ATTEMPTS) >= 15
    assert "WITHOUT a cage" in uncaged.prove()


def test_marking_refuses_where_a_cage_cannot_be_built(monkeypatch):
    monkeypatch.setattr(Template, "proof", "")
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxError, match="not Linux"):
        Session(Template())


AS_SOMEBODY = """
import os, sys
from autograder.sandbox import cage
home, kept = os.path.realpath(os.path.expanduser("~")), {paths!r}
cage._check(cage.libc.unshare(cage.CLONE_NEWNS), "unshare")
cage._mount("none", "/", None, cage.MS_REC | cage.MS_PRIVATE)
kept = [os.path.realpath(path) for path in kept if os.path.realpath(path).startswith(home + "/")]
os.makedirs("/mnt", exist_ok=True)
cage._mount("tmpfs", "/mnt", "tmpfs", 0, "mode=0755")
for number, path in enumerate(kept):
    os.mkdir(f"/mnt/{{number}}")
    cage._mount(path, f"/mnt/{{number}}", None, cage.MS_BIND | cage.MS_REC)
if kept:  # the interpreter stands in a home folder that only its owner may enter
    cage._mount("tmpfs", home, "tmpfs", 0, "mode=0755")
    for number, path in enumerate(kept):
        os.makedirs(path, exist_ok=True)
        cage._mount(f"/mnt/{{number}}", path, None, cage.MS_BIND | cage.MS_REC)
cage._become(12345)
from autograder.sandbox.session import *
template = Template()
print(template.prove())
with Session(template, limits=Limits(memory=2 * 2**30, processes=20)) as session:
    print(session.run("import os, time\\nfor _ in range(50):\\n    if not os.fork(): time.sleep(60)").outputs[-1]["ename"])
    print(session.run("while True: pass", 0.5).ending)
with Session(template, limits=Limits(memory=2 * 2**30)) as session:
    print(session.run({bomb!r}).ending, session.reason)
template.close()
"""


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
    monkeypatch.setattr(cage, "visible", lambda: shown)
    course = "lib/site-packages/a_course"
    found = cage.hidden.__wrapped__((f"/opt/env/{course}", "/srv/elsewhere", "/opt"))
    assert found == (f"/home/somebody/.venv/{course}", f"/opt/env/{course}")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="every other test here runs without root already")
def test_without_root_there_is_the_same_cage():
    paths = [sys.base_prefix, sys.prefix, str(ROOT)]
    code = AS_SOMEBODY.format(paths=paths, bomb=BOMBS["children"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), cwd="/")
    if "could not be caged" in done.stderr:
        pytest.skip("this kernel gives user namespaces to root only")
    assert done.returncode == 0, done.stderr
    assert "in a user namespace" in done.stdout
    assert "BlockingIOError\ntime\ndied memory\n" in done.stdout


GRADER = """
import sys
from pathlib import Path
from autograder.sandbox.session import Session, Template

template = Template(preload=[sys.argv[1]])
print("started", flush=True)
while True:
    with Session(template) as session:
        session.run("import os, time\\nif not os.fork():\\n    os.setsid()\\n    time.sleep(600)")
        session.run("x = sum(range(10**6))")
"""


def named(token):
    """The processes on whose command line a word stands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if token.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_nothing_outlives_a_grader_that_is_killed(template, number):
    """At moments from the start of the template to the middle of notebooks."""
    token = f"no_module_{os.getpid()}_{number}"
    grader = subprocess.Popen([sys.executable, "-c", GRADER, token], stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert grader.stdout.readline() == b"started\n"
        assert wait_for(lambda: len(named(token)) > 1, 20)
        time.sleep(random.Random(number).uniform(0, 6 if number % 2 else 1.5))
        assert wait_for(lambda: len(named(token)) > 1)
    finally:  # it would work for ever
        grader.kill()
        grader.communicate()
    assert wait_for(lambda: not named(token), 0.5), named(token)
