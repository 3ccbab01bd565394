"""Cells whose output does not end; SOCKET stands for the first cell."""

# %% SOCKET
import json, os, struct

fd = next(
    f for f in range(3, 64) if os.path.exists(f"/proc/self/fd/{f}") and "socket" in os.readlink(f"/proc/self/fd/{f}")
)

# %% print
while True:
    print("x" * 10**6)

# %% display
from IPython.display import HTML, display

while True:
    display(HTML("x" * 10**6))

# %% frames of its own making
SOCKET
header = json.dumps([{"output": "x" * 10**6}, []]).encode()
while True:
    os.write(fd, struct.pack("!II", len(header), len(header)) + header)

# %% empty frames
SOCKET
while True:
    os.write(fd, struct.pack("!II", 10, 10) + b"[{},     []]"[:10])
