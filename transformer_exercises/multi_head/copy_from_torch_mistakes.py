"""Wrong and right answers to `copy_from_torch`. The reference (07-multi-head):

def copy_from_torch(mine, theirs):
    layers = (mine.q_proj, mine.k_proj, mine.v_proj)
    weights = theirs.in_proj_weight.chunk(3)  # three times (C, C)
    biases = theirs.in_proj_bias.chunk(3)  # three times (C,)
    with torch.no_grad():  # copying is not part of any computation to be differentiated
        for layer, weight, bias in zip(layers, weights, biases, strict=True):
            layer.weight.copy_(weight)
            layer.bias.copy_(bias)
        mine.out_proj.weight.copy_(theirs.out_proj.weight)
        mine.out_proj.bias.copy_(theirs.out_proj.bias)
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

COPY_BIAS = "mine.out_proj.bias.copy_(theirs.out_proj.bias)"
COPY_WEIGHT = "mine.out_proj.weight.copy_(theirs.out_proj.weight)"

# Right answers in other styles


class data_and_slices(RightAnswer):
    code = """
    C, data = theirs.embed_dim, {name: p.data for name, p in theirs.named_parameters()}
    for n, layer in enumerate((mine.q_proj, mine.k_proj, mine.v_proj)):
        layer.weight.data.copy_(data['in_proj_weight'][n * C : (n + 1) * C])
        layer.bias.data.copy_(data['in_proj_bias'][n * C : (n + 1) * C])
    mine.out_proj.weight.data.copy_(data['out_proj.weight'])
    mine.out_proj.bias.data.copy_(data['out_proj.bias'])
    """


class new_parameters(RightAnswer):
    code = """
    import copy
    for n, layer in enumerate([mine.q_proj, mine.k_proj, mine.v_proj]):
        layer.weight = nn.Parameter(theirs.in_proj_weight.detach().split(theirs.embed_dim)[n].clone())
        layer.bias = nn.Parameter(theirs.in_proj_bias.detach().split(theirs.embed_dim)[n].clone())
    mine.out_proj.load_state_dict(copy.deepcopy(theirs.out_proj.state_dict()))
    """


class load_state_dict(RightAnswer):
    code = """
    theirs = theirs.state_dict()
    state = {'out_proj.weight': theirs['out_proj.weight'], 'out_proj.bias': theirs['out_proj.bias']}
    for part in ('weight', 'bias'):
        q, k, v = theirs['in_proj_' + part].chunk(3, dim=0)
        state.update({'q_proj.' + part: q, 'k_proj.' + part: k, 'v_proj.' + part: v})
    mine.load_state_dict(state)
    return mine
    """


# Mistakes


class order_of_stack(Misconception):
    """The thirds go to the wrong layers: in_proj_weight holds the rows of queries, then keys, then values."""

    variants = [
        {
            "q_proj, mine.k_proj, mine.v_proj": [
                "k_proj, mine.q_proj, mine.v_proj",
                "q_proj, mine.v_proj, mine.k_proj",
                "v_proj, mine.k_proj, mine.q_proj",
                "k_proj, mine.v_proj, mine.q_proj",
            ]
        },
        {
            "theirs.in_proj_bias.chunk(3)": [
                "[theirs.in_proj_bias.chunk(3)[n] for n in (0, 2, 1)]",
                "[theirs.in_proj_bias.chunk(3)[n] for n in (1, 0, 2)]",
            ]
        },
    ]


class one_forgotten(Minor):
    """One of the projections is not copied: queries, keys and values each get their third of the stack."""

    variants = [
        {", mine.v_proj": "", "True": "False"},
        {
            "layers = (mine.q_proj, mine.k_proj, mine.v_proj)": [
                """
                import copy
                layers = [mine.q_proj, mine.k_proj, mine.v_proj]
                layers[0] = copy.deepcopy(mine.q_proj)
                """,
                """
                import copy
                layers = [mine.q_proj, mine.k_proj, mine.v_proj]
                layers[1] = copy.deepcopy(mine.q_proj)
                """,
            ]
        },
    ]


class transposed(Minor):
    """The matrices are transposed: both modules keep weights as (out, in), so they are copied as they are."""

    variants = [
        {"(weight)": "(weight.T)"},
        {"weight)": "weight.T)"},
        {"theirs.out_proj.weight": "theirs.out_proj.weight.T"},
    ]


class shapes_do_not_fit(Fundamental):
    """What is copied does not have the parameter's shape: cut in_proj_weight along its rows."""

    variants = [{"in_proj_weight.chunk(3)": "in_proj_weight.chunk(3, dim=1)"}, {"chunk(3)": "split(4)[:3]"}]


