#!/usr/bin/env bash
# Guess:   a causal window of four lets each token see the four latest, itself among them.
# Fact:    so it is for transformers' sliding_window. In local-attention, window_size=4 is the length of a block: a
#          token sees its own block and the one before, five to eight tokens by its place. With exact_windowsize=True
#          it sees five, itself and four more.
# Matters: notebook 06-further asks for a window of the latest tokens, itself counted, and how far a stack of layers
#          sees.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check local-attention==1.11.2 transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
from importlib.metadata import version

import torch
import transformers
from local_attention import LocalAttention
from transformers import MistralConfig, MistralForCausalLM

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print(*(f"{name} {version(name).partition('+')[0]}" for name in ("transformers", "local-attention", "torch")))


def seen(layer):
    """How many tokens each of 12 tokens depends on."""
    torch.manual_seed(0)
    x = torch.randn(1, 12, 8, requires_grad=True)
    out = layer(x)
    gradients = (torch.autograd.grad(out[0, t].square().sum(), x, retain_graph=True)[0] for t in range(12))
    return [int(gradient[0].abs().sum(-1).gt(0).sum()) for gradient in gradients]


config = MistralConfig(
    vocab_size=5, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1, sliding_window=4
)
mistral = MistralForCausalLM(config).eval().model
print("transformers:", *seen(lambda x: mistral(inputs_embeds=x, use_cache=False).last_hidden_state))
for name, exact in (("local-attention:", False), ("exact:", True)):
    layer = LocalAttention(window_size=4, causal=True, dim=8, exact_windowsize=exact)
    print(name, *seen(lambda x: layer(x, x, x)))
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'transformers: 1 2 3 4 4 4 4 4 4 4 4 4' "$folder/said"
grep -qxF 'local-attention: 1 2 3 4 5 6 7 8 5 6 7 8' "$folder/said"
grep -qxF 'exact: 1 2 3 4 5 5 5 5 5 5 5 5' "$folder/said"
