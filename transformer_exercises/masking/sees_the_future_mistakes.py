"""Wrong and right answers to `sees_the_future`. The reference (06-masking):

def sees_the_future(attend, T=6, C=8):
    generator = torch.Generator().manual_seed(0)
    for scale in (1.0, 10.0) * 5:  # a leak may sleep on small numbers, or on a single x
        x = torch.randn(1, T, C, generator=generator) * scale
        before = attend(x.clone()).detach().clone()  # (1, T, C); a copy, in case the result is a view of the input
        for t in range(1, T):
            changed = x.clone()
            changed[:, t] = torch.randn(C, generator=generator) * scale  # only token t is new
            after = attend(changed).detach()
            if not torch.allclose(before[:, :t], after[:, :t], atol=1e-6):  # nothing before t may move
                return True
    return False
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class replace_the_rest(RightAnswer):
    code = """
    g = torch.Generator(); g.manual_seed(123)
    for size in (10, 1) * 5:
        x = size * torch.randn(1, T, C, generator=g); other = size * torch.randn(1, T, C, generator=g)
        base = attend(x.clone()).clone()
        for t in range(T - 1):
            y = torch.cat([x[:, : t + 1], other[:, t + 1 :]], dim=1)
            if not torch.isclose(attend(y), base, atol=1e-5)[0, : t + 1].all(): return True
    return False
    """


class difference_matrix(RightAnswer):
    code = """
    def _moved(attend, x, t, g):
        y = x.clone(); y[0, t] = 3 * x.std() * torch.randn(x.shape[-1], generator=g)
        with torch.no_grad(): a = attend(x.clone()).clone(); b = attend(y)
        return (a - b).abs().amax(dim=-1)[0] > 1e-7
    def sees_the_future(attend, T=6, C=8):
        g = torch.Generator().manual_seed(7)
        inputs = [size * torch.randn(1, T, C, generator=g) for size in (1.0, 10.0) for _ in range(5)]
        return any(bool(_moved(attend, x, t, g)[:t].any()) for x in inputs for t in range(T))
    """


class from_the_end(RightAnswer):
    code = """
    gen = torch.Generator().manual_seed(42); leak = False
    for trial in range(20):
        x = torch.empty(1, T, C).normal_(0, 10.0 ** (trial % 2), generator=gen)
        for t in reversed(range(1, T)):
            y = x.clone(); y[:, t, :] += torch.empty(C).normal_(generator=gen)
            one, two = attend(x.clone()).clone(), attend(y.clone())
            leak = leak or (one[:, :t] - two[:, :t]).abs().max().item() > 1e-7
    return bool(leak)
    """


class original_handed_over(RightAnswer):
    edits = {
        "attend(x.clone()).detach().clone()": "attend(x).clone()",
        "= attend(changed).detach()": "= attend(changed)",
    }


# Mistakes


class last_row_only(Misconception):
    """Only the last output is compared. It has no future and may move: the *earlier* ones may not."""

    code = """
    g = torch.Generator().manual_seed(0); moved = []
    for size in (1.0, 10.0) * 5:
        x = torch.randn(1, T, C, generator=g) * size; y = x.clone(); y[:, -1] = torch.randn(C, generator=g) * size
        moved.append(not torch.allclose(attend(x)[:, -1], attend(y)[:, -1], atol=1e-6))
    return any(moved)
    """


class all_outputs(Misconception):
    """Outputs from the changed position on are compared: those *should* move. Compare only those before it."""

    edits = {":t], after[:, :t": "t:], after[:, t:"}


class changed_position_included(Minor):
    """The changed position is compared too (`:t + 1`): it sees itself, so it may move."""

    variants = [
        {"t], after[:, :t": "t + 1], after[:, : t + 1"},
        {"(1, T)": "(T)", ":t], after[:, :t": ": t + 1], after[:, : t + 1"},
    ]


class shape_of_the_input(Fundamental):
    """attend gets another shape than (1, T, C): call it once for each variant, with all T tokens."""

    variants = [
        """
        g = torch.Generator().manual_seed(0); x = torch.randn(1, T, C, generator=g).repeat(T, 1, 1); y = x.clone()
        for t in range(T): y[t, t] = torch.randn(C, generator=g)
        moved = (attend(x) - attend(y)).abs().amax(-1) > 1e-6; return bool(moved.tril(-1).any())
        """,
        {"torch.randn(1, T": "torch.randn(2, T"},
    ]


class all_entries_must_move(Misconception):
    """A leak counts only if *all* earlier outputs move (`all` for `any`): one row or feature is enough."""

    variants = [
        {
            "not torch.allclose(before[:, :t], after[:, :t], atol=1e-6": (
                "((before[:, :t] - after[:, :t]).abs() > 1e-6).all("
            )
        },
        {
            "[:, t] = torch.randn(C, generator=generator)": "[:, t:] = torch.randn(T - t, C, generator=generator)",
            "not torch.allclose(before[:, :t], after[:, :t], atol=1e-6)": (
                "((before[:, :t] - after[:, :t]).abs() > 1e-6).all()"
            ),
        },
    ]


class one_token_fails(Misconception):
    """T = 1 is not looked after: one token has no later one, so the answer is False."""

    variants = [
        """
        g = torch.Generator().manual_seed(0); gaps = []
        for size in (1.0, 10.0) * 5:
            x = torch.randn(1, T, C, generator=g) * size
            before = attend(x.clone()).clone()
            for t in range(1, T):
                y = x.clone(); y[:, t] = torch.randn(C, generator=g) * size
                gaps.append((attend(y)[:, :t] - before[:, :t]).abs().max().item())
        return max(gaps) > 1e-6
        """,
        {"False": "T == 1"},
    ]


class tokens_reordered(Misconception):
    """Tokens only change places: a mean or maximum stays the same, so its leak is missed. Draw a new token."""

    edits = {
        "] = torch.randn(C, generator=generator) * scale": [
            ":] = x[:, t:].flip(1)",
            "- 1 : t + 1] = x[:, t - 1 : t + 1].flip(1)",
        ]
    }


class change_too_small(Misconception):
    """The change to the input disappears in the tolerance: replace the token by random numbers."""

    variants = [
        {"= torch.randn(C, generator=generator)": "+= 1e-6", ", atol=1e-6": ""},
        {"= torch.randn(C, generator=generator)": ["+= 1e-5", "+= 1e-4"]},
    ]


class outputs_after(Fundamental):
    """The outputs after the changed position are compared: that finds functions that see the *past*."""

    edits = {":t], after[:, :t": "t + 1:], after[:, t + 1:"}


class first_row_only(Misconception):
    """Only the first output is compared: leaks into other rows are missed."""

    edits = {"t], after[:, :t": "1], after[:, :1"}


class one_row_before(Misconception):
    """Only the row just before the changed token is compared: leaks over a longer distance are missed."""

    edits = {":t], after[:,": "t - 1 : t], after[:, t - 1"}


class all_but_neighbour(Minor):
    """The row just before the changed token is left out (`:t - 1`): an off-by-one mask passes."""

    edits = {"t], after[:, :t": "t - 1], after[:, : t - 1"}


class last_token_changed_only(Misconception):
    """Only a change of the last token counts: leaks from other positions are missed."""

    edits = {"(1, T)": "(T - 1, T)"}


class last_token_never_changed(Minor):
    """The loop ends one too early, `range(1, T - 1)`: leaks from the last token are missed."""

    variants = [
        {"T):": "T - 1):"},
        {
            "(1, T)": "(1, T - 1)",
            "[:, t] = torch.randn(C, generator=generator)": "[:, t:] = torch.randn(T - t, C, generator=generator)",
        },
    ]


class first_change_only(Minor):
    """A `return` in the loop answers after the first position: later ones are never looked at."""

    variants = [
        {"if not torch": "return not torch", "1e-6):": "1e-6)", "return True": "", "return False": ""},
        {"if not torch": "return not torch", "1e-6):": "1e-6)", "return True": ""},
    ]


class second_token_skipped(Minor):
    """The loop begins at position 2: a first row that looks at the second token goes unnoticed."""

    edits = {"range(1": "range(2"}


class middle_only(Misconception):
    """Only some positions are tried (the middle, or one drawn at random): try them all."""

    variants = [
        {"range(1, T": "torch.randint(1, T, (1,), generator=generator).tolist() if T > 1 else ("},
        {"(1, T)": ["(T // 2, T // 2 + 1)", "(2, T, 2)", "(1, T, 2)"]},
        {
            "range(1, T)": "torch.randint(1, T, (1,), generator=generator).tolist() if T > 1 else ()",
            "[:, t] = torch.randn(C, generator=generator)": "[:, t:] = torch.randn(T - t, C, generator=generator)",
        },
    ]


class inverted(Minor):
    """The answer is the wrong way round: True means that it *does* see the future."""

    edits = {"return True": "return 0 == 1", "return False": "return True", "return 0 == 1": "return False"}


class always_true(Fundamental):
    """The answer is always True: a causal `attend` must be recognised too."""

    code = "return True"


class always_false(Fundamental):
    """No leak is ever found. Does the change drown in the tolerance? Is a result compared with itself?"""

    variants = ["return False", {"return True": "return False"}]


class in_place_view(Misconception):
    """The result may be a view of its input, which changes with it: use `.clone()`."""

    variants = [
        {".clone()).detach().clone(": "", ".clone()": ""},
        {
            "attend(x.clone()).detach().clone()": "attend(x).detach()",
            "changed = x.clone()": "",
            "changed[:, t]": "x[:, t]",
            "attend(changed)": "attend(x)",
        },
        """
        g = torch.Generator().manual_seed(0)
        for scale in (1.0, 10.0) * 5:
            x = torch.randn(1, T, C, generator=g) * scale
            for t in range(1, T):
                before = attend(x)
                x[:, t] = torch.randn(C, generator=g) * scale
                if not torch.allclose(before[:, :t], attend(x)[:, :t], atol=1e-5): return True
        return False
        """,
    ]


class token_scaled(Misconception):
    """A token is only scaled, or all its features get the same number added. A normalisation takes that out again,
    with its leak: draw a new token at random.
    """

    edits = {"= torch.randn(C, generator=generator)": ["*= 2", "+= 1.0"]}


class one_feature_changed(Misconception):
    """Only one feature of the token is changed: a leak of another feature goes unnoticed."""

    edits = {"] = torch.randn(C, generator=generator)": [", -1] += 5.0", ", 0] += 5.0"]}


class one_feature_compared(Misconception):
    """Only one feature of the outputs is compared: a leak into another goes unnoticed."""

    edits = {"], after[:, :t": [", 0], after[:, :t, 0", ", -1], after[:, :t, -1"]}


class sums_compared(Misconception):
    """Only sums or means of the outputs are compared: differences can cancel."""

    edits = {", after[:, :t]": [f".{of}, after[:, :t].{of}" for of in ("sum()", "sum(-1)", "mean()", "mean(-1)")]}


class one_size_only(Misconception):
    """All inputs have the size of `torch.randn`: leaks asleep on small numbers are missed. Try 10 times that."""

    edits = {"(1.0, 10.0) * 5": ["(1.0,) * 10", "(1.0,)"]}


class too_few_inputs(Minor):
    """Fewer than 5 random x of size 1, or of size 10, are tried: a leak may sleep on some of them."""

    edits = {"(1.0, 10.0) * 5": ["(1.0, 10.0) * 2", "(10.0,) * 10", "(1.0,) * 5 + (10.0,)"]}


class compared_exactly(Minor):
    """Outputs are compared too exactly: rounding may move them. Ask `torch.allclose(…, atol=1e-5)`."""

    edits = {"torch.allclose(before[:, :t], after[:, :t], atol=1e-6)": "torch.equal(before[:, :t], after[:, :t])"}


class loose_tolerance(Misconception):
    """The tolerance is too generous: small leaks go unnoticed. Causal outputs do not move at all."""

    edits = {"-6": "-2"}


class zeros(Misconception):
    """The test input is all zeros: many leaks cannot show there. Use random numbers."""

    edits = {"randn(1, T, C, generator=generator)": "zeros(1, T, C)"}


class positive_only(Misconception):
    """No number is negative (`torch.rand`, `abs`): leaks of negative ones are missed. Use `torch.randn`."""

    edits = {"torch.randn(1": "torch.rand(1", "torch.randn(C": "torch.rand(C"}


class constant_tokens(Misconception):
    """Tokens start, and are set, to a constant (zeros or ones): use random numbers for both."""

    edits = {"randn(1, T, C, generator=generator)": "ones(1, T, C)", "torch.randn(C, generator=generator)": "0.0"}


class not_a_number(Misconception):
    """NaN is the change: 0 × NaN is NaN, so it passes any mask, and causal attention is accused."""

    edits = {"torch.randn(C, generator=generator)": "float('nan')"}


class gradients_only(Misconception):
    """Only gradients are looked at: without any (`no_grad`) nothing is found, or it stops. Change a token."""

    variants = [
        """
        g = torch.Generator().manual_seed(0)
        for scale in (1.0, 10.0) * 5:
            x = (torch.randn(1, T, C, generator=g) * scale).requires_grad_(); out = attend(x)
            for t in range(T - 1):
                (grad,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True)
                if grad[0, t + 1 :].abs().max() > 1e-9: return True
        return False
        """,
        """
        g = torch.Generator().manual_seed(0)
        for scale in (1.0, 10.0) * 5:
            x = (torch.randn(1, T, C, generator=g) * scale).requires_grad_(); out = attend(x)
            for t in range(T - 1):
                (grad,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True)
                if grad[0, t + 1 :].abs().max() > 1e-5: return True
        return False
        """,
        """
    g = torch.Generator().manual_seed(0)
    for scale in (1.0, 10.0) * 5:
        x = (scale * torch.randn(1, T, C, generator=g)).requires_grad_(); out = attend(x)
        if not out.requires_grad: return False
        for t in range(T - 1):
            (grad,) = torch.autograd.grad(out[0, t].sum(), x, retain_graph=True, allow_unused=True)
            if grad is not None and grad[0, t + 1 :].abs().max() > 1e-5: return True
    return False
        """,
        """
    g = torch.Generator().manual_seed(0); w = torch.randn(C, generator=g)
    for scale in (1.0, 10.0) * 5:
        x = (scale * torch.randn(1, T, C, generator=g)).requires_grad_(); out = attend(x)
        if not out.requires_grad: return False
        for t in range(T - 1):
            (grad,) = torch.autograd.grad(out[0, t] @ w, x, retain_graph=True, allow_unused=True)
            if grad is not None and grad[0, t + 1 :].abs().max() > 1e-5: return True
    return False
        """,
    ]


class tensor_returned(Minor):
    """A tensor is returned (`.any()` without bool): True or False is asked for."""

    based_on = one_token_fails
    edits = {
        "gaps = []": "leaks = torch.tensor(False)",
        "before = attend(x.clone()).clone()": "before = attend(x.clone()).detach().clone()",
        "gaps.append((attend(y)[:, :t] - before[:, :t]).abs().max().item())": (
            "leaks = leaks | ((attend(y).detach()[:, :t] - before[:, :t]).abs() > 1e-6).any()"
        ),
        "max(gaps) > 1e-6": "leaks",
    }


class integer_returned(Minor):
    """A number is returned: True or False is asked for."""

    edits = {"True": "1", "False": "0"}


class sizes_ignored(Misconception):
    """T (or C) is ignored: the function is always tried with the same number of tokens or features."""

    edits = {"generator =": "T, C = 6, 8\ngenerator ="}


class all_must_leak(Misconception):
    """The answer is True only if *every* change shows (`all` for `any`): a leak from one position is enough."""

    based_on = inverted
    edits = {"not torch": "torch"}


class past_changed(Fundamental):
    """Earlier tokens are changed and later outputs compared: that finds the *past*, which may be seen."""

    edits = {"(1, T)": "(T - 1)", ":t], after[:, :t": "t + 1 :], after[:, t + 1 :"}
