"""What the terminal says when the server is ready: where it is, and two calls to paste.

greeting("http://127.0.0.1:8000/v1", "SmolLM2-135M-Instruct", needs_key=False)
"""

import json
from typing import Any

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
QUESTION = "What is the weather in Lima, in celsius?"

TEXT = """
Ready: {model} at {base_url}

In Python (pip install openai):

    from openai import OpenAI

    client = OpenAI(base_url="{base_url}", api_key={python_key})
    answer = client.chat.completions.create(
        model="{model}",
        messages=[{{"role": "user", "content": "{question}"}}],
        tools=[{tool}],
        tool_choice="required",
        parallel_tool_calls=False,
    )
    print(answer.choices[0].message.tool_calls[0].function)

In a shell:

    curl {base_url}/chat/completions -H 'Content-Type: application/json'{shell_key} -d '{body}'
"""


def greeting(base_url: str, model: str, *, needs_key: bool) -> str:
    """The text, whose calls work as they stand; a key is never shown, but read from STRICTCALL_API_KEY."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": QUESTION}],
        "tools": [TOOL],
        "tool_choice": "required",
        "parallel_tool_calls": False,
    }
    return TEXT.format(
        model=model,
        base_url=base_url,
        question=QUESTION,
        tool=repr(TOOL),
        python_key='__import__("os").environ["STRICTCALL_API_KEY"]' if needs_key else '"none"',
        shell_key=' -H "Authorization: Bearer $STRICTCALL_API_KEY"' if needs_key else "",
        body=json.dumps(body),
    )
