"""Write tables as Parquet, for which pyarrow must be installed."""

import importlib
import io
from collections.abc import Mapping
from typing import Any


class NoParquet(Exception):
    """Raised when no package for Parquet is installed; the message says what to do."""


def as_parquet(columns: Mapping[str, str], rows: list[dict[str, Any]]) -> bytes:
    """Return a table as Parquet; `columns` are their types by name, which empty ones need too.

    Raise NoParquet without pyarrow, which is too large to require.
    """
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise NoParquet("Parquet files are written by pyarrow, which is not installed: pip install pyarrow") from None
    types = {
        "string": arrow.string(),
        "bool": arrow.bool_(),
        "float64": arrow.float64(),
        "time": arrow.timestamp("us", "UTC"),
    }
    schema = arrow.schema([(column, types[kind]) for column, kind in columns.items()])
    file = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=schema), file)
    return file.getvalue()
