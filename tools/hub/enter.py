"""Runs a command as one of the classroom's users, in a view of the file system without this checkout.

    enter.py '{"user": …, "folder": …, "hide": […], "keep": […]}' COMMAND …

The command gets its own mount namespace, in which the hidden folders are empty except for the kept ones: the Python
environment may be inside the checkout. Then it drops its rights for good. Needs Linux and root.
"""

import json
import os
import pwd
import sys

from autograder.sandbox.filters import libc, no_new_privileges
from autograder.sandbox.isolation import (
    CLONE_NEWNS,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
)
from autograder.sandbox.isolation import _check as check
from autograder.sandbox.isolation import _mount as mount


def hide_folders(hide: list[str], keep: list[str]) -> None:
    """Empty the hidden folders, except for kept ones in them, for this process and its children. Raise OSError."""
    check(libc.unshare(CLONE_NEWNS), "unshare")
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    handles = {one: os.open(one, os.O_PATH | os.O_DIRECTORY) for one in keep}  # their paths disappear below
    masks: list[str] = []
    for one in sorted({*hide, *keep}):  # parents before what they contain
        if one not in handles and os.path.isdir(one):  # else it lies in a folder that is hidden already
            mount("tmpfs", one, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=0755")
            masks.append(one)
        elif one in handles and any(os.path.commonpath([one, folder]) == folder for folder in masks):
            os.makedirs(one, 0o755, exist_ok=True)
            mount(f"/proc/self/fd/{handles[one]}", one, None, MS_BIND | MS_REC)
    for folder in masks:
        mount("none", folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV)


def switch_user(name: str, folder: str) -> None:
    """Switch to the user and its groups, with a private umask, and forbid programs that regain rights."""
    account = pwd.getpwnam(name)
    os.initgroups(name, account.pw_gid)
    os.setresgid(*[account.pw_gid] * 3)
    os.setresuid(*[account.pw_uid] * 3)
    no_new_privileges()
    os.umask(0o077)
    os.chdir(folder)
    os.environ.update(HOME=account.pw_dir, USER=name, LOGNAME=name, SHELL="/bin/bash")


def main() -> None:
    view, *command = sys.argv[1:]
    settings = json.loads(view)
    hide_folders(settings["hide"], settings["keep"])
    switch_user(settings["user"], settings["folder"])
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
