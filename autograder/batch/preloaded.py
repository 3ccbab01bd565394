"""Imports in the process from which workers are forked what each of them would otherwise import by itself."""

import gc

from ..judge import small_case  # noqa: F401
from ..nbgrader_plugin.marking import notebook_marker
from . import marking  # noqa: F401

notebook_marker.load(())
gc.collect()
gc.freeze()  # a walk over all of it would copy its pages in each worker
