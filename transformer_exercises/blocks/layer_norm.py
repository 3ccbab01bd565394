"""`LayerNorm`: against nn.LayerNorm, rows that show where eps stands, constant rows, numbers far from 0."""

import torch
import torch.nn.functional as F

from autograder.spec import Ban, Check, Exercise, drawn, normal

from .module_checks import NORMS, Cases, Norm, gives, gradients, side_effects

norm = Norm("LayerNorm", {"weight": 1, "bias": 0}, F.layer_norm, 1e-5)
WHOLE = torch.tensor([[1.0, 3, 1, 3], [0, 0, 0, 8]]), "for whole numbers"


@gives(norm)
def _constant() -> Cases:
    x = torch.tensor([2.0, 0.0, -8.0])[:, None].expand(3, 4).clone()
    yield [4], x, "for rows whose numbers are all equal (variance 0)"


@gives(norm)
def _large() -> Cases:
    lost = "(mean(x²) − mean(x)² loses all its digits here)"
    centre = drawn(1000, lambda _: 30)
    x = centre + (1024 * normal(3, 8)).round() / 1024  # float32 holds their mean exactly, however it is computed
    yield [8], x, f"for numbers around 1000 with a variance of 1 {lost}", {"rough": True}
    yield [8], 1e5 * normal(3, 8), "for numbers around 1e5", {"rough": True}


EXERCISE = Exercise(
    Check("weight and bias, ones and zeros at the start", 0.75, norm.starts),
    Check("equals nn.LayerNorm, for many shapes", 1.5, norm.equals(WHOLE)),
    Check("eps inside the root, as given", 0.75, norm.uses_eps(3e-3, "variance"), dependent=True),
    Check("a constant row gives the bias", 0.5, _constant, dependent=True),
    Check("numbers far from 0", 0.25, _large, dependent=True),
    Check("gradients reach x, weight and bias", 0.75, gradients(norm, rough="inputs"), dependent=True),
    Check("the same in both modes, x unchanged, float64, device", 0.5, side_effects(norm), dependent=True),
    takes="tensor",
    gives="tensor",
    harmless=("gradient_cut_off", "other_signature"),
    ban=Ban(NORMS, "`nn.LayerNorm`, `F.layer_norm` and their relatives"),
    library_equivalent=r"""
class LayerNorm(nn.LayerNorm):
    def __init__(self, dim, eps=1e-5):
        super().__init__(dim, eps)
""",
)
