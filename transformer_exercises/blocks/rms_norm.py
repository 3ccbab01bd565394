"""`RMSNorm`: against nn.RMSNorm, rows far from 0 that keep their mean, rows that show where eps is, zero rows."""

import torch
import torch.nn.functional as F

from autograder.spec import Ban, Check, Exercise, normal

from .module_checks import NORMS, Cases, Norm, gives, gradients, side_effects

norm = Norm("RMSNorm", {"weight": 1}, F.rms_norm, 1e-6)
WHOLE = torch.tensor([[5.0, 5, 5, 5], [0, 0, 0, 8], [1, -1, 3, -3]]), "for whole numbers"
LARGE = 1e5 * torch.tensor([[-1.2, 0.7, 0.1, 2.3, -0.4, 1.1, -0.8, 0.5]]), "for numbers around 1e5"


@gives(norm)
def _zeros() -> Cases:
    yield [4], torch.cat([torch.zeros(1, 4), normal(2, 4)]), "with a row of zeros"


EXERCISE = Exercise(
    Check("one parameter, weight, ones at the start", 0.5, norm.starts),
    Check("equals nn.RMSNorm, for many shapes", 1.0, norm.equals(WHOLE, LARGE)),
    Check("eps inside the root, as given", 0.5, norm.uses_eps(1e-3, "mean square"), dependent=True),
    Check("a row of zeros stays zeros", 0.25, _zeros, dependent=True),
    Check("gradients reach x and weight", 0.25, gradients(norm), dependent=True),
    Check(
        "the same in both modes, x unchanged, float64, device", 0.5, side_effects(norm, by_name=True), dependent=True
    ),
    takes="tensor",
    gives="tensor",
    harmless=("other_signature",),
    ban=Ban(NORMS, "`nn.RMSNorm`, `F.rms_norm`, `nn.LayerNorm` and their relatives"),
    library_equivalent=r"""
class RMSNorm(nn.RMSNorm):
    def __init__(self, dim, eps=1e-6):
        super().__init__(dim, eps=eps)
""",
)
