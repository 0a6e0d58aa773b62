"""What a response says of its request: OpenAI's answers repeat how they came about.

echo(body, stored=True)
# {"instructions": None, "model": "m", "tools": […], "tool_choice": "auto", "temperature": None, …}
"""

from typing import Any

from server.api.body_types import Body
from server.api.responses.items import dumped
from server.api.responses.request import ResponseRequestBody
from server.api.responses.tools import FunctionTool, NamespaceTool

PLAIN = ("instructions", "max_output_tokens", "max_tool_calls", "model", "previous_response_id")
SAMPLING = ("prompt_cache_key", "safety_identifier", "temperature", "top_p", "user")


def echo(body: ResponseRequestBody, *, stored: bool) -> dict[str, Any]:
    """The members that repeat the request, with the defaults that were taken."""
    reasoning = dumped(body.reasoning) if body.reasoning is not None else {}
    text = dumped(body.text) if body.text is not None else {}
    choice = body.tool_choice
    return {
        **{name: getattr(body, name) for name in (*PLAIN, *SAMPLING)},
        "background": False,
        "metadata": body.metadata or {},
        "parallel_tool_calls": body.parallel_tool_calls is not False,
        "reasoning": {"effort": None, "summary": None, **reasoning},
        "service_tier": "default",
        "store": stored,
        "text": {**text, "format": text.get("format") or {"type": "text"}},
        "tool_choice": dumped(choice) if isinstance(choice, Body) else choice or "auto",
        "tools": [_tool(tool) for tool in body.tools or ()],
        "top_logprobs": body.top_logprobs or 0,
        "truncation": "disabled",
    }


def _tool(tool: Body) -> dict[str, Any]:
    said = dumped(tool)
    if isinstance(tool, NamespaceTool):
        return {**said, "tools": [_tool(each) for each in tool.tools]}
    if isinstance(tool, FunctionTool):
        return {**said, "strict": tool.strict is not False, "parameters": tool.parameters}
    return said
