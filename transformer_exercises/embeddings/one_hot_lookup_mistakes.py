"""Wrong and right answers to `one_hot_lookup`. The reference (03-embeddings):

def one_hot_lookup(ids, weight):
    one_hot = F.one_hot(ids, num_classes=weight.shape[0])  # (..., V): a single 1 in each row, at the id
    return one_hot.to(weight.dtype) @ weight  # (..., V) @ (V, C) gives (..., C)
"""

from autograder.spec import common_mistakes
from autograder.spec.catalogue import Fundamental, Minor, Misconception, RightAnswer

from .. import shared_mistakes

PRODUCT = "one_hot.to(weight.dtype) @ weight"

# Right answers in other styles


class eye(RightAnswer):
    code = "return torch.eye(len(weight)).to(weight)[ids] @ weight"


class scatter(RightAnswer):
    code = """
    one_hot = torch.zeros(*ids.shape, weight.size(0), dtype=weight.dtype, device=weight.device)
    return torch.matmul(one_hot.scatter_(-1, ids.unsqueeze(-1), 1), weight)
    """


class product_by_hand(RightAnswer):
    edits = {PRODUCT: "(one_hot.to(weight.dtype)[..., None] * weight).sum(dim=-2)"}


class sparse(RightAnswer):
    code = """
    flat, V = ids.flatten(), len(weight)
    places = torch.stack([torch.arange(len(flat), device=ids.device), flat])
    ones = torch.ones(len(flat), dtype=weight.dtype, device=weight.device)
    one_hot = torch.sparse_coo_tensor(places, ones, (len(flat), V), check_invariants=False)
    return torch.sparse.mm(one_hot, weight).reshape(*ids.shape, weight.shape[1])
    """


# Mistakes


class indexing(Fundamental):
    """The rows are picked out by their index (`weight[ids]`, F.embedding): multiply one-hot rows instead."""

    variants = [
        "return weight[ids]",
        """
        rows = [weight[i] for i in ids.flatten().tolist()]
        return torch.stack(rows).view(*ids.shape, -1)
        """,
    ]


class integers_multiplied(Fundamental):
    """F.one_hot gives integers, which are not multiplied with floats: convert to weight.dtype."""

    edits = {".to(weight.dtype)": ""}


class classes_guessed(Misconception):
    """F.one_hot takes the largest id it sees for the last one: say num_classes=weight.shape[0]."""

    edits = {", num_classes=weight.shape[0]": ""}


class fixed_vocabulary(Fundamental):
    """The number of ids is a fixed number in the code: it is weight.shape[0], whatever table comes."""

    edits = {"weight.shape[0])": ["10)", "100)", "7)", "1000)[..., : len(weight)]"]}


class width_for_classes(Misconception):
    """The one-hot rows are as wide as a vector (C). They need one place for each id: V = weight.shape[0]."""

    variants = [
        {"[0]": "[1]"},
        {"one_hot.to(weight.dtype)": "torch.eye(weight.shape[1], dtype=weight.dtype, device=weight.device)[ids]"},
    ]


class transposed_table(Misconception):
    """The table is transposed in the product: (…, V) @ (V, C) fits as it is (F.linear transposes by itself)."""

    edits = {"@ weight": "@ weight.T"}


class columns_for_rows(Misconception):
    """The product is written for columns, and comes out as (C, N): with rows it is one_hot @ weight."""

    edits = {PRODUCT: ["weight.T @ one_hot.to(weight.dtype).T", "weight.mT @ one_hot.to(weight.dtype).mT"]}


class order_swapped(Minor):
    """The factors are the wrong way round: one-hot rows (…, V) first, then the table (V, C)."""

    edits = {PRODUCT: "weight @ one_hot.to(weight.dtype)"}


class elementwise(Misconception):
    """`*` multiplies element by element; the matrix product is `@`."""

    edits = {"@ weight": "* weight"}


class one_hot_returned(Fundamental):
    """The one-hot rows themselves are returned: they still have to be multiplied with the table."""

    edits = {PRODUCT: ["one_hot.to(weight.dtype)", "one_hot"]}


