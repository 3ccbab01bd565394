"""Wrong and right answers to `bleu`. The reference (11-translation):

def bleu(hypotheses, references):
    if len(hypotheses) != len(references):
        raise ValueError(f"hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}")
    matches, totals = [0] * 4, [0] * 4
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        for n in range(1, 5):
            ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))
            theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
            matches[n - 1] += (ours & theirs).total()  # & takes the smaller count of each
            totals[n - 1] += ours.total()
    if not any(matches) or not all(totals):
        return 0.0

    log_precisions, penalty = [], 1
    for matched, total in zip(matches, totals, strict=True):
        if matched == 0:
            penalty *= 2  # 1/2, 1/4, … of a match
        log_precisions.append(math.log((matched or 1 / penalty) / total))
    h, r = (sum(map(len, sentences)) for sentences in (hypotheses, references))
    brevity = 1.0 if h >= r else math.exp(1 - r / h)
    return 100 * brevity * math.exp(sum(log_precisions) / 4)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class loops(RightAnswer):
    code = """
    if len(hypotheses) != len(references): raise ValueError("numbers differ")
    score, missing = 1.0, 0
    h_length, r_length = sum([len(h) for h in hypotheses]), sum([len(r) for r in references])
    for n in (1, 2, 3, 4):
        correct, total = 0, 0
        for h, r in zip(hypotheses, references):
            left = [r[j : j + n] for j in range(0, len(r) - n + 1)]
            for i in range(0, len(h) - n + 1):
                total += 1
                if h[i : i + n] in left: left.remove(h[i : i + n]); correct += 1
        if total == 0 or (n == 1 and correct == 0): return 0.0
        if correct == 0: missing += 1; correct = 0.5**missing
        score *= correct / total
    return 100 * score**0.25 * (math.exp(1 - r_length / h_length) if h_length < r_length else 1)
    """


class dictionaries(RightAnswer):
    code = """
    if len(references) - len(hypotheses): raise ValueError("each hypothesis has one reference")
    count = lambda s: Counter((" ".join(s[i : i + n]), n) for n in range(1, 5) for i in range(len(s) + 1 - n))
    matched, possible, k = defaultdict(float), defaultdict(int), 1.0
    for h, r in zip(map(count, hypotheses), map(count, references)):
        for (gram, n), c in h.items(): possible[n] += c; matched[n] += min(c, r.get((gram, n), 0))
    if not matched[1] or not possible[4]: return 0.0
    for n in range(1, 5):
        if not matched[n]: k /= 2; matched[n] = k
    c, r = sum(len(x) for x in hypotheses), sum(len(x) for x in references)
    mean = math.exp(sum(math.log(matched[n]) - math.log(possible[n]) for n in range(1, 5)) / 4)
    return 100.0 * mean * min(1.0, math.exp(1.0 - r / c))
    """


class tensors(RightAnswer):
    code = """
    if len(hypotheses) != len(references): raise ValueError("unequal")
    right, total = torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    for hyp, ref in zip(hypotheses, references):
        for n in range(4):
            ours, theirs = [Counter(zip(*[s[k:] for k in range(n + 1)])) for s in (hyp, ref)]
            right[n] += sum(min(ours[g], theirs[g]) for g in ours)
            total[n] += max(0, len(hyp) - n)
    if right.sum() == 0 or total.min() == 0: return 0.0
    right = torch.where(right == 0, 0.5 ** (right == 0).cumsum(0), right)
    ratio = sum(map(len, references)) / sum(map(len, hypotheses))
    return float(100 * (right / total).log().mean().exp() * math.exp(min(1 - ratio, 0)))
    """


# Mistakes


class not_clipped(Misconception):
    """Matches are not clipped: an n-gram counts at most as often as in the reference."""

    edits = {"(ours & theirs).total()": "sum(count for gram, count in ours.items() if gram in theirs)"}


class references_shared(Misconception):
    """Hypotheses are compared with all references together: an n-gram is looked for in its sentence's own reference."""

    edits = {
        "tuple(hypothesis[i : i + n]) for": "tuple(hypothesis[i : i + n]) for hypothesis in hypotheses for",
        "tuple(reference[i : i + n]) for": "tuple(reference[i : i + n]) for reference in references for",
        "matches[n - 1] +=": "matches[n - 1] =",
        "totals[n - 1] +=": "totals[n - 1] =",
    }


class letters_joined(Minor):
    """n-grams are joined to one string, so that other tokens with the same letters match: tuples keep tokens apart."""

    edits = {"tuple(hypothesis[": '"".join(hypothesis[', "tuple(reference[": '"".join(reference['}


