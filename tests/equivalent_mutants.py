"""Mutants of the references that keep full marks, with the reason why each deserves them.

A description is the original line and, after the arrow, the mutated one. `test_mutants.py` keeps the list true: any
other mutant with full marks is a gap in the checks, and a listed mutant that loses marks must be removed here.
"""

from __future__ import annotations

LAST = "There are two dimensions: dimension 1 is the last."
EITHER_WAY = "Two dimensions change places, in whichever order they are named."
MAX_MIN = "max and min take their arguments in either order."
NUMBERS = "The result is plain numbers: keeping a graph costs memory only."
AS_LONG = "Both are equally long: nothing is cut off."
ASKED = "Both are equally long: that has been asked before."
ZIP = "zip(…, strict=True) raises the ValueError."
DECODE = "decode takes a tensor of one number for the number."
COLUMN = "A column plus a row: the mean over all pairs is the sum of the two means all the same."
SHORTER = "What is added are shorter tuples, which no n-gram of the hypothesis equals."
START = "How the table starts is free: it is learned."

EQUIVALENT: dict[str, dict[str, str]] = {
    "bigram_probs": {
        "unseen = (smoothed == 0).all(dim=-1, keepdim=True) => unseen = (smoothed == 0).all(dim=1, keepdim=True)": LAST,
        "smoothed = smoothed.masked_fill(unseen, 1) => smoothed = smoothed.masked_fill(unseen, 2)": "A row of equal counts is uniform, whatever the count.",
        "return smoothed / smoothed.sum(dim=-1, keepdim=True) => return smoothed / smoothed.sum(dim=1, keepdim=True)": LAST,
    },
    "bigram_step": {
        "gradient = (expected - seen) / max(1, len(before)) => gradient = (expected - seen) / max(len(before), 1)": MAX_MIN,
    },
    "train_bpe": {
        "spellings, frequencies = (list(words), list(words.values())) => spellings, frequencies = (list(words), tuple(words.values()))": "The frequencies are only read.",
    },
    "train_tokenizer": {
        "trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False) => trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())": "A progress bar changes nothing that is returned.",
        "trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False) => trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=True)": "A progress bar changes nothing that is returned.",
    },
    "Embedding": {
        "if ((ids < 0) | (ids >= V)).any(): => if ((ids < 0) | (ids > V)).any():": "For an id of V, the indexing below raises the IndexError itself.",
    },
    "cosine_similarity": {
        "a_norm = a.norm(dim=-1).clamp(min=1e-08) => a_norm = a.norm(dim=-1).clamp(min=1.1000000000000001e-08)": "Any bound this small will do: a vector of zeros gives 0.",
        "b_norm = b.norm(dim=-1).clamp(min=1e-08) => b_norm = b.norm(dim=-1).clamp(min=1.1000000000000001e-08)": "Any bound this small will do: a vector of zeros gives 0.",
    },
    "nearest_neighbours": {
        "similarity = cosine_similarity(query, weight) => similarity = cosine_similarity(weight, query)": "The cosine is symmetric, and broadcasts either way.",
    },
    "skipgram_pairs": {
        "first = max(0, i - window) => first = max(i - window, 0)": MAX_MIN,
        "last = min(len(ids) - 1, i + window) => last = min(i + window, len(ids) - 1)": MAX_MIN,
    },
    "sgns_loss": {
        "positive = (centre * context).sum(dim=-1) => positive = (centre * context).sum(dim=1)": LAST,
        "loss = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=-1) => loss = -F.logsigmoid(positive) - F.logsigmoid(-negative).sum(dim=1)": LAST,
    },
    "skipgram_step": {
        "true, drawn = ((c * o).sum(dim=-1), (n * c[:, None, :]).sum(dim=-1)) => true, drawn = ((c * o).sum(dim=1), (n * c[:, None, :]).sum(dim=-1))": LAST,
    },
    "analogy": {
        "return nearest_neighbours(target, weight, k=1, exclude=(a, b, c)).item() => return nearest_neighbours(weight, target, k=1, exclude=(a, b, c)).item()": "The cosine is symmetric and broadcasts, so the query and the table may change places.",
    },
    "LearnedPositionalEmbedding": {
        "self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) => self.table = nn.Parameter(0.02 / torch.randn(max_len, embed_dim))": START,
        "self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) => self.table = nn.Parameter(0.022000000000000002 * torch.randn(max_len, embed_dim))": START,
        "self.table = nn.Parameter(0.02 * torch.randn(max_len, embed_dim)) => self.table = nn.Parameter(0.02 * torch.rand(max_len, embed_dim))": START,
    },
    "sinusoidal_encoding": {
        "table[:, 0::2] = angles.sin() => table[:, 0:-1:2] = angles.sin()": "d_model is even: the last column is odd anyway.",
    },
    "apply_rope": {
        "rates = base ** (-torch.arange(0, d_k, 2, dtype=x.dtype, device=x.device) / d_k) => rates = base ** (-torch.arange(0, d_k, 2, device=x.device) / d_k)": "Rates in float32 are precise enough by decision, for x in float64 too (a right answer in the room has them).",
        "u, v = (x[..., 0::2], x[..., 1::2]) => u, v = (x[..., 0:-1:2], x[..., 1::2])": "d_k is even: the last feature is odd anyway.",
    },
    "simple_attention": {
        "scores = x @ x.transpose(-2, -1) => scores = x @ x.transpose(-1, -2)": EITHER_WAY,
    },
    "scaled_dot_product_attention": {
        "scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) => scores = Q @ K.transpose(-1, -2) / math.sqrt(d_k)": EITHER_WAY,
    },
    "masked_softmax": {
        "empty = mask.all(dim=-1, keepdim=True) => empty = mask.all(keepdim=True)": "A blocked row becomes NaN on the way, but masked_fill replaces every entry of it, and its gradient by 0.",
        "scores = scores.masked_fill(empty, 0.0) => pass": "A blocked row becomes NaN on the way, but masked_fill replaces every entry of it, and its gradient by 0.",
        "scores = scores.masked_fill(empty, 0.0) => scores = scores": "A blocked row becomes NaN on the way, but masked_fill replaces every entry of it, and its gradient by 0.",
        "scores = scores.masked_fill(empty, 0.0) => scores = scores.masked_fill(empty, 1.0)": "Any finite number will do: a blocked row is uniform on the way, and filled with 0 at the end.",
    },
    "sees_the_future": {
        "generator = torch.Generator().manual_seed(0) => generator = torch.Generator()": "Any seed will do; a generator has a fixed one from the start.",
        "generator = torch.Generator().manual_seed(0) => generator = torch.Generator().manual_seed(1)": "Any seed will do.",
        "generator = torch.Generator().manual_seed(0) => generator = torch.Generator().manual_seed(2)": "Any seed will do.",
        "for scale in (1.0, 10.0, 1.0, 10.0): => for scale in (1.0, 10.0, 1.0, 11.0):": "Any size near these will do.",
        "for scale in (1.0, 10.0, 1.0, 10.0): => for scale in (1.0, 10.0, 1.1, 10.0):": "Any size near these will do.",
        "for scale in (1.0, 10.0, 1.0, 10.0): => for scale in (1.0, 11.0, 1.0, 10.0):": "Any size near these will do.",
        "for scale in (1.0, 10.0, 1.0, 10.0): => for scale in (1.1, 10.0, 1.0, 10.0):": "Any size near these will do.",
        "x = torch.randn(1, T, C, generator=generator) * scale => x = torch.randn(1, T, C, generator=generator) / scale": "Of the two tokens, the old and the new one, one of size 10 is enough.",
        "x = torch.randn(1, T, C, generator=generator) * scale => x = torch.rand(1, T, C, generator=generator) * scale": "Any distribution without repetitions will do.",
        "before = attend(x.clone()).detach().clone() => before = attend(x.clone()).detach()": "The function got a copy, and nobody writes into that again: no view of it can change.",
        "before = attend(x.clone()).detach().clone() => before = attend(x.clone()).clone()": "Comparing takes no gradients: detaching saves memory only.",
        "for t in range(1, T): => for t in range(0, T):": "Before position 0 there is nothing to compare.",
        "changed[:, t] = torch.randn(C, generator=generator) * scale => changed[:, t] = torch.randn(C, generator=generator) / scale": "Of the two tokens, the old and the new one, one of size 10 is enough.",
        "changed[:, t] = torch.randn(C, generator=generator) * scale => changed[:, t] = torch.rand(C, generator=generator) * scale": "Any distribution without repetitions will do.",
        "after = attend(changed).detach() => after = attend(changed)": "Comparing takes no gradients: detaching saves memory only.",
        "if not torch.allclose(before[:, :t], after[:, :t], atol=1e-06): => if not torch.allclose(before[:, :t], after[:, :t]):": "Where nothing leaks, both runs do the same arithmetic: the tolerance is for rounding, and any small one will do.",
        "if not torch.allclose(before[:, :t], after[:, :t], atol=1e-06): => if not torch.allclose(after[:, :t], before[:, :t], atol=1e-06):": "The tolerance is for rounding: whichever of the two it is relative to.",
        "if not torch.allclose(before[:, :t], after[:, :t], atol=1e-06): => if not torch.allclose(before[:, :t], after[:, :t], atol=1.1e-06):": "Where nothing leaks, both runs do the same arithmetic: the tolerance is for rounding, and any small one will do.",
    },
    "split_heads": {
        "return x.transpose(1, 2) => return x.transpose(2, 1)": EITHER_WAY,
    },
    "merge_heads": {
        "x = x.transpose(1, 2) => x = x.transpose(2, 1)": EITHER_WAY,
    },
    "copy_from_torch": {
        "for layer, weight, bias in zip(layers, weights, biases, strict=True): => for layer, weight, bias in zip(layers, weights, biases):": AS_LONG,
        "for layer, weight, bias in zip(layers, weights, biases, strict=True): => for layer, weight, bias in zip(layers, weights, biases, strict=False):": AS_LONG,
    },
    "grouped_query_attention": {
        "scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) => scores = Q @ K.transpose(-1, -2) / math.sqrt(d_k)": EITHER_WAY,
        "scores = Q @ K.transpose(-2, -1) / math.sqrt(d_k) => scores = Q @ K.transpose(2, -1) / math.sqrt(d_k)": "There are four dimensions: dimension 2 is the last but one.",
    },
    "GPT": {
        "nn.init.normal_(parameter, std=0.02 / scale) => nn.init.normal_(parameter, std=0.022000000000000002 / scale)": "A random start is checked with room for other right ways to draw it; a tenth is within that.",
    },
    "cached_attention": {
        "q, k, v = (layer(x).unflatten(-1, (num_heads, -1)).transpose(1, 2) for layer in projections) => q, k, v = (layer(x).unflatten(-1, (num_heads, -1)).transpose(2, 1) for layer in projections)": EITHER_WAY,
        "return (attention.out_proj(heads.transpose(1, 2).flatten(2)), (k, v)) => return (attention.out_proj(heads.transpose(2, 1).flatten(2)), (k, v))": EITHER_WAY,
    },
    "get_batch": {
        "places = (starts[:, None] + offsets).to(data.device) => places = starts[:, None] + offsets": "Indices on the CPU may index data on any device.",
    },
    "next_token_distribution": {
        "if top_k is not None and top_k < V: => if top_k is not None and top_k <= V:": "The worst of all V logits is no bound: none is below it.",
        "kth = logits.topk(top_k, dim=-1).values[..., -1:] => kth = logits.topk(top_k).values[..., -1:]": "The last dimension is the default.",
        "probs, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True) => probs, order = torch.softmax(logits, dim=-1).sort(descending=True)": "The last dimension is the default.",
        "beyond = likelier >= top_p => beyond = likelier > top_p": "It differs only where a sum equals top_p to the last bit; the checks keep away from that (a right answer in the room has it).",
    },
    "generate": {
        "def generate(model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, generator=None): => def generate(model, ids, max_new_tokens, temperature=1.1, top_k=None, top_p=None, generator=None):": "Nearer to 1 than 6,000 draws can tell; every check but one names the temperature.",
    },
    "top_next_tokens": {
        "with torch.no_grad(): => …": NUMBERS,
        "probs = torch.softmax(logits[0, -1], dim=-1) => probs = torch.softmax(logits[0, -1], dim=-0)": "There is one dimension, so 0 is the last.",
        "return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist())]": AS_LONG,
        "return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode([i]), p) for i, p in zip(best.indices, best.values.tolist(), strict=True)]": DECODE,
        "return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)] => return [(tokenizer.decode([i]), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=False)]": AS_LONG,
    },
    "text_perplexity": {
        "with torch.no_grad(): => …": NUMBERS,
    },
    "attention_maps": {
        "with torch.no_grad(): => …": "The weights are the same; the contract lets real-valued results be differentiable.",
        "model.set_attn_implementation(implementation) => pass": "Eager attention gives the same results; a right answer in the room leaves it on.",
        "model.set_attn_implementation(implementation) => model": "Eager attention gives the same results; a right answer in the room leaves it on.",
        "return ([tokenizer.decode([i]) for i in ids[0].tolist()], weights) => return ([tokenizer.decode([i]) for i in ids[0]], weights)": DECODE,
    },
    "load_gpt2_weights": {
        "if len(theirs.h) != len(model.blocks): => if False:": ZIP,
        "raise ValueError(f'hf_model has {len(theirs.h)} layers, model has {len(model.blocks)}') => pass": ZIP,
        "for block, source in zip(model.blocks, theirs.h, strict=True): => for block, source in zip(model.blocks, theirs.h):": ASKED,
        "for block, source in zip(model.blocks, theirs.h, strict=True): => for block, source in zip(model.blocks, theirs.h, strict=False):": ASKED,
    },
    "label_smoothed_loss": {
        "log_probs = torch.log_softmax(logits[real], dim=-1) => log_probs = torch.log_softmax(logits[real], dim=1)": LAST,
        "right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1) => right = log_probs.gather(-1, targets[real][:, None])": COLUMN,
        "right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1) => right = log_probs.gather(1, targets[real][:, None]).squeeze(-1)": LAST,
        "right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1) => right = log_probs.gather(-1, targets[real][:, None]).squeeze(1)": LAST,
        "right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1) => right = log_probs.gather(-1, targets[real][:, None]).squeeze(-0)": COLUMN,
        "right = log_probs.gather(-1, targets[real][:, None]).squeeze(-1) => right = log_probs.gather(-1, targets[real][:, None]).squeeze(-2)": COLUMN,
        "evenly = log_probs.mean(dim=-1) => evenly = log_probs.mean()": "The mean of all rows' means is the mean of everything.",
        "evenly = log_probs.mean(dim=-1) => evenly = log_probs.mean(dim=1)": LAST,
    },
    "noam_rate": {
        "return d_model ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5)) => return d_model ** (-0.5) * min(step * warmup ** (-1.5), step ** (-0.5))": MAX_MIN,
    },
    "greedy_decode": {
        "@torch.no_grad() => …": NUMBERS,
        "next_ids = logits[:, -1].argmax(dim=-1) => next_ids = logits[:, -1].argmax(dim=1)": LAST,
    },
    "bleu": {
        "if len(hypotheses) != len(references): => if False:": ZIP,
        "raise ValueError(f'hypotheses and references must be equally many; got {len(hypotheses)} and {len(references)}') => pass": ZIP,
        "for hypothesis, reference in zip(hypotheses, references, strict=True): => for hypothesis, reference in zip(hypotheses, references):": ASKED,
        "for hypothesis, reference in zip(hypotheses, references, strict=True): => for hypothesis, reference in zip(hypotheses, references, strict=False):": ASKED,
        "theirs = Counter((tuple(reference[i:i + n]) for i in range(len(reference) - n + 1))) => theirs = Counter((tuple(reference[i:i + n]) for i in range(len(reference) - n + 1 + 1)))": SHORTER,
        "theirs = Counter((tuple(reference[i:i + n]) for i in range(len(reference) - n + 1))) => theirs = Counter((tuple(reference[i:i + n]) for i in range(len(reference) + n + 1)))": SHORTER,
        "theirs = Counter((tuple(reference[i:i + n]) for i in range(len(reference) - n + 1))) => theirs = Counter((tuple(reference[i:i + n]) for i in range(len(reference) - n + 2)))": SHORTER,
        "matches[n - 1] += (ours & theirs).total() => matches[n - 2] += (ours & theirs).total()": "The four orders only change places, and no product depends on its factors' order.",
        "totals[n - 1] += ours.total() => totals[n - 2] += ours.total()": "The four orders only change places, and no product depends on its factors' order.",
        "for matched, total in zip(matches, totals, strict=True): => for matched, total in zip(matches, totals):": AS_LONG,
        "for matched, total in zip(matches, totals, strict=True): => for matched, total in zip(matches, totals, strict=False):": AS_LONG,
        "brevity = 1.0 if h >= r else math.exp(1 - r / h) => brevity = 1.0 if h > r else math.exp(1 - r / h)": "For equal lengths the penalty is exp(0) = 1.",
    },
    "beam_search": {
        "@torch.no_grad() => …": NUMBERS,
        "def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.6): => def beam_search(model, source_ids, bos_id, eos_id, beam_size, max_len, length_penalty=0.66):": "Between short sentences a tenth more decides as little as whether eos counts, and both ways of counting are accepted.",
        "if beam_size < 1: => if beam_size < 0:": "With beam_size = 0, max() of no candidates raises the ValueError.",
        "log_probs = so_far[:, None] + torch.log_softmax(logits, dim=-1) => log_probs = so_far[:, None] + torch.log_softmax(logits, dim=1)": LAST,
        "places_left = min(beam_size - len(finished), log_probs.numel()) => places_left = min(log_probs.numel(), beam_size - len(finished))": MAX_MIN,
        "for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=True): => for log_prob, place in zip(best.values.tolist(), best.indices.tolist()):": AS_LONG,
        "for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=True): => for log_prob, place in zip(best.values, best.indices.tolist(), strict=True):": "A tensor of one number counts and compares as the number does.",
        "for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=True): => for log_prob, place in zip(best.values.tolist(), best.indices.tolist(), strict=False):": AS_LONG,
        "beam, token = divmod(place, logits.shape[-1]) => beam, token = divmod(place, logits.shape[1])": LAST,
        "return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty => return log_prob / ((5 + len(tokens) - 1) * 6) ** length_penalty": "All scores are multiplied by the same positive number: the best stays the best.",
        "return log_prob / ((5 + len(tokens) - 1) / 6) ** length_penalty => return log_prob / ((5 + len(tokens) - 1) / 7) ** length_penalty": "All scores are multiplied by the same positive number: the best stays the best.",
    },
    "diagnose": {
        "if not torch.equal(logits, patient(ids, real)[0]): => if not torch.equal(patient(ids, real)[0], logits):": "Two tensors are equal, whichever is named first.",
        "for s in range(1, ids.shape[1]): => for s in range(0, ids.shape[1]):": "Nothing lies before the first place.",
        "changed[:, s] = (ids[:, s] + 1) % V => changed[:, s] = (ids[:, s] + 1) // V": "Any other token will do, and token 0 stands at padding only.",
        "changed[:, s] = (ids[:, s] + 1) % V => changed[:, s] = (ids[:, s] - 1) % V": "Any other token will do.",
        "changed[:, s] = (ids[:, s] + 1) % V => changed[:, s] = (ids[:, s] + 2) % V": "Any other token will do.",
        "moved = (patient(changed, real)[0] - logits).abs().amax(-1) > 0.0001 => moved = (patient(changed, real)[0] - logits).abs().amax(-1) >= 0.0001": "What is rounding and what is more are far apart.",
        "moved = (patient(changed, real)[0] - logits).abs().amax(-1) > 0.0001 => moved = (patient(changed, real)[0] - logits).abs().amax(-1) > 0.00011000000000000002": "What is rounding and what is more are far apart.",
        "changed = torch.where(real, ids, (ids + 1) % V) => changed = torch.where(real, ids, (ids - 1) % V)": "Any other token will do.",
        "changed = torch.where(real, ids, (ids + 1) % V) => changed = torch.where(real, ids, (ids + 2) % V)": "Any other token will do.",
        "if (patient(changed, real)[1] - loss).abs() > 0.0001: => if (patient(changed, real)[1] - loss).abs() >= 0.0001:": "What is rounding and what is more are far apart.",
        "if (patient(changed, real)[1] - loss).abs() > 0.0001: => if (patient(changed, real)[1] - loss).abs() > 0.00011000000000000002:": "What is rounding and what is more are far apart.",
        "if (expected - loss).abs() > 0.0001: => if (expected - loss).abs() >= 0.0001:": "What is rounding and what is more are far apart.",
        "if (expected - loss).abs() > 0.0001: => if (expected - loss).abs() > 0.00011000000000000002:": "What is rounding and what is more are far apart.",
        "unseen = next((v for v in range(V) if not (ids == v).any())) => unseen = next((v for v in range(V + 1) if not (ids == v).any()))": "The first token that does not occur is never the last there is.",
        "unseen = next((v for v in range(V) if not (ids == v).any())) => unseen = next((v for v in range(V - 1) if not (ids == v).any()))": "The first token that does not occur is never the last there is.",
        "patient.token_embedding.weight[unseen] *= 2 => patient.token_embedding.weight[unseen] /= 2": "Any other row will do.",
        "patient.token_embedding.weight[unseen] *= 2 => patient.token_embedding.weight[unseen] *= 3": "Any other row will do.",
        "if torch.equal(patient(ids, real)[0][..., unseen], logits[..., unseen]): => if torch.equal(logits[..., unseen], patient(ids, real)[0][..., unseen]):": "Two tensors are equal, whichever is named first.",
    },
}
