"""Cells that leave a process behind."""

# %% a daemon
import os, time

if not os.fork():
    os.setsid()
    if not os.fork():
        time.sleep(600)
    os._exit(0)

# %% a stopped process
import os, signal

if not os.fork():
    os.kill(os.getpid(), signal.SIGSTOP)

# %% one that ignores signals
import os, signal, time

if not os.fork():
    for s in range(1, 30):
        try:
            signal.signal(s, signal.SIG_IGN)
        except OSError:
            pass
    time.sleep(600)

# %% a command in the background
import subprocess

p = subprocess.Popen("nohup sleep 600 &", shell=True)
