"""A student leaves files wherever that is possible, and the next one looks for them."""

# %% left
import os, sys

for place in ("~", "/tmp", "/dev/shm", "~/.ipython/profile_default/startup", ".", *sys.path):
    for name in ("torch.py", "sitecustomize.py", "usercustomize.py", "x.pth", "00-cheat.py"):
        try:
            place = os.path.expanduser(place)
            os.makedirs(place, exist_ok=True)
            open(os.path.join(place, name), "w").write("import builtins; builtins.poisoned = 1")
            print("wrote", place)
        except OSError:
            pass

# %% found
import builtins, glob, os, sys

print(
    hasattr(builtins, "poisoned"),
    [
        place
        for place in ("~", "/tmp", "/dev/shm", "~/.ipython", *sys.path)
        if glob.glob(os.path.expanduser(place) + "/**/00-cheat.py") or os.path.exists(place + "/x.pth")
    ],
)
