"""Lists of requirements, the lock, and what is needed in all."""

import re
from collections.abc import Iterable
from importlib import metadata

from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LINUX, MACOS, WINDOWS = (
    dict(zip(("sys_platform", "platform_system", "os_name"), names.split(), strict=True))
    for names in ("linux Linux posix", "darwin Darwin posix", "win32 Windows nt")
)
PLATFORM_EXTRAS = re.compile(r"(nvidia|cuda|triton)\b")  # of a torch built for GPUs: they follow torch's own pin


def lines(name: str) -> list[str]:
    text = (ROOT / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def lock() -> dict[str, str]:
    """Return the pins that hold with the Python that runs this."""
    pins = map(Requirement, lines("constraints.txt"))
    held = [pin for pin in pins if pin.marker is None or pin.marker.evaluate()]
    assert all(specifier.operator == "==" for pin in held for specifier in pin.specifier)
    return {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in held}


def named(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def installed(name: str) -> str | None:
    """Return the version, without the label of a build such as +cpu."""
    try:
        return metadata.version(name).partition("+")[0]
    except metadata.PackageNotFoundError:  # not needed on this system, with this Python
        return None


def everything_needed(requirements: Iterable[str], system: dict[str, str]) -> set[str]:
    """Return what requirements pull in on a system with this Python, and what those pull in, to the last."""
    wanted = [Requirement(text) for text in requirements]
    found: dict[str, set[str]] = {}
    while wanted:
        requirement = wanted.pop()
        name, extras = canonicalize_name(requirement.name), {"", *requirement.extras}
        if PLATFORM_EXTRAS.match(name) or extras <= found.get(name, set()):
            continue
        found[name] = found.get(name, set()) | extras
        for need in map(Requirement, (metadata.requires(name) or ()) if installed(name) else ()):
            if need.marker is None or any(need.marker.evaluate(system | {"extra": extra}) for extra in extras):
                wanted.append(need)
    return set(found)
