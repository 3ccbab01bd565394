"""Tests that two sandboxed notebooks that run at the same time cannot communicate.

Each channel is a pair of expressions: one notebook's signal, and the other's way to receive it. Timing (of CPUs, disks
and caches), system-wide counters and futexes on shared pages are left out: the only protection from those is that a
sandbox never holds a secret while another notebook could listen (see `marking/isolated_rerun.py` and SECURITY.md).
"""

from __future__ import annotations

import pytest
from conftest import skip_without_cage

from autograder.sandbox.session import Limits, Session, Template

LIMITS = Limits(cell=20, question=2, grace=1, notebook=120, memory=2 * 2**30)
PRELUDE = """
import ctypes, fcntl, mmap, multiprocessing.shared_memory, os, select, signal, socket, stat, struct, sys, time
import numpy
libc = ctypes.CDLL(None, use_errno=True)
place = numpy.__file__
folder = os.path.dirname(place)
kept, watches = [], []

def lock(command, kind=fcntl.F_RDLCK):
    f = open(place)
    kept.append(f)
    return fcntl.fcntl(f, command, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result

def watching(watch):
    '''Whether a watch on a shared file reports anything.'''
    descriptor = checked(libc.inotify_init1(os.O_NONBLOCK))
    checked(libc.inotify_add_watch(descriptor, watch.encode(), 0xFFF))
    watches.append(descriptor)

def notified():
    return bool(select.select(watches, [], [], 0)[0])

def hint(value=None):
    data = struct.pack("Q", value or 0)
    with open(place) as f:
        return struct.unpack("Q", fcntl.fcntl(f, 1036 if value else 1035, data))[0]

def serve(address):
    s = socket.socket(socket.AF_UNIX)
    s.bind(address)
    s.listen()
    kept.append(s)

def connects(address):
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect(address) is None

def cached():
    size = os.path.getsize(big)
    with open(big, "rb") as f:
        space = mmap.mmap(f.fileno(), size, prot=mmap.PROT_READ)
        vector = (ctypes.c_ubyte * (size // 4096 + 1))()
        address = ctypes.addressof(ctypes.c_char.from_buffer_copy(space[:1]))
        return checked(libc.mincore(ctypes.c_void_p(address & ~4095), 4096, vector))

def ready(path):
    descriptor = os.open(path, os.O_RDONLY)
    return os.preadv(descriptor, [bytearray(4096)], 0, os.RWF_NOWAIT) > 0
"""
# what the listener does first, what the speaker does, what the listener then sees if it got through
CHANNELS = {
    "flock": (
        "None",
        "kept.append(open(place)) or fcntl.flock(kept[-1], fcntl.LOCK_EX)",
        "blocked(lambda: fcntl.flock(open(place), fcntl.LOCK_EX | fcntl.LOCK_NB))",
    ),
    "locks of fcntl": ("None", "lock(fcntl.F_SETLK)", "struct.unpack('hhqqi4x', lock(fcntl.F_GETLK, 1))[0] != 2"),
    "locks of open files": ("None", "lock(37)", "struct.unpack('hhqqi4x', lock(36, 1))[0] != 2"),
    "leases": (
        "fcntl.fcntl(open(place), 1024, 0)",
        "os.open(place, os.O_RDONLY)",
        "fcntl.fcntl(open(place), 1025) != 2",
    ),
    "notes of changes": (
        "[signal.signal(signal.SIGIO, lambda *_: kept.append('heard')),"
        " fcntl.fcntl(os.open(folder, os.O_RDONLY), 1026, 0x80000001)]",
        "open(place).read()",
        "'heard' in kept",
    ),
    "inotify": ("watching(place)", "open(place).read()", "notified()"),
    "hints that stay with a file": ("None", "hint(5)", "hint() == 5"),
    "what is cached": ("None", "None", "ready(place)"),
    "what is mapped": ("None", "None", "cached() == 0"),
    "shared memory by name": (
        "None",
        "kept.append(multiprocessing.shared_memory.SharedMemory('tell', create=True, size=64))",
        "bool(multiprocessing.shared_memory.SharedMemory('tell'))",
    ),
    "files in /dev/shm": ("None", "open('/dev/shm/tell', 'w').write('x')", "os.path.exists('/dev/shm/tell')"),
    "files in /tmp": ("None", "open('/tmp/tell', 'w').write('x')", "os.path.exists('/tmp/tell')"),
    "named pipes": ("None", "os.mkfifo('/tmp/pipe')", "os.path.exists('/tmp/pipe')"),
    "System V shared memory": ("None", "checked(libc.shmget(77, 4096, 0o1666))", "libc.shmget(77, 4096, 0o666) >= 0"),
    "System V semaphores": ("None", "checked(libc.semget(77, 1, 0o1666))", "libc.semget(77, 1, 0o666) >= 0"),
    "System V messages": ("None", "checked(libc.msgget(77, 0o1666))", "libc.msgget(77, 0o666) >= 0"),
    "message queues": (
        "None",
        "checked(libc.syscall(240, b'tell', 0o102, 0o666, None))",
        "libc.syscall(240, b'tell', 0o2, 0o666, None) >= 0",
    ),
    "abstract sockets": ("None", "serve(b'\\0tell')", "connects(b'\\0tell')"),
    "sockets in the file system": ("None", "serve('/tmp/socket')", "connects('/tmp/socket')"),
    "times of devices": (
        "kept.append([os.stat(d).st_mtime_ns for d in devices])",
        "[os.utime(d) for d in devices]",
        "kept[-1] != [os.stat(d).st_mtime_ns for d in devices]",
    ),
    "when devices were read": (
        "kept.append([os.stat(d).st_atime_ns for d in devices])",
        "[open(d, 'rb').read(1) for d in devices]",
        "kept[-1] != [os.stat(d).st_atime_ns for d in devices]",
    ),
    "when files were read": (
        "kept.append(os.stat(place).st_atime_ns)",
        "open(place).read()",
        "kept[-1] != os.stat(place).st_atime_ns",
    ),
    "keyrings": (
        "None",
        "checked(libc.syscall(248, b'user', b'tell', b'x', 1, -4))",
        "libc.syscall(249, b'user', b'tell', None, 0) >= 0",
    ),
    "signals": ("None", "os.kill(-1, signal.SIGUSR1)", "False"),  # would have ended the listener
    "processes": ("None", "None", "any(p.isdigit() and p != '1' for p in os.listdir('/proc'))"),
    "the host's name": (
        "kept.append(socket.gethostname())",
        "socket.sethostname('told')",
        "socket.gethostname() != kept[-1]",
    ),
}
SETUP = """
devices = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
big = place

def blocked(attempt):
    try:
        attempt()
    except OSError:
        return True
    return False
"""


