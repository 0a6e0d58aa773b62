r"""The prompt of a model that was not trained to call tools: its own chat template, with the tools in words.

    prompt = ToolPrompt(ChatTemplate("{% for m in messages %}…", origin="the model's own"), section, GENERIC)
    prompt.render([{"role": "user", "content": "Hi"}], tools=[{"type": "function", "function": {…}}])
    # <|im_start|>system\n# Tools\n\nYou can call tools. …<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n

To such a template a conversation with tools is one without: the tools are told at the end of the system
message, earlier calls are the text of their turns (see `server.prompt.conversation`), and results are
what the user said. Where a template has no system role, the tools stand in front of the first user message.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import Template
from typing import Any

from parsers.family import Family
from server.prompt.template import ChatTemplate, default_system_prompt
from server.prompt.tool_places import Turn
from server.prompt.traits import SystemRole

SAMPLES: Mapping[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
"""What stands for values in the call that the section shows; for all others it is `...`."""


class ToolPrompt:
    """See `server.prompt.renderer.Renderer`. `section` tells of tools and calls: `templates.read_section`."""

    tells_form = True

    def __init__(self, template: ChatTemplate, section: str, family: Family) -> None:
        self.origin = f"{template.origin}, with tools told in templates/{family.name}.txt"
        self.traits = replace(template.traits, tools=True, calls=False, text_calls=True)
        self._template = template
        self._section = Template(section.strip())
        self._family = family
        self._default_system = default_system_prompt(template)

    def render(
        self,
        messages: Sequence[Turn],
        *,
        tools: Sequence[Turn] | None = None,
        add_generation_prompt: bool = True,
        arguments: Mapping[str, Any] | None = None,
    ) -> str:
        turns = _as_said(messages)
        if tools:
            turns = self._told(turns, tools)
        return self._template.render(turns, add_generation_prompt=add_generation_prompt, arguments=arguments)

    def _told(self, turns: list[Turn], tools: Sequence[Turn]) -> list[Turn]:
        """The turns with the section in them."""
        described = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
        section = self._section.substitute(tools=described, call=self._example(tools[0]["function"]))
        first = turns[0] if turns else {}
        if self.traits.system not in (SystemRole.ANYWHERE, SystemRole.FRONT):
            at = next((i for i, turn in enumerate(turns) if turn["role"] == "user"), None)
            if at is None:
                return [{"role": "user", "content": section}, *turns]
            said = {**turns[at], "content": _joined(section, turns[at]["content"])}
            return [*turns[:at], said, *turns[at + 1 :]]
        if first.get("role") == "system":
            return [{**first, "content": _joined(first["content"], section)}, *turns[1:]]
        return [{"role": "system", "content": _joined(self._default_system, section)}, *turns]

    def _example(self, tool: Mapping[str, Any]) -> str:
        """A call of a tool with its own keys: of a form with made-up ones, small models copy those."""
        properties, required = (tool["parameters"].get(key) for key in ("properties", "required"))
        if not isinstance(properties, Mapping):
            properties = {}
        keys = [key for key in properties if key in required] if isinstance(required, list) else properties
        samples = {key: _sample(properties[key]) for key in keys}
        return self._family.write_calls([(tool["name"], samples)])


def _sample(schema: Any) -> Any:
    """A value of the type that a schema names."""
    named = schema.get("type") if isinstance(schema, Mapping) else None
    return SAMPLES.get(named, "...") if isinstance(named, str) else "..."


def _as_said(messages: Sequence[Turn]) -> list[Turn]:
    """The turns without results, which are what the user said.

    They go into one user turn with what the user said before and after them, as many templates want the
    roles to alternate.
    """
    turns: list[Turn] = []
    for message, before in zip(messages, [{"role": ""}, *messages], strict=False):
        is_result, beside_result = message["role"] == "tool", "tool" in (message["role"], before["role"])
        turn = {"role": "user", "content": _result(message)} if is_result else message
        if beside_result and turns and turns[-1]["role"] == turn["role"] == "user":
            turns[-1] = {**turns[-1], "content": _joined(turns[-1]["content"], turn["content"])}
        else:
            turns.append(turn)
    return turns


def _result(message: Turn) -> str:
    tag = f'<tool_response name="{message["name"]}">' if message.get("name") else "<tool_response>"
    return f"{tag}\n{message['content']}\n</tool_response>"


def _joined(before: str, after: str) -> str:
    return f"{before}\n\n{after}" if before and after else before or after
