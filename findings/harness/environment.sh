# Make the environment of a finding. Sourced with the packages that it installs, it sets $folder, which goes away at the
# end, and $python. If they cannot be installed, the finding says so and ends with exit status 77: neither same nor changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
environment=${ENVIRONMENTS:-$folder}/$(echo "$@" | cksum | tr -d ' ')
if [ ! -e "$environment/ready" ]; then
    rm -rf "$environment"
    python3 -m venv "$environment"
    if ! "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@" > "$folder/pip" 2>&1; then
        tail -n 3 "$folder/pip"
        echo "not installed: $*"
        exit 77
    fi
    touch "$environment/ready"
fi
python=$environment/bin/python
export PATH="$environment/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