@pytest.fixture(scope="module")
def pair():
    running = Template()
    skip_without_cage(running)
    with Session(running, limits=LIMITS) as one, Session(running, limits=LIMITS) as other:
        for session in (one, other):
            assert session.run(PRELUDE + SETUP).ending == "ok"
        yield one, other
    running.close()


def said(session, source):
    """What an expression comes to: its value, or the error that kept it from one."""
    attempt = f"try:\n    print(repr({source}))\nexcept Exception as error:\n    print(type(error).__name__)"
    result = session.run(attempt)
    assert result.ending == "ok"
    return "".join(output.get("text", "") for output in result.outputs).strip()


@pytest.mark.parametrize(("before", "speak", "hear"), CHANNELS.values(), ids=CHANNELS)
def test_one_notebook_cannot_tell_another_anything(pair, before, speak, hear):
    speaker, listener = pair
    said(listener, before)
    said(speaker, speak)
    assert said(listener, hear) != "True"


def test_programs_that_lock_their_own_files_go_on(pair):
    session, _ = pair
    assert said(session, "__import__('sqlite3').connect('own.db').execute('create table t (x)').fetchall()") == "[]"
    assert said(session, "fcntl.flock(open('own', 'w'), fcntl.LOCK_EX)") == "None"
    assert said(session, "fcntl.lockf(open('own', 'w'), fcntl.LOCK_EX)") == "None"
    assert said(session, "open('/dev/null', 'w').write('x')") == "1"
