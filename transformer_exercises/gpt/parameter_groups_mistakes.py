"""Wrong and right answers to `parameter_groups`. The reference (09-gpt-further):

def parameter_groups(model, weight_decay):
    tables = {id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}
    decay, rest = [], []
    for parameter in model.parameters():  # a shared one comes once
        if parameter.requires_grad:
            matrix = parameter.dim() >= 2 and id(parameter) not in tables
            (decay if matrix else rest).append(parameter)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

# Right answers in other styles


class by_module(RightAnswer):
    code = """
    spared, groups = set(), {True: [], False: []}
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding): spared.update(id(p) for p in module.parameters())
    for _, p in model.named_parameters():
        if p.requires_grad: groups[p.ndim > 1 and id(p) not in spared].append(p)
    return [dict(params=groups[kind], weight_decay=weight_decay if kind else 0.0) for kind in (True, False)]
    """


class sets_of_parameters(RightAnswer):
    code = """
    tables = {m.weight for m in model.modules() if isinstance(m, nn.Embedding)}
    everything = {p for p in model.parameters() if p.requires_grad}
    rest = {p for p in everything if len(p.shape) < 2} | (tables & everything)
    decay = everything - rest
    return [{"params": list(decay), "weight_decay": float(weight_decay)}, {"params": list(rest), "weight_decay": 0}]
    """


class with_names(RightAnswer):
    edits = {": weight_decay": ': weight_decay, "name": "decay"', "return [": "return (", "0}]": "0})"}


# Mistakes


class everything_decays(Fundamental):
    """Everything decays: the second group is for biases, norms and the tables of nn.Embedding."""

    edits = {"parameter.dim() >= 2 and id(parameter) not in tables": "True"}


class tables_decay(Misconception):
    """The tables of nn.Embedding decay: a row whose token is rare would shrink at every step."""

    edits = {"2 and id(parameter) not in tables": "2"}


class vectors_decay(Misconception):
    """Biases and norms decay: only parameters of two or more dimensions do."""

    variants = [{"parameter.dim() >= 2 and id": "id"}, {">= 2": ">= 1"}]


class by_name(Misconception):
    """Names decide (`weight`, `bias`, `norm`, `embedding`, `head`), and they tell little: go by the number of
    dimensions, and ask what kind of module it is.
    """

    variants = [
        {
            "id(parameter) not in tables": [
                '"embedding" not in name',
                '"emb" not in name and "words" not in name',
                'id(parameter) not in tables and "head" not in name',
            ],
            "parameter in model.parameters": "name, parameter in model.named_parameters",
        },
        {
            "parameter.dim() >= 2 and id(parameter) not in tables": (
                'not any(part in name for part in ("bias", "LayerNorm.weight"))'
            ),
            "parameter in model.parameters": "name, parameter in model.named_parameters",
        },
        {
            "isinstance(module, nn.Embedding)": [
                "isinstance(module, nn.LayerNorm)",
                "isinstance(module, nn.LayerNorm) and module is not model",  # as transformers' Trainer does
            ],
            "parameter.dim() >= 2": '"bias" not in name and "norm" not in name.split(".")',
            "parameter in model.parameters": "name, parameter in model.named_parameters",
        },
        {
            "parameter.dim() >= 2": ['not name.endswith("bias")', '"bias" not in name and "norm" not in name'],
            "parameter in model.parameters": "name, parameter in model.named_parameters",
        },
        {
            "parameter in model.parameters": "name, parameter in model.named_parameters",
            "parameter.dim": 'name.endswith("weight") and parameter.dim',
        },
        {
            "parameter in model.parameters": "name, parameter in model.named_parameters",
            "parameter.dim() >= 2 and id(parameter) not in tables": [
                'name.endswith("weight")',
                'name.endswith(".weight")',
                'name.endswith("weight") and id(parameter) not in tables',
            ],
        },
    ]


class norms_by_class(Misconception):
    """Norms are recognised by their class, so others decay (nn.RMSNorm, or a scale that is a parameter of its own): go
    by the number of dimensions.
    """

    edits = {
        "isinstance(module, nn.Embedding)": [
            "isinstance(module, (nn.Embedding, nn.LayerNorm))",
            "isinstance(module, (nn.Embedding, nn.LayerNorm, nn.RMSNorm))",
        ],
        "parameter in model.parameters": "name, parameter in model.named_parameters",
        "parameter.dim() >= 2": 'not name.endswith("bias")',
    }


class two_dimensions_only(Minor):
    """Only parameters of exactly two dimensions decay: a convolution's have more, and decay too."""

    edits = {">=": "=="}


class matrices_spared(Misconception):
    """Matrices do not decay (`> 2`): what has two or more dimensions does."""

    edits = {">= 2": "> 2"}


class size_one_spared(Minor):
    """A matrix of a single row or column is taken for a vector: it has two dimensions, and decays."""

    edits = {"parameter.dim() >= 2": ["parameter.squeeze().dim() >= 2", "min(parameter.shape, default=0) > 1"]}


