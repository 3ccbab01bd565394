"""Show a verdict in the notebook, in the feedback page's colours; advise an answer that uses NumPy to stay in torch."""

import ast
import re
from dataclasses import replace
from types import ModuleType
from typing import Any

from ..judge.mark import Verdict
from ..judge.parsing import parse_cell
from ..judge.source_rules import defined_in
from ..judge.verdict import grouped, html
from ..judge.verdict import plain as plain_lines

# The feedback page's colours. A notebook's theme is its client's, not the system's: JupyterLab and Jupyter Notebook,
# VS Code and Colab each say which one it is. Text has the client's own colour, so that it is legible on any.
STYLE = """<style>
.course-verdict { --good: #1a6b34; --bad: #a8281c; --half: #8a4b00; }
:is([data-jp-theme-light="false"], .vscode-dark, .vscode-high-contrast, html[theme="dark"]) .course-verdict {
  --good: #7fd69b; --bad: #ff9d92; --half: #f3bd6b;
}
.course-verdict { border-left: 4px solid var(--colour); padding-left: .8em; }
.course-verdict .right { --colour: var(--good); color: var(--good); }
.course-verdict .wrong { --colour: var(--bad); color: var(--bad); }
.course-verdict.right { --colour: var(--good); }
.course-verdict.partly { --colour: var(--half); }
.course-verdict.wrong { --colour: var(--bad); }
</style>"""
SIGN = re.compile(
    r"(?<=>)(?P<right>✓ right)(?=</td>)|(?<=>)(?P<wrong>✗ wrong)(?=</td>)"
)  # no text of a message: escaped
TITLE = re.compile(r"<strong>([✓✗] .*?)</strong>")
NUMPY = (
    "Your answer uses NumPy (`{used}`). Stay in torch: its functions have nearly the same names (`torch.exp`; `dim` "
    "for `axis`, `keepdim` for `keepdims`), and they keep the dtype, the device and the gradients."
)


def page(verdict: Verdict) -> str:
    """Return the verdict as HTML: right in green, partly right in amber, wrong in red."""
    share = "right" if verdict.full else "partly" if verdict.earned else "wrong"
    shown = TITLE.sub(r'<strong style="color:var(--colour)">\1</strong>', html(verdict, at_a_glance=True), count=1)
    shown = SIGN.sub(lambda found: f'<strong class="{found.lastgroup}">{found[0]}</strong>', shown)
    return f'{STYLE}<div class="course-verdict {share}">{shown}</div>'


def plain(verdict: Verdict) -> str:
    """Return the verdict as text, for a client without HTML. Lines that are not judged for one reason are one line."""
    folded = [
        replace(lines[0], title=f"{len(lines)} checks: {'; '.join(line.title for line in lines)}")
        if len(lines) > 1
        else lines[0]
        for lines in grouped(verdict.lines)
    ]
    return plain_lines(replace(verdict, lines=folded))


def with_advice(verdict: Verdict, namespace: dict[str, Any]) -> Verdict:
    """Return the verdict with a remark if the answer lost points and leaves torch for NumPy."""
    if verdict.full or verdict.remark:
        return verdict
    cells = map(str, reversed(namespace.get("In", ())))  # IPython's list of the cells that have run
    source = next((cell for cell in cells if verdict.exercise in defined_in(cell)), "")
    return replace(verdict, remark=_about_numpy(source, namespace))


def _about_numpy(source: str, namespace: dict[str, Any]) -> str:
    """Return a sentence for a cell that uses NumPy; "" if it does not."""
    for node in ast.walk(parse_cell(source) or ast.Module([], [])):
        if isinstance(node, ast.Attribute):
            module = namespace.get(node.value.id) if isinstance(node.value, ast.Name) else None
            of_numpy = isinstance(module, ModuleType) and module.__name__ == "numpy"
            if of_numpy or node.attr == "numpy":
                return NUMPY.format(used=ast.unparse(node) if of_numpy else ".numpy()")
    return ""
