"""Expressions that read what is not the notebook's, where nothing stops them."""

# %% the gradebook
open(SECRET).read()

# %% by way of the first process
open("/proc/1/root" + SECRET).read()

# %% by way of the grader
open(f"/proc/{PID}/root" + SECRET).read()

# %% the grader's memory
open(f"/proc/{PID}/mem", "rb").read(1)

# %% the grader's environment
open(f"/proc/{PID}/environ").read()

# %% all environments
"".join(open(f"/proc/{p}/environ").read() for p in os.listdir("/proc") if p.isdigit())

# %% a path that climbs
open("../../../../../../../.." + SECRET).read()

# %% a symbolic link
os.symlink(SECRET, "a-link"), open("a-link").read()

# %% a hard link
os.link(SECRET, "hard"), open("hard").read()

# %% a command
subprocess.check_output(["cat", SECRET], text=True)

# %% open descriptors
"".join(os.readlink(f"/proc/self/fd/{f}") for f in os.listdir("/proc/self/fd"))

# %% the solutions
os.listdir(ROOT + "/solutions")

# %% the exercises
open(ROOT + "/transformer_exercises/attention/softmax.py").read()

# %% importing the exercises
__import__("importlib").import_module("transformer_exercises.attention.softmax")

# %% importing the judge
__import__("autograder.judge.mark")

# %% everything below the root
[
    open(os.path.join(d, n)).read()
    for t in ("/tmp", "/home", "/mnt", "/root", "/work", "/srv", "/var", "/opt")
    for d, _, names in os.walk(t)
    for n in names
    if n == "secret-of-the-class"
]

# %% the passwords
open("/etc/shadow").read()

# %% the kernel's log
open("/dev/kmsg").read(1)

# %% the disks
open("/dev/vda", "rb").read(1), open("/dev/sda", "rb").read(1)
