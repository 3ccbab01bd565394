"""The installed provisioner of sandboxed kernels. It preloads the modules that the course's notebooks use."""

from ...sandbox.provisioner import SandboxProvisioner
from ...spec.course import course


class CourseProvisioner(SandboxProvisioner):
    """The provisioner behind the entry point "caged-fork". It lies outside the sandbox, which knows no course."""

    preload = course().preload