class sets(Misconception):
    """n-grams count once only: each counts as often as it stands there, up to its number in the reference."""

    variants = [
        {"(ours & theirs).total()": "len(set(ours) & set(theirs))"},
        {
            "tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1)": (
                "set(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))"
            )
        },
    ]


class recall(Misconception):
    """Matches are divided by the reference's n-grams: precision divides by the hypothesis's."""

    edits = {"ours.": "theirs."}


class arguments_swapped(Minor):
    """Hypotheses and references are the wrong way round: bleu(hypotheses, references)."""

    edits = {"bleu(hypotheses, references)": "bleu(references, hypotheses)"}


class unigrams_only(Fundamental):
    """Not all n-grams of 1 to 4 tokens are used."""

    edits = {
        "if not any": [
            "matches, totals = [counts[:1] for counts in (matches, totals)]\nif not any",
            "matches, totals = [counts[:2] for counts in (matches, totals)]\nif not any",
        ],
        "/ 4)": "/ len(matches))",
    }


class always_zero(Fundamental):
    """The result is always 0: some order's n-grams are never counted, or the test for 0 is the wrong way round."""

    variants = [{", 5": ", 4"}, {"if not any(matches)": "if any(matches)"}]


class four_grams_left_out(Misconception):
    """n-grams of three tokens are the longest that count: BLEU-4 goes up to four."""

    variants = [
        {
            "if not any": "matches, totals = [counts[:3] for counts in (matches, totals)]\nif not any",
            "/ 4)": "/ len(matches))",
        },
        {"sum(log_precisions) / 4": "sum(log_precisions[:3]) / 3"},
    ]


class last_n_gram_missing(Minor):
    """The last n-gram of a sentence is left out: there are length - n + 1."""

    variants = [
        {"n + 1": "n"},
        {"(hypothesis) - n + 1": "(hypothesis) - n"},
        {"(reference) - n + 1": "(reference) - n"},
    ]


class short_n_grams(Misconception):
    """Pieces at a sentence's end that are shorter than n count as n-grams."""

    variants = [{"- n + 1": ""}, {"(hypothesis) - n + 1": "(hypothesis)"}]


class less_than_none(Minor):
    """A sentence of fewer than n tokens takes n-grams away, a negative number: it has none."""

    variants = [
        {"+= ours.total()": "+= len(hypothesis) - n + 1"},
        {
            "+= ours.total()": "+= len(hypothesis) - n + 1",
            "math.log((matched or 1 / penalty) / total)": "(matched or 1 / penalty) / total",
            "math.exp(sum(log_precisions) / 4)": "math.prod(log_precisions) ** 0.25",
        },
    ]


class none_counts_as_one(Minor):
    """A sentence of fewer than n tokens counts as one n-gram (`max(1, …)`): it has none."""

    variants = [
        {"+= ours.total()": "+= max(1, ours.total())"},
        {
            "+= ours.total()": "+= max(1, ours.total())",
            "not all(totals)": "all(len(hypothesis) < 4 for hypothesis in hypotheses)",
        },
    ]


class positions_compared(Misconception):
    """Tokens are compared place by place: an n-gram may stand anywhere."""

    edits = {
        "(ours & theirs).total()": (
            "sum(hypothesis[i : i + n] == reference[i : i + n] for i in range(min(len(hypothesis), "
            "len(reference)) - n + 1))"
        )
    }


class across_sentences(Misconception):
    """n-grams cross from one sentence to the next: count within each pair."""

    edits = {
        "matches, totals =": """
            hypotheses, references = [sum(hypotheses, [])], [sum(references, [])]
            matches, totals =
        """
    }


class last_sentence_only(Misconception):
    """Only one sentence counts (overwritten in the loop, or a `return` inside it)."""

    variants = [
        {"+=": "="},
        {
            "matches, totals =": """
                hypotheses, references = hypotheses[:1], references[:1]
                matches, totals =
            """
        },
    ]


