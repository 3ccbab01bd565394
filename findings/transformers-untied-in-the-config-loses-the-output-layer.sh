#!/usr/bin/env bash
# Guess:   config.tie_word_embeddings = False unties a model; or it is without effect on one that exists.
# Fact:    the weights stay tied, and saving writes them once. Loading now expects two, and starts the output layer with
#          random numbers: a report of what is missing, no error.
# Matters: notebook 09 and 10 tie the output layer. Somebody who unties it so for an experiment gets another model from
#          the file than the one that was saved.
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

import tempfile

torch.manual_seed(0)
ids = torch.tensor([[1, 2, 3]])
for tied in (True, False):
    model = GPT2LMHeadModel(config).eval()
    model.config.tie_word_embeddings = tied
    same = model.lm_head.weight is model.transformer.wte.weight
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        model.save_pretrained(folder)
        loaded = GPT2LMHeadModel.from_pretrained(folder)
        equal = torch.allclose(model(ids).logits, loaded(ids).logits, atol=1e-5)
    print(f"tie_word_embeddings={tied}: still tied {same}; equal after loading {equal}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'tie_word_embeddings=True: still tied True; equal after loading True' "$folder/said"
grep -qxF 'tie_word_embeddings=False: still tied True; equal after loading False' "$folder/said"
