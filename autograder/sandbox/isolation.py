"""The sandbox that a forked child enters before any student code runs. Linux only; pure Python, no helper program.

`detach` gives the next fork its own process namespace (and, without root, a user namespace). `enter` does the rest in
that fork: an empty file system into which only the interpreter and the system's libraries are mounted, read-only; a
private scratch directory of limited size; no network; no other processes; no privileges; resource limits; kernel
filters. A process cannot leave its sandbox.

Binary formats and numbers come from the kernel's headers.
"""

import contextlib
import ctypes
import functools
import os
import platform
import resource
import shutil
import socket
import stat
import struct
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from . import filters
from .filters import libc

HOME = "/home/student"  # the scratch directory, where the notebook runs
WRITABLE = (HOME, "/tmp", "/dev/shm")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
INODES = 20_000  # files that one notebook may create in each writable directory
MAX_FILE = 64 * 2**20  # larger files of a submission are not copied in
TIMESTAMP = "timestamp.txt"  # nbgrader's: says when something was handed in, and is no part of it
OPEN_FILES = 512

SYSTEM = (
    *("/usr/bin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/bin", "/sbin", "/lib", "/lib32", "/lib64"),
    *("/usr/share/zoneinfo", "/usr/share/fonts", "/usr/local/share/fonts", "/usr/share/fontconfig"),
    *("/usr/share/locale", "/usr/share/mime", "/usr/share/ca-certificates", "/usr/share/terminfo", "/usr/local/lib"),
    *("/var/cache/fontconfig", "/etc/fonts", "/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime"),
    *("/etc/timezone", "/etc/mime.types", "/etc/magic", "/sys/devices/system/cpu"),
)

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID = 0x00020000, 0x10000000, 0x20000000
CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWCGROUP = 0x04000000, 0x08000000, 0x40000000, 0x02000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_SETATTR = 442
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_CAP_AMBIENT = 1, 4, 24, 47
KEYCTL = {"x86_64": 250, "aarch64": 219}

FIRST_UID = 0x70000000  # start of a range that no distribution assigns; each sandbox gets its own user
SMALL_UID = 61184  # start of the range used in containers that map few users


class NoIsolation(Exception):
    """Raised when this machine cannot make a sandbox; the message says what is missing."""


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


# --- in the monitor ---------------------------------------------------------------------------------------------------


def detach() -> int:
    """Give the next fork its own process namespace, and return the user id that the fork must take.

    For root, that is an unused user id. For anyone else it is the same user, in a new user namespace.
    Raise NoIsolation if the system is not Linux, and OSError if the kernel refuses the namespaces.
    """
    if not sys.platform.startswith("linux"):
        raise NoIsolation("the sandbox is made of parts of the Linux kernel")
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        try:
            _check(libc.unshare(CLONE_NEWPID), "unshare")
            return _unused_user()
        except PermissionError:  # root in a container: continue as an ordinary user
            uid = gid = _unused_user()
            _switch_user(uid)
    _check(libc.unshare(CLONE_NEWUSER | CLONE_NEWPID), "unshare")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    return uid


def _unused_user() -> int:
    """Return a user id that only this process uses, so that its process limit counts no other user's processes."""
    wanted = FIRST_UID + os.getpid()
    mapped = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    if any(first <= wanted < first + count for first, _, count in mapped):
        return wanted
    return SMALL_UID + os.getpid() % 4000


def _switch_user(uid: int) -> None:
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else /proc/self would belong to root


# --- in the child -----------------------------------------------------------------------------------------------------


