"""Runs a command as one of the classroom's users, in a view of the file system without this checkout.

    enter.py USER FOLDER --hide DIR … --keep DIR … -- COMMAND …

`make hub` starts servers and the marking with it, as root. The checkout holds the solutions, and the Python environment
may be inside it, or in a home that nobody else may enter. So each command gets its own mount namespace, in which the
hidden folders are empty except for the kept ones. Then it drops its rights for good. Needs Linux and root.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pwd
import sys

CLONE_NEWNS = 0x20000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
PR_SET_NO_NEW_PRIVS = 38

libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind)]
    check(libc.mount(*words, ctypes.c_ulong(flags), data.encode()), f"mount {target}")


def within(path: str, folder: str) -> bool:
    return os.path.commonpath([path, folder]) == folder


def hide_folders(hide: list[str], keep: list[str]) -> None:
    """Empty the hidden folders, except for the kept ones, for this process and its children. Raise OSError."""
    check(libc.unshare(CLONE_NEWNS), "unshare")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    outermost = [one for one in hide if not any(other != one and within(one, other) for other in hide)]
    needed = [one for one in keep if any(within(one, folder) for folder in outermost)]
    handles = [os.open(one, os.O_PATH | os.O_DIRECTORY) for one in needed]  # their paths disappear below
    for folder in outermost:
        mount("tmpfs", folder, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0755")
    for one, handle in sorted(zip(needed, handles, strict=True)):
        os.makedirs(one, 0o755, exist_ok=True)
        mount(f"/proc/self/fd/{handle}", one, None, MS_BIND | MS_REC)
        os.close(handle)
    for folder in outermost:
        mount("none", folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def switch_user(name: str, folder: str) -> None:
    """Switch to the user and its groups, with a private umask, and forbid programs that regain rights."""
    account = pwd.getpwnam(name)
    os.initgroups(name, account.pw_gid)
    os.setresgid(*[account.pw_gid] * 3)
    os.setresuid(*[account.pw_uid] * 3)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    os.umask(0o077)
    os.chdir(folder)
    os.environ.update(HOME=account.pw_dir, USER=name, LOGNAME=name, SHELL="/bin/bash")


def main() -> None:
    cut = sys.argv.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("user")
    parser.add_argument("folder")
    parser.add_argument("--hide", nargs="*", default=[])
    parser.add_argument("--keep", nargs="*", default=[])
    asked, command = parser.parse_args(sys.argv[1:cut]), sys.argv[cut + 1 :]
    hide_folders(asked.hide, asked.keep)
    switch_user(asked.user, asked.folder)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
