#!/usr/bin/env bash
# Guess:   the cache that generate returns holds the sequence that it returns, so the next call needs the next token
#          only.
# Fact:    it lacks the last token, which was drawn and never read. Given the next token alone, the model skips one and
#          counts positions from the wrong number: other logits, no error. A second use of the same cache sees the
#          first.
# Matters: notebook 09's further part writes a cache of its own, and notebook 10 generates; continuing a text from a
#          cache is the natural next step.
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

import copy

torch.manual_seed(0)
model = GPT2LMHeadModel(config).eval()
given = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
out = model.generate(torch.tensor([[1, 2, 3]]), return_dict_in_generate=True, **given)
cache = out.past_key_values
print("tokens:", out.sequences.shape[1], "in the cache:", cache.get_seq_length())
new = torch.tensor([[7]])
with torch.no_grad():
    whole = model(torch.cat([out.sequences, new], 1)).logits[:, -1]
    alone = model(new, past_key_values=copy.deepcopy(cache)).logits[:, -1]
    both = torch.cat([out.sequences[:, -1:], new], 1)
    right = model(both, past_key_values=copy.deepcopy(cache)).logits[:, -1]
    model(both, past_key_values=cache)
    again = model(both, past_key_values=cache).logits[:, -1]
for name, logits in (("next token alone", alone), ("last and next token", right), ("the same cache again", again)):
    print(f"{name}: {'as' if torch.allclose(logits, whole, atol=1e-3) else 'not as'} the whole text")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'tokens: 8 in the cache: 7' "$folder/said"
grep -qxF 'next token alone: not as the whole text' "$folder/said"
grep -qxF 'last and next token: as the whole text' "$folder/said"
grep -qxF 'the same cache again: not as the whole text' "$folder/said"
