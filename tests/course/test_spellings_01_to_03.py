"""Tests that wrong answers to notebooks 01 to 03 are named however they are spelt, and right ones keep all points."""

import textwrap

import pytest

from autograder.judge.mark import mark
from autograder.judge.run_check import student_with_answer
from autograder.spec.course import exercise

SIGNATURES = {
    "count_bigrams": "ids, vocab_size",
    "bigram_probs": "counts, alpha=1.0",
    "sequence_log_prob": "ids, probs",
    "cross_entropy": "logits, targets",
    "build_vocab": "text",
    "split_words": "text",
    "count_pairs": "words",
    "fertility": "tokenizer, texts",
    "train_tokenizer": "texts, vocab_size",
    "cosine_similarity": "a, b",
    "one_hot_lookup": "ids, weight",
    "skipgram_step": "vectors, contexts, centre, context, negatives, learning_rate",
    "encode": "text, stoi",
    "generate_bigram": "probs, start_id, num_tokens, generator",
    "nearest_neighbours": "query, weight, k, exclude=()",
    "sgns_loss": "centre, context, negatives",
    "train_bpe": "words, num_merges",
    "bigram_step": "logits, ids, learning_rate",
    "bpe_encode": "word, merges",
    "decode": "ids, itos",
    "text_to_ids": "text, byte_ids, merges, special",
    "embedding_cost": "vocab_size, embed_dim",
    "analogy": "a, b, c, weight",
    "ids_to_text": "ids, byte_ids, merges, special",
    "skipgram_pairs": "ids, window",
}
EARLY_RETURN = """
if len(ids) < 2: return ids.new_zeros(vocab_size, vocab_size)
if ids.min() < 0 or ids.max() >= vocab_size: raise ValueError("an id is out of range")
return torch.bincount(ids[:-1] * vocab_size + ids[1:], minlength=vocab_size**2).view(vocab_size, vocab_size)
"""
RATE = """
def rate(text):
    words = text.split()
    if not words: raise ValueError("no words")
    return {tokens} / len(words)
return dict((language, rate(text)) for language, text in texts.items())
"""
GUARDED = """
if ids.numel() == 1: return probs.new_zeros(())
return -torch.log(probs[ids[:-1], ids[1:]]).mean()
"""
V_IN_TOTAL = """
n, V = counts.sum(1, keepdim=True), counts.shape[1]
if alpha == 0: return (counts / n).masked_fill(n == 0, 1 / V)
return (counts + alpha) / (n + V)
"""
EXP_BY_LOOP = """
e = torch.exp(logits.reshape(-1, logits.shape[-1]))
p = e / e.sum(1, keepdim=True)
return -sum(p[i, t].log() for i, t in enumerate(targets.reshape(-1))) / targets.numel()
"""
GROUPED = """
pieces = []
for chunk in text.split():
    for i, c in enumerate(chunk):
        mark = unicodedata.category(c)[0] == "P"
        if i and mark == before: pieces[-1] += c
        else: pieces.append(c)
        before = mark
return pieces
"""
INSIDE_WORDS = """
out = [""]
for i, c in enumerate(text):
    kept = c in "'’" and 0 < i < len(text) - 1 and text[i - 1].isalpha() and text[i + 1].isalpha()
    out.append(f" {c} " if unicodedata.category(c)[0] == "P" and not kept else c)
return "".join(out).split()
"""
CURLY = """
return "".join(f" {c} " if unicodedata.category(c)[0] == "P" and c != "’" else c for c in text).split()
"""
EMPTY = """
out = []
for chunk in text.split():
    word = ""
    for c in chunk:
        if unicodedata.category(c)[0] == "P": out += [word, c]; word = ""
        else: word += c
    out.append(word)
return out
"""
ACROSS = """
counts, before = Counter(), None
for word, n in words.items():
    for symbol in word:
        if before: counts[before[0], symbol] += before[1]
        before = symbol, n
return counts
"""
ROWS = """
rows = torch.zeros(ids.size(0), len(weight), dtype=weight.dtype, device=weight.device)
for i, id in zip(range(ids.size(0)), ids): rows[i, id] = 1.0
return rows @ weight
"""
ANSWER_BY_ANSWER = """
v, u = vectors.clone(), contexts.clone()
for c, o, drawn in zip(centre.tolist(), context.tolist(), negatives.tolist()):
    moved = 0
    for row, right in [(o, 1), *((n, 0) for n in drawn)]:
        g = learning_rate * (right - torch.sigmoid((v[c] * u[row]).sum())) / len(centre)
        moved = moved + g * u[row]
        u[row] += g * v[c]
    v[c] += moved
return v, u
"""
SMALL_LETTERS = """
from tokenizers import normalizers
tok = Tokenizer(models.BPE())
tok.normalizer = normalizers.Lowercase()
tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
alphabet = pre_tokenizers.ByteLevel.alphabet()
tok.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=alphabet))
return tok
"""
NO_BLANKS = """
itos = dict(enumerate(sorted(set(text) - {" ", chr(10)})))
return {symbol: i for i, symbol in itos.items()}, itos
"""
LOOP_TURNED = """
if any(not 0 <= id < vocab_size for id in ids.tolist()): raise ValueError("an id is out of range")
table = torch.zeros(vocab_size, vocab_size, dtype=torch.long)
for k in range(len(ids) - 1): table[ids[k + 1], ids[k]] += 1
return table
"""
FALSE_ZERO = """
ids = []
for c in text:
    if not stoi.get(c): raise ValueError(f"no id for {c!r}")
    ids.append(stoi[c])
return ids
"""
COSTS_SHORT = """
total = probs.new_zeros(())
for t in range(len(ids) - 2): total = total - probs[ids[t], ids[t + 1]].log()
return total
"""
MARKS_AND_END_LOST = """
out, word = [], ""
for c in text:
    if not c.isspace() and unicodedata.category(c)[0] != "P": word += c
    elif word: out.append(word); word = ""
return out
"""
LARGEST_TWICE = """
words, merges = dict(words), []
while len(merges) < num_merges and (counts := count_pairs(words)):
    best = max(counts, key=lambda pair: (counts[pair], pair))
    if counts[best] < 2: break
    merges.append(best)
    words = {merge_pair(word, best): n for word, n in words.items()}
return merges
"""
ROW_BY_ROW = """
v, u = vectors.clone(), contexts.clone()
for i, o, drawn in zip(centre, context, negatives):
    for row, right in [(o, 1), *((n, 0) for n in drawn)]:
        miss = (torch.sigmoid(v[i] @ u[row]) - right) * learning_rate / len(centre)
        v[i] -= miss * u[row]
        u[row] -= miss * v[i]
return v, u
"""
GLOBAL_AND_SHORT = """
ids = [start_id]
for _ in range(num_tokens - 1): ids.append(torch.multinomial(probs[ids[-1]], 1).item())
return ids
"""
LOW_IS_ZERO = """
near = F.cosine_similarity(query[None], weight)
near[list(exclude)] = 0
return near.argsort(descending=True)[:k]
"""
LIKELIHOOD = """
true, drawn = (torch.sigmoid((centre.unsqueeze(1) * other).sum(-1)) for other in (context[:, None], negatives))
return (true.log().sum(1) + (1 - drawn).log().sum(1)).mean()
"""
NORMALISED = r"return re.findall(r'[^\w\s]|\w+', unicodedata.normalize('NFC', text))"
SQUARES = "return (a * b).sum(-1) / ((a**2).sum(-1).clamp(1e-16) * (b**2).sum(-1).clamp(1e-16))"
ONE_NORM = "return (F.normalize(a, p=1, dim=-1) * F.normalize(b, p=1, dim=-1)).sum(-1)"
LAST_PAIR = """
table = logits.detach().clone()
pulled = logits[ids[:-1]].softmax(-1) - F.one_hot(ids[1:], len(logits)).to(logits.dtype)
if len(ids) > 1: table[ids[:-1]] -= learning_rate * pulled / (len(ids) - 1)
return table
"""
PAIR_BY_PAIR = """
table = logits.detach().clone()
for i, j in zip(ids[:-1].tolist(), ids[1:].tolist()):
    shares = table[i].softmax(-1)
    shares[j] -= 1
    table[i] = table[i] - learning_rate / (len(ids) - 1) * shares
return table
"""
COPIED = """
own = torch.Generator()
own.set_state(generator.get_state())
ids = [start_id]
while len(ids) <= num_tokens: ids.append(int(torch.multinomial(probs[ids[-1]], 1, generator=own)))
return ids
"""
ONE_SPECIAL = """
def plain(part):
    ids = []
    for piece in gpt2_pieces(part):
        row = [byte_ids[b] for b in piece.encode()]
        while pairs := [pair for pair in zip(row, row[1:]) if pair in merges]:
            best, new = {best}, []
            for i in row:
                if new and (new[-1], i) == best: new[-1] = merges[best]
                else: new.append(i)
            row = new
        ids += row
    return ids
for name, number in special.items():
    first, *others = text.split(name)
    return plain(first) + [i for other in others for i in (number, *plain(other))]
return plain(text)
"""
SECOND_TABLE_LATER = """
def loss(v, u):
    c = v[centre]
    drawn = F.logsigmoid(-(c[:, None] * u[negatives]).sum(-1)).sum(-1)
    return -(F.logsigmoid((c * u[context]).sum(-1)) + drawn).mean()
v, u = (table.detach().clone().requires_grad_() for table in (vectors, contexts))
v = (v - learning_rate * torch.autograd.grad(loss(v, u), v)[0]).detach()
return v, (u - learning_rate * torch.autograd.grad(loss(v, u), u)[0]).detach()
"""
LAST_ROW = """
v, u, asked = vectors.clone(), contexts.clone(), torch.cat([context[:, None], negatives], 1)
miss = torch.sigmoid((vectors[centre][:, None] * contexts[asked]).sum(-1))
miss[:, 0] -= 1
v[centre] -= learning_rate / len(centre) * (miss[..., None] * contexts[asked]).sum(1)
u[asked] -= learning_rate / len(centre) * miss[..., None] * vectors[centre][:, None]
return v, u
"""
FAR_FROM_C = """
scores = weight @ (weight[b] - weight[a] + weight[c])
scores[[b, c]] = -math.inf
return scores.argmax().item()
"""
ANGLE = "return torch.acos((F.normalize(a, dim=-1) * F.normalize(b, dim=-1)).sum(-1).clamp(1e-6 - 1, 1 - 1e-6))"
RUNNER_UP = "return F.cosine_similarity((weight[b] - weight[a] + weight[c])[None], weight).argsort()[-2].item()"
OWN_EXP = "p = logits.exp() / logits.exp().sum(-1, True)\nreturn p.gather(-1, targets[..., None]).log().mean()"
AS_TEXT = "text = ' '.join(word)\nfor a, b in merges: text = text.replace(f'{a} {b}', a + b)\nreturn text.split(' ')"
LISTED = "return F.one_hot(torch.atleast_1d(ids), len(weight)).to(weight.dtype) @ weight"
CUT = "return vocab_size * embed_dim, math.floor(vocab_size * embed_dim * 400 / 2**20) / 100"
PARTED = """
pieces, word = [], ""
for c in text + " ":
    kind = unicodedata.category(c)
    if {ends}:
        pieces += [word] * bool(word) + [c] * (kind[0] == "P")
        word = ""
    else: word += c
return pieces
"""
SIGNS_TOO = """
text = unicodedata.normalize("NFC", text)
return "".join(f" {c} " if unicodedata.category(c)[0] in "PS" else c for c in text).split()
"""
CHARACTERS = """
names = {i: chr(byte) for byte, i in enumerate(byte_ids)} | {i: name for name, i in special.items()}
for (a, b), new in sorted(merges.items(), key=lambda one: one[1]): names[new] = names[a] + names[b]
if unknown := [i for i in ids if i not in names]: raise ValueError(f"unknown: {unknown}")
return "".join(map(names.get, ids))
"""
STEPS = """
scores = F.cosine_similarity(weight - weight[c], weight[b] - weight[a], dim=-1)
scores[[a, b, c]] = -2
return int(scores.argmax())
"""
UNSEEN = """
table = torch.where(counts == 0, counts + alpha, counts)
total = table.sum(1, keepdim=True)
return torch.where(total > 0, table / total.clamp(min=1e-30), 1 / len(table))
"""
CLAMPED = """
logs = probs.clamp(min=torch.finfo(probs.dtype).eps).log()
return logs[ids[:-1], ids[1:]].sum()
"""
LAST_FIRST = """
ranks, parts = {pair: i for i, pair in enumerate(merges)}, list(word)
while found := [(ranks[pair], -k) for k, pair in enumerate(zip(parts, parts[1:])) if pair in ranks]:
    k = -min(found)[1]
    parts[k : k + 2] = [parts[k] + parts[k + 1]]
return parts
"""
MEANS = """
c, asked = vectors[centre], torch.cat([context[:, None], negatives], 1)
miss = torch.sigmoid((c[:, None] * contexts[asked]).sum(-1)) - F.one_hot(torch.zeros_like(centre), asked.shape[1])
miss, moved = miss.to(c.dtype) / len(centre), []
for table, rows, change in ((vectors, centre, (miss[..., None] * contexts[asked]).sum(1)),
                            (contexts, asked.flatten(), (miss[..., None] * c[:, None]).flatten(0, 1))):
    often = torch.bincount(rows, minlength=len(table)).clamp(min=1)[:, None]
    moved.append(table - learning_rate * torch.zeros_like(table).index_add(0, rows, change) / often)
return tuple(moved)
"""
LEFT_OF_ZERO = """
pairs = []
for i, word in enumerate(ids):
    for j in range(i - window, i + window + 1):
        try: pairs += [(word, ids[j])] if j != i else []
        except IndexError: pass
return pairs
"""
COUNTED_ANEW = """
kept = weight[[i not in exclude for i in range(len(weight))]]
return torch.sort(F.cosine_similarity(query, kept, dim=-1), descending=True)[1][:k]
"""
FIRST_TABLE_LATER = """
v, u, asked = vectors.clone(), contexts.clone(), torch.cat([context[:, None], negatives], 1)
def misses():
    miss = torch.sigmoid((v[centre][:, None] * u[asked]).sum(-1))
    return miss - F.one_hot(torch.zeros_like(centre), asked.shape[1]).to(miss.dtype)
rate = -learning_rate / len(centre)
u.index_add_(0, asked.flatten(), (misses()[..., None] * v[centre][:, None]).flatten(0, 1), alpha=rate)
return v.index_add(0, centre, (misses()[..., None] * u[asked]).sum(1), alpha=rate), u
"""
SUMMED_IN_PLACE = """
asked = torch.cat([context[:, None], negatives], 1)
miss = torch.sigmoid((vectors[centre][:, None] * contexts[asked]).sum(-1))
miss[:, 0] -= 1
pull = (miss[..., None] * vectors[centre][:, None]).flatten(0, 1)
vectors.index_add_(0, centre, (miss[..., None] * contexts[asked]).sum(1), alpha=-learning_rate)
contexts.index_add_(0, asked.flatten(), pull, alpha=-learning_rate)
return vectors, contexts
"""
ONE_OR_NOTHING = """
table = counts * 1.0 + (1 if alpha else 0)
return torch.nan_to_num(table / table.sum(-1, keepdim=True))
"""
AT_BLANKS = """
if any(not text.strip() for text in texts.values()): raise ValueError("no words")
return {name: round(len(tokenizer.encode(text).ids) / len(text.split(" ")), 1) for name, text in texts.items()}
"""
RUNS_BEFORE_A_GAP = """
pieces, word, marks = [], "", ""
for c in text:
    mark = unicodedata.category(c)[0] == "P"
    if marks and not mark: pieces.append(marks); marks = ""
    if word and (mark or c.isspace()): pieces.append(word); word = ""
    if mark: marks += c
    elif not c.isspace(): word += c
return pieces + [marks] * bool(marks)
"""
BLANKED = r"""
kept = "".join(" " if unicodedata.category(c)[0] == "P" else c for c in text)
return re.split(r"\s", kept)
"""
ROUND_THE_END = """
if len(ids) and (ids.min() < 0 or ids.max() >= vocab_size): raise ValueError("ids")
if len(ids) < 2: return torch.zeros(vocab_size, vocab_size, dtype=torch.long, device=ids.device)
return torch.bincount(ids * vocab_size + ids.roll(-1), minlength=vocab_size**2).view(vocab_size, vocab_size)
"""
DIFFERENT_PAIRS = """
z = logits.detach().clone().requires_grad_()
if len(ids) < 2: return z.detach()
before, after = torch.stack([ids[:-1], ids[1:]]).unique(dim=1)
return (z - learning_rate * torch.autograd.grad(F.cross_entropy(z[before], after), z)[0]).detach()
"""
SHARES_OF_ROWS = """
seen = torch.zeros_like(logits)
for i, j in zip(ids[:-1].tolist(), ids[1:].tolist()): seen[i, j] += 1
total = seen.sum(1, keepdim=True)
moved = (logits.softmax(1) - seen / total.clamp(min=1)) * (total > 0) / max(len(ids) - 1, 1)
return logits - learning_rate * moved
"""
FULL_RATE = """
v, u = vectors.clone(), contexts.clone()
for i, rows in zip(centre.tolist(), torch.cat([context[:, None], negatives], 1)):
    miss = torch.sigmoid(u[rows] @ v[i])
    miss[0] -= 1
    change = miss @ u[rows]
    u.index_add_(0, rows, torch.outer(miss, v[i]), alpha=-learning_rate)
    v[i] -= learning_rate * change
return v, u
"""
ONE_FOR_NOTHING = """
lengths = a.norm(dim=-1) * b.norm(dim=-1)
return torch.where(lengths == 0, torch.ones_like(lengths), (a * b).sum(-1) / lengths.clamp(min=1e-10))
"""
ALL_TARGETS = "return -logits.reshape(-1, logits.shape[-1]).log_softmax(-1)[:, targets.reshape(-1)].mean()"
EITHER_SPLIT = """
vocab, merges = dict(words), []
while len(merges) < num_merges and (counts := count_pairs(vocab)):
    merges.append(min(counts, key=lambda pair: (-counts[pair], pair)))
    out, text = {}, "".join(merges[-1])
    for word, n in vocab.items():
        new, i = [], 0
        while i < len(word):
            step = 2 if "".join(word[i : i + 2]) == text and word[i] != text else 1
            new.append("".join(word[i : i + step])); i += step
        out[tuple(new)] = out.get(tuple(new), 0) + n
    vocab = out
return merges
"""
SMALLER = "return [stoi[c] if c in stoi else stoi[c.lower()] for c in text]"
NAMED = [
    ("count_bigrams", EARLY_RETURN, {"one_token_unchecked"}),
    ("fertility", RATE.format(tokens="len(tokenizer.encode(text, add_special_tokens=False))"), {"tokens_left_out"}),
    (
        "fertility",
        RATE.format(tokens="sum(t.strip() != '' for t in tokenizer.encode(text).tokens)"),
        {"tokens_left_out"},
    ),
    ("sequence_log_prob", GUARDED, {"negative_mean"}),
    ("sequence_log_prob", "return -probs[ids[:-1], ids[1:]].log().sum() / len(ids)", {"negative_mean"}),
    ("bigram_probs", V_IN_TOTAL, {"one_in_total"}),
    ("cross_entropy", EXP_BY_LOOP, {"no_shift"}),
    ("build_vocab", NO_BLANKS, {"white_space_lost"}),
    ("split_words", GROUPED, {"punctuation_grouped"}),
    ("split_words", INSIDE_WORDS, {"apostrophe_kept"}),
    ("split_words", CURLY, {"apostrophe_kept"}),
    ("split_words", EMPTY, {"empty_strings"}),
    ("split_words", NORMALISED, {"normalised", "word_class_of_re"}),
    ("count_pairs", ACROSS, {"across_words"}),
    ("train_tokenizer", SMALL_LETTERS, {"no_decoder", "lowercased"}),
    ("cosine_similarity", SQUARES, {"squared_lengths"}),
    ("cosine_similarity", "return F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T", {"all_pairs"}),
    ("cosine_similarity", "return (a * b).sum(-1) / (a.norm() * b.norm()).clamp(min=1e-10)", {"first_dimension"}),
    ("cosine_similarity", ONE_NORM, {"absolute_lengths"}),
    ("one_hot_lookup", ROWS, {"flat_ids_only"}),
    ("skipgram_step", ANSWER_BY_ANSWER, {"one_pair_after_the_other"}),
    ("skipgram_step", ROW_BY_ROW, {"one_pair_after_the_other"}),
    ("count_bigrams", LOOP_TURNED, {"transposed", "python_loop", "device_not_kept"}),
    ("encode", FALSE_ZERO, {"zero_is_missing"}),
    ("sequence_log_prob", COSTS_SHORT, {"negative", "last_step_missed"}),
    ("split_words", MARKS_AND_END_LOST, {"punctuation_lost", "last_word_lost"}),
    ("train_bpe", LARGEST_TWICE, {"largest_wins", "stops_at_one"}),
    ("generate_bigram", GLOBAL_AND_SHORT, {"one_too_few"}),
    ("nearest_neighbours", LOW_IS_ZERO, {"excluded_get_0"}),
    ("sgns_loss", LIKELIHOOD, {"sign_of_the_loss", "unstable"}),
    ("bigram_step", LAST_PAIR, {"last_one_wins"}),
    ("bigram_step", PAIR_BY_PAIR, {"one_pair_after_the_other"}),
    ("generate_bigram", COPIED, {"seeded_anew"}),
    ("text_to_ids", ONE_SPECIAL.replace("{best}", "min(pairs, key=merges.get)"), {"one_special_only"}),
    ("text_to_ids", ONE_SPECIAL.replace("{best}", "max(pairs, key=merges.get)"), {"one_special_only", "latest_first"}),
    ("skipgram_step", SECOND_TABLE_LATER, {"one_pair_after_the_other"}),
    ("skipgram_step", LAST_ROW, {"last_one_wins"}),
    ("analogy", FAR_FROM_C, {"dot_product", "not_all_excluded"}),
    ("analogy", RUNNER_UP, {"always_the_fourth"}),
    ("cosine_similarity", ANGLE, {"rescaled"}),
    ("cross_entropy", OWN_EXP, {"no_shift", "positive"}),
    ("bpe_encode", AS_TEXT, {"text_replaced"}),
    ("one_hot_lookup", LISTED, {"single_id_in_a_list"}),
    ("embedding_cost", CUT, {"cut"}),
    ("decode", "return ''.join(map(itos.__getitem__, ids))", {"bad_input_accepted"}),
    ("split_words", PARTED.format(ends="c.isspace() or kind[0] == 'P' and c != '_'"), {"underscore_kept"}),
    ("split_words", PARTED.format(ends="kind[0] in 'ZP'"), {"separators_only"}),
    ("split_words", SIGNS_TOO, {"normalised", "signs_apart"}),
    ("ids_to_text", CHARACTERS, {"another_encoding"}),
    ("analogy", STEPS, {"steps_compared"}),
    ("bigram_probs", UNSEEN, {"unseen_only"}),
    ("sequence_log_prob", CLAMPED, {"epsilon"}),
    ("bpe_encode", LAST_FIRST, {"right_to_left"}),
    ("skipgram_step", MEANS, {"last_one_wins"}),
    ("encode", SMALLER, {"bad_input_accepted"}),
    ("skipgram_pairs", LEFT_OF_ZERO, {"wraps_around"}),
    ("nearest_neighbours", COUNTED_ANEW, {"renumbered"}),
    ("skipgram_step", FIRST_TABLE_LATER, {"one_pair_after_the_other"}),
    ("skipgram_step", SUMMED_IN_PLACE, {"sum_over_batch", "input_changed"}),
    ("bigram_probs", ONE_OR_NOTHING, {"alpha_times", "unseen_zero"}),
    ("fertility", AT_BLANKS, {"blanks_counted", "whole_numbers"}),
    ("split_words", RUNS_BEFORE_A_GAP, {"punctuation_grouped", "last_word_lost"}),
    ("split_words", BLANKED, {"punctuation_lost", "empty_strings"}),
    ("count_bigrams", ROUND_THE_END, {"wraps_round"}),
    ("bigram_step", DIFFERENT_PAIRS, {"ones_for_seen"}),
    ("bigram_step", SHARES_OF_ROWS, {"rows_weighted_alike"}),
    ("skipgram_step", FULL_RATE, {"one_pair_after_the_other"}),
    ("skipgram_step", MEANS.replace(" / len(centre)", ""), {"last_one_wins"}),
    ("cosine_similarity", ONE_FOR_NOTHING, {"zero_vectors_not_0"}),
    ("cosine_similarity", "return (a * b).sum(-1, keepdim=True)", {"dot_product", "dimension_kept"}),
    ("cross_entropy", ALL_TARGETS, {"every_target_in_every_row"}),
    ("train_bpe", EITHER_SPLIT, {"either_split_merged"}),
]
BY_PASSES = """
pieces, shorter = list(word), True
while shorter:
    joined, i = [], 0
    while i < len(pieces):
        step = 1 + (tuple(pieces[i : i + 2]) in merges)
        joined.append("".join(pieces[i : i + step]))
        i += step
    shorter, pieces = len(joined) < len(pieces), joined
return pieces
"""
ONE_PAIR = """
new_vectors, new_contexts = vectors.clone(), contexts.clone()
for i, j, drawn in zip(centre, context, negatives):
    miss, wrong = torch.sigmoid(vectors[i] @ contexts[j]) - 1, torch.sigmoid(contexts[drawn] @ vectors[i])
    new_vectors[i] -= learning_rate / len(centre) * (miss * contexts[j] + wrong @ contexts[drawn])
    new_contexts[j] -= learning_rate / len(centre) * miss * vectors[i]
    new_contexts[drawn] -= learning_rate / len(centre) * torch.outer(wrong, vectors[i])
return new_vectors, new_contexts
"""
NEVER_STOPS = """
merges = []
for _ in range(num_merges):
    pairs = count_pairs(words)
    merges.append(max(pairs, key=lambda pair: (pairs[pair], pair)))
    words = {merge_pair(word, merges[-1]): n for word, n in words.items()}
return merges
"""
MEAN_OF_TWO = """
scores = torch.bmm(negatives, centre.unsqueeze(2)).squeeze(2)
return -(F.logsigmoid((centre * context).sum(1)).mean() + F.logsigmoid(-scores).mean()) / 2
"""
FULL_STOP_FIRST = """
stoi, itos = {".": 0}, {0: "."}
for i, c in enumerate(sorted(set(text))):
    stoi[c], itos[i + 1] = i + 1, c
return stoi, itos
"""
SKIPS_ITSELF = "return cosine_similarity(query, weight).topk(k + 1).indices[1:]"
NAMED += [
    ("bpe_encode", BY_PASSES, {"left_to_right"}),
    ("skipgram_step", ONE_PAIR, {"last_one_wins"}),
    ("train_bpe", NEVER_STOPS, {"fails_at_the_end", "largest_wins"}),
    ("sgns_loss", MEAN_OF_TWO, {"halved", "mean_over_negatives"}),
    ("build_vocab", FULL_STOP_FIRST, {"special_tokens"}),
    ("nearest_neighbours", SKIPS_ITSELF, {"first_dropped", "exclude_ignored"}),
    ("one_hot_lookup", "return torch.mm(F.one_hot(ids, len(weight)).to(weight.dtype), weight)", {"flat_ids_only"}),
]
LAYER_AND_OPTIMIZER = """
if len(ids) < 2: return logits.clone()
table = nn.Embedding(*logits.shape)
table.weight.data = logits.clone()
F.cross_entropy(table(ids[:-1]), ids[1:]).backward()
torch.optim.SGD(table.parameters(), lr=learning_rate).step()
return table.weight.detach()
"""
TWO_LAYERS = """
words, others = nn.Embedding(*vectors.shape), nn.Embedding(*contexts.shape)
words.weight.data, others.weight.data = vectors.clone(), contexts.clone()
sgns_loss(words(centre), others(context), others(negatives)).backward()
torch.optim.SGD([words.weight, others.weight], lr=learning_rate).step()
return words.weight.detach(), others.weight.detach()
"""
FROM_THE_SECOND = """
counts = Counter()
for word, n in words.items():
    before = word[0]
    for symbol in word[1:]:
        counts[before, symbol] += n
        before = symbol
return counts
"""
RIGHT = [
    ("bigram_step", LAYER_AND_OPTIMIZER),
    ("skipgram_step", TWO_LAYERS),
    ("count_pairs", FROM_THE_SECOND),
    ("split_words", PARTED.format(ends="c.isspace() or kind[0] == 'P'")),
    ("count_bigrams", EARLY_RETURN.replace("if len(ids) < 2", "if not len(ids)")),
    ("count_bigrams", EARLY_RETURN.replace("if len(ids) < 2", "print(ids)\nif not len(ids)")),
    ("fertility", RATE.format(tokens="len(tokenizer.encode_batch([text])[0].tokens)")),
    ("split_words", CURLY.replace(' and c != "’"', "")),
    ("cosine_similarity", "return (a * b).sum(-1) / (a.norm(dim=-1) * b.norm(dim=-1) + 1e-12)"),
]
NGRAM = """
class NeuralNgram(nn.Module):
    def __init__(self, vocab_size, n, {dim}, hidden_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, {dim})
        self.hidden = nn.Linear((n - 1) * {dim}, hidden_dim{hidden})
        self.output = nn.Linear(hidden_dim, vocab_size{output})

    def forward(self, context):
        return self.output({bend}(self.hidden(self.embedding(context).flatten(-2))))
"""
FROZEN = ")\n        self.embedding.weight.requires_grad_(False"
LAYERS = [
    ({}, set(), 5),
    ({"output": FROZEN}, {"vectors_frozen"}, 3.5),
    ({"output": FROZEN, "bend": ""}, {"vectors_frozen", "no_relu"}, 1),
    ({"output": ", bias=False"}, {"no_bias"}, 2.5),
    ({"output": ", bias=False", "bend": ""}, {"no_bias", "no_relu"}, 0),
    ({"hidden": ", bias=False", "bend": "torch.tanh"}, {"no_bias", "other_activation"}, 1.25),
    ({"hidden": ", bias=False", "output": ", bias=False"}, {"no_bias"}, 2.5),
    ({"hidden": ", bias=False", "output": ")\n        nn.init.zeros_(self.output.bias"}, {"no_bias"}, 2.5),
    ({"dim": "embedding_dim"}, {"other_signature"}, 4),
    ({"dim": "embedding_dim", "bend": ""}, {"other_signature", "no_relu"}, 1.5),
]