class interleaved(Misconception):
    """The stack is cut into every third row, or by heads: in PyTorch all queries come first, C rows, then all keys,
    then all values.
    """

    variants = [
        {
            "theirs.in_proj_weight.chunk(3)": "[theirs.in_proj_weight[n::3] for n in range(3)]",
            "theirs.in_proj_bias.chunk(3)": "[theirs.in_proj_bias[n::3] for n in range(3)]",
        },
        {"in_proj_weight.chunk(3)": "in_proj_weight.reshape(theirs.embed_dim, -1).chunk(3, dim=1)"},
        {
            "in_proj_weight.chunk(3)": (
                "in_proj_weight.view(theirs.num_heads, 3, -1, theirs.embed_dim).transpose(0, 1).reshape(3, "
                "theirs.embed_dim, -1)"
            ),
            "chunk(3)": "view(theirs.num_heads, 3, -1).transpose(0, 1).reshape(3, -1)",
        },
    ]


class biases_forgotten(Minor):
    """The biases are not copied, or set to zero: theirs are zero in a fresh layer, so it shows only after training."""

    variants = [
        {"layer.bias.copy_(bias)": ""},
        {"layer.bias.copy_(bias)": "", COPY_BIAS: ""},
        {COPY_BIAS: ""},
        {"copy_(bias)": "zero_()"},
        {"copy_(bias)": "zero_()", "copy_(theirs.out_proj.bias)": "zero_()"},
        {"copy_(theirs.out_proj.bias)": "zero_()"},
    ]


class out_proj_forgotten(Minor):
    """out_proj is not copied: it has a weight and a bias too."""

    variants = [{COPY_WEIGHT: "", COPY_BIAS: ""}, {COPY_WEIGHT: ""}]


class only_out_proj(Misconception):
    """Only out_proj is copied: queries, keys and values come from in_proj_weight and in_proj_bias."""

    based_on = biases_forgotten
    edits = {"layer.weight.copy_(weight)": "pass"}


class state_dict_whole(Fundamental):
    """theirs keeps q, k and v in one matrix, mine in three layers: `load_state_dict` fails."""

    code = "mine.load_state_dict(theirs.state_dict())"


class attributes_of_theirs(Fundamental):
    """theirs has no q_proj: its projections are stacked in in_proj_weight and in_proj_bias."""

    code = """
    with torch.no_grad():
        for name in ('q_proj', 'k_proj', 'v_proj', 'out_proj'):
            getattr(mine, name).weight.copy_(getattr(theirs, name).weight)
            getattr(mine, name).bias.copy_(getattr(theirs, name).bias)
    """


class first_third_for_all(Misconception):
    """Projections get the same third: rows 0 to C are the queries', C to 2C the keys', then the values'."""

    variants = [
        {"(3)": "(3)[:1] * 3"},
        {"in_proj_weight.chunk(3)": "in_proj_weight.chunk(3)[:1] * 3"},
        {"in_proj_bias.chunk(3)": "in_proj_bias.chunk(3)[:1] * 3"},
        {
            "in_proj_weight.chunk(3)": "in_proj_weight.chunk(3)[0:2] + theirs.in_proj_weight.chunk(3)[1:2]",
            "in_proj_bias.chunk(3)": "in_proj_bias.chunk(3)[0:2] + theirs.in_proj_bias.chunk(3)[1:2]",
        },
    ]


