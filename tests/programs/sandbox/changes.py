"""Expressions that change something outside."""

# %% setup
import ctypes, os, resource, socket, subprocess, sys, time, torch

libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


# %% the root
open("/new", "w")

# %% the packages
open(torch.__file__, "a")

# %% a start-up file for the next student
open(os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "x.pth"), "w")

# %% the system
open("/usr/lib/x", "w")

# %% the devices
os.mknod("/dev/x")

# %% removing the interpreter
os.unlink(sys.executable)

# %% permissions
os.chmod("/usr/bin", 0o777)

# %% times
os.utime("/usr/bin")

# %% kernel settings
open("/proc/sys/kernel/hostname", "w").write("x")

# %% mounting
check(libc.mount(b"x", b"/tmp", b"tmpfs", 0, None))

# %% unmounting
check(libc.umount2(b"/tmp", 2))

# %% a namespace
check(libc.unshare(0x10000000))

# %% a namespace by clone
check(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0))

# %% another root
os.chroot("/tmp")

# %% tracing
check(libc.ptrace(16, 1, 0, 0))

# %% io_uring
check(libc.syscall(425, 8, None))

# %% bpf
check(libc.syscall(321, 0, None, 0))

# %% perf
check(libc.syscall(298, None, 0, 0, 0, 0))

# %% cached pages
check(libc.syscall(451, 0, None, None, 0))

# %% a system call of the next kernel
check(libc.syscall(480, 0, 0, 0))

# %% keys
check(libc.syscall(250, 0, -3, 0))

# %% memory without a limit
os.memfd_create("x")

# %% System V shared memory
check(libc.shmget(0, 4096, 0o1600))

# %% becoming root
os.setuid(0)

# %% root by command
subprocess.check_call("su -c id || sudo -n id", shell=True)

# %% the host name
socket.sethostname("x")

# %% the clock
time.clock_settime(time.CLOCK_REALTIME, 0)

# %% raising limits
[resource.setrlimit(k, (-1, -1)) for k in (resource.RLIMIT_AS, resource.RLIMIT_NPROC)]

# %% the grader
os.kill(PID, 9)

# %% priority
os.nice(-5)
