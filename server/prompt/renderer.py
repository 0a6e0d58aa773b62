"""What makes the text of a prompt from a conversation: the model's chat template, mostly.

choose_renderer(family, own=vocabulary.chat_template)
# ChatTemplate, or ToolPrompt where the model has to be told how calls are written, or HarmonyPrompt
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from parsers.family import Family
from parsers.harmony import HarmonyFamily
from server.prompt.harmony import HarmonyPrompt
from server.prompt.template import ChatTemplate, TemplateLoadError, choose_template
from server.prompt.tool_places import Turn
from server.prompt.tool_prompt import ToolPrompt
from server.prompt.traits import Traits
from templates import read_section


class Renderer(Protocol):
    """Writes prompts. All strings that come from a client have placeholders in them, and keep them."""

    @property
    def origin(self) -> str:
        """What it is, and why it was chosen, for the log."""
        ...

    @property
    def traits(self) -> Traits:
        """What it can show, and how it wants it."""
        ...

    @property
    def tells_form(self) -> bool:
        """Whether the prompt has to tell the model how calls are written, as it was not trained on them.

        Such calls are always masked.
        """
        ...

    def render(
        self,
        messages: Sequence[Turn],
        *,
        tools: Sequence[Turn] | None = None,
        add_generation_prompt: bool = True,
        arguments: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the prompt's text. Raises `ApiError` (400) for a conversation that cannot be shown."""
        ...


def choose_renderer(family: Family, *, own: str | None, given: str | None = None) -> Renderer:
    """The renderer for a model of `family`, whose own chat template is `own`.

    `given` is the one of `--chat-template`, which is used as it is. Raises `TemplateLoadError`.
    """
    if given is None and isinstance(family, HarmonyFamily):
        return HarmonyPrompt()
    section = read_section(family.name)
    if section is None:
        if given is None:
            return choose_template(own, family)
        return ChatTemplate(given, origin="--chat-template")
    source, origin = (own, "the model's own") if given is None else (given, "--chat-template")
    if source is None:
        raise TemplateLoadError(
            "There is no chat template for this model, and so no form in which it could be told of tools. "
            "Serve the instruct version of the model, or put a chat_template.jinja into its directory."
        )
    return ToolPrompt(ChatTemplate(source, origin=origin), section, family)
