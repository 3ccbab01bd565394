"""What one notebook does, and how another would notice: what it hears, or a value that is then another."""

# %% setup
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


devices = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
big = place


def blocked(attempt):
    try:
        attempt()
    except OSError:
        return True
    return False


# %% flock: speak
kept.append(open(place)) or fcntl.flock(kept[-1], fcntl.LOCK_EX)

# %% flock: hear
blocked(lambda: fcntl.flock(open(place), fcntl.LOCK_EX | fcntl.LOCK_NB))

# %% locks of fcntl: speak
lock(fcntl.F_SETLK)

# %% locks of fcntl: hear
struct.unpack("hhqqi4x", lock(fcntl.F_GETLK, 1))[0] != 2

# %% locks of open files: speak
lock(37)

# %% locks of open files: hear
struct.unpack("hhqqi4x", lock(36, 1))[0] != 2

# %% hints that stay with a file: speak
hint(5)

# %% hints that stay with a file: hear
hint() == 5

# %% what is cached: hear
ready(place)

# %% what is mapped: hear
cached() == 0

# %% shared memory by name: speak
kept.append(multiprocessing.shared_memory.SharedMemory("tell", create=True, size=64))

# %% shared memory by name: hear
bool(multiprocessing.shared_memory.SharedMemory("tell"))

# %% files in /dev/shm: speak
open("/dev/shm/tell", "w").write("x")

# %% files in /dev/shm: hear
os.path.exists("/dev/shm/tell")

# %% files in /tmp: speak
open("/tmp/tell", "w").write("x")

# %% files in /tmp: hear
os.path.exists("/tmp/tell")

# %% named pipes: speak
os.mkfifo("/tmp/pipe")

# %% named pipes: hear
os.path.exists("/tmp/pipe")

# %% System V shared memory: speak
checked(libc.shmget(77, 4096, 0o1666))

# %% System V shared memory: hear
libc.shmget(77, 4096, 0o666) >= 0

# %% System V semaphores: speak
checked(libc.semget(77, 1, 0o1666))

# %% System V semaphores: hear
libc.semget(77, 1, 0o666) >= 0

# %% System V messages: speak
checked(libc.msgget(77, 0o1666))

# %% System V messages: hear
libc.msgget(77, 0o666) >= 0

# %% message queues: speak
checked(libc.syscall(240, b"tell", 0o102, 0o666, None))

# %% message queues: hear
libc.syscall(240, b"tell", 0o2, 0o666, None) >= 0

# %% abstract sockets: speak
serve(b"\0tell")

# %% abstract sockets: hear
connects(b"\0tell")

# %% sockets in the file system: speak
serve("/tmp/socket")

# %% sockets in the file system: hear
connects("/tmp/socket")

# %% keyrings: speak
checked(libc.syscall(248, b"user", b"tell", b"x", 1, -4))

# %% keyrings: hear
libc.syscall(249, b"user", b"tell", None, 0) >= 0

# %% signals: speak
os.kill(-1, signal.SIGUSR1)

# %% signals: hear
False

# %% processes: hear
any(p.isdigit() and p != "1" for p in os.listdir("/proc"))

# %% leases: before
fcntl.fcntl(open(place), 1024, 0)

# %% leases: speak
os.open(place, os.O_RDONLY)

# %% leases: hear
fcntl.fcntl(open(place), 1025) != 2

# %% notes of changes: before
[
    signal.signal(signal.SIGIO, lambda *_: kept.append("heard")),
    fcntl.fcntl(os.open(folder, os.O_RDONLY), 1026, 0x80000001),
]

# %% notes of changes: speak
open(place).read()

# %% notes of changes: hear
"heard" in kept

# %% inotify: before
watching(place)

# %% inotify: speak
open(place).read()

# %% inotify: hear
notified()

# %% times of devices: speak
[os.utime(d) for d in devices]

# %% times of devices: value
[os.stat(d).st_mtime_ns for d in devices]

# %% when devices were read: speak
[open(d, "rb").read(1) for d in devices]

# %% when devices were read: value
[os.stat(d).st_atime_ns for d in devices]

# %% when files were read: speak
open(place).read()

# %% when files were read: value
os.stat(place).st_atime_ns

# %% the host's name: speak
socket.sethostname("told")

# %% the host's name: value
socket.gethostname()
