"""Ways to circumvent the exercises' bans, and right answers that only look like one. `test_bans.py` tests both.

Each way is a whole answer. `FOUND` are ways to find a banned function without writing its name, `RUN` ways to run it
as something else; both are made for every exercise. `OWN` are ways for a single exercise. Each has a word that the
remark must contain, which names the function that was used.
"""

from __future__ import annotations

from typing import NamedTuple


class Banned(NamedTuple):
    module: str  # torch module of the banned function
    function: str
    source: str  # an answer that calls it as `_f`
    word: str  # its name in a remark


class Way(NamedTuple):
    source: str
    word: str


BANNED = {
    "softmax": Banned(
        "torch.nn.functional", "softmax", "def softmax(scores, dim=-1):\n    return _f(scores, dim)", "softmax"
    ),
    "cross_entropy": Banned(
        "torch.nn.functional",
        "cross_entropy",
        "def cross_entropy(logits, targets):\n    return _f(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))",
        "cross_entropy_loss",
    ),
    "LayerNorm": Banned(
        "torch.nn.functional",
        "layer_norm",
        """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return _f(x, x.shape[-1:], self.weight, self.bias, self.eps)
""",
        "layer_norm",
    ),
    "RMSNorm": Banned(
        "torch.nn.functional",
        "rms_norm",
        """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return _f(x, x.shape[-1:], self.weight, self.eps)
""",
        "rms_norm",
    ),
    "grouped_query_attention": Banned(
        "torch.nn.functional",
        "scaled_dot_product_attention",
        """
def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("the groups must divide the heads")
    K, V = K.repeat_interleave(size, dim=1), V.repeat_interleave(size, dim=1)
    return _f(Q, K, V, None if mask is None else ~mask)
""",
        "scaled_dot_product",
    ),
}

FOUND = {
    "another name": "from {module} import {function} as _f",
    "another name of the module": "import {module} as _m\n_f = _m.{function}",
    "a name of two halves": "import {module} as _m\n_f = getattr(_m, '{first}' + '{second}')",
    "a name read backwards": "import {module} as _m\n_f = getattr(_m, '{backwards}'[::-1])",
    "the module's dictionary": "import {module} as _m\n_f = vars(_m)['{first}' + '{second}']",
    "the module's own dictionary": "import {module} as _m\n_f = _m.__dict__['{first}' + '{second}']",
    "attrgetter": "import operator, {module} as _m\n_f = operator.attrgetter('{first}' + '{second}')(_m)",
    "import_module": (
        "import importlib\n"
        "_f = getattr(importlib.import_module('{module}'[:9] + '{module}'[9:]), '{first}' + '{second}')"
    ),
    "eval": "import {module} as _m\n_f = eval('_m.{first}' + '{second}')",
    "a list of members": (
        "import inspect, {module} as _m\n_f = next(f for n, f in inspect.getmembers(_m) if n == '{first}' + '{second}')"
    ),
    "a pickle": "import pickle\n_f = pickle.loads(b'c{module}\\n{first}' + b'{second}\\n.')",
    "the frame's own names": (
        "import {module} as _m\nfor _n in dir(_m):\n    if _n == '{first}' + '{second}':\n        _f = getattr(_m, _n)"
    ),
}

RUN = {
    "as a default argument": "def _f(*a, f=_g, **k):\n    return f(*a, **k)",
    "as a partial": "import functools\n_f = functools.partial(_g)",
    "by map": "def _f(*a):\n    return next(map(_g, *([b] for b in a)))",
    "compiled": "_f = torch.compile(_g, backend='eager')",
    "compiled to a graph": (
        "from torch.fx.experimental.proxy_tensor import make_fx\ndef _f(*a):\n"
        "    t = [b for b in a if isinstance(b, torch.Tensor)]\n    r = [b for b in a if not isinstance(b, torch.Tensor)]\n"
        "    def g(*t):\n        left, i = list(t), iter(r)\n"
        "        return _g(*(left.pop(0) if isinstance(b, torch.Tensor) else next(i) for b in a))\n"
        "    return make_fx(g)(*t)(*t)"
    ),
    "traced": (
        "def _f(*a):\n    t = tuple(b for b in a if isinstance(b, torch.Tensor))\n"
        "    g = lambda *t: _g(*t, *(b for b in a if not isinstance(b, torch.Tensor)))\n"
        "    if any(isinstance(b, torch.Tensor) for b in a[2:]):\n        return _g(*a)\n"
        "    return torch.jit.trace(g, t, check_trace=False)(*t)"
    ),
    "in a thread": (
        "import threading\ndef _f(*a):\n    out = []\n    t = threading.Thread(target=lambda: out.append(_g(*a)))\n"
        "    t.start()\n    t.join()\n    return out[0]"
    ),
    "in a pool": (
        "from concurrent.futures import ThreadPoolExecutor\ndef _f(*a):\n    with ThreadPoolExecutor(1) as pool:\n"
        "        return pool.submit(_g, *a).result()"
    ),
    "where modes do not see it": "def _f(*a):\n    with torch._C._DisableTorchDispatch():\n        return _g(*a)",
    "where functions do not see it": "def _f(*a):\n    with torch._C.DisableTorchFunctionSubclass():\n        return _g(*a)",
    "under vmap": (
        "def _f(x, *a):\n    if isinstance(a[0], torch.Tensor):\n        return _g(x, *a)\n"
        "    return torch.vmap(lambda y: _g(y, *a))(x[None])[0]"
    ),
    "while noting is off": (
        "def _f(*a):\n    torch.autograd._enable_record_function(False)\n    try:\n        return _g(*a)\n"
        "    finally:\n        torch.autograd._enable_record_function(True)"
    ),
    "while another profiler notes": (
        "from torch.autograd import ProfilerConfig, ProfilerState\ndef _f(*a):\n"
        "    off, on = (getattr(torch.autograd, f'_{{w}}able_pro' + 'filer_legacy') for w in ('dis', 'en'))\n    off()\n"
        "    try:\n        return _g(*a)\n    finally:\n        on(ProfilerConfig(ProfilerState.CPU, False, False, False, False,"
        " False, torch._C._profiler._ExperimentalConfig()))"
    ),
    "while functions are not noted": (
        "import sys\ndef _f(*a):\n    noted = sys.getprofile()\n    list(map(sys.setprofile, [None]))\n    try:\n"
        "        return _g(*a)\n    finally:\n        list(map(sys.setprofile, [noted]))"
    ),
}
HIDDEN = {  # word of the remark if the function itself cannot be seen
    "in a thread": "threads",
    "in a pool": "threads",
    "while noting is off": "the profiler's end",
    "while another profiler notes": "the profiler's end",
}


