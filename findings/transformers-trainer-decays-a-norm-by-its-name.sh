#!/usr/bin/env bash
# Guess:   Trainer leaves biases and the gains of all norms without weight decay.
# Fact:    it knows torch's LayerNorm by its class and any other norm by its name: norm and layernorm are left out,
#          ln_1, which is GPT-2's name, and norm1, which is torch's, decay. torch's own RMSNorm decays under such a
#          name. Embeddings decay, too.
# Matters: notebook 08 has readers write LayerNorm and RMSNorm, notebook 09 has them leave norms without decay
#          (parameter_groups). A GPT of their own in this Trainer does otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 accelerate==1.15.0 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder TMPDIR=$folder
cat > "$folder/probe.py" <<'PY'
import tempfile
from importlib.metadata import version

import torch
import transformers
from torch import nn
from transformers import Trainer, TrainingArguments

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print(*(f"{name} {version(name).partition('+')[0]}" for name in ("transformers", "torch")))


class LayerNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(4)), nn.Parameter(torch.zeros(4))


class Model(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.ln_1, self.norm1, self.norm, self.layernorm = norm(), norm(), norm(), norm()


for name, norm in (
    ("torch's LayerNorm", lambda: nn.LayerNorm(4)),
    ("torch's RMSNorm", lambda: nn.RMSNorm(4)),
    ("one's own", LayerNorm),
):
    model = Model(norm)
    trainer = Trainer(model, TrainingArguments(tempfile.mkdtemp(), weight_decay=0.1, use_cpu=True, report_to=[]))
    decayed = next(group["params"] for group in trainer.create_optimizer().param_groups if group["weight_decay"])
    print(f"{name}, decay:", *(key for key, p in model.named_parameters() if any(p is q for q in decayed)))
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF "torch's LayerNorm, decay:" "$folder/said"
grep -qxF "torch's RMSNorm, decay: ln_1.weight norm1.weight" "$folder/said"
grep -qxF "one's own, decay: ln_1.gain norm1.gain" "$folder/said"
