"""The versions of this server and of what it stands on, read from what is installed.

own_version()                        # "0.1.0"
list(installed(("vllm", "xgrammar")))  # ["xgrammar 0.2.8"] where vLLM is not there
"""

from collections.abc import Iterator, Sequence
from importlib import metadata


def own_version() -> str:
    """The installed version; `unknown` in a source tree that was never installed."""
    own = next(installed(("strictcall",)), "strictcall unknown")
    return own.partition(" ")[2]


def installed(names: Sequence[str]) -> Iterator[str]:
    """`name version` of each distribution that is there."""
    for name in names:
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
