"""The caged kernels as they are installed: they start with the modules that the course's notebooks use."""

from __future__ import annotations

from ...sandbox.provisioner import CagedProvisioner
from ...spec.course import course


class CourseProvisioner(CagedProvisioner):
    """What the entry point "caged-fork" names. The sandbox itself knows no course."""

    preload = course().preload