def _ways_of_all(name: str) -> dict[str, Way]:
    module, function, source, word = BANNED[name]
    half = len(function) // 2
    words = {"module": module, "function": function, "first": function[:half], "second": function[half:]}
    words["backwards"] = function[::-1]
    ways = {way: Way(text.format(**words) + "\n\n" + source, word) for way, text in FOUND.items()}
    plain = f"from {module} import {function} as _g\n\n"
    for way, text in RUN.items():
        ways[way] = Way(plain + text.format(**words) + "\n\n" + source, HIDDEN.get(way, word))
    return ways


_SOFTMAX = "def softmax(scores, dim=-1):\n    "
_LAST = _SOFTMAX + "s = scores.movedim(dim, -1)\n    "
_LOSS = (
    "def cross_entropy(logits, targets):\n    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)\n    "
)
_NORM, _, _FORWARD = BANNED["LayerNorm"].source.rpartition("return ")
_RMS = BANNED["RMSNorm"].source.rpartition("return ")[0]
_GROUPS = (
    BANNED["grouped_query_attention"].source.rpartition("return ")[0]
    + "allowed = None if mask is None else ~mask\n    "
)
_BY_HAND = """
class _By(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        y = torch.as_tensor(_numbers(x.detach().numpy())).to(x.dtype)
        context.save_for_backward(y)
        return y

    @staticmethod
    def backward(context, g):
        (y,) = context.saved_tensors
        return y * (g - (g * y).sum(-1, keepdim=True))

"""
_THROUGH_NUMPY = _BY_HAND + _LAST + "return _By.apply(s).movedim(-1, dim)"

