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

    variants = [
        {
            "if not any": [
                "matches, totals = [counts[:1] for counts in (matches, totals)]\nif not any",
                "matches, totals = [counts[:2] for counts in (matches, totals)]\nif not any",
                "matches, totals = [counts[:3] for counts in (matches, totals)]\nif not any",
            ],
            "/ 4)": "/ len(matches))",
        },
        {", 5": ", 4"},
    ]


class four_grams_only(Misconception):
    """Only the 4-grams are used: take the geometric mean of all four precisions."""

    edits = {"sum(log_precisions) / 4": "log_precisions[3]"}


class five_grams(Misconception):
    """n-grams of five tokens are used too: 1 to 4."""

    edits = {"4, [0] * 4": "5, [0] * 5", ", 5": ", 6", "/ 4)": "/ 5)"}


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


class n_grams_side_by_side(Misconception):
    """n-grams are cut side by side: they overlap, one begins at each token."""

    edits = {
        "len(hypothesis) - n + 1": "0, len(hypothesis) - n + 1, n",
        "len(reference) - n + 1": "0, len(reference) - n + 1, n",
    }


class order_ignored(Misconception):
    """The order inside an n-gram does not count: it must."""

    edits = {"tuple(": "tuple(sorted(", ": i + n]": ": i + n])"}


class positions_compared(Misconception):
    """Tokens are compared place by place: an n-gram may stand anywhere."""

    edits = {
        "(ours & theirs).total()": (
            "sum(hypothesis[i : i + n] == reference[i : i + n] for i in range(min(len(hypothesis), "
            "len(reference)) - n + 1))"
        )
    }


class characters(Misconception):
    """The n-grams are made of characters: they are made of tokens."""

    edits = {
        "matches, totals =": [
            """
            hypotheses, references = [["".join(s) for s in side] for side in (hypotheses, references)]
            matches, totals =
            """,
            """
            hypotheses, references = [[" ".join(s) for s in side] for side in (hypotheses, references)]
            matches, totals =
            """,
        ]
    }


class across_sentences(Misconception):
    """n-grams cross from one sentence to the next: count within each pair."""

    edits = {
        "matches, totals =": """
            hypotheses, references = [sum(hypotheses, [])], [sum(references, [])]
            matches, totals =
        """
    }


class any_reference(Misconception):
    """n-grams may match in any reference: each hypothesis has its own."""

    edits = {
        "reference[i : i + n]) for i in range(len(reference)": (
            "other[i : i + n]) for other in references for i in range(len(other)"
        )
    }


class lower_case(Misconception):
    """Capital letters are changed: compare tokens as they are."""

    based_on = characters
    edits = {'"".join(s)': "[t.lower() for t in s]"}


