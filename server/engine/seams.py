"""The check for names of vLLM and XGrammar that they do not promise to keep.

    require(Scheduler, "update_from_output")     # SeamError if it has none: it says which versions to install

What is there with the class is asked for before an engine is started, the rest when an object is made.
"""

TESTED_VERSIONS = "vllm 0.32.0 and xgrammar 0.2.8"


class SeamError(Exception):
    """The installed vLLM or XGrammar lacks something that this module builds on."""


def require(owner: object, *names: str) -> None:
    """Raise `SeamError` if `owner` lacks one of the attributes (or, as a dataclass, fields) `names`."""
    fields = getattr(owner, "__dataclass_fields__", {})
    for name in names:
        if not hasattr(owner, name) and name not in fields:
            kind = owner if isinstance(owner, type) else type(owner)
            raise SeamError(
                f"{kind.__module__}.{kind.__qualname__} has no '{name}'. This server was tested with "
                f"{TESTED_VERSIONS}: install these."
            )