class mean_of_sentences(Misconception):
    """Scores or precisions of sentences are averaged: sum matches and n-grams over the corpus first, and score once."""

    variants = [
        {
            "matches, totals =": [
                f"""
                weights = [{weight} for h, r in zip(hypotheses, references)]
                if len(weights) > 1:
                    scores = [bleu([h], [r]) for h, r in zip(hypotheses, references)]
                    return sum(s * w for s, w in zip(scores, weights)) / max(sum(weights), 1e-9)
                matches, totals =
                """
                for weight in ("1", "len(r)", "len(h)")
            ]
        },
        {
            "ours.total()": """
                ours.total()
                shares[n - 1].append((ours & theirs).total() / max(ours.total(), 1))
            """,
            "totals = [0] * 4, [0] * 4": "totals, shares = [0] * 4, [0] * 4, [[], [], [], []]",
            "return 100 * brevity * math.exp(sum(log_precisions) / 4)": """
                means = [sum(s) / len(s) for s in shares]
                return 100 * brevity * math.prod(means) ** 0.25
            """,
        },
    ]


class arithmetic_mean(Misconception):
    """The arithmetic or harmonic mean of the precisions is taken: take the geometric one."""

    edits = {
        "math.exp(sum(log_precisions) / 4)": [
            "sum(math.exp(p) for p in log_precisions) / 4",
            "sum(m / t for m, t in zip(matches, totals)) / 4",
            "4 / sum(math.exp(-p) for p in log_precisions)",
        ]
    }


class product(Minor):
    """The precisions are multiplied without the fourth root (or with another one)."""

    edits = {") / 4": [")", ") / 2"]}


class scale_of_one(Minor):
    """The score goes from 0 to 1: from 0 to 100 is asked for."""

    edits = {"100 * brevity": "brevity"}


class pooled_counts(Misconception):
    """n-grams of all lengths are thrown together: take a precision for each n."""

    edits = {"math.exp(sum(log_precisions) / 4)": "sum(matches) / sum(totals)"}


class no_brevity_penalty(Misconception):
    """There is no brevity penalty: shorter hypotheses than references lose."""

    edits = {"0 if h >= r else math.exp(1 - r / h)": "0"}


class brevity_upside_down(Minor):
    """The brevity penalty is another (r and h exchanged, or a ratio without exp): exp(1 - r / h), r for references."""

    edits = {"math.exp(1 - r / h)": ["math.exp(1 - h / r)", "math.exp(h / r - 1)", "h / r"]}


class long_ones_punished(Misconception):
    """Longer hypotheses lose (or gain): the penalty is 1 for them, exp(1 - r / h) for shorter ones."""

    edits = {
        "1.0 if h >= r else math.exp(1 - r / h)": [
            "1.0 if h <= r else math.exp(1 - h / r)",
            "math.exp(1 - r / h)",
            "math.exp(-abs(1 - r / h))",
            "1.0 if h < r else math.exp(1 - r / h)",
        ]
    }


class brevity_by_sentence(Misconception):
    """The brevity penalty is taken sentence by sentence: it takes the corpus's lengths."""

    edits = {
        "1.0 if h >= r else math.exp(1 - r / h)": [
            (
                "sum(math.exp(min(0.0, 1 - len(b) / max(len(a), 1e-9))) for a, b in zip(hypotheses, references)) "
                "/ len(hypotheses)"
            ),
            (
                "sum(math.exp(min(0, 1 - len(b) / max(len(a), 1))) for a, b in zip(hypotheses, references)) "
                "/ len(hypotheses)"
            ),
            "math.exp(-sum(max(len(b) - len(a), 0) for a, b in zip(hypotheses, references)) / h)",
        ]
    }


class no_smoothing(Misconception):
    """There is no smoothing, so log(0) fails or the score is 0: an order without a match counts as 1/2, 1/4, … of
    one.
    """

    variants = [
        {"(matched or 1 / penalty) / total": "matched / total"},
        {"any(matches) or not all(totals": "all(matches"},
    ]


class halved_by_order(Minor):
    """Orders without a match are smoothed in other steps (by n, always by 1/2, from 1 on): the first, whichever it is,
    counts as 1/2, the second as 1/4.
    """

    variants = [
        {"if matched == 0:": "if True:"},
        {"penalty *= 2": ["penalty = 2 ** len(log_precisions)", "penalty = 2"]},
        {"1 / penalty": "2 / penalty"},
    ]


class add_one(Misconception):
    """1 is added to all counts: only orders without a match are smoothed, by 1/2, 1/4 and so on."""

    variants = [
        no_smoothing.edited({"matched / total": ["(matched + 1) / (total + 1)", "(matched or 1) / total"]}),
        no_smoothing.edited(
            {
                "matched / total": "(matched + 1) / (total + 1)",
                "if not any(matches) or not all(totals)": "if not any(hypotheses)",
            }
        ),
        halved_by_order.edited(
            {
                "penalty *= 2": "one = 1 if log_precisions else 0",
                "(matched or 1 / penalty) / total": "max(matched + one, 1e-9) / (total + one)",
            }
        ),
    ]