class linear_layers_only(Misconception):
    """Only matrices of nn.Linear decay: nn.MultiheadAttention and convolutions have others."""

    edits = {
        "decay, rest = [], []": """
            linear = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
            decay, rest = [], []
        """,
        "parameter.dim() >= 2 and id(parameter) not in tables": "id(parameter) in linear - tables",
    }


class tied_head_decays(Misconception):
    """A tied matrix decays because a linear layer uses it too: it is still the weight of an nn.Embedding."""

    variants = [
        {
            "decay, rest = [], []": """
                tables -= {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear)}
                decay, rest = [], []
            """
        },
        {
            "decay, rest = [], []": """
                decay, rest, owner = [], [], {}
                for m in model.modules():
                    for p in m.parameters(recurse=False): owner.setdefault(id(p), m)
            """,
            "id(parameter) not in tables": "not isinstance(owner[id(parameter)], nn.Embedding)",
        },
    ]


class top_level_only(Minor):
    """Some tables are not found: model.modules() gives the model itself and inner layers (children() does not), and
    isinstance knows classes that inherit from nn.Embedding.
    """

    variants = [
        {"modules": "children"},
        {"isinstance(module, nn.Embedding)": "type(module) is nn.Embedding"},
        {"model.modules()": "list(model.modules())[1:]"},
    ]


class empty_group_dropped(Minor):
    """A group without parameters is left out: two groups are asked for, one with an empty list."""

    edits = {"[{": "[group for group in ({", "}]": '}) if group["params"]]'}


class frozen_included(Minor):
    """Parameters with requires_grad=False stand in a group: they are not trained, and stand in none."""

    variants = [
        {"parameter.requires_grad": "True"},
        {"parameter.requires_grad": "True", "matrix =": "matrix = parameter.requires_grad and"},
    ]


class counted_twice(Misconception):
    """A shared parameter stands there twice, and AdamW refuses that: put each in once, whatever its names."""

    variants = [
        {"parameter in model.parameters()": "_, parameter in model.named_parameters(remove_duplicate=False)"},
        {
            "for parameter in model.parameters():": (
                "for parameter, module in ((p, m) for m in model.modules() for p in m.parameters(recurse=False)):"
            ),
            "id(parameter) not in tables": "not isinstance(module, nn.Embedding)",
        },
    ]


class rest_left_out(Misconception):
    """What does not decay (or the tables alone) stands in no group, so it is never trained: decay 0 is not learning
    rate 0.
    """

    variants = [
        {'{"params": rest': '{"params": []'},
        {"requires_grad": "requires_grad and id(parameter) not in tables"},
    ]


class groups_swapped(Minor):
    """The groups are the wrong way round: what decays comes first."""

    variants = [
        {"0.0}]": "0.0}][::-1]"},
        {"decay if matrix else rest": "rest if matrix else decay"},
    ]


class weight_decay_fixed(Minor):
    """weight_decay is a fixed number in your code: the one that is passed decides."""

    edits = {": weight_decay": [": 0.1", ": 0.01"]}


class both_decay(Misconception):
    """Both groups decay: the second has weight_decay 0.0."""

    edits = {"0.0": "weight_decay"}


class default_left(Minor):
    """The second group says nothing of weight_decay, and AdamW's default is 0.01: write 0.0."""

    edits = {', "weight_decay": 0.0': ""}


class rate_set_to_zero(Misconception):
    """The second group gets a learning rate of 0, so it is never trained: only the decay is 0."""

    edits = {"0.0": '0.0, "lr": 0.0'}


class names_returned(Misconception):
    """Names are returned: the optimiser needs the parameters themselves."""

    edits = {
        "parameter in model.parameters": "name, parameter in model.named_parameters",
        "append(parameter)": "append(name)",
    }


class copies_returned(Fundamental):
    """Copies are returned, so the model's own parameters are never trained: put in those."""

    edits = {"append(parameter)": ["append(parameter.clone())", "append(nn.Parameter(parameter.detach().clone()))"]}


class other_form(Misconception):
    """A list of two dictionaries is asked for, as torch.optim.AdamW takes them."""

    variants = [
        {
            '[{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]': [
                "decay, rest",
                '{"decay": decay, "rest": rest}',
            ]
        },
        {"return [": "return torch.optim.AdamW([", "}]": "}])"},
        {'{"params"': '{"parameters"'},
    ]


class iterators_returned(Minor):
    """A group holds its parameters as a generator or a set: a list is asked for. (A generator is empty after one use, a
    set has no order.)
    """

    variants = [
        {": decay": ": (p for p in decay)", ": rest": ": (p for p in rest)"},
        {": decay": ": set(decay)", ": rest": ": set(rest)"},
    ]


class model_changed(Misconception):
    """The model is changed: only sort its parameters."""

    edits = {"append(parameter)": "append(parameter.requires_grad_(matrix))"}


class compared_with_in(Fundamental):
    """`parameter in some_list` compares numbers and fails for other shapes: compare id(parameter)."""

    edits = {
        "{id(module.weight) for module in model.modules() if isinstance(module, nn.Embedding)}": (
            "[module.weight for module in model.modules() if isinstance(module, nn.Embedding)]"
        ),
        "id(parameter)": "parameter",
    }
