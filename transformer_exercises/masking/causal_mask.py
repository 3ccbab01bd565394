"""`causal_mask`: True exactly above the diagonal, on the device asked for; the mistakes shift, invert or convert it."""

from autograder.spec import Cases, Check, Exercise, FunctionUnderTest, Student, Wrong, cases_of, drawn

cases = cases_of("causal_mask")


def _sizes(*known: int) -> tuple[int, ...]:
    """Return T of each case; drawn ones are none of the small numbers that everybody is asked."""
    return drawn(known, lambda rng: tuple(rng.sample(range(8, 120), len(known))))


_causal = cases(lambda: (([T], f"for T = {T}") for T in _sizes(4, 1, 2, 3, 7, 40, 130, 520)))


def _on_another(student: Student, tested: FunctionUnderTest) -> None:
    where = "with device given"
    (T,) = _sizes(5)
    answer = student.call(tested.name, [T], {"device": "cuda"}, where, device="elsewhere")
    if not answer["kept"]:
        raise Wrong("The mask is not made on the device that is asked for: pass `device=device` on.")
    tested.same(answer["value"], tested.right(T), "The result", where)


@cases
def _device() -> Cases:
    yield _on_another
    yield [*_sizes(5)], "without a device"
    yield [*_sizes(3), "cpu"], "with device given by position"
    yield {"T": _sizes(3)[0]}, "with T given by name"


EXERCISE = Exercise(
    Check("True exactly above the diagonal", 1.5, _causal),
    Check("made on the device that is asked for", 0.5, _device, dependent=True),
    takes="number",
    gives="tensor",
    harmless=(
        "gradient_cut_off",
        "single_precision",
        "single_precision_inside",
        "list_returned",
        "array_returned",
        "global_generator",
    ),
    library_equivalent=r"""
def causal_mask(T, device=None):
    return nn.Transformer.generate_square_subsequent_mask(T, device=device).isinf()
""",
)
