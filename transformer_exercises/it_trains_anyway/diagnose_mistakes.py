"""Wrong and right answers to `diagnose`. The reference (12-it-trains-anyway):

def diagnose(model, batch):
    ids, real = batch
    patient = copy.deepcopy(model).eval()  # the model itself stays as it is
    with torch.no_grad():
        logits, loss = patient(ids, real)  # (B, T, V), one number
        V = logits.shape[-1]
        if not (logits.isfinite().all() and loss.isfinite()):
            return "empty"  # first, for NaN equals nothing
        if not torch.equal(logits, patient(ids, real)[0]):
            return "noise"  # second, for against noise everything moves
        if not all(part.isfinite().all() for part in copy.deepcopy(patient).half()(ids, real)):
            return "half"
        for s in range(1, ids.shape[1]):
            changed = ids.clone()
            changed[:, s] = (ids[:, s] + 1) % V
            moved = (patient(changed, real)[0] - logits).abs().amax(-1) > 1e-4  # (B, T)
            if (moved & real)[:, :s].any():
                return "leak"
        changed = torch.where(real, ids, (ids + 1) % V)
        if (patient(changed, real)[1] - loss).abs() > 1e-4:
            return "padding"
        counts = real[:, :-1]  # padding stands in front, so what follows a token is a token
        expected = F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts])
        if (expected - loss).abs() > 1e-4:
            return "shift"
        unseen = next(v for v in range(V) if not (ids == v).any())
        patient.token_embedding.weight[unseen] *= 2
        if (patient(ids, real)[0][..., unseen] - logits[..., unseen]).abs().max() < 1e-4:
            return "copy"
    return "healthy"
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class row_turned_round(RightAnswer):
    edits = {"*= 2": "*= -1"}


class copy_compared_exactly(RightAnswer):
    edits = {
        "(patient(ids, real)[0][..., unseen] - logits[..., unseen]).abs().max() < 1e-4": (
            "torch.equal(patient(ids, real)[0][..., unseen], logits[..., unseen])"
        )
    }


class set_back(RightAnswer):
    code = """
    ids, real = batch
    was, kept = model.training, copy.deepcopy(model.state_dict())
    model.eval()
    try:
        with torch.no_grad():
            first, loss = model(ids, real)
            if not torch.isfinite(first).all() or math.isnan(float(loss)): return "empty"
            if float((first - model(ids, real)[0]).abs().max()) > 0: return "noise"
            low = copy.deepcopy(model).to(torch.float16)(ids, real)
            if low[0].isnan().any() or low[0].isinf().any() or low[1].isnan(): return "half"
            for b, s in real.nonzero().tolist():
                other = ids.clone()
                other[b, s] = 0
                gap = (model(other, real)[0][b] - first[b]).abs().sum(-1)
                if any(gap[t] > 1e-3 and real[b, t] for t in range(s)): return "leak"
            other = ids.masked_fill(~real, first.shape[-1] - 1)
            if not torch.allclose(model(other, real)[1], loss, atol=1e-4, rtol=0): return "padding"
            pairs = (real[:, 1:] & real[:, :-1]).nonzero().tolist()
            terms = [-torch.log_softmax(first[b, t], -1)[ids[b, t + 1]] for b, t in pairs]
            if not torch.allclose(torch.stack(terms).mean(), loss, atol=1e-4, rtol=0): return "shift"
            token = max(set(range(first.shape[-1])) - set(ids.flatten().tolist()))
            model.token_embedding.weight[token] = 0
            return "copy" if (model(ids, real)[0] - first)[..., token].abs().max() < 1e-4 else "healthy"
    finally:
        model.load_state_dict(kept)
        model.train(was)
    """


class by_gradients(RightAnswer):
    edits = {
        "next(v for v in range(V) if not (ids == v).any())": """
            [v for v in range(V) if v not in set(ids.flatten().tolist())][0]
            with torch.enable_grad(): patient(ids, real)[0][..., unseen].square().sum().backward()
            slope = patient.token_embedding.weight.grad
        """,
        "patient.token_embedding.weight[unseen] *= 2": "",
        "(patient(ids, real)[0][..., unseen] - logits[..., unseen]).abs().max() < 1e-4": (
            "slope is None or not slope[unseen].any()"
        ),
    }


class tokens_drawn(RightAnswer):
    edits = {
        "[:, s] = (ids[:, s] + 1) % V": (
            "[:, s:] = torch.randint(V, changed[:, s:].shape, generator=torch.Generator().manual_seed(s))"
        ),
        "(ids + 1) % V)": "torch.randint(V, ids.shape, generator=torch.Generator().manual_seed(1)))",
    }


# Mistakes


class always_healthy(Fundamental):
    """Every model gets the same finding: it has to come from experiments with the model."""

    variants = ['return "healthy"', 'return "leak"', 'return "noise"']


class other_words(Minor):
    """The finding comes in a list, or is called by another word: one of the eight words in the box is asked for, a
    string in small letters.
    """

    variants = [
        {'return "': 'return "no_'},
        {"healthy": "Healthy"},
        {
            "(model, batch):": """
                (model, batch): return [word for word in [found(model, batch)] if word != "healthy"]
                def found(model, batch):
            """
        },
    ]


class training_mode(Misconception):
    """The model is tried in the mode in which it comes, and training draws dropout: call eval() on your copy."""

    variants = [{".eval()": ""}, {"eval": "train"}]


class mode_changed(Minor):
    """The model is in another mode afterwards: call eval() on a copy, or set the mode back."""

    variants = [{").eval(": ".eval()"}, {"eval()": "eval(); model.train()"}]


class weights_changed(Misconception):
    """The experiments change the model's own weights: change a copy, or set them back."""

    edits = {"copy.deepcopy(model)": "model; was = model.training; model", "return": "model.train(was); return"}


