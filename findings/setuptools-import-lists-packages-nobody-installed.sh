#!/usr/bin/env bash
# Guess:   what importlib.metadata lists is what is installed, whatever has been imported.
# Fact:    `import setuptools` puts the folder of the copies that it carries on sys.path. From then on they are listed as
#          installed, importable, and have versions: a dozen packages that nobody installed, in an environment with one.
# Matters: nbgrader imports setuptools. This course shows notebooks the folders on the import path that hold installed
#          packages: which ones it finds depends on what was imported before it looks.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check setuptools==84.2.1 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
python -m pip uninstall --quiet --yes --disable-pip-version-check pip
cat > "$folder/listed.py" <<'PY'
import importlib.metadata
import sys

def listed():
    return sorted({found.name for found in importlib.metadata.distributions()})

print("python", sys.version.split()[0], "setuptools", importlib.metadata.version("setuptools"))
print("before:", *listed())
before = list(sys.path)
import setuptools
print("added to sys.path:", *[entry.rpartition("site-packages/")[2] for entry in sys.path if entry not in before])
print("after:", *listed())
PY
python "$folder/listed.py" | tee "$folder/said"
grep -qx "before: setuptools" "$folder/said"
grep -qx "added to sys.path: setuptools/_vendor" "$folder/said"
grep -q "^after: .*wheel" "$folder/said"