def enter(
    uid: int,
    limits: dict[str, Any],
    files: str | None,
    private: Sequence[str],
    installed: Sequence[str],
) -> None:
    """Lock this process, the first of its namespace, in for good. Raise OSError if any step fails.

    Copy the files of the folder `files` into the sandbox. Show the `installed` packages and folders of packages. Hide
    `private` folders that lie inside visible ones.
    """
    libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)
    inherited = address_space()  # read now: the sandbox may have no /proc
    with contextlib.suppress(OSError):  # if the machine runs out of memory, the kernel kills this process first
        Path("/proc/self/oom_score_adj").write_text("1000")
    _check(libc.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP), "unshare")
    socket.sethostname("notebook")
    with contextlib.suppress(KeyError):  # join a new keyring, so that the instructor's stays out of reach
        libc.syscall(KEYCTL[platform.machine()], 1, None)
    _build_root(uid, limits["disk"], files, tuple(private), tuple(installed))
    limit_resources(limits, inherited)
    _drop_privileges(uid)
    filters.no_new_privileges()
    filters.landlock(WRITABLE, DEVICES)
    filters.seccomp()
    os.chdir(HOME)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    encoded = [os.fsencode(text) if text is not None else None for text in (source, target, kind)]
    _check(libc.mount(*encoded, ctypes.c_ulong(flags), data.encode()), f"mount {target}")


