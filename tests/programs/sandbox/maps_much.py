"""Map address space and use memory."""

import mmap

reserved = mmap.mmap(-1, 6 * 2**30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=0)
used = b"x" * (400 * 2**20)
