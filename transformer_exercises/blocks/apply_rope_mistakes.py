"""Wrong and right answers to `apply_rope`. The reference (08-blocks-further):

def apply_rope(x, positions, base=10000.0):
    d_k = x.shape[-1]
    rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)  # (d_k / 2,): radians per step
    angles = positions.to(x.dtype)[:, None] * rates  # (T, d_k / 2)
    cos, sin = angles.cos(), angles.sin()
    u, v = x[..., 0::2], x[..., 1::2]  # (..., T, d_k / 2) each
    pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)  # (..., T, d_k / 2, 2)
    return pairs.flatten(-2)  # (..., T, d_k): the pairs side by side again
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

TURN = "pairs = torch.stack([u * cos - v * sin, u * sin + v * cos], dim=-1)"
SPLIT = "u, v = x[..., 0::2], x[..., 1::2]"

# Right answers in other styles


class angles_in_float32(RightAnswer):
    edits = {
        "=x.dtype": "=torch.float32",
        "to(x.dtype)": "float()",
        "), angles.sin(": ").to(x.dtype), angles.sin().to(x.dtype",
    }


class rates_in_float32(RightAnswer):
    edits = {"dtype=x.dtype, device": "device"}


class new_tensor_filled(RightAnswer):
    edits = {
        SPLIT: "result = torch.empty_like(x)",
        TURN: """
            result[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
            result[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        """,
        "pairs.flatten(-2)": "result",
    }


class rotated_neighbours(RightAnswer):
    code = """
    half = torch.arange(x.shape[-1] // 2, device=x.device, dtype=x.dtype)
    theta = torch.exp(-math.log(base) * 2 * half / x.shape[-1])
    angles = torch.outer(positions.to(theta), theta).repeat_interleave(2, dim=-1)
    turned = torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).reshape(x.shape)
    return x * torch.cos(angles) + turned * torch.sin(angles)
    """


class complex_(RightAnswer):
    code = """
    d = x.size(-1)
    freqs = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d))
    angles = positions.to(x.dtype).unsqueeze(-1) * freqs
    z = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2))
    return torch.view_as_real(z * torch.exp(1j * angles)).reshape(x.shape)
    """


# Mistakes


class halves(Misconception):
    """Feature i is paired with feature i + d_k/2 (`rotate_half`, as in LLaMA's code): here 2i with its neighbour
    2i+1.
    """

    variants = [
        {
            SPLIT: "cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)",
            TURN: "left, right = x[..., : d_k // 2], x[..., d_k // 2 :]",
            "pairs.flatten(-2)": "x * cos + torch.cat([-right, left], dim=-1) * sin",
        },
        angles_in_float32.edited(
            {
                SPLIT: "cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([sin, sin], dim=-1)",
                TURN: "left, right = x[..., : d_k // 2], x[..., d_k // 2 :]",
                "pairs.flatten(-2)": "x * cos + torch.cat([-right, left], dim=-1) * sin",
            }
        ),
    ]


class not_interleaved(Misconception):
    """Even and odd features come back in two halves: stack on a last dimension and flatten, instead of cat."""

    variants = [{"stack": "cat", ".flatten(-2)": ""}, {"0::2], x[..., 1::2": ": d_k // 2], x[..., d_k // 2 :"}]


class rotate_half_mixed(Misconception):
    """Two conventions are mixed: turn (u, v) into (−v, u) by pairs, and lay out the angles the same way."""

    variants = [
        {
            SPLIT: "cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)",
            TURN: "turned = torch.stack([-x[..., 1::2], x[..., 0::2]], -1).flatten(-2)",
            "pairs.flatten(-2)": "x * cos + turned * sin",
        },
        {
            SPLIT: [
                "cos, sin = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)",
                "cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)",
            ],
            TURN: "turned = torch.cat([-x[..., 1::2], x[..., 0::2]], -1)",
            "pairs.flatten(-2)": "x * cos + turned * sin",
        },
    ]


class backwards(Minor):
    """A sign is wrong: (u, v) becomes (u cos θ − v sin θ, u sin θ + v cos θ)."""

    variants = [
        {"- v * sin, u * sin + v * cos": "+ v * sin, v * cos - u * sin"},
        angles_in_float32.edited({"- v * sin, u * sin + v * cos": "+ v * sin, v * cos - u * sin"}),
        {"- v": "+ v"},
        {"+": "-"},
        {"u * sin + v * cos": "v * cos - u * sin"},
    ]


class sine_and_cosine_swapped(Minor):
    """Sine and cosine are swapped: at position 0 nothing turns, because cos 0 = 1."""

    edits = {"cos(), angles.sin": "sin(), angles.cos"}


class features_swapped(Minor):
    """The two features of a pair are swapped: u is feature 2i, v is 2i+1."""

    variants = [{"u, v": "v, u"}, {"cos - v * sin, u * sin + v * cos": "sin + v * cos, u * cos - v * sin"}]


class overwritten_too_early(Minor):
    """The first feature of a pair is overwritten before the second is computed from it."""

    based_on = new_tensor_filled
    edits = {
        "result = torch.empty_like(x": "out = x.clone(",
        "result[..., 0::2] = x[..., 0::2] * cos - x": "out[..., 0::2] = out[..., 0::2] * cos - out",
        "result[..., 1::2] = x[..., 0::2] * sin + x": "out[..., 1::2] = out[..., 0::2] * sin + out",
        "result": "out",
    }


class unchanged_x(Fundamental):
    """x comes back as it was: the rotated pairs are to be returned."""

    edits = {"pairs.flatten(-2)": "x"}


class written_into_x(Misconception):
    """The caller's x is overwritten: `x[..., 0::2] = …` writes into it. Make a new tensor (torch.stack)."""

    variants = [
        unchanged_x.edited({TURN: "x[..., 0::2], x[..., 1::2] = u * cos - v * sin, u * sin + v * cos"}),
        {"return": "with torch.no_grad(): x.copy_(pairs.flatten(-2))\nreturn"},
    ]


class overwritten_in_x(Misconception):
    """x itself is written into, and the first feature of a pair is overwritten before the second is computed from it:
    keep both, and make a new tensor (torch.stack).
    """

    based_on = unchanged_x
    edits = {
        SPLIT: "x[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin",
        TURN: "x[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos",
    }


class positions_ignored(Misconception):
    """`positions` is not used: rows are numbered 0 … T-1, but a text may begin later, or lie in a cache."""

    edits = {"positions.to(x.dtype)": "torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)"}


class table_looked_up(Misconception):
    """Positions are cut to whole numbers, or looked up in a table: they may be negative, large or fractions."""

    variants = [
        {
            "positions.to(x.dtype)[:, None] * rates": [
                "(torch.arange(4096, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                "(torch.arange(10000, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                "(torch.arange(200000, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                "(torch.arange(int(positions.max()) + 1, dtype=x.dtype, device=x.device)[:, None] * rates)[positions]",
                "(torch.arange(4096, dtype=x.dtype, device=x.device)[:, None] * rates)[positions.long()]",
            ]
        },
        {".to": ".long().to"},
    ]


class first_position_only(Misconception):
    """All tokens turn by the angle of one position, or of relative ones: token t turns by positions[t]."""

    edits = {
        "positions.to(x.dtype)[:, None]": [
            "(positions - positions[0]).to(x.dtype)[:, None]",
            "positions.to(x.dtype)[:1, None]",
        ]
    }


class from_one(Minor):
    """The positions are taken to begin at 1: at position 0 nothing turns."""

    edits = {"positions.to(x.dtype)": "(positions.to(x.dtype) + 1)"}


class base_ignored(Misconception):
    """`base` is not used: 10000 stands in the code."""

    edits = {"base **": "10000.0 **"}


class exponent(Misconception):
    """The rates are others: pair i turns by positions / base^(2i/d_k), from 1 downwards."""

    variants = [
        {
            "-torch.arange(0, d_k": [
                "torch.arange(0, d_k",
                "-0.5 * torch.arange(0, d_k",
                "-2 * torch.arange(0, d_k",
                "-torch.arange(1, d_k",
                "-torch.arange(2, d_k + 2",
            ]
        },
        {") / d_k": ") / max(d_k - 2, 1)"},
        {"* rates": "/ rates"},
        rotated_neighbours.edited({"* 2 *": "*"}),
        {
            "base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k)": (
                "torch.ones(d_k // 2, dtype=x.dtype, device=x.device)"
            )
        },
    ]


class rates_reversed(Minor):
    """The rates are in reverse: the first pair turns fastest, by 1 radian for each step."""

    edits = {"positions.to(x.dtype)[:, None] * rates": "positions.to(x.dtype)[:, None] * rates.flip(0)"}


class sixteen_bits(Misconception):
    """Rates, angles or their sines and cosines are rounded to 16 bits, so the angles of late positions are far off:
    compute them in float32 at least.
    """

    variants = [
        {"angles = positions": "rates = rates.bfloat16().to(x.dtype)\nangles = positions"},
        {
            "cos, sin =": [
                "angles = angles.half().to(x.dtype)\ncos, sin =",
                "angles = angles.bfloat16().to(x.dtype)\ncos, sin =",
            ]
        },
        {"cos(), angles.sin()": "cos().bfloat16().to(x.dtype), angles.sin().bfloat16().to(x.dtype)"},
    ]


class degrees(Minor, shared_mistakes.degrees):
    edits = {"cos,": ["angles = torch.deg2rad(angles)\ncos,", "angles = 2 * math.pi * angles\ncos,"]}


class added(Fundamental):
    """Sinusoids are added to x (or multiplied with it): a rotary embedding rotates each pair instead."""

    edits = {
        "u * cos - v * sin, u * sin + v * cos": [
            "u + sin, v + cos",
            "u * sin, v * cos",
            "u * cos, v * cos",
            "u * cos, v * sin",
        ]
    }


class first_pair_only(Misconception):
    """Only some of the pairs are turned: all d_k / 2 of them are."""

    edits = {
        "return pairs.flatten(-2)": [
            """
            result = x.clone()
            result[..., :2] = pairs.flatten(-2)[..., :2]
            return result
            """,
            """
            result = x.clone()
            result[..., : d_k // 2] = pairs.flatten(-2)[..., : d_k // 2]
            return result
            """,
        ]
    }


class last_pair_missing(Minor):
    """The last pair is left out: `range` ends before its second number."""

    edits = {
        "return pairs.flatten(-2)": [
            """
            result = pairs.flatten(-2)
            result[..., -2:] = x[..., -2:]
            return result
            """,
            """
            result = pairs.flatten(-2)
            result[..., -2:] = 0
            return result
            """,
        ]
    }


class heads_for_positions(Misconception):
    """The positions run along the wrong dimension: T is the last but one of x, (…, T, d_k)."""

    variants = [
        {"d_k =": "x = x.transpose(-2, -3)\nd_k =", "(-2)": "(-2).transpose(-2, -3)"},
        {"* rates": "* rates\nangles = angles[:, None, :]"},
    ]


class fixed_dimensions(Misconception):
    """It works for one number of dimensions only: x is (…, T, d_k), with any leading dimensions, or none."""

    edits = {"d_k = x.shape[-1]": ["B, T, d_k = x.shape", "B, H, T, d_k = x.shape", "T, d_k = x.shape"]}


class pairs_returned(Minor):
    """The pairs are returned in a dimension of their own: the result has the shape of x."""

    edits = {".flatten(-2)": ""}


class complex_returned(Fundamental):
    """Complex numbers are returned: torch.view_as_real makes pairs of real numbers of them."""

    edits = {"pairs.flatten(-2)": "torch.view_as_complex(pairs)"}


class parts_returned(Misconception):
    """Several tensors are returned (even and odd features, or cos and sin): return one, of the shape of x."""

    edits = {"pairs.flatten(-2)": ["u * cos - v * sin, u * sin + v * cos", "cos, sin"]}


class scaled(Misconception):
    """The vectors are scaled as well: a rotation keeps lengths."""

    variants = [
        {"(-2)": "(-2) * d_k**-0.5"},
        {"pairs.flatten(-2)": "nn.functional.normalize(pairs.flatten(-2), dim=-1)"},
    ]


class always_float64(Misconception):
    """The result is always float64: it keeps the dtype of x (`.to(x.dtype)`)."""

    edits = {"d_k =": "x = x.double()\nd_k ="}


class device_dropped(shared_mistakes.device_dropped):
    edits = {", device=x.device": ""}


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"d_k =": "x = x.view(-1, *x.shape[-2:]).view(x.shape)\nd_k ="}