class duplicates_dropped(Misconception):
    """Pairs that come more than once are counted once: each counts."""

    edits = {
        "matches, totals =": """
            pairs = {str(pair): pair for pair in zip(hypotheses, references)}.values()
            hypotheses, references = [[pair[i] for pair in pairs] for i in (0, 1)]
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
    """Scores of sentences are averaged: corpus BLEU sums the counts first, and scores once."""

    edits = {
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
    }


class mean_of_precisions(Misconception):
    """Precisions of sentences are averaged: sum matches and n-grams over the corpus, then divide."""

    edits = {
        "ours.total()": """
            ours.total()
            shares[n - 1].append((ours & theirs).total() / max(ours.total(), 1))
        """,
        "totals = [0] * 4, [0] * 4": "totals, shares = [0] * 4, [0] * 4, [[], [], [], []]",
        "return 100 * brevity * math.exp(sum(log_precisions) / 4)": """
            means = [sum(s) / len(s) for s in shares]
            return 100 * brevity * math.prod(means) ** 0.25
        """,
    }


class arithmetic_mean(Misconception):
    """The arithmetic mean of the precisions is taken: take the geometric one."""

    edits = {
        "math.exp(sum(log_precisions) / 4)": [
            "sum(math.exp(p) for p in log_precisions) / 4",
            "sum(m / t for m, t in zip(matches, totals)) / 4",
        ]
    }


class product(Minor):
    """The precisions are multiplied without the fourth root (or with another one)."""

    edits = {") / 4": [")", ") / 2"]}


class harmonic_mean(Misconception):
    """The harmonic mean is taken: take the geometric one."""

    edits = {"math.exp(sum(log_precisions) / 4)": "4 / sum(math.exp(-p) for p in log_precisions)"}


class log_base(Minor):
    """Logarithm and exponential do not belong together (log2 or log10 with exp)."""

    edits = {"math.log(": ["math.log2(", "math.log10("]}


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
    """The brevity penalty is upside down: exp(1 - r / h), r for references."""

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
            "math.exp(-sum(max(len(b) - len(a), 0) for a, b in zip(hypotheses, references)) / h)",
        ]
    }


class sentences_for_tokens(Misconception):
    """The brevity penalty compares other lengths than the numbers of tokens."""

    edits = {"map(len, sentences)": ["len(' '.join(s)) for s in sentences", "len(set(s)) for s in sentences"]}


class no_smoothing(Misconception):
    """There is no smoothing: an order without a match counts as 1/2, 1/4, … of one."""

    edits = {"any(matches) or not all(totals": "all(matches"}


class log_of_zero(Misconception):
    """An order has no match, and log(0) is taken: smoothing sees to it."""

    edits = {"(matched or 1 / penalty) / total": "matched / total"}


class always_half(Minor):
    """Each order without a match counts as 1/2: the second as 1/4, the third as 1/8."""

    edits = {"penalty *= 2": "penalty = 2"}


class halved_by_order(Minor):
    """The smoothing goes by n: the first order without a match, whichever it is, counts as 1/2."""

    variants = [{"if matched == 0:": "if True:"}, {"penalty *= 2": "penalty = 2 ** len(log_precisions)"}]


class smoothing_starts_at_one(Minor):
    """The first order without a match counts as one: it counts as 1/2, the next as 1/4."""

    edits = {"1 / penalty": "2 / penalty"}


class add_one(Misconception):
    """1 is added to all counts: only orders without a match are smoothed, by 1/2, 1/4 and so on."""

    variants = [
        log_of_zero.edited({"matched / total": ["(matched + 1) / (total + 1)", "(matched or 1) / total"]}),
        halved_by_order.edited(
            {
                "penalty *= 2": "one = 1 if log_precisions else 0",
                "(matched or 1 / penalty) / total": "max(matched + one, 1e-9) / (total + one)",
            }
        ),
    ]


class small_number(Misconception):
    """A small number takes the place of 0 matches: the first such order counts as 1/2, the next as 1/4."""

    based_on = log_of_zero
    edits = {"matched / total": ["max(matched, 0.1) / total", "max(matched, 1e-9) / total", "matched / total + 1e-9"]}


class smoothed_without_division(Misconception):
    """A smoothed precision is not divided: 1/2 (or 1/4, …) replaces the matches only."""

    edits = {"(matched or 1 / penalty) / total": "matched / total if matched else 1 / penalty"}


class orders_skipped(Misconception):
    """Orders without a match are left out of the mean: they are smoothed, there are always four."""

    variants = [
        {"log_precisions.append": "if matched: log_precisions.append", "/ 4)": "/ len(log_precisions))"},
        {"log_precisions.append": "if matched: log_precisions.append"},
    ]


class smoothed_by_sentence(Misconception):
    """Orders are smoothed sentence by sentence: smooth those without a match in the whole corpus."""

    edits = {"(ours & theirs).total()": "(ours & theirs).total() or (0.5 if ours else 0)"}


class smoothing_without_any_match(Misconception):
    """Where nothing matches at all, smoothing gives points: the score is 0 then."""

    edits = {"any(matches) or not": ""}


class short_ones_divide_by_zero(Misconception):
    """Hypotheses of fewer than four tokens stop it: without 4-grams the score is 0."""

    variants = [
        {"not any(matches) or not all(totals):": ["totals[0] and not any(matches):", "not any(matches) :", "False:"]},
        {"any(matches) or": "matches[0] / totals[0]: return 0.0\nif"},
    ]


class not_zero(Misconception):
    """Something else comes back for a score of 0: return 0.0."""

    edits = {"return 0.0": "return None"}


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


class perfect_is_perfect(Misconception):
    """Equal lists are given 100 unseen: without 4-grams the score is 0."""

    edits = {"matches, totals =": "if hypotheses == references: return 100.0\nmatches, totals ="}


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
    """The result is not a plain float."""

    edits = {
        "100 * brevity * math.exp(sum(log_precisions) / 4)": [
            f"{part}(100 * brevity * math.exp(sum(log_precisions) / 4))" for part in ("int", "torch.tensor", "str")
        ]
    }


class joined_tokens(Misconception):
    """Tokens are joined, so `to day` and `today` look alike: compare tuples of tokens."""

    edits = {
        "tuple(hypothesis[i : i + n])": '(n > 1, "".join(hypothesis[i : i + n]))',
        "tuple(reference[i : i + n])": '(n > 1, "".join(reference[i : i + n]))',
    }


class no_sentences(Minor):
    """Without any sentence it fails: the score is 0 then."""

    edits = {
        "matches, totals =": [
            "longest = max(map(len, hypotheses))\nmatches, totals =",
            'if not hypotheses: raise ValueError("there are no sentences")\nmatches, totals =',
        ]
    }


class size_limited(Misconception):
    """Only some sentences or tokens count: all of them do."""

    variants = [
        {"zip(hypotheses, references, strict=True)": "list(zip(hypotheses, references, strict=True))[:100]"},
        {"len(hypothesis)": "min(len(hypothesis), 25)"},
    ]


class details_too(Minor):
    """More than the score is returned: return one float."""

    edits = {
        "100 * brevity * math.exp(sum(log_precisions) / 4)": [
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


class input_changed(common_mistakes.input_changed):
    variants = [
        {
            "totals[": """
                if n == 4:
                    hypothesis.append('<eos>')
                    hypothesis.pop(0)
                totals[
            """
        },
        {"brevity =": "hypotheses.clear()\nbrevity ="},
    ]
