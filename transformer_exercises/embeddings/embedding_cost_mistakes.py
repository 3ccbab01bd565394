"""Wrong and right answers to `embedding_cost`. The reference (03-embeddings):

def embedding_cost(vocab_size, embed_dim):
    parameters = vocab_size * embed_dim
    return parameters, parameters * 4 / 2**20
"""

from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

RESULT = "parameters, parameters * 4 / 2**20"

# Right answers in other styles


class rounded(RightAnswer):
    edits = {"parameters * 4 / 2**20": "round(parameters * 4 / 1024 / 1024, 2)"}


class a_real_table(RightAnswer):
    code = """
    table = nn.Embedding(vocab_size, embed_dim).weight
    return table.numel(), table.numel() * table.element_size() / (1 << 20)
    """


class named_constants(RightAnswer):
    code = """
    bytes_per_float, n = torch.finfo(torch.float32).bits // 8, int(vocab_size * embed_dim)
    return (n, n * bytes_per_float / (1024 * 1024))
    """


# Mistakes


class megabytes(Minor):
    """These are megabytes (10**6 bytes, or 1000 · 1024): a mebibyte is 2**20 = 1,048,576 bytes."""

    variants = [{"2**20": ["1e6", "(1000 * 1024)"]}, {"parameters * 4 / 2**20": "round(parameters * 4 / 1e6, 2)"}]


class bytes_forgotten(Misconception):
    """A parameter is counted as one byte: a float32 takes 4."""

    edits = {"* 4 /": "/"}


class bits(Misconception):
    """A float32 has 32 bits, which are 4 bytes: memory is counted in bytes."""

    edits = {"* 4": "* 32"}


class double_precision(Minor):
    """A parameter is counted with 8 bytes: float32 takes 4 (8 is float64)."""

    edits = {"* 4": "* 8"}


class half_precision(Misconception):
    """A parameter is counted with 2 bytes: float32 takes 4 (2 is float16)."""

    edits = {"* 4": "* 2"}


class other_unit(Misconception):
    """The memory is in another unit: a mebibyte is 2**20 bytes (2**10 is a kibibyte, 2**30 a gibibyte)."""

    variants = [{"parameters * 4 / 2**20": "float(parameters * 4)"}, {"/ 2**20": ["/ 1024", "/ 2**30", ""]}]


class power_written_as_xor(Minor):
    """`^` is not a power in Python (it compares bits): write 2**20."""

    edits = {"2**20": "(2 ^ 20)"}


class whole_mebibytes(Minor):
    """The mebibytes are rounded to whole ones or one decimal: keep two at least, as a float."""

    variants = [
        {"/": "//"},
        {
            "parameters * 4 / 2**20": [
                "math.ceil(parameters * 4 / 2**20)",
                "round(parameters * 4 / 2**20)",
                "round(parameters * 4 / 2**20, 1)",
                "float(parameters * 4 // 2**20)",
            ]
        },
    ]


class cut(Minor):
    """The mebibytes are cut to two decimals: round them (`round(…, 2)`), or leave all digits."""

    edits = {"parameters * 4 / 2**20": ["int(parameters * 4 / 2**20 * 100) / 100", "parameters * 400 // 2**20 / 100"]}


class swapped(Minor):
    """The two results are the wrong way round: parameters first, then mebibytes."""

    edits = {", parameters * 4 / 2**20": "* 4 / 2**20, parameters"}


class list_(Minor):
    """A list is returned: `return parameters, mebibytes` makes a tuple."""

    edits = {RESULT: f"[{RESULT}]"}


class one_number(Misconception):
    """Only one number is returned: both are asked for, parameters and mebibytes."""

    variants = [{", parameters * 4 / 2**20": ""}, {", parameters": ""}]


class dictionary(Minor):
    """A dictionary is returned: `return parameters, mebibytes` makes a tuple."""

    edits = {RESULT: "{'parameters': parameters, 'mebibytes': parameters * 4 / 2**20}"}


class float_parameters(Minor):
    """The number of parameters is a float or a tensor: a count is an int."""

    edits = {"parameters,": ["float(parameters),", "torch.tensor(parameters),"]}


class millions(Misconception):
    """The parameters are counted in millions: return their number as it is, an int."""

    edits = {"parameters,": ["parameters / 1e6,", "round(parameters / 1e6, 2),"]}


class tensors(Minor):
    """Tensors are returned: an int and a float are asked for."""

    edits = {RESULT: "torch.tensor(parameters), torch.tensor(parameters * 4 / 2**20)"}


class text(Minor):
    """Text is returned: numbers are asked for (format them where they are printed)."""

    edits = {
        RESULT: [
            "f'{parameters:,}', f'{parameters * 4 / 2**20:.2f}'",
            "f'{parameters:,} parameters, {parameters * 4 / 2**20:.2f} MiB'",
            "parameters, f'{parameters * 4 / 2**20:.2f}'",
        ]
    }


class bias_counted(Misconception):
    """More is counted than the table: an embedding has V · C numbers and no bias."""

    edits = {
        "* embed_dim": [
            "* embed_dim\nparameters += embed_dim",
            "* embed_dim\nparameters += vocab_size",
            "* embed_dim\nparameters *= 2",
        ]
    }


class sum_(Misconception):
    """The sizes are added: a table of V rows of C numbers has V · C of them."""

    edits = {"* embed_dim": "* embed_dim\nparameters = vocab_size + embed_dim"}


class fixed(Fundamental):
    """The numbers of the example are returned: compute them from vocab_size and embed_dim."""

    edits = {RESULT: ["16435200, 62.70", "16435200, 62.6953125"]}
