"""What a notebook needs."""

# %% its own files
print(open("data/own.txt").read())
import os

print(os.listdir("."))

# %% writing
open("new", "w").write("x")
open("data/own.txt", "a").write("y")
print("done")

# %% a module of its own
open("helper.py", "w").write("x = 5")
import helper

print(helper.x)

# %% Python in a child
import subprocess, sys

print(subprocess.check_output([sys.executable, "-c", "print(6 * 7)"], text=True))

# %% a pool
import multiprocessing as m

with m.Pool(2) as pool:
    print(sum(pool.map(abs, range(4))))

# %% data loaders with workers
import torch
from torch.utils.data import DataLoader

print(sum(batch.sum() for batch in DataLoader(torch.arange(8), batch_size=2, num_workers=2)))

# %% temporary files
import tempfile

with tempfile.TemporaryFile() as f:
    print(f.write(b"abc"))

# %% threads
import threading

t = threading.Thread(target=print, args=["hi"])
t.start()
t.join()

# %% time zones
import zoneinfo, datetime

print(datetime.datetime.now(zoneinfo.ZoneInfo("Africa/Lagos")).tzinfo)
