#!/usr/bin/env bash
# Guess:   repetition_penalty=1.5 makes a token that has come before less likely by some factor, the same for the same
#          probabilities and with any number of beams.
# Fact:    it divides a positive logit and multiplies a negative one. A constant added to all logits, which softmax
#          ignores, decides how hard it strikes: 57 % become 49, 41, 3 or 1.5 %. Without beams it works on logits, with
#          beams on log-probabilities, so a likely token is nearly spared there.
# Matters: notebook 10 writes with generate and its knobs, and models that repeat themselves invite this one. Its
#          number means another thing for each model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, LogitsProcessorList, RepetitionPenaltyLogitsProcessor

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print(*(f"{name} {version(name).partition('+')[0]}" for name in ("transformers", "torch")))
penalty = RepetitionPenaltyLogitsProcessor(1.5)
logits = torch.tensor([[1.0, 0.5, -1.0]])
print(f"without: {logits.softmax(-1)[0, 0]:.3f}")
for constant in (-10.0, 0.0, 1.0, 10.0):
    print(f"all logits {constant:+g}: {penalty(torch.tensor([[0]]), logits + constant).softmax(-1)[0, 0]:.3f}")
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=2, n_embd=8, vocab_size=11, bos_token_id=0, eos_token_id=0)).eval()
for beams in (1, 2):
    seen = []

    def look(ids, scores):
        seen.append(scores[0].exp().sum().item())
        return scores

    model.generate(
        torch.tensor([[1, 2]]),
        attention_mask=torch.ones(1, 2),
        max_new_tokens=1,
        num_beams=beams,
        do_sample=False,
        pad_token_id=0,
        logits_processor=LogitsProcessorList([look]),
    )
    print(f"{beams} beams: processors are given log-probabilities", abs(seen[0] - 1.0) < 1e-4)
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'without: 0.574' "$folder/said"
grep -qxF 'all logits -10: 0.015' "$folder/said"
grep -qxF 'all logits +0: 0.491' "$folder/said"
grep -qxF 'all logits +1: 0.409' "$folder/said"
grep -qxF 'all logits +10: 0.033' "$folder/said"
grep -qxF '1 beams: processors are given log-probabilities False' "$folder/said"
grep -qxF '2 beams: processors are given log-probabilities True' "$folder/said"
