"""openai-agents and pydantic-ai against a running server: see README.md. Each printed line went well."""

import asyncio
import os
from typing import Any, Literal

from agents import (
    Agent,
    ModelSettings,
    Runner,
    function_tool,
    set_default_openai_api,
    set_default_openai_client,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

BASE_URL, MODEL = os.environ["BASE_URL"], os.environ["MODEL"]
FORCED = ModelSettings(temperature=0, max_tokens=100, tool_choice="required", parallel_tool_calls=False)
FREE = ModelSettings(temperature=0, max_tokens=60)
QUESTION = "I love it. How do I feel?"


class Reply(BaseModel):
    """How somebody feels."""

    mood: Literal["good", "bad"]
    certain: bool


def expect(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise SystemExit(f"expected {kind.__name__}, got {value!r}")


async def openai_agents(api: Literal["responses", "chat_completions"]) -> None:
    """A tool and a typed answer, whole and streamed, and a handoff; with Responses a stored one as well."""
    set_default_openai_api(api)
    called: list[str] = []

    # Offered until it was called, so that then the type of the answer is all that is left.
    @function_tool(is_enabled=lambda _context, _agent: not called)  # type: ignore[untyped-decorator]
    def get_weather(city: Literal["Oslo", "Paris"], unit: Literal["celsius", "fahrenheit"]) -> str:
        """Look at the sky."""
        called.append(city)
        return f"12 degrees {unit} in {city}"

    sky = Agent(name="Sky", model=MODEL, tools=[get_weather], output_type=Reply, model_settings=FORCED)
    whole = await Runner.run(sky, "The weather in Oslo?", max_turns=2)
    expect(called.pop(), str)
    streamed = Runner.run_streamed(sky, "The weather in Oslo?", max_turns=2)
    async for _ in streamed.stream_events():
        pass
    expect(called.pop(), str)
    for result in (whole, streamed):
        expect(result.final_output, Reply)
    print(f"openai-agents, {api}: tool and typed answer, whole and streamed")

    mood = Agent(name="Mood", model=MODEL, output_type=Reply, model_settings=FREE)
    triage = Agent(name="Triage", model=MODEL, handoffs=[mood], model_settings=FORCED)
    handed = await Runner.run(triage, QUESTION, max_turns=4)
    expect(handed.final_output, Reply)
    print(f"openai-agents, {api}: handoff to {handed.last_agent.name}")
    if api == "responses":
        first = await Runner.run(mood, QUESTION, max_turns=2)
        second = await Runner.run(mood, "And now?", previous_response_id=first.last_response_id, max_turns=2)
        expect(second.final_output, Reply)
        print(f"openai-agents, {api}: previous_response_id")


async def pydantic_ai(kind: Any) -> None:
    """Typed answers by a tool and by a format, whole, streamed, and with a history."""
    model = kind(MODEL, provider=OpenAIProvider(base_url=BASE_URL, api_key="none"))
    for output in (ToolOutput, NativeOutput):
        agent: Any = PydanticAgent(
            model,
            output_type=output(Reply),
            model_settings={"temperature": 0, "max_tokens": 100, "parallel_tool_calls": False},
        )
        first = await agent.run(QUESTION)
        async with agent.run_stream(QUESTION) as stream:
            expect(await stream.get_output(), Reply)
        second = await agent.run("And now?", message_history=first.all_messages())
        for result in (first, second):
            expect(result.output, Reply)
        print(f"pydantic-ai, {kind.__name__}: {output.__name__}, whole, streamed, with a history")


async def main() -> None:
    set_tracing_disabled(True)
    set_default_openai_client(AsyncOpenAI(base_url=BASE_URL, api_key="none"), use_for_tracing=False)
    await openai_agents("responses")
    await openai_agents("chat_completions")
    await pydantic_ai(OpenAIResponsesModel)
    await pydantic_ai(OpenAIChatModel)


asyncio.run(main())
