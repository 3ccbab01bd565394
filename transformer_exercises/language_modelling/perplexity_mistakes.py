"""Wrong and right answers to `perplexity`. The reference (01-language-modelling):

def perplexity(mean_nll):
    if isinstance(mean_nll, torch.Tensor):
        return torch.exp(mean_nll)  # differentiable, and keeps shape, dtype and device
    return math.exp(mean_nll)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class power(RightAnswer):
    code = "return math.e ** mean_nll"


class method(RightAnswer):
    code = "return mean_nll.exp() if hasattr(mean_nll, 'exp') else math.exp(mean_nll)"


class numpy_(RightAnswer):
    code = """
    import numpy as np
    if torch.is_tensor(mean_nll): return mean_nll.exp()
    return np.exp(mean_nll)
    """


# Mistakes


class base_two(Misconception):
    """The base is 2: the loss is a natural logarithm (nats), so its inverse is exp."""

    code = "return 2**mean_nll"


class base_ten(Misconception):
    """The base is 10: the loss is a natural logarithm, so its inverse is exp."""

    code = "return 10**mean_nll"


class bits(Misconception):
    """The loss is converted to bits before the exponential: exp goes with nats as they are."""

    variants = [
        {"exp(mean_nll)": "exp(mean_nll / math.log(2))"},
        {
            "torch.exp(mean_nll)": "torch.exp2(mean_nll * math.log(2) ** 2)",
            "math.exp(mean_nll)": "2 ** (mean_nll * math.log(2) ** 2)",
        },
    ]


class bits_multiplied(Misconception):
    """To turn nats into bits, divide by ln 2: 2 ** (mean_nll / ln 2) is e ** mean_nll."""

    code = "return 2 ** (mean_nll * math.log(2))"


class negative(Minor):
    """The sign is turned: exp(−loss) is a probability; perplexity, exp(loss), is at least 1."""

    edits = {"exp(mean_nll)": "exp(-mean_nll)"}


class unchanged(Fundamental):
    """The loss itself is returned: perplexity is its exponential."""

    code = "return mean_nll"


class logarithm(Fundamental):
    """The logarithm is taken: perplexity is the *exponential* of the loss."""

    variants = [{"exp": "log"}, {"torch.exp": "torch.log", "exp(mean_nll)": "log(mean_nll) if mean_nll else -math.inf"}]


class one_less(Minor):
    """expm1 is exp(x) − 1: a loss of 0 means a perplexity of 1."""

    edits = {".exp": ".expm1"}


class square(Fundamental):
    """A power or a multiple of the loss is returned: perplexity is e to the power of the loss."""

    variants = [power.edited({"**": "*"}), "return mean_nll**2", "return mean_nll**math.e"]


class rounded_base(Minor):
    """e is rounded (2.718), which shows in the digits: use exp."""

    variants = ["return 2.718**mean_nll", "return 2.71828**mean_nll", "return 2.72**mean_nll"]


class tensors_only(Misconception):
    """`torch.exp` does not take a float: use math.exp for it."""

    variants = ["return torch.exp(mean_nll)", "return mean_nll.exp()"]


class tensor_from_float(Misconception):
    """A float gives a tensor: the type is to stay, so use math.exp for a float."""

    variants = [{"math.exp(mean_nll)": "torch.exp(torch.tensor(mean_nll))"}, "return torch.tensor(mean_nll).exp()"]


class floats_only(Misconception):
    """`math.exp` makes a number of a tensor, or fails, and passes no gradient: use torch.exp for a tensor."""

    edits = {"if isinstance(mean_nll, torch.Tensor):": "if False:"}


class number_from_tensor(Misconception):
    """A tensor is turned into a Python number on the way (`.item()`): use torch.exp on the tensor itself."""

    variants = [
        {
            "torch.exp(mean_nll)": [
                "torch.exp(mean_nll).item()",
                "math.exp(mean_nll.item())",
                "math.exp(mean_nll.mean())",
                "torch.exp(mean_nll).tolist()",
                "torch.tensor(math.exp(mean_nll.item()), dtype=mean_nll.dtype)",
            ]
        },
        "import numpy as np; return float(np.exp(mean_nll))",
    ]


class numpy(Misconception):
    """NumPy makes an array of a tensor and cuts the gradient: use torch.exp for a tensor."""

    variants = [
        {
            "return torch.exp(mean_nll)": """
                import numpy as np
                return np.exp(mean_nll.detach().numpy())
            """
        },
        "import numpy as np; return np.exp(mean_nll)",
    ]


class averaged(Misconception):
    """The tensor is averaged first: a tensor of several losses gives as many perplexities."""

    edits = {
        "torch.exp(mean_nll)": ["torch.exp(mean_nll.mean())", "torch.exp(mean_nll.sum())", "torch.exp(mean_nll).mean()"]
    }


class softmax(Misconception):
    """The exponentials are normalised (a softmax): perplexity is exp of each loss on its own."""

    edits = {"torch.exp(mean_nll)": "torch.softmax(mean_nll, dim=-1)"}


class rounded(common_mistakes.rounded):
    variants = [
        {
            "math.exp(mean_nll)": [
                "round(math.exp(mean_nll), 2)",
                "round(math.exp(mean_nll), 3)",
                "int(math.exp(mean_nll))",
                "round(math.exp(mean_nll))",
            ]
        },
        {
            "torch.exp(mean_nll)": "torch.exp(mean_nll).round(decimals=2)",
            "math.exp(mean_nll)": "round(math.exp(mean_nll), 2)",
        },
    ]


class nothing_returned(common_mistakes.nothing_returned):
    edits = {
        "return torch.exp(mean_nll)": "print(torch.exp(mean_nll))",
        "return math.exp(mean_nll)": "print(math.exp(mean_nll))",
    }


class gradient_cut_off(common_mistakes.gradient_cut_off):
    variants = [
        {"torch.exp(mean_nll)": "torch.exp(mean_nll.detach())"},
        {
            "return torch": """
                if mean_nll.dim() == 0: return mean_nll.new_tensor(math.exp(mean_nll.item()))
                return torch
            """
        },
    ]


class single_precision(common_mistakes.single_precision):
    edits = {"torch.exp(mean_nll)": "torch.exp(mean_nll.float())"}


class double_precision(common_mistakes.double_precision):
    edits = {"torch.exp(mean_nll)": "torch.exp(mean_nll.double())"}


class one_dimension_more(Misconception):
    """The shape changes: a scalar tensor gives a scalar tensor, and any other its own shape."""

    edits = {
        "torch.exp(mean_nll)": [
            "torch.exp(mean_nll).reshape(-1)",
            "torch.exp(mean_nll).squeeze()",
            "torch.exp(mean_nll)[None]",
        ]
    }


class input_changed(common_mistakes.input_changed):
    edits = {"return torch.exp(mean_nll)": ["with torch.no_grad(): return mean_nll.exp_()", "return mean_nll.exp_()"]}
