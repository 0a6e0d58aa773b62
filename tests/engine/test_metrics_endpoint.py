"""`GET /metrics` after real calls: every name is there, with a value that what happened explains."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.engine.conftest import RunningServer

pytestmark = pytest.mark.engine

TYPES = {
    "strictcall_mask_fill_seconds": "histogram",
    "strictcall_grammar_compile_seconds": "histogram",
    "strictcall_grammar_cache": "counter",
    "strictcall_forced_tokens_drafted": "counter",
    "strictcall_forced_tokens_accepted": "counter",
    "strictcall_parse_failures": "counter",
    "strictcall_tool_calls": "counter",
    "strictcall_schema_violations": "counter",
    "strictcall_unmasked_keywords": "counter",
    "strictcall_requests": "counter",
    "strictcall_request_seconds": "histogram",
    "strictcall_time_to_first_token_seconds": "histogram",
    "strictcall_time_per_output_token_seconds": "histogram",
    "strictcall_tokens": "counter",
    "strictcall_requests_in_flight": "gauge",
    "strictcall_aborts": "counter",
}


class Scrape:
    """One answer of `GET /metrics`."""

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        self.types = {family.name: family.type for family in families}
        self.samples = [sample for family in families for sample in family.samples]

    def total(self, name: str, **labels: str) -> float:
        return sum(s.value for s in self.samples if s.name == name and labels.items() <= s.labels.items())


async def scrape(server: RunningServer) -> Scrape:
    response = (await server.http.get("/metrics")).raise_for_status()
    assert response.headers["content-type"].startswith("text/plain; version=")
    return Scrape(response.text)


def request(schema: dict[str, Any], *, strict: bool = True) -> dict[str, Any]:
    parameters: dict[str, Any] = {"type": "object", "properties": schema, "required": list(schema)}
    parameters["additionalProperties"] = False
    function = {"name": "act", "parameters": parameters, "strict": strict}
    return {
        "messages": [{"role": "user", "content": "Do something."}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "temperature": 0,
        "max_tokens": 60,
    }


@pytest.mark.one_engine
async def test_real_calls_are_seen_in_every_metric(server: RunningServer) -> None:
    """Calls, a cut one, one outside its schema and a refused one: each counts where it belongs, and once."""
    good = request({"only_in_this_test": {"enum": ["left", "right"]}})
    item = {"type": "object", "properties": {"x": {"enum": ["a", "b"]}}, "required": ["x"]}
    pair = {"type": "array", "items": item, "minItems": 2, "maxItems": 2, "uniqueItems": True}
    [letter] = server.context.vocabulary.encode("a")
    twins = request({"tags": pair}) | {"logit_bias": {str(letter): 100}}
    twins["strictcall"] = {"on_violation": "error"}
    before = await scrape(server)
    answers = [await server.chat(**good), await server.chat(**good), await server.chat(**good | {"n": 2})]
    cut = await server.chat(**good | {"max_tokens": 8})
    outside = await server.http.post("/v1/chat/completions", json={"model": answers[0]["model"], **twins})
    refused = await server.http.post("/v1/chat/completions", json={"messages": []})
    after = await scrape(server)

    def grown(name: str, **labels: str) -> float:
        return after.total(name, **labels) - before.total(name, **labels)

    assert (outside.status_code, refused.status_code) == (500, 400)
    assert cut["choices"][0]["finish_reason"] == "length"
    assert {name: after.types.get(name) for name in TYPES} == TYPES

    # The engine's own process: a mask for each step, each grammar compiled once and then kept.
    tokens = sum(answer["usage"]["completion_tokens"] for answer in [*answers, cut])
    assert 0 < grown("strictcall_mask_fill_seconds_count") <= tokens + 60
    assert 0 < grown("strictcall_mask_fill_seconds_sum") < 10
    assert grown("strictcall_grammar_compile_seconds_count") == 6
    assert grown("strictcall_grammar_compile_seconds_sum") > 0
    assert grown("strictcall_grammar_cache_total", result="miss") == 2
    assert grown("strictcall_grammar_cache_total", result="hit") == 4

    # Calls, and what was wrong with those that were none.
    family = {"family": "hermes"}
    assert grown("strictcall_tool_calls_total", **family, choice="required", constraint="schema") == 4
    assert grown("strictcall_parse_failures_total", **family, reason="truncated") == 1
    assert grown("strictcall_schema_violations_total", keyword="uniqueItems") == 1
    assert grown("strictcall_unmasked_keywords_total", keyword="uniqueItems") == 1

    # Requests and their times.
    assert grown("strictcall_requests_total", api="chat", status="200") == 4
    assert grown("strictcall_requests_total", api="chat", status="400") == 1
    assert grown("strictcall_requests_total", api="chat", status="500") == 1
    assert grown("strictcall_request_seconds_count", api="chat") == 6
    assert grown("strictcall_time_to_first_token_seconds_count") == 6
    assert grown("strictcall_time_per_output_token_seconds_count") >= 5
    assert after.total("strictcall_requests_in_flight") == 0
    assert grown("strictcall_aborts_total", cause="disconnect") == 0


async def test_tokens_are_those_of_the_answers_usage(server: RunningServer) -> None:
    """The bill of the metrics is the sum of the clients' bills, and vLLM's own counters agree."""
    before = await scrape(server)
    asked = {"messages": [{"role": "user", "content": "Count to three. " * 40}], "max_tokens": 5}
    usages = [(await server.chat(**asked))["usage"] for _ in range(2)]
    usages.append((await server.stream(**asked))["usage"])
    after = await scrape(server)

    def grown(name: str, **labels: str) -> float:
        return after.total(name, **labels) - before.total(name, **labels)

    cached = sum(usage["prompt_tokens_details"]["cached_tokens"] for usage in usages)
    assert cached > 0
    assert grown("strictcall_tokens_total", kind="cached") == cached
    for kind in ("prompt", "completion"):
        assert grown("strictcall_tokens_total", kind=kind) == sum(usage[f"{kind}_tokens"] for usage in usages)
    assert grown("strictcall_tokens_total", kind="reasoning") == 0
    assert grown("vllm:generation_tokens_total") == sum(usage["completion_tokens"] for usage in usages)


async def test_one_scrape_has_vllms_and_the_processs_metrics(server: RunningServer) -> None:
    """Whoever watches the server sees its engine and its memory in the same place."""
    found = await scrape(server)
    names = {sample.name for sample in found.samples}

    assert {"vllm:num_requests_running", "vllm:kv_cache_usage_perc", "vllm:prompt_tokens_total"} <= names
    assert found.total("process_resident_memory_bytes") > 2**20
    assert found.total("process_open_fds") > 0
    assert found.total("process_start_time_seconds") > 0
