"""Fork six children that each hold MIB MiB."""

import os, time

ready, done = os.pipe()
for _ in range(6):
    if not os.fork():
        x = b"x" * (MIB * 2**20)
        os.write(done, b".")
        time.sleep(60)
held = 0
while held < 6:
    held += len(os.read(ready, 6))
time.sleep(1)
