"""Cells that use up something."""

# %% numpy
import numpy as np

x = [np.ones(2**24) for _ in range(200)]

# %% torch
import torch

x = [torch.ones(2**25) for _ in range(200)]

# %% lists
x = [0]
while True:
    x += x

# %% shared memory
import mmap

x = []
while True:
    x.append(mmap.mmap(-1, 2**26))
    x[-1].write(b"x" * 2**26)

# %% children
import os, time

for _ in range(12):
    if not os.fork():
        x = b"x" * (300 * 2**20)
        time.sleep(60)
time.sleep(60)

# %% children, shared
import mmap, os, time

for _ in range(12):
    if not os.fork():
        m = mmap.mmap(-1, 300 * 2**20)
        for _ in range(300):
            m.write(b"x" * 2**20)
        time.sleep(60)
time.sleep(60)

# %% disk
f = open("full", "wb")
for _ in range(100):
    f.write(b"x" * 2**20)
    f.flush()

# %% shared memory as files
f = open("/dev/shm/full", "wb")
for _ in range(100):
    f.write(b"x" * 2**20)
    f.flush()

# %% a million files
for i in range(10**6):
    open(f"/tmp/{i}", "w").close()

# %% open files
x = [open("/dev/null") for _ in range(10**4)]

# %% processes
import os, time

for _ in range(500):
    if not os.fork():
        time.sleep(60)

# %% threads
import threading, time

for _ in range(500):
    threading.Thread(target=time.sleep, args=[60]).start()

# %% a fork bomb
import os

while True:
    os.fork()

# %% a fork bomb that never gives up
import os

while True:
    try:
        os.fork()
    except BaseException:
        pass
