"""Check that the lock can be trusted: exact, complete for us, free of conflicts, and what is installed.

    $ python scripts/check_lock.py
    strictcall needs httpx2>=2.16,<3: requirements/ has httpx2==2.12.0

The lock leaves out on purpose some of what vLLM declares, so a missing dependency of another package is no
fault; a locked version that another locked package refuses is one.
"""

import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
LOCKED = ("requirements/cpu.txt", "requirements/dev.txt")
EXTRAS = ("cpu", "dev", "otel")


def read_lock(root: Path = ROOT) -> dict[str, Version]:
    """Return the version of each locked package, by its canonical name.

    Raises ValueError for a line that is not `name==version`, or that names a package twice.
    """
    versions: dict[str, Version] = {}
    for file in LOCKED:
        for line in (root / file).read_text(encoding="utf-8").splitlines():
            if not line or line.startswith("#"):
                continue
            name, exact, version = line.partition("==")
            if not exact or canonicalize_name(name) in versions:
                raise ValueError(f"{file}: {line}: expected one line name==version for each package")
            versions[canonicalize_name(name)] = Version(version)
    return versions


def unmet(requirements: list[str], versions: Mapping[str, Version], owner: str) -> Iterator[str]:
    """Yield what `owner` declares that the locked versions do not give, missing packages included."""
    for requirement in map(Requirement, requirements):
        locked = versions.get(canonicalize_name(requirement.name))
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if locked is None:
            yield f"{owner} needs {requirement}: requirements/ does not have it"
        elif not requirement.specifier.contains(locked, prereleases=True):
            yield f"{owner} needs {requirement}: requirements/ has {requirement.name}=={locked}"


def declared(root: Path = ROOT) -> list[str]:
    """Return what pyproject.toml declares for running and testing on a CPU."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]]
    return [*project["dependencies"], *extras]


def faults(versions: Mapping[str, Version]) -> Iterator[str]:
    """Yield one sentence for each fault of the lock."""
    yield from unmet(declared(), versions, "strictcall")
    for name, version in versions.items():
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            yield f"{name}=={version} is locked and not installed: run make setup"
            continue
        if Version(installed.version) != version:
            yield f"{name}=={version} is locked, {installed.version} is installed: run make setup"
        present = [text for text in installed.requires or () if _is_locked(text, versions)]
        yield from unmet(present, versions, name)


def _is_locked(requirement: str, versions: Mapping[str, Version]) -> bool:
    return canonicalize_name(Requirement(requirement).name) in versions


def main() -> int:
    """Print the faults of the lock and return 1 if there are any."""
    found = list(faults(read_lock()))
    print(*found, sep="\n", end="\n" if found else "")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