class model_halved(Misconception):
    """The model is in float16 afterwards, or has lost digits: `half()` changes it. Try it on a copy."""

    edits = {"copy.deepcopy(patient)": "model"}


class copy_halved(Misconception):
    """Later experiments run in float16: `half()` changes the copy itself. Make another one for it."""

    edits = {"copy.deepcopy(patient)": "patient"}


class gradients_left(Minor):
    """backward() leaves gradients in the model's parameters: use a copy, or set them to None."""

    variants = [
        {'return "healthy"': 'model(ids, real)[1].backward()\nreturn "healthy"'},
        {"= batch": "= batch\nmodel(ids, real)[1].backward()"},
    ]


class input_changed(Minor):
    """The ids of the batch are changed: make the experiment with a clone."""

    variants = [
        {".clone()": "", "ids[:, s]": "changed[:, s]"},
        {"torch.where(real, ids, (ids + 1) % V)": ["ids; ids[~real] += 1", "ids.masked_fill_(~real, V - 1)"]},
    ]


class noise_not_first(Misconception):
    """Noise is looked for too late, so every comparison shows a difference: ask twice before you compare."""

    variants = [
        {"not torch.equal(logits, patient(ids, real)[0])": "False"},
        {
            "not torch.equal(logits, patient(ids, real)[0])": "False",
            "changed = torch.where(real, ids, (ids + 1) % V)": """
                if not torch.equal(logits, patient(ids, real)[0]): return "noise"
                changed = torch.where(real, ids, (ids + 1) % V)
            """,
        },
    ]


class noise_rounded(Misconception):
    """Slight noise is taken for rounding: two calls in eval mode should not differ at all."""

    edits = {"equal(logits, patient(ids, real)[0])": "allclose(logits, patient(ids, real)[0], atol=1e-4)"}


class nan_as_noise(Misconception):
    """NaN is taken for noise: it is not equal to itself. Ask first whether all is finite."""

    edits = {"not (logits.isfinite().all() and loss.isfinite())": "False"}