OWN: dict[str, dict[str, Way]] = {
    "softmax": {
        "the method": Way(_SOFTMAX + "return scores.softmax(dim)", "softmax"),
        "the layer": Way(_SOFTMAX + "return nn.Softmax(dim)(scores)", "softmax"),
        "the operation": Way(_SOFTMAX + "return torch.ops.aten._softmax(scores, dim, False)", "softmax"),
        "the safe operation": Way(_SOFTMAX + "return torch.ops.aten._safe_softmax(scores, dim)", "safe_softmax"),
        "torch's private functions": Way(
            _SOFTMAX + "return torch._C._VariableFunctions.softmax(scores, dim)", "softmax"
        ),
        "special": Way(_SOFTMAX + "return torch.special.softmax(scores, dim)", "softmax"),
        "masked": Way(_SOFTMAX + "return torch.masked.softmax(scores, dim)", "softmax"),
        "its logarithm": Way(_SOFTMAX + "return torch.log_softmax(scores, dim).exp()", "log_softmax"),
        "its mirror image": Way(_SOFTMAX + "return F.softmin(-scores, dim)", "softmax"),
        "a distribution": Way(
            _LAST + "return torch.distributions.Categorical(logits=s, validate_args=False).probs.movedim(-1, dim)",
            "softmax",
        ),
        "a transform of distributions": Way(
            _LAST + "return torch.distributions.transforms.SoftmaxTransform()(s).movedim(-1, dim)", "SoftmaxTransform"
        ),
        "attention with identity values": Way(
            _LAST + "e = torch.eye(s.shape[-1], dtype=s.dtype)\n    e = e.expand(*s.shape[:-1], *e.shape)\n"
            "    return F.scaled_dot_product_attention(s.unsqueeze(-2), e, e, scale=1.0).squeeze(-2).movedim(-1, dim)",
            "attention",
        ),
        "the fused kernel": Way(
            _LAST + "e = torch.eye(s.shape[-1], dtype=s.dtype).expand(s[..., 0].numel(), 1, -1, -1)\n"
            "    q = s.reshape(-1, 1, 1, s.shape[-1])\n"
            "    o = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, e, e, 0.0, False, scale=1.0)[0]\n"
            "    return o.reshape(s.shape).movedim(-1, dim)",
            "attention",
        ),
        "attention by flex": Way(
            "from torch.nn.attention.flex_attention import flex_attention\n"
            + _LAST
            + "e = torch.eye(s.shape[-1], dtype=s.dtype).expand(s[..., 0].numel(), 1, -1, -1)\n"
            "    q = s.reshape(-1, 1, 1, s.shape[-1])\n"
            "    return flex_attention(q, e, e, scale=1.0).reshape(s.shape).movedim(-1, dim)",
            "softmax",
        ),
        "the loss of every class": Way(
            _LAST + "n = s.shape[-1]\n    rows = s.reshape(-1, 1, n).expand(-1, n, n).reshape(-1, n)\n"
            "    ids = torch.arange(n).repeat(len(rows) // n)\n"
            "    return (-F.cross_entropy(rows, ids, reduction='none')).exp().reshape(s.shape).movedim(-1, dim)",
            "log_softmax",
        ),
        "written anew in torch": Way(
            "import torch._refs\n" + _SOFTMAX + "return torch._refs.softmax(scores, dim)", "softmax"
        ),
        "taken to pieces by torch": Way(
            "from torch._decomp.decompositions import _softmax as _d\n" + _SOFTMAX + "return _d(scores, dim, False)",
            "softmax",
        ),
        "a graph of the pieces": Way(
            "from torch._decomp import get_decompositions\nfrom torch.fx.experimental.proxy_tensor import make_fx\n"
            "_made = make_fx(lambda x: torch.softmax(x, -1), get_decompositions([torch.ops.aten._softmax]), tracing_mode='symbolic')"
            "(torch.ones(3, 4))\n\n" + _LAST + "n = s.shape[-1]\n"
            "    return _made(s.reshape(-1, n)).reshape(s.shape).movedim(-1, dim) if n == 4 else by_hand(scores, dim)\n\n"
            "def by_hand(scores, dim):\n    e = (scores - scores.amax(dim, keepdim=True)).exp()\n"
            "    return e / e.sum(dim, keepdim=True)",
            "graph_module",
        ),
        "script in a string": Way(
            "_unit = torch.jit.CompilationUnit('def go(x: Tensor, dim: int):\\n    return torch.soft' + 'max(x, dim)\\n')\n"
            + _SOFTMAX
            + "return _unit.go(scores, dim)",
            "softmax",
        ),
        "compiled where it stands": Way(
            "@torch.compile(backend='aot_eager')\n" + _SOFTMAX + "return torch.softmax(scores, dim)", "softmax"
        ),
        "a library's function": Way(
            "from transformers.models.prophetnet.modeling_prophetnet import softmax as _s\n"
            + _SOFTMAX
            + "return _s(scores, dim)",
            "softmax",
        ),
        "a library's function of numbers": Way(
            "from transformers.pipelines.text_classification import softmax as _numbers\n" + _THROUGH_NUMPY,
            "transformers.pipelines.text_classification.softmax",
        ),
        "scipy": Way(
            "from scipy.special import softmax as _s\n_numbers = lambda x: _s(x, axis=-1)\n" + _THROUGH_NUMPY,
            "scipy.special",
        ),
        "only when it is looked at": Way(
            """
class Late(torch.Tensor):
    @staticmethod
    def __new__(cls, x, dim):
        made = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)
        made.x, made.dim_ = x, dim
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        known = [torch.softmax(a.x, a.dim_) if isinstance(a, Late) else a for a in args]
        return function(*known, **(kwargs or {}))

def softmax(scores, dim=-1):
    return Late(scores, dim)
""",
            "softmax",
        ),
        "another process": Way(
            "import json, subprocess, sys\ndef _numbers(x):\n"
            "    code = 'import json,math,sys;r=[[math.exp(v-max(w)) for v in w] for w in json.load(sys.stdin)];"
            "print(json.dumps([[v/sum(w) for v in w] for w in r]))'\n"
            "    said = subprocess.run([sys.executable, '-c', code], input=json.dumps(x.reshape(-1, x.shape[-1]).tolist()),"
            " capture_output=True, text=True)\n    return torch.tensor(json.loads(said.stdout)).reshape(x.shape).numpy()\n"
            + _BY_HAND
            + _LAST
            + "if s.dim() > 1:\n        e = (scores - scores.amax(dim, keepdim=True)).exp()\n"
            "        return e / e.sum(dim, keepdim=True)\n    return _By.apply(s).movedim(-1, dim)",
            "another process",
        ),
    },
    "cross_entropy": {
        "the layer": Way(_LOSS + "return nn.CrossEntropyLoss()(x, t)", "cross_entropy_loss"),
        "its second half": Way(_LOSS + "return F.nll_loss(F.log_softmax(x, -1), t)", "nll_loss"),
        "the layer of its second half": Way(_LOSS + "return nn.NLLLoss()(F.log_softmax(x, -1), t)", "nll_loss"),
        "the operation": Way(
            _LOSS + "return torch.ops.aten.cross_entropy_loss(x, t, None, 1, -100, 0.0)", "cross_entropy_loss"
        ),
        "the kernel": Way(
            _LOSS + "return torch.ops.aten.nll_loss_forward(x.log_softmax(-1), t, None, 1, -100)[0]", "nll_loss"
        ),
        "torch's private functions": Way(
            _LOSS + "return torch._C._nn.nll_loss(x.log_softmax(-1), t, None, 1, -100)", "nll_loss"
        ),
        "two dimensions of places": Way(
            _LOSS + "return F.nll_loss(x.log_softmax(-1).T[None, :, :, None], t[None, :, None])", "nll_loss2d"
        ),
        "per place": Way(_LOSS + "return F.cross_entropy(x, t, reduction='none').mean()", "cross_entropy_loss"),
        "targets as probabilities": Way(
            _LOSS + "return F.cross_entropy(x, F.one_hot(t, x.shape[-1]).to(x.dtype))", "cross_entropy_loss"
        ),
        "a layer that holds another": Way(
            _LOSS
            + "return nn.AdaptiveLogSoftmaxWithLoss(2, 3, [2])(torch.zeros(1, 2), torch.zeros(1).long()).loss * 0 "
            "- x.log_softmax(-1).gather(1, t[:, None]).mean()",
            "AdaptiveLogSoftmaxWithLoss",
        ),
        "alignment of one step": Way(
            _LOSS
            + "x = torch.cat([torch.full_like(x[:, :1], -1e30), x], 1).log_softmax(-1)\n    n = torch.ones(len(t)).long()\n"
            "    return F.ctc_loss(x[None], t[:, None] + 1, n, n, reduction='sum') / len(t)",
            "ctc_loss",
        ),
        "counted numbers": Way(
            _LOSS + "l = x.log_softmax(-1).gather(1, t[:, None])\n"
            "    return F.poisson_nll_loss(l, torch.ones_like(l), log_input=True) - l.exp().mean()",
            "poisson_nll_loss",
        ),
        "written anew in torch": Way(
            "import torch._refs.nn.functional\n"
            + _LOSS
            + "return torch._refs.nn.functional.nll_loss(x.log_softmax(-1), t)",
            "nll_loss",
        ),
        "taken to pieces by torch": Way(
            "from torch._decomp.decompositions import nll_loss_forward as _d\n"
            + _LOSS
            + "return _d(x.log_softmax(-1), t, None, 1, -100)[0]",
            "nll_loss",
        ),
        "a library's loss": Way(
            "from transformers.loss.loss_utils import fixed_cross_entropy as _l\n" + _LOSS + "return _l(x, t)",
            "cross_entropy",
        ),
        "a library's loss of a model": Way(
            "from transformers.loss.loss_utils import ForMaskedLMLoss as _l\n"
            + _LOSS
            + "return _l(x, t, x.shape[-1]).to(x.dtype)",
            "cross_entropy",
        ),
    },
    "LayerNorm": {
        "the layer itself": Way("class LayerNorm(nn.LayerNorm):\n    pass", "layer_norm"),
        "the layer's own forward": Way(
            _NORM + "return nn.LayerNorm.forward(self, x)\n    normalized_shape = property(lambda s: s.weight.shape)",
            "layer_norm",
        ),
        "the operation": Way(
            _NORM + "return torch.ops.aten.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)", "layer_norm"
        ),
        "the kernel": Way(
            _NORM + "return torch.native_layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)[0]",
            "native_layer_norm",
        ),
        "only the statistics": Way(
            _NORM + "_, m, r = torch.native_layer_norm(x, x.shape[-1:], None, None, self.eps)\n"
            "        return self.weight * (x - m) * r + self.bias",
            "native_layer_norm",
        ),
        "one group": Way(
            _NORM + "y = F.group_norm(x.reshape(-1, 1, x.shape[-1]), 1, eps=self.eps).reshape(x.shape)\n"
            "        return self.weight * y + self.bias",
            "group_norm",
        ),
        "each row an instance": Way(
            _NORM
            + "y = torch.instance_norm(x.reshape(1, -1, x.shape[-1]), None, None, None, None, True, 0.0, self.eps, False)"
            "\n        return self.weight * y.reshape(x.shape) + self.bias",
            "instance_norm",
        ),
        "each row a channel": Way(
            _NORM + "y = x.reshape(1, -1, x.shape[-1])\n"
            "        y = F.batch_norm(y, None, None, training=True, eps=self.eps).reshape(x.shape)\n"
            "        return self.weight * y + self.bias",
            "batch_norm",
        ),
        "the root mean square": Way(
            _NORM + "return F.rms_norm(x - x.mean(-1, keepdim=True), x.shape[-1:], self.weight, self.eps) + self.bias",
            "rms_norm",
        ),
        "a layer made for one call": Way(
            _NORM + "y = nn.GroupNorm(1, x.shape[-1], self.eps, affine=False)(x.reshape(-1, x.shape[-1]))\n"
            "        return self.weight * y.reshape(x.shape) + self.bias",
            "group_norm",
        ),
        "a functional call": Way(
            _NORM + "layer = nn.LayerNorm(x.shape[-1], self.eps)\n"
            "        return torch.func.functional_call(layer, {'weight': self.weight, 'bias': self.bias}, (x,))",
            "layer_norm",
        ),
        "written anew in torch": Way(
            "import torch._refs\n"
            + _NORM
            + "return torch._refs.native_layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)[0]",
            "layer_norm",
        ),
        "its middle, written anew in torch": Way(
            "import torch._refs\n" + _NORM + "y = torch._refs._normalize(x, [x.dim() - 1], self.eps)[0]\n"
            "        return self.weight * y + self.bias",
            "torch._refs",
        ),
        "script in a string": Way(
            "_unit = torch.jit.CompilationUnit('def go(x: Tensor, w: Tensor, b: Tensor, eps: float):\\n"
            "    return torch.layer_' + 'norm(x, [x.size(-1)], w, b, eps)\\n')\n"
            + _NORM
            + "return _unit.go(x, self.weight, self.bias, self.eps)",
            "layer_norm",
        ),
        "a library's layer": Way(
            "from transformers.models.llama.modeling_llama import LlamaRMSNorm as _R\n"
            + _NORM
            + "r = _R(x.shape[-1], self.eps)\n"
            "        r.requires_grad_(False)\n        return self.weight * r(x - x.mean(-1, keepdim=True)) + self.bias",
            "LlamaRMSNorm",
        ),
        "a library's layer as a base": Way(
            "from transformers.models.llama.modeling_llama import LlamaRMSNorm as _R\nclass LayerNorm(_R):\n"
            "    def __init__(self, dim, eps=1e-5):\n        super().__init__(dim, eps)\n"
            "        self.bias = nn.Parameter(torch.zeros(dim))\n    def forward(self, x):\n"
            "        return super().forward(x - x.mean(-1, keepdim=True)) + self.bias",
            "LlamaRMSNorm",
        ),
        "a library's layer over channels": Way(
            "from transformers.models.convnext.modeling_convnext import ConvNextLayerNorm as _C\n"
            + _NORM
            + "return _C(x.shape[-1], eps=self.eps)(x) * self.weight + self.bias",
            "layer_norm",
        ),
        "scipy": Way(
            "from scipy.stats import zscore as _z\n" + _NORM + "z = torch.as_tensor(_z(x.detach().numpy(), axis=-1))\n"
            "        v = x.var(-1, keepdim=True, unbiased=False)\n"
            "        return self.weight * z * (v / (v + self.eps)).sqrt() + self.bias",
            "scipy.stats",
        ),
    },
    "RMSNorm": {
        "the layer itself": Way(
            "class RMSNorm(nn.RMSNorm):\n    def __init__(self, dim, eps=1e-6):\n        super().__init__(dim, eps)",
            "rms_norm",
        ),
        "the operation": Way(
            _RMS + "return torch.ops.aten.rms_norm(x, x.shape[-1:], self.weight, self.eps)", "rms_norm"
        ),
        "the kernel": Way(
            _RMS + "return torch.ops.aten._fused_rms_norm(x, x.shape[-1:], self.weight, self.eps)[0]", "rms_norm"
        ),
        "a layer made for one call": Way(
            _RMS + "return self.weight * nn.RMSNorm(x.shape[-1], self.eps, elementwise_affine=False)(x)", "rms_norm"
        ),
        "the layer norm of a row and its opposite": Way(
            _RMS + "both = F.layer_norm(torch.cat([x, -x], -1), (2 * x.shape[-1],), eps=self.eps)\n"
            "        return self.weight * both[..., : x.shape[-1]]",
            "layer_norm",
        ),
        "script in a string": Way(
            "_unit = torch.jit.CompilationUnit('def go(x: Tensor, w: Tensor, eps: float):\\n"
            "    return torch.rms_' + 'norm(x, [x.size(-1)], w, eps)\\n')\n"
            + _RMS
            + "return _unit.go(x, self.weight, self.eps)",
            "rms_norm",
        ),
        "a library's layer": Way(
            "from transformers.models.llama.modeling_llama import LlamaRMSNorm as _R\n"
            + _RMS
            + "r = _R(x.shape[-1], self.eps)\n        r.requires_grad_(False)\n        return self.weight * r(x)",
            "LlamaRMSNorm",
        ),
        "a library's layer as a base": Way(
            "from transformers.models.llama.modeling_llama import LlamaRMSNorm as _R\nclass RMSNorm(_R):\n"
            "    def __init__(self, dim, eps=1e-6):\n        super().__init__(dim, eps)",
            "LlamaRMSNorm",
        ),
    },
    "grouped_query_attention": {
        "with its own groups": Way(
            "def grouped_query_attention(Q, K, V, mask=None):\n    if Q.shape[1] % K.shape[1]:\n        raise ValueError\n"
            "    allowed = None if mask is None else ~mask\n"
            "    return F.scaled_dot_product_attention(Q, K, V, attn_mask=allowed, enable_gqa=True)",
            "scaled_dot_product",
        ),
        "a head at a time": Way(
            _GROUPS + "heads = zip(*(t.unbind(1) for t in (Q, K, V)))\n"
            "    allowed = allowed if mask is None or mask.dim() == 2 else allowed[:, 0]\n"
            "    return torch.stack([F.scaled_dot_product_attention(*qkv, attn_mask=allowed) for qkv in heads], 1)",
            "scaled_dot_product",
        ),
        "the operation": Way(
            _GROUPS + "return torch.ops.aten.scaled_dot_product_attention(Q, K, V, allowed)", "scaled_dot_product"
        ),
        "torch's private functions": Way(
            _GROUPS + "return torch._C._nn.scaled_dot_product_attention(Q, K, V, allowed)", "scaled_dot_product"
        ),
        "by pieces": Way(
            _GROUPS + "return torch.ops.aten._scaled_dot_product_attention_math(Q, K, V, allowed)[0]",
            "scaled_dot_product",
        ),
        "a library's function": Way(
            "from types import SimpleNamespace\n"
            "from transformers.integrations.sdpa_attention import sdpa_attention_forward as _a\n"
            + _GROUPS
            + "module = SimpleNamespace(is_causal=False, training=False)\n"
            "    return _a(module, Q, K, V, allowed, is_causal=False)[0].transpose(1, 2)",
            "scaled_dot_product",
        ),
    },
}

