#!/usr/bin/env bash
# Guess:   position_ids choose rows of the table of positions, and nothing else.
# Fact:    without a mask and without a cache each place where they do not go up by one starts a new text, which does
#          not see what is before it. With use_cache=True, the default, they cut nothing: the same call gives other
#          logits.
# Matters: notebooks 04 and 10 are about what a model knows of order. Who turns the positions round to see that switches
#          attention off between them, and measures that instead.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print("transformers", transformers.__version__, "torch", torch.__version__.partition("+")[0])
config = GPT2Config(
    vocab_size=40, n_positions=32, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0, initializer_range=0.5
)

torch.manual_seed(0)
model = GPT2LMHeadModel(config).eval()
ids = torch.tensor([[1, 2, 3, 4, 5, 6]])
other = torch.tensor([[9, 8, 7, 4, 5, 6]])
for name, positions in (("0 to 5", range(6)), ("0 to 2 twice", [0, 1, 2] * 2), ("5 to 0", range(5, -1, -1))):
    for cache in (True, False):
        given = {"position_ids": torch.tensor([list(positions)]), "use_cache": cache}
        with torch.no_grad():
            moved = (model(ids, **given).logits - model(other, **given).logits)[:, 3:].abs().max()
        print(f"{name}, use_cache={cache}: the first half is {'seen' if moved > 1e-4 else 'not seen'} by the second")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF '0 to 5, use_cache=True: the first half is seen by the second' "$folder/said"
grep -qxF '0 to 5, use_cache=False: the first half is seen by the second' "$folder/said"
grep -qxF '0 to 2 twice, use_cache=True: the first half is seen by the second' "$folder/said"
grep -qxF '0 to 2 twice, use_cache=False: the first half is not seen by the second' "$folder/said"
grep -qxF '5 to 0, use_cache=True: the first half is seen by the second' "$folder/said"
grep -qxF '5 to 0, use_cache=False: the first half is not seen by the second' "$folder/said"