class nan_only(Misconception):
    """Only NaN is looked for: infinity is not finite either. torch.isfinite asks about both."""

    variants = [
        {"not (logits.isfinite().all() and loss.isfinite())": "logits.isnan().any() or loss.isnan()"},
        {"not all(part.isfinite().all() for": "any(part.isnan().any() for"},
        {
            "not (logits.isfinite().all() and loss.isfinite())": "logits.isnan().any() or loss.isnan()",
            "not all(part.isfinite().all() for": "any(part.isnan().any() for",
        },
    ]


class loss_alone_finite(Misconception):
    """NaN or noise is looked for in the loss alone, or at real places alone: it may be where no loss counts. Ask all
    logits.
    """

    variants = [
        {"logits.isfinite().all() and loss": "loss"},
        {"logits, patient(ids, real)[0]": "loss, patient(ids, real)[1]"},
        {"not all(part.isfinite().all() for part in copy": "not copy", "real))": "real)[1].isfinite()"},
    ]


class half_not_found(Misconception):
    """Nothing is tried in float16, `half()`; bfloat16 has float32's range, so nothing overflows there."""

    edits = {"not all(part.isfinite().all() for part in copy.deepcopy(patient).half()(ids, real))": "False"}


class half_compared(Misconception):
    """In float16 a difference counts: it has three digits, so every model differs. Ask what is not finite."""

    edits = {
        "not all(part.isfinite().all() for part in copy.deepcopy(patient).half()(ids, real))": (
            "(copy.deepcopy(patient).half()(ids, real)[0].float() - logits).abs().max().nan_to_num(nan=1.0) > 1e-4"
        )
    }


class half_before_float(Misconception):
    """float16 is asked before float32: what is not finite in float32 is not so in float16 either."""

    edits = {
        "V = logits.shape[-1]": """
            if not all(part.isfinite().all() for part in copy.deepcopy(patient).half()(ids, real)): return "half"
            V = logits.shape[-1]
        """
    }


class leak_not_looked_for(Misconception):
    """Nobody changes a token to see whether an earlier answer moves."""

    edits = {"1, ids.shape[1]": "0"}


class later_answers_compared(Misconception):
    """The wrong answers are compared: a leak moves those *before* the changed place, perhaps only the last of them, and
    the first may be padding. Look at all of them.
    """

    edits = {"(moved & real)[:, :s]": ["moved[:, -1]", "(moved & real)[:, :1]", "(moved & real)[:, s - 1]"]}


class padding_places_compared(Misconception):
    """Answers at padding are compared too: they may look at anything. Look at real places."""

    edits = {"(moved & real)": "moved"}


class one_place_changed_only(Misconception):
    """Only one token is changed, an early one or the last: a leak may begin behind it, or reach the first only. Change
    each place in turn.
    """

    edits = {"range(1, ids.shape[1])": ["(1,)", "(2,)", "range(ids.shape[1] - 1, ids.shape[1])"]}


class one_text_only(Misconception):
    """A token is changed in one text only, the first: a leak may show in another alone. Change it in all of them."""

    edits = {"changed[:, s] = (ids[:, s] + 1) % V": "changed[0, s] = (ids[0, s] + 1) % V"}


class too_fine(Misconception):
    """Another limit than 0.0001 decides: what is less is rounding, what is more is a finding."""

    variants = [
        {"(-1) > 1e-4": "(-1) > 0"},
        {"] - loss).abs() > 1e-4:": "] - loss).abs() > 0:"},
        {"(expected - loss).abs() > 1e-4": "expected != loss"},
        {"1e-4": "1.0"},
    ]


class padding_not_found(Misconception):
    """What stands at padding is not changed, or the same tokens are put there again."""

    edits = {"(patient(changed, real)[1] - loss).abs() > 1e-4": "False"}


class logits_at_padding(Misconception):
    """Logits are compared, at padding too, where those of sound models depend on what is there: compare the loss."""

    edits = {"[1] - loss).abs(": "[0] - logits).abs().max("}


