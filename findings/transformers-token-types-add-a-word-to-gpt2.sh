#!/usr/bin/env bash
# Guess:   GPT-2 has no token types, so token_type_ids of zeros are refused or change nothing.
# Fact:    they are looked up in the table of words: zeros add the embedding of token 0, an exclamation mark in the
#          published vocabulary, to every position.
# Matters: notebook 10 calls GPT-2 with model(**tokenizer(...)). A tokenizer of another model, or one that is told to
#          return token types, changes all logits so, without a word.
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
ids = torch.tensor([[1, 2, 3]])
table = model.transformer.wte.weight
with torch.no_grad():
    plain = model(ids).logits
    typed = model(ids, token_type_ids=torch.zeros_like(ids)).logits
    added = model(inputs_embeds=table[ids] + table[0]).logits
print("logits change:", bool((plain - typed).abs().max() > 0.1))
print("as with the embedding of token 0 added:", torch.allclose(typed, added, atol=1e-5))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'logits change: True' "$folder/said"
grep -qxF 'as with the embedding of token 0 added: True' "$folder/said"