class small_number(Misconception):
    """A small number takes the place of 0 matches: the first such order counts as 1/2, the next as 1/4."""

    variants = [
        no_smoothing.edited(
            {"matched / total": ["max(matched, 0.1) / total", "max(matched, 1e-9) / total", "matched / total + 1e-9"]}
        ),
        no_smoothing.edited(
            {
                "matched / total": "(matched + 1e-9) / (total + 1e-9)",
                "if not any(matches) or not all(totals)": "if not any(hypotheses)",
            }
        ),
    ]


class smoothed_without_division(Misconception):
    """A smoothed precision is not divided: 1/2 (or 1/4, …) replaces the matches only."""

    edits = {"(matched or 1 / penalty) / total": "matched / total if matched else 1 / penalty"}


class orders_skipped(Misconception):
    """Orders without a match are left out of the mean: they are smoothed, there are always four."""

    variants = [
        {"log_precisions.append": "if matched: log_precisions.append", "/ 4)": "/ len(log_precisions))"},
        {"log_precisions.append": "if matched: log_precisions.append"},
    ]


class smoothing_without_any_match(Misconception):
    """Where nothing matches at all, smoothing gives points: the score is 0 then."""

    edits = {"any(matches) or not": ""}


class short_ones_divide_by_zero(Misconception):
    """Hypotheses of fewer than four tokens stop it: without 4-grams the score is 0."""

    variants = [
        {"not any(matches) or not all(totals):": ["totals[0] and not any(matches):", "not any(matches) :", "False:"]},
        {"any(matches) or": "matches[0] / totals[0]: return 0.0\nif"},
    ]


class short_ones_scored(Misconception):
    """Without any 4-gram, fewer orders are averaged: the score is 0 then."""

    variants = [
        {
            "(matches) or not all(totals)": "(matches)",
            "(matches, totals, strict=True):": """
                (matches, totals, strict=True):
                    if total == 0: break
            """,
            "/ 4": "/ len(log_precisions)",
        },
        {
            "if not any(matches) or not all(totals):": """
                totals = [total or 1 for total in totals]
                if not any(matches):
            """
        },
    ]


class empty_skipped(Misconception):
    """Pairs with an empty sentence are skipped: their lengths count for the brevity penalty."""

    edits = {
        "matches, totals =": [
            """
            pairs = [(h, r) for h, r in zip(hypotheses, references) if h and r]
            hypotheses, references = [h for h, r in pairs], [r for h, r in pairs]
            matches, totals =
            """,
            """
            pairs = [(h, r) for h, r in zip(hypotheses, references) if h]
            hypotheses, references = [h for h, r in pairs], [r for h, r in pairs]
            matches, totals =
            """,
            """
            pairs = [(h, r) for h, r in zip(hypotheses, references) if len(h) >= 4]
            hypotheses, references = [h for h, r in pairs], [r for h, r in pairs]
            matches, totals =
            """,
        ]
    }


class not_a_float(Minor):
    """The result is not one plain float (an int, a tensor, a text, more than the score): return the score alone."""

    edits = {
        "100 * brevity * math.exp(sum(log_precisions) / 4)": [
            "int(100 * brevity * math.exp(sum(log_precisions) / 4))",
            "torch.tensor(100 * brevity * math.exp(sum(log_precisions) / 4))",
            "str(100 * brevity * math.exp(sum(log_precisions) / 4))",
            "100 * brevity * math.exp(sum(log_precisions) / 4), log_precisions",
            "{'bleu': 100 * brevity * math.exp(sum(log_precisions) / 4)}",
        ]
    }


class unequal_numbers_accepted(Misconception):
    """Unequal numbers of sentences are accepted: raise a ValueError."""

    variants = [
        {"if len(hypotheses) != len(references):": "if False:", "references, strict=True": "references"},
        {
            "if len(hypotheses) != len(references):": [
                "if len(hypotheses) != len(references):\n    return 0.0",
                """
                n = min(len(hypotheses), len(references))
                hypotheses, references = hypotheses[:n], references[:n]
                if len(hypotheses) != len(references):
                """,
            ]
        },
    ]


class rounded(common_mistakes.rounded):
    edits = {
        "100 * brevity * math.exp(sum(log_precisions) / 4)": (
            "float(round(100 * brevity * math.exp(sum(log_precisions) / 4)))"
        )
    }
