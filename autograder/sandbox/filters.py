"""Kernel filters that a process puts on itself and can never take off: seccomp (system calls) and Landlock (files).

The namespaces of `isolation` already isolate a notebook. These filters add a second barrier: they refuse system calls
that no notebook needs, and memory that no resource limit counts (memfd, System V shared memory).
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

libc = ctypes.CDLL(None, use_errno=True)

# Denied system calls with their numbers on x86_64 and aarch64; "-" where there is no such call. `mincore` and `preadv2`
# reveal which pages are cached: the C library falls back to other calls.
_DENIED = """
# other processes
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272, move_pages 279 239,
migrate_pages 256 238
# namespaces and mounts
unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51,
name_to_handle_at 303 264, open_by_handle_at 304 265
# large or privileged parts of the kernel that notebooks have no use for
bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, fanotify_init 300 262, add_key 248 217,
request_key 249 218, keyctl 250 219, init_module 175 105, finit_module 313 273, delete_module 176 106,
kexec_load 246 104, kexec_file_load 320 294, reboot 169 142, swapon 167 224, swapoff 168 225, acct 163 89,
quotactl 179 60, sethostname 170 161, setdomainname 171 162, settimeofday 164 170, clock_settime 227 112,
adjtimex 159 171, clock_adjtime 305 266, syslog 103 116, vhangup 153 58, personality 135 92, modify_ldt 154 -,
iopl 172 -, ioperm 173 -, uselib 134 -
# memory that resource limits do not count
memfd_create 319 279, shmget 29 194, shmat 30 196, shmctl 31 195, shmdt 67 197, semget 64 190, semop 65 193,
semctl 66 191, semtimedop 220 192, msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187, mq_open 240 180,
mq_unlink 241 181
# reveals other processes through files that all notebooks see
inotify_init 253 -, inotify_init1 294 26, inotify_add_watch 254 27, fanotify_mark 301 263, mincore 27 232,
preadv2 327 286, pwritev2 328 287
"""
DENIED = {
    name: tuple(None if number == "-" else int(number) for number in numbers)
    for line in _DENIED.splitlines()
    if line and not line.startswith("#")
    for name, *numbers in (call.split() for call in line.strip(",").split(","))
}
# These calls return success and do nothing, as on a file system without locks. So notebooks cannot signal to each other
# through files that all of them see, and programs that lock their own files still work.
IDLE = {"flock": (73, 32), "fadvise64": (221, 223), "readahead": (187, 213)}
FCNTL = (72, 25)
# The only fcntl commands allowed: duplicate, flags, owner, size of pipes. Commands that set locks return success and do
# nothing. All others fail: queries of locks, leases, change notifications, hints that stay with a file.
FCNTL_ALLOWED = (0, 1, 2, 3, 4, 8, 9, 15, 16, 1030, 1031, 1032)
FCNTL_IDLE = (6, 7, 37, 38)
# Since Linux 5.1 new system calls have the same number on all machines. Only these are allowed: process descriptors,
# close_range, openat2, faccessat2, epoll_pwait2, futexes, fchmodat2, map_shadow_stack, mseal. Calls of later kernels
# stay refused until somebody reviews them.
FIRST_NEW = (335, 295)
NEW_ALLOWED = (424, 434, 436, 437, 439, 441, 449, 452, 453, 454, 455, 456, 462)
SOCKETS = {"socket": (41, 198), "socketpair": (53, 199)}
CLONE, CLONE3 = (56, 220), (435, 435)
MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column above, and the kernel's machine number

NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # instructions of classic BPF
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2

Line = tuple[int, int, int, int]  # a classic BPF instruction: code, jump if true, jump if false, value

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
FS_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, read files, list folders
FS_WRITE_FILE = 1 << 1
FS_WRITE = (1 << 13) - 1 - FS_READ  # write, remove, make
FS_REFER, FS_TRUNCATE = 1 << 13, 1 << 14  # since ABI 2 and 3


def no_new_privileges() -> None:
    """Stop set-uid programs from giving this process or its children privileges. Raise OSError on failure."""
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")


def seccomp() -> None:
    """Refuse DENIED system calls, newer ones, new namespaces, and all but Unix sockets. Raise OSError on failure."""
    column, machine = MACHINES[platform.machine()]
    program = _program(column, machine)
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(header), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")


def _program(column: int, machine: int) -> bytes:
    def fail(number: int) -> Line:
        return (RETURN, 0, 0, FAIL | number)

    allow = (RETURN, 0, 0, ALLOW)
    number, argument = (LOAD, 0, 0, 0), (LOAD, 0, 0, 16)
    lines = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL), number]
    lines += [(AT_LEAST, 0, 1, 0x40000000), fail(errno.ENOSYS)]  # the x32 calls of x86_64
    lines += [(EQUAL, 0, 1, CLONE3[column]), fail(errno.ENOSYS)]  # no filter sees its flags: the C library uses clone
    lines += [(EQUAL, 0, 4, CLONE[column]), argument, (ANY_BIT, 0, 1, NEW_NAMESPACES), fail(errno.EPERM)]
    lines += [allow]
    for call in SOCKETS.values():
        lines += [(EQUAL, 0, 4, call[column]), argument, (EQUAL, 1, 0, 1), fail(errno.EACCES), allow]
    new = [line for allowed in NEW_ALLOWED for line in ((EQUAL, 0, 1, allowed), allow)]
    new.append(fail(errno.ENOSYS))
    lines += [(AT_LEAST, 0, len(new), FIRST_NEW[column]), *new]
    for idle in IDLE.values():
        lines += [(EQUAL, 0, 1, idle[column]), fail(0)]
    commands = [(LOAD, 0, 0, 24)]  # the second argument
    for command in FCNTL_ALLOWED:
        commands += [(EQUAL, 0, 1, command), allow]
    for command in FCNTL_IDLE:
        commands += [(EQUAL, 0, 1, command), fail(0)]
    commands.append(fail(errno.EINVAL))
    lines += [(EQUAL, 0, len(commands), FCNTL[column]), *commands]
    for denied in DENIED.values():
        if (call_number := denied[column]) is not None:
            lines += [(EQUAL, 0, 1, call_number), fail(errno.EPERM)]
    lines += [allow]
    return b"".join(struct.pack("HBBI", *line) for line in lines)


def landlock_version() -> int:
    """Return the version of Landlock that the kernel supports; 0 without Landlock."""
    return max(int(libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))), 0)


def landlock(writable: Sequence[str], devices: Sequence[str]) -> None:
    """Allow writes only below `writable` and to `devices`. Reads stay as they are. Do nothing without Landlock.

    Also refuse TCP, and signals and abstract sockets to other processes, where the kernel's version supports it.
    Raise OSError if the kernel refuses the rules.
    """
    version = landlock_version()
    if not version:
        return
    handled = FS_WRITE | (FS_REFER if version >= 2 else 0) | (FS_TRUNCATE if version >= 3 else 0)
    net, scoped = (3 if version >= 4 else 0), (3 if version >= 6 else 0)
    attributes = struct.pack("QQQ", handled, net, scoped)[: 24 if version >= 6 else 16 if version >= 4 else 8]
    rules = _landlock_call(LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path in writable:
            _landlock_rule(rules, path, handled)
        for path in devices:
            _landlock_rule(rules, path, handled & (FS_WRITE_FILE | FS_TRUNCATE))
        _landlock_call(LANDLOCK_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _landlock_rule(rules: int, path: str, access: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        _landlock_call(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", access, descriptor), 0)
    finally:
        os.close(descriptor)


def _landlock_call(number: int, *arguments: object) -> int:
    result: int = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), "Landlock")
    return result
