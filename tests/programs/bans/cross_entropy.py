"""What cross_entropy bans, as somebody uses it, and right answers that only mention it."""


# %% banned cross_entropy: the function
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(x, t)


# %% banned cross_entropy: the layer
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return nn.CrossEntropyLoss()(x, t)


# %% banned cross_entropy: another name
from torch.nn.functional import cross_entropy as ce


def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return ce(x, t)


# %% banned cross_entropy: a name put together
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return getattr(F, "cross_" + "entropy")(x, t)


# %% banned nll_loss: its second half
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.nll_loss(F.log_softmax(x, -1), t)


# %% banned nll_loss: the layer of its second half
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return nn.NLLLoss()(nn.LogSoftmax(-1)(x), t)


# %% banned cross_entropy_loss: the operation
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return torch.ops.aten.cross_entropy_loss(x, t)


# %% banned nll_loss: the kernel
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return torch.ops.aten.nll_loss_forward(x.log_softmax(-1), t, None, 1, -100)[0]


# %% banned cross_entropy: classes second
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(x.T[None], t[None])


# %% banned nll_loss2d: two dimensions of places
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.nll_loss(x.log_softmax(-1).T[None, :, :, None], t[None, :, None])


# %% banned cross_entropy: place by place
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(x, t, reduction="none").mean()


# %% banned cross_entropy: the sum
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(x, t, reduction="sum") / t.numel()


# %% banned cross_entropy: targets as probabilities
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(x, F.one_hot(t, x.shape[-1]).to(x.dtype))


# %% banned cross_entropy: without smoothing
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(x, t, label_smoothing=0.0, ignore_index=-1)


# %% banned ctc_loss: alignment of one step
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    x = torch.cat([torch.full_like(x[:, :1], -1e30), x], 1).log_softmax(-1)
    n = torch.ones(len(t)).long()
    return F.ctc_loss(x[None], t[:, None] + 1, n, n, reduction="sum") / len(t)


# %% banned nll_loss: traced
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return torch.jit.trace(F.cross_entropy, (x, t), check_trace=False)(x, t)


# %% banned cross_entropy: compiled
@torch.compile(backend="eager")
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return F.cross_entropy(x, t)


# %% right: in words
def cross_entropy(logits, targets):
    """F.cross_entropy(logits, targets) by hand: what nn.CrossEntropyLoss and F.nll_loss compute."""
    # no F.cross_entropy, no nn.NLLLoss()
    print("cross_entropy", "F.nll_loss", logits.shape)
    logs = logits.log_softmax(-1)
    return -logs.gather(-1, targets[..., None]).mean()


# %% right: as names of variables
def cross_entropy(logits, targets):
    nll_loss = torch.logsumexp(logits, -1) - logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    cross_entropy_loss = nll_loss.mean()
    cross_entropy = {"nll_loss": cross_entropy_loss}
    return cross_entropy["nll_loss"]


# %% right: as one's own helpers
class Losses:
    nll_loss = staticmethod(lambda logs, ids: -logs.gather(-1, ids.unsqueeze(-1)).squeeze(-1))

    @classmethod
    def cross_entropy(cls, logits, ids):
        return cls.nll_loss(F.log_softmax(logits, dim=-1), ids).mean()


def cross_entropy(logits, targets):
    return Losses.cross_entropy(logits, targets)


# %% right: imported and replaced
from torch.nn.functional import cross_entropy, nll_loss


def cross_entropy(logits, targets):
    if isinstance(logits, nn.CrossEntropyLoss):
        raise TypeError("these are no logits")
    logits, targets = logits.flatten(0, -2) if logits.dim() > 1 else logits[None], targets.flatten()
    return -logits.log_softmax(-1)[torch.arange(len(targets), device=logits.device), targets].mean()


# %% right: in a comparison of one's own
def cross_entropy(logits, targets):
    return -logits.log_softmax(-1).gather(-1, targets[..., None]).mean()


assert torch.allclose(
    cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1])), F.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 1]))
)


# %% right: by a distribution
def cross_entropy(logits, targets):
    x, t = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    return -torch.distributions.Categorical(logits=logits).log_prob(targets).mean()


# %% right: by the divergence of one-hot targets
def cross_entropy(logits, targets):
    logs, onehot = logits.log_softmax(-1), F.one_hot(targets, logits.shape[-1]).to(logits.dtype)
    return F.kl_div(logs, onehot, reduction="sum") / targets.numel()


# %% right: through softmax
def cross_entropy(logits, targets):
    shifted = logits - logits.amax(-1, keepdim=True).detach()
    chosen = shifted.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (shifted.exp().sum(-1).log() - chosen).mean()
