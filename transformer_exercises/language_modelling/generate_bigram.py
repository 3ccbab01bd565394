"""`generate_bigram`: chains that are certain, shares over 4,000 draws, and where the chance comes from."""

import torch

from autograder.spec import (
    Check,
    CheckFunction,
    Exercise,
    Kept,
    Reply,
    Student,
    ValuesDiffer,
    Wrong,
    drawn,
    dtype_name,
    generator_unchanged,
    kind,
    other_sizes,
    reference,
    refusing,
    shuffled,
    their_generator,
    unchanged,
)

from .random_inputs import rows_of_probs

refuse = refusing("generate_bigram")


def _drawn(
    student: Student, probs: torch.Tensor, start: int, num_tokens: int, generator: Kept, where: str
) -> tuple[list[int], Reply]:
    """Return the ids, and the answer; scalar tensors among them are let pass, for a check of its own asks for ints."""
    answer = student.call("generate_bigram", [probs, start, num_tokens, generator], where=where)
    got, asked = answer["value"], "A list of Python ints is asked for; yours"
    row = isinstance(got, torch.Tensor) and got.dim() == 1 and not got.is_floating_point()
    if type(got) not in (list, tuple) and not row:
        raise Wrong(f"{asked} is {kind(got)} {where}.", "not_ids")
    ids = [item.item() if isinstance(item, torch.Tensor) and item.numel() == 1 else item for item in got]
    if not all(type(item) in (int, float) and item == int(item) for item in ids):
        raise Wrong(f"{asked} holds other things {where}.", "not_ids")
    if len(ids) != num_tokens + 1:
        message = f"The start id and {num_tokens} new ones are asked for {where}; yours has {len(ids)} ids."
        raise Wrong(message, "wrong_length")
    return [int(item) for item in ids], answer


CHAINS = ([1, 2, 3, 4, 0], [3, 0, 4, 1, 2], [2, 2, 0, 3, 1])  # token k is followed by chain[k], with certainty


def _certain(seed: int, *texts: tuple[int, int, int]) -> CheckFunction:
    """Ask for texts: the number of a chain, the start id, how many tokens."""

    def check(student: Student) -> None:
        for number, known_start, known_tokens in texts:
            with student.case():
                places, (num_tokens,) = shuffled([*range(5)]), other_sizes(known_tokens)
                start, chain = places[known_start], [places[CHAINS[number][places.index(k)]] for k in range(5)]
                where = f"for {num_tokens} tokens from start id {start}, when each next token is certain"
                probs = torch.eye(5)[chain]
                ids, _ = _drawn(student, probs, start, num_tokens, their_generator(student, seed), where)
                if ids[0] != start:
                    raise ValuesDiffer(f"The list should begin with the start id {where}.")
                if ids != reference("generate_bigram")(probs, start, num_tokens, torch.Generator()):
                    raise ValuesDiffer(f"The tokens are not those of the table {where}: what follows i is in row i.")

    return check


def _first_seed(known: int) -> int:
    return drawn(known, lambda rng: rng.randrange(10**6))


def _shares(student: Student) -> None:
    """Ask for each transition as often as its probability says: a right answer fails with a probability below 1e-6."""
    probs = torch.tensor([[0.1, 0.6, 0.3, 0.0], [0.45, 0.0, 0.05, 0.5], [0.0, 0.25, 0.25, 0.5], [0.7, 0.1, 0.0, 0.2]])
    order, first = shuffled([*range(4)]), _first_seed(100)
    probs, counts = probs[order][:, order], torch.zeros(4, 4)
    for seed in range(10):
        ids, _ = _drawn(student, probs, seed % 4, 400, their_generator(student, first + seed), "for 400 tokens")
        if not all(0 <= token < 4 for token in ids):
            raise Wrong("There are ids outside the vocabulary for 400 tokens.")
        counts += reference("count_bigrams")(torch.tensor(ids), 4)
    if counts[probs == 0].any():
        raise Wrong("Tokens of probability 0 are drawn: they must never follow.", "impossible_token")
    wide, where = torch.full((300, 300), 1 / 300), "for 300 tokens that are all alike"
    ids, _ = _drawn(student, wide, 7, 900, their_generator(student, _first_seed(77)), where)
    if len(set(ids)) < 240:  # 285, give or take 4
        raise Wrong(f"Far too few different tokens come {where}: rare ones have a chance too.", "wrong_frequencies")
    visits = counts.sum(1, keepdim=True)
    allowed = 6 * (visits * probs * (1 - probs)).sqrt() + 5  # six standard deviations, and more for the cell of 0.05
    if ((counts - visits * probs).abs() > allowed).any():
        what = "Over thousands of draws tokens do not come as often as the row of the token before says"
        raise Wrong(f"{what}: draw from that row as it is (torch.multinomial).", "wrong_frequencies")


def _by_generator(student: Student) -> None:
    """Ask for texts of 40 tokens out of 7, which agree by chance once in 7 ** 40."""

    def text(generator: Kept) -> list[int]:
        ids, answer = _drawn(student, torch.full((7, 7), 1 / 7), 2, 40, generator, "for a uniform table")
        generator_unchanged(answer)
        return ids

    first = _first_seed(11)
    one, again, second, third = (text(their_generator(student, first + n)) for n in (0, 0, 1, 2))
    refuse(one != again, "other_source")
    message = "Three generators give the same text: draw each id from the one that is passed, and seed nothing."
    refuse(one == second == third, "generator_ignored", message)
    generator = their_generator(student, first)
    if text(generator) == text(generator):
        raise Wrong("Two calls with one generator give the same text: seed nothing anew, draw from it.", "seeded_anew")


def _side_effects(student: Student) -> None:
    for dtype in (torch.float32, torch.float64):
        with student.case():
            probs = rows_of_probs(5, 5, dtype=dtype)
            where = f"for {dtype_name(probs)} probabilities"
            _, answer = _drawn(student, probs, 1, 30, their_generator(student, 8), where)
            unchanged(answer["inputs"][:1], [probs], "`probs`")
            got = answer["value"]
            if type(got) is not list:
                raise Wrong(f"A list of Python ints is asked for; yours is {kind(got)}.", "not_a_list")
            other = next((item for item in got if type(item) is not int), 0)
            if type(other) is not int:
                raise Wrong(f"The list should hold Python ints; yours holds {kind(other)}: use `.item()`.", "not_ints")


EXERCISE = Exercise(
    Check(
        "start id, then one token after the other",
        1.25,
        _certain(3, (0, 0, 7), (1, 2, 11), (2, 1, 6), (0, 4, 3), (1, 1, 2), (2, 4, 23)),
    ),
    Check("no token, one token", 0.25, _certain(5, (0, 3, 0), (0, 2, 1), (0, 0, 0)), dependent=True),
    Check("tokens as often as their probabilities say", 0.75, _shares, dependent=True),
    Check("chance comes from the generator alone", 0.5, _by_generator, dependent=True),
    Check("a list of ints, inputs unchanged", 0.25, _side_effects, dependent=True),
    takes="tensor",
    gives="list",
    harmless=("other_signature",),
)