class ids_from_one(Minor):
    """The ids are taken to count from 1: id 0 is the first row."""

    edits = {
        "one_hot(ids": [
            "one_hot((ids - 1) % weight.shape[0]",
            "one_hot((ids + 1) % weight.shape[0]",
            "one_hot(ids - 1",
            "one_hot(ids + 1",
        ]
    }


class flattened(Misconception):
    """The dimensions of ids are merged into one: ids (B, T) give (B, T, C)."""

    edits = {"one_hot(ids": "one_hot(ids.flatten()"}


class flat_ids_only(Misconception):
    """It works for ids of one shape only: ids may have any number of dimensions, also none."""

    variants = [
        *(
            f"""
            one_hot = torch.zeros({count}, weight.shape[0], dtype=weight.dtype, device=weight.device)
            {fill} = 1
            return one_hot @ weight
            """
            for count in ("len(ids)", "ids.shape[0]", "ids.size(0)")  # their errors differ where ids has no dimension
            for fill in (
                f"one_hot[torch.arange({count}, device=ids.device), ids]",
                f"for i in range({count}): one_hot[i, ids[i]]",
            )
        ),
        scatter.edited({"*ids.shape": "len(ids)", "-1, ids.unsqueeze(-1)": "1, ids[:, None]"}),
        {"return": "B, T = ids.shape\nreturn"},
        {"one_hot.to(weight.dtype) @ weight": "torch.mm(one_hot.to(weight.dtype), weight)"},
        """
        rows = []
        for i in ids.tolist():
            row = torch.zeros(weight.shape[0], dtype=weight.dtype, device=weight.device)
            row[i] = 1
            rows.append(row)
        return torch.stack(rows) @ weight
        """,
        """
        eye = torch.eye(weight.shape[0], dtype=weight.dtype, device=weight.device)
        return torch.stack([eye[i] for i in ids]) @ weight
        """,
    ]


class single_id_in_a_list(Minor):
    """A single id comes back with a dimension too many, (1, C): ids without dimensions give one vector, (C,)."""

    edits = {"one_hot(ids": ["one_hot(torch.atleast_1d(ids)", "one_hot(ids.reshape(-1) if ids.dim() == 0 else ids"]}


class summed_over_ids(Misconception):
    """The vectors of different ids are added up or averaged: each id keeps a vector of its own."""

    edits = {PRODUCT: [f"({PRODUCT}).sum(dim=0)", f"({PRODUCT}).sum(dim=-2)", f"({PRODUCT}).mean(dim=-2)"]}


class empty_refused(Misconception):
    """No ids at all, as in shape (0,), are refused or fail: the result is then empty, of shape (0, C)."""

    edits = {"return": ["assert ids.numel() > 0\nreturn", "if ids.max() >= len(weight): raise IndexError\nreturn"]}


class table_changed(Misconception):
    """The caller's table is changed: nothing may be written into weight."""

    edits = {
        "return one_hot.to(weight.dtype) @ weight": [
            """
            result = one_hot.to(weight.dtype) @ weight
            weight.mul_(0)
            return result
            """,
            """
            result = one_hot.to(weight.dtype) @ weight
            weight[ids] = 0
            return result
            """,
        ]
    }


class device_and_dtype_dropped(Misconception):
    """The one-hot rows are new tensors of float32 on the CPU: give them weight's dtype and device."""

    code = "return torch.eye(weight.shape[0])[ids] @ weight"


class device_dropped(shared_mistakes.device_dropped):
    code = "return torch.eye(weight.shape[0], dtype=weight.dtype)[ids] @ weight"


class single_precision(common_mistakes.single_precision):
    edits = {"to(weight.dtype)": "float()"}


class array_returned(common_mistakes.array_returned):
    edits = {
        PRODUCT: ["torch.from_numpy(one_hot @ weight.numpy())", "torch.from_numpy(one_hot @ weight.detach().numpy())"],
        "num_classes=weight.shape[0]": "len(weight)).to(weight.dtype).numpy(",
    }


class view_needed(Minor, shared_mistakes.view_needed):
    edits = {"one_hot(ids": "one_hot(ids.view(-1).view(ids.shape)"}