class shift_not_looked_for(Misconception):
    """The loss is never compared with what it should be."""

    edits = {"(expected - loss).abs() > 1e-4": "False"}


class shift_before_padding(Misconception):
    """Padding that the loss counts is taken for a shift, since it changes the loss too: before you look for a shift,
    ask whether the loss (not the logits) moves with what stands at padding.
    """

    variants = [
        {
            "changed = torch.where(real, ids, (ids + 1) % V)": """
                counts = real[:, :-1]
                expected = F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts])
                if (expected - loss).abs() > 1e-4: return "shift"
                changed = torch.where(real, ids, (ids + 1) % V)
            """
        },
        {"[1] - loss).abs(": "[0] - logits)[real].abs().max("},
    ]


class expected_with_padding(Misconception):
    """The loss that it should have counts other pairs, with padding or each text's first token: both places are to be
    real.
    """

    edits = {"real[:, :-1]": ["torch.ones_like(real[:, :-1])", "real[:, 1:]"]}


class mean_of_means(Misconception):
    """The loss that it should have is a mean of means: it is the mean over all pairs, so long texts count more."""

    edits = {
        "F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts])": """
        torch.stack([
            F.cross_entropy(row[:-1][own], there[1:][own]) for row, there, own in zip(logits, ids, counts) if own.any()
        ]).mean()
        """
    }


class expected_not_shifted(Misconception):
    """The loss that it should have is of another token: logits at t are about the token at t + 1."""

    variants = [
        {":, :-1][counts], ids[:, 1:][counts": "real], ids[real"},
        {"1][counts], ids[:, 1:][counts": "2][counts[:, :-1]], ids[:, 2:][counts[:, :-1]"},
    ]


class one_shift_only(Misconception):
    """Only one wrong shift is known: targets may be those after the next, or not shifted."""

    variants = [
        {
            "real[:, :-1]": "real[:, :-2]",
            "1][counts], ids[:, 1": "2][counts], ids[:, 2",
            "(expected - loss).abs() >": "(expected - loss).abs() <",
        },
        {
            "real[:, :-1]": "real",
            ":, :-1][counts], ids[:, 1:][": "counts], ids[",
            "(expected - loss).abs() >": "(expected - loss).abs() <",
        },
    ]


class copy_not_found(Misconception):
    """A copy is not found: the changed row is of a token in ids, which is read: take one that is not there."""

    variants = [
        {"(patient(ids, real)[0][..., unseen] - logits[..., unseen]).abs().max() < 1e-4": "False"},
        {"next(v for v in range(V) if not (ids == v).any())": "0"},
    ]


class row_plus_one(Minor):
    """The same number is added to the whole row, which moves no logit after a plain layer norm, so a sound model seems
    to have a copy: multiply the row by 2.
    """

    edits = {"*= 2": "+= 1"}


class parameters_looked_at(Misconception):
    """The two matrices are compared, not what the model does: the forward pass may use a third."""

    edits = {
        "(patient(ids, real)[0][..., unseen] - logits[..., unseen]).abs().max() < 1e-4": (
            "patient.lm_head.weight is not patient.token_embedding.weight"
        )
    }


class all_logits_compared(Misconception):
    """Change the *table's* row of a token and look at that token's logits: the output layer's own row moves them in
    every model, and other tokens' logits stay in every model.
    """

    variants = [
        copy_compared_exactly.edited({"unseen], logits[..., unseen": ":unseen], logits[..., :unseen"}),
        {"token_embedding": "lm_head"},
    ]


class by_the_loss(Misconception):
    """The size of the loss decides: it says that something may be wrong, and not what. Make experiments."""

    edits = {"V = logits.shape[-1]": 'return "empty" if loss.isnan() else "leak" if loss < 6 else "healthy"'}


class error_not_caught(Fundamental):
    """The model is called without `real`, or its pair of logits and loss is not taken apart."""

    variants = [{"(ids, real)  #": "(ids)  #"}, {", loss": "", "loss.isfinite()": "True"}]
