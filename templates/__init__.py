"""What prompts need that models do not bring: chat templates that show tools, and words that tell of calls.

read_template("hermes")      # the text of hermes.jinja
read_template("llama3")      # None: those models bring their own
read_section("generic")      # the text of generic.txt
"""

from importlib.resources import files


def read_template(family_name: str) -> str | None:
    """Return the source of our template for a family, None if there is none."""
    return _read(f"{family_name}.jinja")


def read_replacement(family_name: str) -> str | None:
    """Return our template for a family whose models' own ask for calls otherwise than they were trained."""
    return _read(f"instead/{family_name}.jinja")


def read_section(family_name: str) -> str | None:
    """Return the part of the prompt that tells of a family's calls, None if its models were trained on them.

    `$tools` and `$call` stand in it for the tools and for a call of the first.
    """
    return _read(f"{family_name}.txt")


def _read(name: str) -> str | None:
    resource = files(__name__) / name
    return resource.read_text(encoding="utf-8") if resource.is_file() else None
