#!/usr/bin/env bash
# Guess:   a chat template that uses a variable or a field which does not exist raises an error.
# Fact:    it becomes an empty text; the token that should end each message is missing from all of them. A role that the
#          template does not know, the system's instructions for example, is left out whole.
# Matters: notebook 01 shows a chat model's prompt by apply_chat_template. A model that was trained with another prompt
#          answers worse, and nothing else tells.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet --disable-pip-version-check transformers==5.23.0 torch==2.13.0 numpy==2.4.6 || exit 77
export PATH="$folder/env/bin:$PATH" PYTHONHASHSEED=0 PYTHONWARNINGS=ignore HF_HUB_OFFLINE=1 JUPYTER_CONFIG_DIR=$folder
cat > "$folder/probe.py" <<'PY'
import transformers
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

print("transformers", transformers.__version__)
tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"<end>": 0})), eos_token="<end>")
messages = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"}]
for name in ("eos_token", "end_token"):
    template = "{% for m in messages %}{% if m.role == 'user' %}User: {{ m.content }}{{ NAME }}{% endif %}{% endfor %}"
    text = tokenizer.apply_chat_template(messages, chat_template=template.replace("NAME", name), tokenize=False)
    print(f"{name}: {text!r}")
PY
python "$folder/probe.py" | tee "$folder/said"
grep -qxF 'eos_token: '\''User: Hello<end>'\''' "$folder/said"
grep -qxF 'end_token: '\''User: Hello'\''' "$folder/said"
