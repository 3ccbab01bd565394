"""Print whether the kernel lets root and user 12345 make namespaces."""

from autograder.sandbox import isolation

isolation._check(isolation.libc.unshare(isolation.CLONE_NEWNS), "unshare")
isolation._switch_user(12345)
print(isolation.detach())