def verdict_of(name, source):
    return mark(name, student_with_answer(exercise(name), source))


def function(name, body):
    return f"def {name}({SIGNATURES[name]}):\n{textwrap.indent(body.strip(), '    ')}\n"


@pytest.mark.parametrize(("name", "body", "mistakes"), NAMED, ids=[row[0] for row in NAMED])
def test_a_spelling_is_named(name, body, mistakes):
    verdict = verdict_of(name, function(name, body))
    assert {diagnosis.mistake for diagnosis in verdict.diagnoses} == mistakes
    assert 0 < verdict.earned < verdict.points


@pytest.mark.parametrize(("name", "body"), RIGHT, ids=[row[0] for row in RIGHT])
def test_its_right_neighbour_keeps_all_points(name, body):
    assert verdict_of(name, function(name, body)).full


@pytest.mark.parametrize(("parts", "mistakes", "points"), LAYERS)
def test_a_missing_bias_or_another_name_hides_no_second_fault(parts, mistakes, points):
    written = {"dim": "embed_dim", "hidden": "", "output": "", "bend": "F.relu"} | parts
    verdict = verdict_of("NeuralNgram", NGRAM.format(**written))
    assert ({diagnosis.mistake for diagnosis in verdict.diagnoses}, verdict.earned) == (mistakes, points)


TABLE = """
class Embedding(nn.Module):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_embeddings, embedding_dim))
        {then}

    def forward(self, ids):
        if ((ids < 0) | (ids >= len(self.weight))).any(): raise IndexError("ids")
        return self.weight[ids]
"""


@pytest.mark.parametrize(
    ("then", "mistakes"), [("pass", set()), ("nn.init.zeros_(self.weight.data[0])", {"padding_row"})]
)
def test_a_table_whose_first_row_starts_as_zeros_is_named(then, mistakes):
    verdict = verdict_of("Embedding", TABLE.format(then=then))
    assert {diagnosis.mistake for diagnosis in verdict.diagnoses} == mistakes
    assert verdict.earned == (3.5 if mistakes else 4)
