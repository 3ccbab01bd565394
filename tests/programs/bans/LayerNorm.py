"""What LayerNorm bans, as somebody uses it, and right answers that only mention it."""


# %% banned layer_norm: the layer itself
class LayerNorm(nn.LayerNorm):
    pass


# %% banned layer_norm: by itself
LayerNorm = nn.LayerNorm


# %% banned layer_norm: the layer's own forward
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return nn.LayerNorm.forward(self, x)

    normalized_shape = property(lambda s: s.weight.shape)


# %% banned layer_norm: the function
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


# %% banned layer_norm: another name
from torch.nn.functional import layer_norm as ln


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return ln(x, x.shape[-1:], self.weight, self.bias, self.eps)


# %% banned layer_norm: torch's function
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return torch.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


# %% banned layer_norm: the operation
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return torch.ops.aten.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)


# %% banned native_layer_norm: the kernel
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return torch.native_layer_norm(x, x.shape[-1:], self.weight, self.bias, self.eps)[0]


# %% banned native_layer_norm: only the statistics
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        _, m, r = torch.native_layer_norm(x, x.shape[-1:], None, None, self.eps)
        return self.weight * (x - m) * r + self.bias


# %% banned layer_norm: a layer inside
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return self.weight * nn.LayerNorm(x.shape[-1], self.eps, elementwise_affine=False)(x) + self.bias


# %% banned group_norm: one group
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        y = F.group_norm(x.reshape(-1, 1, x.shape[-1]), 1, eps=self.eps).reshape(x.shape)
        return self.weight * y + self.bias


# %% banned group_norm: a layer of one group
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        y = nn.GroupNorm(1, x.shape[-1], self.eps, affine=False)(x.reshape(-1, x.shape[-1]))
        return self.weight * y.reshape(x.shape) + self.bias


# %% banned instance_norm: each row an instance
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        y = torch.instance_norm(x.reshape(1, -1, x.shape[-1]), None, None, None, None, True, 0.0, self.eps, False)
        return self.weight * y.reshape(x.shape) + self.bias


# %% banned batch_norm: each row a channel
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        y = x.reshape(1, -1, x.shape[-1])
        y = F.batch_norm(y, None, None, training=True, eps=self.eps).reshape(x.shape)
        return self.weight * y + self.bias


# %% banned rms_norm: the root mean square
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x - x.mean(-1, keepdim=True), x.shape[-1:], self.weight, self.eps) + self.bias


# %% banned layer_norm: a functional call
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        layer = nn.LayerNorm(x.shape[-1], self.eps)
        return torch.func.functional_call(layer, {"weight": self.weight, "bias": self.bias}, (x,))


# %% banned layer_norm: scripted
_unit = torch.jit.CompilationUnit(
    "def go(x: Tensor, w: Tensor, b: Tensor, eps: float):\n    return torch.layer_norm(x, [x.size(-1)], w, b, eps)\n"
)


class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        return _unit.go(x, self.weight, self.bias, self.eps)


# %% right: in words
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


# %% right: as names of variables
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


# %% right: with helpers of that name
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


# %% right: imported and replaced
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


# %% right: with torch's norm of vectors
class LayerNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        squares = torch.linalg.vecdot(centred, centred).unsqueeze(-1) / x.shape[-1]
        return (
            self.weight
            * centred
            / torch.linalg.vector_norm(
                torch.cat([squares.sqrt().clamp(min=1e-30), torch.full_like(squares, self.eps).sqrt()], -1),
                dim=-1,
                keepdim=True,
            )
            + self.bias
        )


# %% right: in a comparison of one's own
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
