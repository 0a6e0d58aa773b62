"""Custom tools in Chat Completions: text in place of arguments, in answers that are not streamed."""

from typing import Any

import pytest

from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import QUESTION, always, call, serving, tool


def custom(definition: str | None = None, syntax: str = "regex") -> dict[str, Any]:
    described: dict[str, Any] = {"name": "sql", "description": "Runs SQL."}
    if definition is not None:
        grammar = {"syntax": syntax, "definition": definition}
        described["format"] = {"type": "grammar", "grammar": grammar}
    return {"type": "custom", "custom": described}


@pytest.mark.parametrize(
    "choice", ["auto", "required", {"type": "custom", "custom": {"name": "sql"}}], ids=str
)
@pytest.mark.parametrize(
    "described",
    [custom(), custom("SELECT [a-z]+"), custom('start: "SELECT " /[a-z]+/', "lark")],
    ids=range(3),
)
async def test_a_call_has_the_text_and_goes_back(
    vocabulary: Vocabulary, described: dict[str, Any], choice: Any
) -> None:
    """As the SDK has it; the model sees the call again as it wrote it."""
    wrote = call("sql", {"input": "SELECT abc"})
    async with serving(vocabulary, [wrote, "Done."]) as server:
        request: dict[str, Any] = {"model": "smol", "tools": [described]}
        asked: dict[str, Any] = {**request, "messages": QUESTION, "tool_choice": choice}
        first = await server.sdk.chat.completions.create(**asked)
        message = first.choices[0].message
        assert message.tool_calls is not None
        [each] = message.tool_calls
        assert each.type == "custom"
        result = {"role": "tool", "tool_call_id": each.id, "content": "3 rows"}
        messages: Any = [*QUESTION, message.model_dump(), result]
        await server.sdk.chat.completions.create(**request, messages=messages)

        first_asked, second_asked = server.engine.asked
        prompt = vocabulary.decode(second_asked.prompt)
    assert (each.custom.name, each.custom.input) == ("sql", "SELECT abc")
    assert first.choices[0].finish_reason == "tool_calls"
    assert first_asked.structural_tag is not None
    assert wrote in prompt
    assert "3 rows" in prompt


async def test_functions_beside_it_stay_functions(vocabulary: Vocabulary) -> None:
    """Each call in its own form."""
    text = f"{call('ping', {})}\n{call('sql', {'input': 'x'})}"
    async with serving(vocabulary, always(vocabulary, text)) as server:
        answer = await server.chat(tools=[tool("ping"), custom()])

    kinds = [each["type"] for each in answer["choices"][0]["message"]["tool_calls"]]
    assert kinds == ["function", "custom"]


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        ({"tools": [custom()], "stream": True}, "unsupported_value", "tools[0].type"),
        (
            {"tools": [custom("start: WORD", "lark")]},
            "invalid_value",
            "tools[0].custom.format.grammar.definition",
        ),
        ({"tools": [custom("a)|(b")]}, "invalid_value", "tools[0].custom.format.grammar.definition"),
        (
            {"tools": [custom(r"\p{Nope}")]},
            "invalid_function_parameters",
            "tools[0].custom.format.grammar.definition",
        ),
    ],
    ids=range(4),
)
async def test_what_cannot_be_held_or_told_is_refused(
    vocabulary: Vocabulary, body: dict[str, Any], code: str, param: str
) -> None:
    """No SDK has a form for its pieces in a stream; a mask is exact or there is none."""
    async with serving(vocabulary, []) as server:
        refused = await server.post(**body)

        assert server.engine.asked == []
    assert refused.status_code == 400
    assert (refused.json()["error"]["code"], refused.json()["error"]["param"]) == (code, param)
