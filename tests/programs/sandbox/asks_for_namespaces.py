"""Print whether the kernel lets root and user 12345 make namespaces."""

from autograder.sandbox import cage

cage._check(cage.libc.unshare(cage.CLONE_NEWNS), "unshare")
cage._switch_user(12345)
print(cage.detach())