def _build_root(uid: int, disk: int, files: str | None, private: tuple[str, ...], installed: tuple[str, ...]) -> None:
    """Pivot into a new root that holds only the files and folders named here."""
    owner = f"uid={uid},gid={uid if os.geteuid() == 0 else os.getegid()}"
    paths, masks = visible(installed), hidden(private, installed)
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    _mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=0755")
    for folder in ("/tmp/old", "/tmp/new"):
        os.mkdir(folder, 0o755)
    _check(libc.pivot_root(b"/tmp", b"/tmp/old"), "pivot_root")
    os.chdir("/")
    _mount("tmpfs", "/new", "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=0755")
    os.umask(0o022)
    for folder in WRITABLE:
        os.makedirs("/new" + folder, exist_ok=True)
        mode = "0700" if folder == HOME else "1777"
        data = f"size={disk},nr_inodes={INODES},mode={mode},{owner}"
        _mount("tmpfs", "/new" + folder, "tmpfs", MS_NOSUID | MS_NODEV, data)
    for target, source in paths:
        _expose("/old" + source, "/new" + target)
    for path in masks:
        if os.path.isdir("/new" + path):
            _mount("tmpfs", "/new" + path, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,mode=0555")
    for device in DEVICES:
        _touch("/new" + device)
        _mount("/old" + device, "/new" + device, None, MS_BIND)
        _restrict("/new" + device, MS_RDONLY | MS_NOSUID | MS_NOEXEC)  # still writable; their timestamps cannot change
    _write_etc(uid)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"/new/dev/{name}")
    os.mkdir("/new/proc")
    with contextlib.suppress(PermissionError):  # some containers refuse; then the sandbox has no /proc
        _mount("proc", "/new/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if files is not None:
        copy_files("/old" + os.path.realpath(files), "/new" + HOME, uid)
    _check(libc.umount2(b"/old", MNT_DETACH), "umount")
    os.chdir("/new")
    _check(libc.pivot_root(b".", b"."), "pivot_root")
    _check(libc.umount2(b".", MNT_DETACH), "umount")
    os.chdir("/")
    _mount("none", "/", None, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _expose(source: str, target: str) -> None:
    """Mount the file or folder `source` of the old root, read-only, at `target` in the new one."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        _touch(target)
    _mount(source, target, None, MS_BIND | MS_REC)
    _restrict(target, MS_RDONLY | MS_NOSUID | MS_NODEV)


def _restrict(target: str, flags: int) -> None:
    """Add these flags to a mount and to all mounts below it."""
    attributes = struct.pack("QQQQ", flags, 0, 0, 0)
    if libc.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(target), AT_RECURSIVE, attributes, ctypes.c_size_t(32)) < 0:
        kept = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)  # before Linux 5.12
        _mount("none", target, None, MS_REMOUNT | MS_BIND | flags | kept)


def _touch(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))


def _write_etc(uid: int) -> None:
    gid = uid if os.geteuid() == 0 else os.getegid()
    os.makedirs("/new/etc", exist_ok=True)
    texts = {
        "passwd": f"student:x:{uid}:{gid}:student:{HOME}:/bin/sh\n",
        "group": f"student:x:{gid}:\n",
        "hosts": "127.0.0.1 localhost\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
    for name, text in texts.items():
        Path("/new/etc", name).write_text(text)


@functools.cache
def visible(installed: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return the interpreter, packages and the system's files, as (path in the sandbox, real path), parents first.

    `installed` holds packages, and folders of packages, that lie elsewhere than the interpreter's.
    """
    prefixes = (sys.base_prefix, sys.prefix, *installed)
    result: list[tuple[str, str]] = []
    for path in sorted({*SYSTEM, *prefixes, *map(os.path.realpath, prefixes)}):
        real = os.path.realpath(path)
        covered = any(path.startswith(top + "/") and real == source + path[len(top) :] for top, source in result)
        if path != "/" and os.path.exists(real) and not covered:
            result.append((path, real))
    return tuple(result)


def hidden(private: tuple[str, ...], installed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths at which `private` folders would be seen: a link and its target may both be shown."""
    shown = visible(installed)
    real = [*map(os.path.realpath, private)]
    masks = [top + path[len(source) :] for path in real for top, source in shown if path.startswith(source + "/")]
    return tuple(mask for mask in masks if not any(f"{top}/".startswith(f"{mask}/") for top, _ in shown))


def submitted_files(folder: str) -> Iterator[str]:
    """Yield relative paths of a submission's files: no notebooks, links, time stamp, or files over MAX_FILE."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            relative = os.path.relpath(path, folder)
            with contextlib.suppress(OSError):
                about = os.lstat(path)
                left_out = name.endswith(".ipynb") or relative == TIMESTAMP or about.st_size > MAX_FILE
                if stat.S_ISREG(about.st_mode) and not left_out:
                    yield relative


def copy_files(source: str, target: str, uid: int | None = None) -> None:
    """Copy a submission's files to `target` and give them to `uid`. Leave out files that do not fit."""
    for name in submitted_files(source):
        path = os.path.join(target, name)
        for parent in reversed(Path(name).parents[:-1]):
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.join(target, parent))
            _set_owner(os.path.join(target, parent), uid)
        try:
            descriptor = os.open(os.path.join(source, name), os.O_RDONLY | os.O_NOFOLLOW)
            with open(descriptor, "rb") as original, open(path, "wb") as copy:
                shutil.copyfileobj(original, copy)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(path)
        else:
            _set_owner(path, uid)


def _set_owner(path: str, uid: int | None) -> None:
    if uid is not None and os.geteuid() == 0:
        os.chown(path, uid, uid)


# --- limits and privileges, with or without namespaces ----------------------------------------------------------------


def address_space() -> int:
    """Return how many bytes this process has mapped, used or not; 0 on systems other than Linux."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    return 0


def limit_resources(limits: dict[str, Any], inherited: int) -> None:
    """Set the resource limits of each process. Memory comes first: a MemoryError is kinder than a kill by the monitor.

    The memory limit is added to the `inherited` bytes that the template has mapped: a GPU build of torch alone maps
    several gigabytes and uses hardly any of them.
    """
    for kind, value in (
        (resource.RLIMIT_AS, inherited + limits["memory"]),
        (resource.RLIMIT_FSIZE, limits["file"]),
        (resource.RLIMIT_NPROC, limits["processes"]),
        (resource.RLIMIT_NOFILE, OPEN_FILES),
        (resource.RLIMIT_CPU, int(limits["notebook"] + limits["cell"]) * 4),  # a backstop: the monitor acts earlier
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _drop_privileges(uid: int) -> None:
    """Drop every capability and every way to regain one."""
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # past the last one that the kernel knows
    libc.prctl(PR_CAP_AMBIENT, 4, 0, 0, 0)
    if os.geteuid() == 0:
        _switch_user(uid)
    header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
    _check(libc.capset(header, nothing), "capset")
    libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)  # set again: a change of user clears it
