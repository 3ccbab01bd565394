#!/usr/bin/env bash
# Guess:   hidden_states[k] is what the k-th block returns, for the last block, too; the last norm and the output layer
#          turn it into logits.
# Fact:    the last one has been through the last norm, the others have not. The norm again changes it: logits of the
#          last layer come out wrong, those of all others right.
# Matters: notebook 10 looks into the layers of GPT-2. A logit lens that treats all layers alike is wrong in the only
#          one where a reader can check it, against model(ids).logits.
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
for parameter in model.transformer.ln_f.parameters():
    torch.nn.init.normal_(parameter)
blocks = []
for block in model.transformer.h:
    block.register_forward_hook(lambda _, __, output: blocks.append(output[0] if isinstance(output, tuple) else output))
with torch.no_grad():
    out = model(torch.tensor([[1, 2, 3]]), output_hidden_states=True)
    last = out.hidden_states[-1]
    print("states:", len(out.hidden_states), "blocks:", len(blocks))
    print("first block's output:", torch.equal(out.hidden_states[1], blocks[0]))
    print("last block's output:", torch.equal(last, blocks[1]))
    print("logits without another norm:", torch.allclose(model.lm_head(last), out.logits, atol=1e-5))
    print("and with it:", torch.allclose(model.lm_head(model.transformer.ln_f(last)), out.logits, atol=1e-5))
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'states: 3 blocks: 2' "$folder/said"
grep -qxF 'first block'\''s output: True' "$folder/said"
grep -qxF 'last block'\''s output: False' "$folder/said"
grep -qxF 'logits without another norm: True' "$folder/said"
grep -qxF 'and with it: False' "$folder/said"
