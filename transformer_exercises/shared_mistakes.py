"""Mistakes that several exercises share: a module of mistakes inherits the sentence, and declares the edits."""

from autograder.spec.catalogue import Misconception


class view_needed(Misconception):
    """The code takes numbers in the order in which they lie in memory (`view`), which fails for tensors that were
    transposed or sliced: use `reshape`, or count dimensions from the end.
    """


class device_not_kept(Misconception):
    """A tensor is made without `device=…` (or kept as a plain attribute): it lies on the CPU, and on a GPU the call
    fails, or the result comes back on the CPU.
    """


class device_dropped(Misconception):
    """A tensor is made without `device=…`: it lies on the CPU, so on a GPU the computation fails."""


class size_limited(Misconception):
    """Sizes of real use are refused or cut off: any number is allowed."""


class not_a_module(Misconception):
    """The class does not inherit from nn.Module, so its parameters cannot be found, moved, saved or trained."""


class no_super(Misconception):
    """`super().__init__()` is missing: nn.Module must be set up before parts can be assigned."""


class forward_misspelt(Misconception):
    """There is no method `forward`: nn.Module calls the method of exactly this name."""


class layers_in_a_list(Misconception):
    """The layers stand in a plain Python list or dictionary, where nn.Module does not find their parameters, so
    nothing trains them: assign each to an attribute.
    """


class layers_made_in_forward(Misconception):
    """The layers are made anew in every forward pass, so nothing that is learned or loaded is used."""


class frozen(Misconception):
    """The parameters are frozen (requires_grad=False): they are there to be trained."""


class model_frozen(Misconception):
    """The model's parameters lose requires_grad, so it cannot be trained any more: use `torch.no_grad()`, which ends
    with its block.
    """


class dropout_in_evaluation(Misconception):
    """Dropout is at work in evaluation mode too: F.dropout needs `training=self.training`; nn.Dropout sees to it by
    itself.
    """


class dropout_left_on(Misconception):
    """Dropout is on when the model comes in training mode, so the result is another one each time: call
    `model.eval()` first.
    """


class mode_not_restored(Misconception):
    """The model is left in another mode: remember `model.training`, and go back with `model.train(…)`."""


class no_bias(Misconception):
    """A layer has no bias: nn.Linear with its default bias is asked for."""


class same_start(Misconception):
    """The projections start alike: each needs random weights of its own, as nn.Linear makes them."""


class own_initialisation(Misconception):
    """The layers are initialised in another way: they start as nn.Linear starts by itself."""


class mask_transposed(Misconception):
    """The mask is transposed: its rows are queries, its columns are keys."""


class mask_required(Misconception):
    """forward cannot be called without a mask: it is None by default, forward(x, mask=None)."""


class mask_finite(Misconception):
    """Blocked scores are filled with a finite number such as −1e9: where every allowed score is lower still, the
    blocked key gets all the weight. Fill with −inf.
    """


class always_causal(Misconception):
    """Later tokens are blocked even without a mask: apply the mask that is given, nothing else."""


class infinities(Misconception):
    """The mask holds 0 and −inf, to be added to scores: here a boolean mask is asked for, True = blocked."""


class integers(Misconception):
    """The mask is an integer tensor: a boolean tensor is asked for (dtype=torch.bool)."""


class inverted_numbers(Misconception):
    """True and False are swapped, and the mask holds numbers: a boolean tensor is asked for, True = blocked."""


class nothing_blocked(Misconception):
    """The mask blocks nothing: all entries are False."""


class everything_blocked(Misconception):
    """The mask blocks everything: all entries are True."""


class leading_dimension(Misconception):
    """The mask has an extra leading dimension."""


class python_or(Misconception):
    """`or` and `and` ask a whole tensor for one truth value, which fails. Join entry by entry with `|`."""


class softmax_everywhere(Misconception):
    """One softmax runs over all scores together: each row must sum to 1 on its own (dim=-1)."""


class overwritten(Misconception):
    """A tensor that the backward pass still needs is overwritten in place (`e /= …`, `masked_fill_`). The values are
    right, but the gradient fails.
    """


class other_source(Misconception):
    """Chance comes from elsewhere (`random`, NumPy), so the generator decides nothing: use torch.multinomial with
    generator=generator.
    """


class generator_ignored(Misconception):
    """A generator of its own, with a fixed seed, is used: the one that is passed decides."""


class not_a_tensor(Misconception):
    """A list or tuple is returned: a tensor is asked for."""


class two_steps(Misconception):
    """Two steps are taken: one call is one step."""


class degrees(Misconception):
    """The angles are taken for degrees: sin and cos want radians, as they are."""


class end_added(Misconception):
    """An end-of-word symbol is added: the word is spelt as it is."""


class text_replaced(Misconception):
    """The symbols are joined and the pair replaced in that text, so parts of longer symbols match too: compare whole
    symbols.
    """
