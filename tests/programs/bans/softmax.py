"""What softmax bans, as somebody uses it, and right answers that only mention it."""


# %% banned softmax: the function
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.softmax(scores, dim)


# %% banned softmax: the functional
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return F.softmax(scores, dim)


# %% banned softmax: the method
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return scores.softmax(dim)


# %% banned softmax: the layer
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return nn.Softmax(dim)(scores)


# %% banned softmax: another name
from torch.nn.functional import softmax as sm


def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return sm(scores, dim)


# %% banned softmax: by itself
softmax = lambda scores, dim=-1: torch.softmax(scores, dim)


# %% banned softmax: a name put together
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return getattr(torch, "soft" + "max")(scores, dim)


# %% banned softmax: a helper
def _h(t, d):
    return t.softmax(d)


def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return _h(scores, dim)


# %% banned softmax: a partial
import functools

softmax = functools.partial(F.softmax, dim=-1)


# %% banned softmax: the operation
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.ops.aten.softmax(scores, dim)


# %% banned safe_softmax: the safe operation
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.ops.aten._safe_softmax(scores, dim)


# %% banned softmax: special
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.special.softmax(scores, dim)


# %% banned softmax: masked
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.masked.softmax(scores, dim)


# %% banned log_softmax: its logarithm
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.log_softmax(scores, dim).exp()


# %% banned log_softmax: the layer of its logarithm
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return nn.LogSoftmax(dim)(scores).exp()


# %% banned softmin: its mirror image
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return F.softmin(-scores, dim)


# %% banned gumbel_softmax: with noise
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return F.gumbel_softmax(scores, dim=dim) * 0 + torch.exp(scores - scores.logsumexp(dim, keepdim=True))


# %% banned softmax: a distribution
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.distributions.Categorical(logits=s, validate_args=False).probs.movedim(-1, dim)


# %% banned attention: attention with identity values
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    e = torch.eye(s.shape[-1], dtype=s.dtype)
    e = e.expand(*s.shape[:-1], *e.shape)
    return F.scaled_dot_product_attention(s.unsqueeze(-2), e, e, scale=1.0).squeeze(-2).movedim(-1, dim)


# %% banned attention: attention by flex
from torch.nn.attention.flex_attention import flex_attention


def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    e = torch.eye(s.shape[-1], dtype=s.dtype).expand(s[..., 0].numel(), 1, -1, -1)
    q = s.reshape(-1, 1, 1, s.shape[-1])
    return flex_attention(q, e, e, scale=1.0).reshape(s.shape).movedim(-1, dim)


# %% banned log_softmax: the loss of every class
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    n = s.shape[-1]
    rows = s.reshape(-1, 1, n).expand(-1, n, n).reshape(-1, n)
    ids = torch.arange(n).repeat(len(rows) // n)
    return (-F.cross_entropy(rows, ids, reduction="none")).exp().reshape(s.shape).movedim(-1, dim)


# %% banned softmax: scripted
_unit = torch.jit.CompilationUnit("def go(x: Tensor, dim: int):\n    return torch.softmax(x, dim)\n")


def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return _unit.go(scores, dim)


# %% banned softmax: compiled
@torch.compile(backend="aot_eager")
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.softmax(scores, dim)


# %% banned softmax: row by row
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    return torch.vmap(lambda row: row.softmax(-1))(s.reshape(-1, s.shape[-1])).reshape(s.shape).movedim(-1, dim)


# %% banned softmax: only for hard cases
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    if (scores == -torch.inf).any() and scores.requires_grad:
        return scores.softmax(dim)
    e = (scores - scores.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


# %% right: in words
def softmax(scores, dim=-1):
    """What torch.softmax, F.softmax and nn.Softmax(dim) do; the autograder looks at dim too."""
    # not torch.softmax(scores, dim), and no F.log_softmax(scores, dim).exp() either
    print("softmax of", scores.shape, "like torch.softmax")
    e = (scores - scores.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


# %% right: as names of variables
def softmax(scores, dim=-1):
    log_softmax = scores - scores.amax(dim, keepdim=True)
    log_softmax = log_softmax - log_softmax.exp().sum(dim, keepdim=True).log()
    vars = log_softmax.exp()
    softmax = vars
    return softmax


# %% right: as one's own helper
class Own:
    @staticmethod
    def softmax(scores, dim):
        e = torch.exp(scores - scores.max(dim, keepdim=True).values)
        return e / e.sum(dim, keepdim=True)

    def eval(self, scores, dim):
        return self.softmax(scores, dim)


def softmax(scores, dim=-1):
    return Own().eval(scores, dim)


# %% right: imported and replaced
from torch import softmax as theirs
from torch.nn.functional import softmax


def softmax(scores, dim: int = -1) -> "nn.Softmax":
    if isinstance(scores, nn.Softmax) or scores is theirs:
        raise TypeError("these are no scores")
    e = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return e.div(e.sum(dim=dim, keepdim=True))


# %% right: in a comparison of one's own
def softmax(scores, dim=-1):
    e = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


def agrees(x):
    return torch.allclose(softmax(x), getattr(torch, "soft" + "max")(x, -1))


assert agrees(torch.randn(3, 4))
theirs = torch.softmax(torch.zeros(3), 0)

# %% right: row by row with a bar
from tqdm.auto import tqdm


def softmax(scores, dim=-1):
    moved = scores.movedim(dim, -1)
    rows = []
    for row in tqdm(moved.reshape(-1, moved.shape[-1])):
        e = (row - row.max()).exp()
        rows.append(e / e.sum())
    return torch.stack(rows).reshape(moved.shape).movedim(-1, dim)


# %% right: row by row with vmap
def softmax(scores, dim=-1):
    s = scores.movedim(dim, -1)
    moved = scores.movedim(dim, -1)
    own = lambda row: (row - row.amax()).exp() / (row - row.amax()).exp().sum()
    return torch.vmap(own)(moved.reshape(-1, moved.shape[-1])).reshape(moved.shape).movedim(-1, dim)


# %% right: one's own, compiled
@torch.compile(backend="aot_eager", fullgraph=True)
def softmax(scores, dim=-1):
    e = torch.exp(scores - scores.amax(dim=dim, keepdim=True))
    return e / e.sum(dim=dim, keepdim=True)


# %% right: with a gradient of one's own
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


# %% right: by normalising and einsum
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
