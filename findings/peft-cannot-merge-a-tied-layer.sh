#!/usr/bin/env bash
# Guess:   merging a LoRA into GPT-2 gives the logits that it had with the LoRA beside it, in whichever layer it is.
# Fact:    so it is for c_attn. The embedding and the output layer are one weight: a LoRA on either changes that layer
#          alone while it is trained, and both once it is merged, so logits move. For the embedding nothing is said,
#          for the output layer a warning comes. ensure_weight_tying=True, which the warning names, does not help.
# Matters: notebook 10 names LoRA and goes on with GPT-2, whose output layer is its embedding. A new word, or another
#          language, is what one wants the embedding for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check peft==0.21.2 transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import copy
import warnings
from importlib.metadata import version

import torch
import transformers
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print(*(f"{name} {version(name).partition('+')[0]}" for name in ("peft", "transformers", "torch")))
torch.manual_seed(0)
config = GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=11, n_positions=16, bos_token_id=0, eos_token_id=0)
base = GPT2LMHeadModel(config).eval()
ids = torch.arange(6)[None]
for target, tying in (("c_attn", False), ("wte", False), ("lm_head", False), ("lm_head", True)):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        settings = LoraConfig(r=2, target_modules=[target], ensure_weight_tying=tying)
        model = get_peft_model(copy.deepcopy(base), settings).eval()
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "lora" in name:
                    weight.normal_(std=0.3)  # as if it had been trained
            before = model(ids).logits
            moved = (model.merge_and_unload().eval()(ids).logits - before).abs().max().item()
    told = any("tie_word_embeddings" in str(warning.message) for warning in said)
    print(f"{target}, ensured {tying}: logits move {'by more than 0.1' if moved > 0.1 else moved < 1e-5 and 'not at all'}; warned {told}")
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'c_attn, ensured False: logits move not at all; warned False' "$folder/said"
grep -qxF 'wte, ensured False: logits move by more than 0.1; warned False' "$folder/said"
grep -qxF 'lm_head, ensured False: logits move by more than 0.1; warned True' "$folder/said"
grep -qxF 'lm_head, ensured True: logits move by more than 0.1; warned True' "$folder/said"
