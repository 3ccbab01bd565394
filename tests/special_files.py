"""What may lie in a folder in the place of a file."""

import os
import stat

KINDS = {
    "a symbolic link": lambda path, secret: path.symlink_to(secret),
    "a hard link": lambda path, secret: path.hardlink_to(secret),
    "a named pipe": lambda path, secret: os.mkfifo(path),
    "a socket": lambda path, secret: os.mknod(path, stat.S_IFSOCK | 0o600),
}
