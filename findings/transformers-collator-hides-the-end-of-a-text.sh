#!/usr/bin/env bash
# Guess:   DataCollatorForLanguageModeling leaves out of the loss what it padded.
# Fact:    it leaves out every token with the padding's id. With pad_token = eos_token, as GPT-2 is mostly used, the end
#          of the text itself counts for nothing: the model never learns to stop.
# Matters: notebook 10 sets the padding of GPT-2 so, and its stories end with this token; trained further with the
#          library's own collator they would not end any more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import torch
import transformers
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
print("transformers", transformers.__version__, "torch", torch.__version__.partition("+")[0])

from tokenizers import Tokenizer, models

tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordLevel({"<eos>": 0, "a": 1, "b": 2, "<pad>": 3}, unk_token="<eos>")),
    eos_token="<eos>",
)
for padding in ("<pad>", "<eos>"):
    tokenizer.pad_token = padding
    batch = DataCollatorForLanguageModeling(tokenizer, mlm=False)([{"input_ids": [1, 2, 0]}, {"input_ids": [1, 0]}])
    print(padding, batch["labels"].tolist())
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF '<pad> [[1, 2, 0], [1, 0, -100]]' "$folder/said"
grep -qxF '<eos> [[1, 2, -100], [1, -100, -100]]' "$folder/said"
