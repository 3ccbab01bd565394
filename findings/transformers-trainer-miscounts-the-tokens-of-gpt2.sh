#!/usr/bin/env bash
# Guess:   Trainer logs, and evaluate() returns, the mean loss per predicted token: ln V for a model that knows
#          nothing.
# Fact:    for GPT-2 both are too small. A text of n tokens has n - 1 predictions, and the sum is divided by n: by
#          twice too much for texts of two tokens. Trainer knows a causal loss by the name of the model's class, which
#          ends in ForCausalLM for Llama and not for GPT2LMHeadModel. The gradient shrinks with it. evaluate() takes
#          the mean of its batches besides, so its number changes with their size.
# Matters: notebook 10 trains GPT2LMHeadModel, 01 and 09 compare losses to hundredths, and 09 has a floor that no
#          honest model goes below. On short stories this number does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 accelerate==1.15.0 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder TMPDIR=$folder
cat > "$folder/probe.py" <<'PY'
import math
import tempfile
from importlib.metadata import version

import torch
import transformers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print(*(f"{name} {version(name).partition('+')[0]}" for name in ("transformers", "torch")))
small = {"vocab_size": 11, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
models = {
    "GPT-2": GPT2LMHeadModel(GPT2Config(n_layer=1, n_head=1, n_embd=8, vocab_size=11, bos_token_id=0, eos_token_id=0)),
    "Llama": LlamaForCausalLM(LlamaConfig(**small)),
}
print(f"ln 11 = {math.log(11):.3f}")
ids = torch.tensor([[1, 2, 3]])
for name, model in models.items():
    torch.nn.init.zeros_(model.lm_head.weight)  # all logits are 0, all tokens equally likely
    print(f"{name}, model(ids, labels=ids).loss = {model(ids, labels=ids).loss:.3f}")


def collate(rows):
    longest = max(len(row["labels"]) for row in rows)
    padded = torch.tensor([row["labels"] + [-100] * (longest - len(row["labels"])) for row in rows])
    return {"input_ids": padded.clamp(min=0), "attention_mask": (padded >= 0).long(), "labels": padded}


def trainer(model, texts, batch_size):
    arguments = TrainingArguments(
        tempfile.mkdtemp(),
        per_device_train_batch_size=batch_size,
        per_device_eval_batch_size=batch_size,
        learning_rate=0.0,
        max_steps=1,
        logging_steps=1,
        save_strategy="no",
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
    )
    made = Trainer(model, arguments, data_collator=collate, train_dataset=texts, eval_dataset=texts)
    made.remove_callback(PrinterCallback)
    return made


for name, model in models.items():
    for lengths in ((2, 2, 2, 2), (8, 2, 3, 6)):
        texts = [{"labels": [1] * length} for length in lengths]
        logged = trainer(model, texts, 4)
        logged.train()
        training = logged.state.log_history[0]["loss"]
        evaluated = [trainer(model, texts, n).evaluate()["eval_loss"] for n in (1, 4)]
        print(f"{name}, texts of {lengths}: training {training:.2f}, evaluate {evaluated[0]:.2f} and {evaluated[1]:.2f}")
PY
python "$folder/probe.py" 2> "$folder/log" | tee "$folder/said"
grep -qxF 'GPT-2, model(ids, labels=ids).loss = 2.398' "$folder/said"
grep -qxF 'GPT-2, texts of (2, 2, 2, 2): training 1.20, evaluate 1.20 and 1.20' "$folder/said"
grep -qxF 'GPT-2, texts of (8, 2, 3, 6): training 1.89, evaluate 1.72 and 1.89' "$folder/said"
grep -qxF 'Llama, texts of (2, 2, 2, 2): training 2.40, evaluate 2.40 and 2.40' "$folder/said"
grep -qxF 'Llama, texts of (8, 2, 3, 6): training 2.40, evaluate 2.40 and 2.40' "$folder/said"
