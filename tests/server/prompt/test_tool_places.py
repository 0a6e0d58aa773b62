"""Where templates look for tools: each gets them there."""

import json

import pytest

from server.prompt.template import ChatTemplate
from server.prompt.tool_places import Turn
from server.prompt.traits import TOOL

USER: Turn = {"role": "user", "content": "Hi"}
SYSTEM: Turn = {"role": "system", "content": "Be short."}
SAID = "{% for m in messages %}[{{ m.content }}]{% endfor %}"
IN_MESSAGE = (
    "{% for m in messages %}{{ m.role }}:{{ m.content }}{{ '<|tool|>' + m.tools if m.tools }};{% endfor %}"
)
FUNCTIONS = [TOOL["function"]]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        pytest.param("{{ tools | tojson }}", [TOOL], id="where all look"),
        pytest.param("{{ xml_tools | tojson if xml_tools }}", [TOOL], id="under another name"),
        pytest.param("{{ functions }}", FUNCTIONS, id="as the text of functions"),
        pytest.param("{{ 'Tools:' + functions }}", FUNCTIONS, id="as text that has to be there"),
    ],
)
def test_tools_are_put_where_the_template_looks(source: str, shown: object) -> None:
    """The template is found to show tools, and does."""
    template = ChatTemplate(source + "|" + SAID, origin="a test")
    tools, said = template.render([USER], tools=[TOOL]).split("|")

    assert template.traits.tools
    assert json.loads(tools.removeprefix("Tools:")) == shown
    assert said == "[Hi]"


def test_a_template_that_needs_tools_gets_none_of_them() -> None:
    """Without tools it renders with an empty list, and others are not told of tools at all."""
    assert ChatTemplate("{{ 'Tools: ' + functions }}" + SAID, origin="").render([USER]) == "Tools: [][Hi]"
    assert ChatTemplate("{{ functions is defined }}" + SAID, origin="").render([USER]) == "False[Hi]"


@pytest.mark.parametrize("messages", [[SYSTEM, USER], [USER]])
def test_tools_may_stand_in_the_system_message(messages: list[Turn]) -> None:
    """Phi-4-mini reads them from a key of it, so there has to be one."""
    template = ChatTemplate(IN_MESSAGE, origin="a test")
    text = template.render(messages, tools=[TOOL])
    content = "Be short." if SYSTEM in messages else ""

    assert template.traits.tools
    assert text == f"system:{content}<|tool|>{json.dumps(FUNCTIONS)};user:Hi;"
    assert "<|tool|>" not in template.render(messages)


def test_the_day_is_there_for_templates_that_print_it() -> None:
    """FireFunction writes `datetime`, and fails where there is none; the day keeps the prompt's beginning."""
    text = ChatTemplate("{{ 'Today is ' + datetime }}", origin="a test").render([USER])

    assert text.removeprefix("Today is ").count("-") == 2
