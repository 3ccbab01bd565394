"""What RMSNorm bans, as somebody uses it, and right answers that only mention it."""


# %% banned rms_norm: the layer itself
class RMSNorm(nn.RMSNorm):
    def __init__(self, dim, eps=1e-6):
        super().__init__(dim, eps)


# %% banned rms_norm: by itself
import functools

RMSNorm = functools.partial(nn.RMSNorm, eps=1e-6)


# %% banned rms_norm: the function
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)


# %% banned rms_norm: another name
from torch.nn.functional import rms_norm as rn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return rn(x, x.shape[-1:], self.weight, self.eps)


# %% banned rms_norm: torch's function
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return torch.rms_norm(x, x.shape[-1:], self.weight, self.eps)


# %% banned rms_norm: the operation
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return torch.ops.aten.rms_norm(x, x.shape[-1:], self.weight, self.eps)


# %% banned rms_norm: the kernel
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return torch.ops.aten._fused_rms_norm(x, x.shape[-1:], self.weight, self.eps)[0]


# %% banned rms_norm: a layer inside
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return self.weight * nn.RMSNorm(x.shape[-1], self.eps, elementwise_affine=False)(x)


# %% banned layer_norm: the layer norm of a row and its opposite
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        both = F.layer_norm(torch.cat([x, -x], -1), (2 * x.shape[-1],), eps=self.eps)
        return self.weight * both[..., : x.shape[-1]]


# %% banned rms_norm: compiled
@torch.compile(backend="aot_eager")
def _norm(x, w, eps):
    return F.rms_norm(x, x.shape[-1:], w, eps)


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return _norm(x, self.weight, self.eps)


# %% right: in words
class RMSNorm(nn.Module):
    """Like nn.RMSNorm (F.rms_norm), which is torch's own; nn.LayerNorm subtracts the mean."""

    def __init__(self, dim, eps=1e-6):
        super(RMSNorm, self).__init__()
        self.weight, self.eps, self.rms_norm = nn.Parameter(torch.ones(dim)), eps, "F.rms_norm"

    def forward(self, x):
        # F.rms_norm(x, x.shape[-1:], self.weight, self.eps)
        print("rms_norm of", x.shape)
        return self.weight * x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()


# %% right: as names of variables
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        rms_norm = torch.sqrt((x * x).mean(-1, keepdim=True) + self.eps)
        layer_norm = x / rms_norm
        return layer_norm * self.weight


# %% right: as one's own helper
def rms_norm(x, weight, eps):
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt()


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return rms_norm(x, self.weight, self.eps)


# %% right: by a norm that is none
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        return self.weight * x / (length.square() / x.shape[-1] + self.eps).sqrt()


# %% right: in a comparison of one's own
class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return self.weight * x / (x.square().mean(-1, keepdim=True) + self.eps).sqrt()


assert torch.allclose(RMSNorm(4)(torch.arange(4.0)), nn.RMSNorm(4, 1e-6)(torch.arange(4.0)), atol=1e-5)
