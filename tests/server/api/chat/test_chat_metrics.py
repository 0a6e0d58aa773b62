"""After a run that is known in every detail, `/metrics` has exactly its figures."""

import re

from server.config.settings import Settings, ToolMask
from server.engine.protocol import EngineError, Finish
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import Server, call, script, serving, tool

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TAGS = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}
LOOK = tool("look", CITY)
STRICT = tool("look", CITY, strict=True)
TAG = tool("tag", TAGS, strict=True)
NAMED = {"type": "function", "function": {"name": "look"}}
CALL = call("look", {"city": "Lima"})
TEXTS = {
    "text": "<think>Hm, well.</think>Hello.",
    "calls": f"{CALL}\n{CALL}",
    "call": CALL,
    "loose": call("look", {"town": 1}),
    "strict": call("look", {"city": "Oslo"}),
    "twice": call("tag", {"tags": ["a", "a"]}),
    "half": '<tool_call>\n{"name": "look", "arguments": {"city": "Li',
    "gone": call("gone", {}),
    "stop": "One END two three four five six",
}


async def figures(server: Server) -> dict[str, float]:
    """Every sample of ours that is not zero; of a histogram only the count."""
    lines = (await server.http.get("/metrics")).text.splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if line.startswith("strictcall_"))
    hidden = re.compile(r"_(created|sum|bucket)(\{|$)")
    return {name: float(value) for name, value in samples if float(value) and not hidden.search(name)}


async def run(server: Server) -> None:
    """Send what the scripts of the test answer, in their order."""
    await server.chat()
    await server.stream(tools=[LOOK])
    await server.chat(tools=[LOOK], tool_choice="required")
    await server.chat(tools=[STRICT], tool_choice=NAMED)
    await server.post(tools=[TAG])
    await server.stream(tools=[LOOK])
    await server.chat(tools=[LOOK])
    await server.chat(stop="END", n=2)
    await server.post()
    await server.post(model="gpt-4o")
    await server.post(n=0)


async def test_every_figure_is_right_after_a_run(vocabulary: Vocabulary) -> None:
    """Eleven requests, thirteen generations: each is counted once, by what became of it."""
    order = ["text", "calls", "loose", "strict", "twice", "twice", "half", "gone", "stop", "text"]
    scripts = [
        script(vocabulary, TEXTS[name], finish=Finish.LENGTH if name == "half" else Finish.STOP)
        for name in order
    ]
    scripts.append(Script([vocabulary.encode("Hel")], error=EngineError("gone")))
    generated = sum(len(step) for each in scripts for step in each.deltas)
    # Nothing is read behind a stop sequence, nor behind the brace that ends a call which is wrong.
    wrong = TEXTS["twice"].removesuffix("\n</tool_call>")
    unread = sum(
        len(vocabulary.encode(TEXTS[name])) + 1 - len(vocabulary.encode(read))
        for name, read in (("stop", "One END"), ("twice", wrong), ("twice", wrong))
    )
    async with serving(vocabulary, scripts, Settings(tool_mask=ToolMask.STRICT)) as server:
        await run(server)
        got = await figures(server)
        prompts = [len(asked.prompt) for asked in server.engine.asked]

    tokens = {
        kind: got.pop(f'strictcall_tokens_total{{kind="{kind}"}}')
        for kind in ("prompt", "completion", "reasoning")
    }
    # The eighth request has two choices, whose prompt is one. The fifth has two attempts with one each.
    assert tokens["prompt"] == sum(prompts) - prompts[8]
    assert tokens["completion"] == generated - unread
    # The span goes up to the token that completes its end marker.
    inside = len(vocabulary.encode("<think>Hm, well.</think")) - len(vocabulary.encode("<think>"))
    assert tokens["reasoning"] == 2 * inside
    assert got == {
        'strictcall_requests_total{api="chat",status="200"}': 7,
        'strictcall_requests_total{api="chat",status="500"}': 2,
        'strictcall_requests_total{api="chat",status="404"}': 1,
        'strictcall_requests_total{api="chat",status="400"}': 1,
        'strictcall_request_seconds_count{api="chat"}': 11,
        "strictcall_time_to_first_token_seconds_count": 10,
        "strictcall_time_per_output_token_seconds_count": 8,
        'strictcall_tool_calls_total{choice="auto",constraint="none",family="hermes"}': 2,
        'strictcall_tool_calls_total{choice="required",constraint="envelope",family="hermes"}': 1,
        'strictcall_tool_calls_total{choice="named",constraint="schema",family="hermes"}': 1,
        'strictcall_parse_failures_total{family="hermes",reason="truncated"}': 1,
        'strictcall_parse_failures_total{family="hermes",reason="unknown_tool"}': 1,
        'strictcall_schema_violations_total{keyword="required"}': 1,
        'strictcall_schema_violations_total{keyword="uniqueItems"}': 2,
        'strictcall_schema_retries_total{keyword="uniqueItems"}': 1,
        'strictcall_schema_repairs_total{outcome="failed"}': 1,
        'strictcall_unmasked_keywords_total{keyword="uniqueItems"}': 1,
        'strictcall_aborts_total{cause="stop_sequence"}': 1,
        'strictcall_aborts_total{cause="failure"}': 2,
        'strictcall_aborts_total{cause="retry"}': 1,
    }


async def test_a_fresh_server_has_the_series_at_zero(vocabulary: Vocabulary) -> None:
    """Rates can be computed from the first request on, and nothing is in flight."""
    async with serving(vocabulary, []) as server:
        text = (await server.http.get("/metrics")).text

        assert await figures(server) == {}
    for name in (
        "strictcall_requests_in_flight 0.0",
        'strictcall_aborts_total{cause="disconnect"} 0.0',
        'strictcall_tokens_total{kind="cached"} 0.0',
        'strictcall_parse_failures_total{family="hermes",reason="bad_json"} 0.0',
    ):
        assert name in text.splitlines()
