"""The installed provisioner of caged kernels. It preloads the modules that the course's notebooks use."""

from ...sandbox.provisioner import CagedProvisioner
from ...spec.course import course


class CourseProvisioner(CagedProvisioner):
    """The provisioner behind the entry point "caged-fork". It lies outside the sandbox, which knows no course."""

    preload = course().preload