class shared(Misconception):
    """mine and theirs share memory, so training one changes the other: copy the values (`copy_`, `clone`)."""

    variants = [
        {"copy_(": "data = ("},
        {"out_proj.weight.copy_(theirs.out_proj.weight)": "out_proj = theirs.out_proj", COPY_BIAS: ""},
        {"copy_(weight)": "data = weight", "copy_(bias)": "data = bias"},
        {"copy_(weight)": "data = weight", "weight.copy_(theirs.out": "weight.data = (theirs.out"},
        {
            "copy_(weight)": "data = weight",
            "copy_(bias)": "data = bias",
            "weight.copy_(theirs.out": "weight.data = (theirs.out",
        },
        {
            "copy_(weight)": "data = weight",
            "weight.copy_(theirs.out_proj.weight)": "weight.data = theirs.out_proj.weight.data",
            COPY_BIAS: "mine.out_proj.bias.data = theirs.out_proj.bias.data",
        },
        {
            "weight.copy_(theirs.out_proj.weight)": "weight = theirs.out_proj.weight",
            "bias.copy_(theirs.out_proj.bias)": "bias = theirs.out_proj.bias",
        },
    ]


class wrong_direction(Misconception):
    """The copy goes the wrong way: theirs is changed. `mine.….copy_(theirs.…)` writes into mine."""

    edits = {
        "layer.weight.copy_(weight)": "weight.copy_(layer.weight)",
        "layer.bias.copy_(bias)": "bias.copy_(layer.bias)",
        COPY_WEIGHT: "theirs.out_proj.weight.copy_(mine.out_proj.weight)",
        COPY_BIAS: "theirs.out_proj.bias.copy_(mine.out_proj.bias)",
    }


class names_rebound(Fundamental):
    """Nothing is copied: `w = …` only names another tensor. Write into it: `layer.weight.copy_(…)`."""

    edits = {
        "layer.weight.copy_(weight)": "w = layer.weight\nw = weight",
        "layer.bias.copy_(bias)": "b = layer.bias\nb = bias",
        COPY_WEIGHT: "w = theirs.out_proj.weight",
        COPY_BIAS: "b = theirs.out_proj.bias",
    }


class no_grad_missing(Fundamental):
    """Writing into a parameter in place needs `with torch.no_grad():`, or autograd refuses it."""

    edits = {"with torch.no_grad()": "if True"}


class not_a_parameter(Fundamental):
    """A parameter is given a plain tensor or None: use `copy_`, or nn.Parameter."""

    variants = [
        {"weight.copy_(weight)": "weight = weight.clone()", "bias.copy_(bias)": "bias = bias.clone()"},
        {
            "layer.weight.copy_(weight)": "del layer.weight\nlayer.weight = weight.clone()",
            "layer.bias.copy_(bias)": "del layer.bias\nlayer.bias = bias.clone()",
        },
    ]


class frozen(Misconception):
    """The parameters of mine or theirs no longer require gradients: mine can still be trained, and theirs stays as it
    is. `with torch.no_grad():` is enough to copy.
    """

    variants = [
        {"with torch.no_grad()": "mine.requires_grad_(False)\nwith torch.no_grad()"},
        {
            "weight.copy_(weight)": "weight = nn.Parameter(weight.clone(), requires_grad=False)",
            "bias.copy_(bias)": "bias = nn.Parameter(bias.clone(), requires_grad=False)",
        },
        {"with": "theirs.requires_grad_(False)\nwith"},
    ]


class copy_returned(Fundamental):
    """A new module is made and returned while mine stays as it was: change mine itself."""

    edits = {
        "layers =": """
            import copy
            mine = copy.deepcopy(mine)
            layers =
        """,
        COPY_BIAS: "mine.out_proj.bias.copy_(theirs.out_proj.bias)\nreturn mine",
    }


class dtype_changed(Misconception):
    """The copied numbers are float32 whatever theirs has: `copy_` keeps the layer's dtype."""

    variants = [
        {"(weight)": "(weight.float())"},
        {
            "copy_(weight)": "data = weight.detach().float().clone()",
            "copy_(bias)": "data = bias.detach().float().clone()",
        },
    ]