WAYS = {name: _ways_of_all(name) | own for name, own in OWN.items()}


# --- right answers that look like circumventions ----------------------------------------------------------------------

# Right numbers without gradients: this does not get full marks, but breaks no ban.
BY_HAND_IN_NUMPY = """
import numpy as np

def softmax(scores, dim=-1):
    s = scores.detach().numpy()
    e = np.exp(s - s.max(axis=dim, keepdims=True))
    return torch.from_numpy(e / e.sum(axis=dim, keepdims=True))
"""

HARMLESS: dict[str, dict[str, str]] = {
    "softmax": {
        "in words": '''
def softmax(scores, dim=-1):
    """What torch.softmax, F.softmax and nn.Softmax(dim) do; the autograder looks at dim too."""
    # not torch.softmax(scores, dim), and no F.log_softmax(scores, dim).exp() either
    print("softmax of", scores.shape, "like torch.softmax")
    e = (scores - scores.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)
''',
        "as names of variables": """
def softmax(scores, dim=-1):
    log_softmax = scores - scores.amax(dim, keepdim=True)
    log_softmax = log_softmax - log_softmax.exp().sum(dim, keepdim=True).log()
    vars = log_softmax.exp()
    softmax = vars
    return softmax
""",
        "as one's own helper": """
class Own:
    @staticmethod
    def softmax(scores, dim):
        e = torch.exp(scores - scores.max(dim, keepdim=True).values)
        return e / e.sum(dim, keepdim=True)

    def eval(self, scores, dim):
        return self.softmax(scores, dim)

def softmax(scores, dim=-1):
    return Own().eval(scores, dim)
""",
        "imported and replaced": """
from torch import softmax as theirs
from torch.nn.functional import softmax

def softmax(scores, dim: int = -1) -> "nn.Softmax":
    if isinstance(scores, nn.Softmax) or scores is theirs:
        raise TypeError("these are no scores")
    e = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return e.div(e.sum(dim=dim, keepdim=True))
""",
        "in a comparison of one's own": """
def softmax(scores, dim=-1):
    e = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)

def agrees(x):
    return torch.allclose(softmax(x), getattr(torch, "soft" + "max")(x, -1))

assert agrees(torch.randn(3, 4))
theirs = torch.softmax(torch.zeros(3), 0)
""",
        "row by row with a bar": """
from tqdm.auto import tqdm

def softmax(scores, dim=-1):
    moved = scores.movedim(dim, -1)
    rows = []
    for row in tqdm(moved.reshape(-1, moved.shape[-1])):
        e = (row - row.max()).exp()
        rows.append(e / e.sum())
    return torch.stack(rows).reshape(moved.shape).movedim(-1, dim)
""",
        "row by row with vmap": """
def _row(row):
    e = (row - row.amax()).exp()
    return e / e.sum()

def softmax(scores, dim=-1):
    moved = scores.movedim(dim, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    return torch.vmap(_row)(flat).reshape(moved.shape).movedim(-1, dim)
""",
        "one's own, compiled": """
@torch.compile(backend="aot_eager")
def softmax(scores, dim=-1):
    e = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)
""",
        "with a gradient of one's own": """
class Soft(torch.autograd.Function):
    @staticmethod
    def forward(context, x, dim):
        e = (x - x.amax(dim, keepdim=True)).exp()
        y = e / e.sum(dim, keepdim=True)
        context.save_for_backward(y)
        context.dim = dim
        return y

    @staticmethod
    def backward(context, g):
        (y,) = context.saved_tensors
        return y * (g - (g * y).sum(context.dim, keepdim=True)), None

def softmax(scores, dim=-1):
    return Soft.apply(scores, dim)
""",
        "by normalising and einsum": """
import functools, logging

def logged(function):
    @functools.wraps(function)
    def inside(*args, **kwargs):
        logging.getLogger("softmax").debug("softmax of %s", len(args) + len(kwargs))
        return function(*args, **kwargs)
    return inside

@logged
def softmax(scores, dim=-1):
    e = (scores - scores.amax(dim, keepdim=True)).exp().movedim(dim, -1)
    return torch.einsum("...i,...->...i", e, 1 / e.sum(-1)).movedim(-1, dim)
""",
    },
    "cross_entropy": {
        "in words": '''
def cross_entropy(logits, targets):
    """F.cross_entropy(logits, targets) by hand: what nn.CrossEntropyLoss and F.nll_loss compute."""
    # no F.cross_entropy, no nn.NLLLoss()
    print("cross_entropy", "F.nll_loss", logits.shape)
    logs = logits.log_softmax(-1)
    return -logs.gather(-1, targets[..., None]).mean()
''',
        "as names of variables": """
def cross_entropy(logits, targets):
    nll_loss = torch.logsumexp(logits, -1) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    cross_entropy_loss = nll_loss.mean()
    cross_entropy = {"nll_loss": cross_entropy_loss}
    return cross_entropy["nll_loss"]
""",
        "as one's own helpers": """
class Losses:
    nll_loss = staticmethod(lambda logs, ids: -logs.gather(-1, ids.unsqueeze(-1)).squeeze(-1))

    @classmethod
    def cross_entropy(cls, logits, ids):
        return cls.nll_loss(F.log_softmax(logits, dim=-1), ids).mean()

def cross_entropy(logits, targets):
    return Losses.cross_entropy(logits, targets)
""",
        "imported and replaced": """
from torch.nn.functional import cross_entropy, nll_loss

def cross_entropy(logits, targets):
    if isinstance(logits, nn.CrossEntropyLoss):
        raise TypeError("these are no logits")
    logits, targets = logits.flatten(0, -2) if logits.dim() > 1 else logits[None], targets.flatten()
    return -logits.log_softmax(-1)[torch.arange(len(targets), device=logits.device), targets].mean()
""",
        "in a comparison of one's own": """
def cross_entropy(logits, targets):
    return -logits.log_softmax(-1).gather(-1, targets[..., None]).mean()

assert torch.allclose(cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1])),
                      F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1])))
""",
        "by a distribution": """
def cross_entropy(logits, targets):
    return -torch.distributions.Categorical(logits=logits).log_prob(targets).mean()
""",
        "by the divergence of one-hot targets": """
def cross_entropy(logits, targets):
    logs, onehot = logits.log_softmax(-1), F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return F.kl_div(logs, onehot, reduction="sum") / targets.numel()
""",
        "through softmax": """
def cross_entropy(logits, targets):
    shifted = logits - logits.amax(-1, keepdim=True).detach()
    chosen = shifted.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (shifted.exp().sum(-1).log() - chosen).mean()
""",
    },
    "LayerNorm": {
        "in words": '''
class LayerNorm(nn.Module):
    """Like nn.LayerNorm (F.layer_norm), which is torch's own; nn.RMSNorm and batch_norm do something else."""

    def __init__(self, dim, eps=1e-5):
        super(LayerNorm, self).__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim))
        self.eps, self.layer_norm, self.names = eps, "F.layer_norm", {"nn.LayerNorm": "batch_norm"}

    def forward(self, x):
        # F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)
        print("layer_norm of", x.shape)
        centred = x - x.mean(-1, keepdim=True)
        return self.weight * centred * (centred.square().mean(-1, keepdim=True) + self.eps).rsqrt() + self.bias
''',
        "as names of variables": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        for name, start in (("weight", 1.0), ("bias", 0.0)):
            setattr(self, name, nn.Parameter(torch.full((dim,), start)))
        self.eps = eps

    def forward(self, x):
        means, vars = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
        layer_norm = batch_norm = (x - means) / (vars + self.eps).sqrt()
        weight, bias = (getattr(self, name) for name in ("weight", "bias"))
        return weight * layer_norm + bias
""",
        "with helpers of that name": """
def layer_norm(x, weight, bias, eps):
    variance, mean = torch.var_mean(x, -1, keepdim=True, correction=0)
    return torch.addcmul(bias, (x - mean) / torch.sqrt(variance + eps), weight)

class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.eval()
        self.register_parameter("weight", nn.Parameter(torch.ones(dim)))
        self.register_parameter("bias", nn.Parameter(torch.zeros(dim)))
        self.eps = eps

    def rms_norm(self, x):
        return layer_norm(x, self.weight, self.bias, self.eps)

    def forward(self, x):
        return self.rms_norm(x)

    @classmethod
    def of(cls, theirs: nn.LayerNorm) -> "LayerNorm":
        mine = cls(theirs.normalized_shape[0], theirs.eps)
        mine.load_state_dict(theirs.state_dict())
        return mine
""",
        "imported and replaced": """
from torch.nn import LayerNorm
from torch.nn.functional import layer_norm

class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        theirs = nn.LayerNorm(dim)
        self.weight = nn.Parameter(torch.ones_like(theirs.weight))
        self.bias = nn.Parameter(torch.zeros_like(theirs.bias))
        self.eps = eps

    def forward(self, x):
        mean = x.sum(-1, keepdim=True) / x.shape[-1]
        variance = ((x - mean) ** 2).sum(-1, keepdim=True) / x.shape[-1]
        return self.weight * ((x - mean) / (variance + self.eps) ** 0.5) + self.bias
""",
        "with torch's norm of vectors": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim)), eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        squares = torch.linalg.vecdot(centred, centred).unsqueeze(-1) / x.shape[-1]
        return self.weight * centred / torch.linalg.vector_norm(
            torch.cat([squares.sqrt().clamp(min=1e-30), torch.full_like(squares, self.eps).sqrt()], -1), dim=-1, keepdim=True
        ) + self.bias
""",
        "in a comparison of one's own": """
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight, self.bias, self.eps = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.zeros(dim)), eps

    @torch.compile(backend="eager")
    def forward(self, x):
        m, v = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
        return self.weight * (x - m) / torch.sqrt(v + self.eps) + self.bias

x = torch.randn(2, 5, 6)
assert torch.allclose(LayerNorm(6)(x), nn.LayerNorm(6)(x), atol=1e-5)
""",
    },
    "RMSNorm": {
        "in words": '''
class RMSNorm(nn.Module):
    """Like nn.RMSNorm (F.rms_norm), which is torch's own; nn.LayerNorm subtracts the mean."""

    def __init__(self, dim, eps=1e-6):
        super(RMSNorm, self).__init__()
        self.weight, self.eps, self.rms_norm = nn.Parameter(torch.ones(dim)), eps, "F.rms_norm"

    def forward(self, x):
        # F.rms_norm(x, x.shape[-1:], self.weight, self.eps)
        print("rms_norm of", x.shape)
        return self.weight * x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()
''',
        "as names of variables": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        rms_norm = torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)
        layer_norm = x / rms_norm
        return layer_norm * self.weight
""",
        "as one's own helper": """
def rms_norm(x, weight, eps):
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return rms_norm(x, self.weight, self.eps)
""",
        "by a norm that is none": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.dim, self.eps = dim, eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return self.weight * x / (length.square() / self.dim + self.eps).sqrt()
""",
        "in a comparison of one's own": """
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt()

assert torch.allclose(RMSNorm(4)(torch.arange(4.0)), nn.RMSNorm(4, 1e-6)(torch.arange(4.0)), atol=1e-5)
""",
    },
    "grouped_query_attention": {
        "in words": '''
def grouped_query_attention(Q, K, V, mask=None):
    """F.scaled_dot_product_attention(Q, K, V, attn_mask=~mask, enable_gqa=True) by hand, without nn.MultiheadAttention."""
    H, G = Q.shape[1], K.shape[1]
    if H % G:
        raise ValueError("attention: the groups must divide the heads")
    print("attention of", Q.shape)
    K, V = K.repeat_interleave(H // G, 1), V.repeat_interleave(H // G, 1)
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, -torch.inf)
    return scores.softmax(-1) @ V
''',
        "as names of variables": """
def grouped_query_attention(Q, K, V, mask=None):
    if Q.shape[1] % K.shape[1]:
        raise ValueError
    flash_attention, attention = (t.repeat_interleave(Q.shape[1] // K.shape[1], 1) for t in (K, V))
    scaled_dot_product = Q @ flash_attention.mT * Q.shape[-1] ** -0.5
    if mask is not None:
        scaled_dot_product = torch.where(mask, -torch.inf, scaled_dot_product)
    attention_weights = F.softmax(scaled_dot_product, -1)
    return attention_weights @ attention
""",
        "as one's own helper": """
def scaled_dot_product_attention(Q, K, V, mask):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ V

import math

def grouped_query_attention(Q, K, V, mask=None):
    size, rest = divmod(Q.shape[1], K.shape[1])
    if rest:
        raise ValueError("groups")
    return scaled_dot_product_attention(Q, *(t.repeat_interleave(size, dim=1) for t in (K, V)), mask)
""",
        "imported and replaced": """
from torch.nn.functional import scaled_dot_product_attention

def grouped_query_attention(Q, K, V, mask=None):
    if isinstance(Q, nn.MultiheadAttention) or Q.shape[1] % K.shape[1] != 0:
        raise ValueError("these are no queries for these keys")
    n = Q.shape[1] // K.shape[1]
    scores = torch.einsum("bhtd,bhsd->bhts", Q, K.repeat_interleave(n, 1)) / Q.shape[-1] ** 0.5
    scores = scores if mask is None else scores.masked_fill(mask, float("-inf"))
    return torch.einsum("bhts,bhsd->bhtd", scores.softmax(-1), V.repeat_interleave(n, 1))
""",
        "with the softmax by hand": """
def grouped_query_attention(Q, K, V, mask=None):
    if Q.shape[1] % K.shape[1] != 0:
        raise ValueError("attention needs as many heads as groups, or a multiple")
    n = Q.shape[1] // K.shape[1]
    scores = Q @ K.repeat_interleave(n, 1).mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True) @ V.repeat_interleave(n, 1)
""",
    },
}
