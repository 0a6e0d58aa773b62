"""Chat templates for families whose models may not ship one that shows tools.

read_template("hermes")      # the text of hermes.jinja
read_template("llama3")      # None: those models bring their own
"""

from importlib.resources import files


def read_template(family_name: str) -> str | None:
    """Return the source of our template for a family, None if there is none."""
    resource = files(__name__) / f"{family_name}.jinja"
    return resource.read_text(encoding="utf-8") if resource.is_file() else None
