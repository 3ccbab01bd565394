"""Imports in the process from which workers are forked what each of them would otherwise import by itself.

First, while it holds nothing of the judge, it forks the template of notebooks that the workers share.
"""

import gc

gc.disable()  # it would walk again and again over what is imported, all of which stays

from ..sandbox import template  # noqa: E402

template.fork_shared()

from ..judge import small_case  # noqa: E402, F401
from ..nbgrader_plugin.marking import notebook_marker  # noqa: E402
from . import marking  # noqa: E402, F401

notebook_marker.load(())
gc.freeze()  # a walk over all of it would copy its pages in each worker
gc.enable()
