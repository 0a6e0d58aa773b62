"""What becomes of a call or an answer that breaks its schema, by the policy of the request or the server."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from server.answering.choice import MOST_CHOICES
from server.config.settings import Settings
from server.engine.protocol import EngineError, Finish, TokenLogprob
from server.engine.scripted import Ending, Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import QUESTION, Server, Told, always, call, fold, script, serving, told, tool

TAGS = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": True}},
    "required": ["tags"],
    "additionalProperties": False,
}
WRONG, RIGHT = '{"tags": ["a", "a"]}', '{"tags": ["a", "b"]}'
SUBJECTS: dict[str, Callable[[str], str]] = {
    "call": lambda text: call("tag", json.loads(text)),
    "answer": str,
}
LOOK = tool("look", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
LOOKS = call("look", {"n": 1})


def request(subject: str, *, strict: bool = True) -> dict[str, Any]:
    """A body that asks for a call, or for an answer, of the schema."""
    if subject == "call":
        return {"tools": [tool("tag", TAGS, strict=strict)]}
    schema = {"name": "tags", "schema": TAGS, "strict": strict}
    return {"response_format": {"type": "json_schema", "json_schema": schema}}


def given(subject: str, text: str) -> Told:
    """The answer with that call, or that answer."""
    return Told(calls=(("tag", text),), finish="tool_calls") if subject == "call" else Told(text)


def verdict_of(answer: dict[str, Any], index: int = 0) -> dict[str, Any] | None:
    verdict: dict[str, Any] | None = answer["choices"][index]["message"].get("strictcall")
    return verdict


def prompts(server: Server, vocabulary: Vocabulary) -> list[str]:
    return [vocabulary.decode(asked.prompt) for asked in server.engine.asked]


def repairs(server: Server) -> dict[str, float]:
    outcomes = ("repaired", "failed", "unfinished")
    counts = {name: server.metric("strictcall_schema_repairs_total", outcome=name) for name in outcomes}
    return {name: count for name, count in counts.items() if count}


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("strict", [True, False])
async def test_what_is_wrong_is_written_again(vocabulary: Vocabulary, subject: str, *, strict: bool) -> None:
    """The model reads what it wrote and each error; the client gets what is right, streamed or not."""
    texts = [SUBJECTS[subject](text) for text in (WRONG, RIGHT)] * 2
    policy = None if strict else {"on_violation": "retry"}
    async with serving(vocabulary, texts) as server:
        body = request(subject, strict=strict)
        assert await server.answers(**body, strictcall=policy) == [given(subject, RIGHT)]

        first, second = prompts(server, vocabulary)[:2]
        assert second.startswith(first)
        assert WRONG in second.removeprefix(first)
        assert "- $.tags: " in second.removeprefix(first)
        assert repairs(server) == {"repaired": 2}
        assert server.metric("strictcall_schema_retries_total", keyword="uniqueItems") == 2
        assert server.metric("strictcall_schema_violations_total", keyword="uniqueItems") == 2
        assert server.metric("strictcall_aborts_total", cause="failure") == 0


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_after_the_last_attempt_the_request_fails(vocabulary: Vocabulary, subject: str) -> None:
    """With the typed error, which says how often it was tried; nothing half right is in the stream."""
    async with serving(vocabulary, always(vocabulary, SUBJECTS[subject](WRONG))) as server:
        policy = {"on_violation": "retry", "max_attempts": 3}
        response = await server.post(**request(subject), strictcall=policy)
        *chunks, last = await server.stream(**request(subject), strictcall=policy)

        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (500, "schema_violation")
        assert "after 3 attempts" in error["message"]
        assert last["error"]["code"] == "schema_violation"
        assert [chunk["choices"][0]["delta"] for chunk in chunks] == [{"role": "assistant", "content": ""}]
        assert len(server.engine.asked) == 6
        assert prompts(server, vocabulary)[2].count("- $.tags: ") == 2
        assert repairs(server) == {"failed": 2}


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("strict", [True, False])
async def test_with_error_nothing_is_written_again(
    vocabulary: Vocabulary, subject: str, *, strict: bool
) -> None:
    """The client decides what to do, and has paid for one generation."""
    async with serving(vocabulary, always(vocabulary, SUBJECTS[subject](WRONG))) as server:
        body = {**request(subject, strict=strict), "strictcall": {"on_violation": "error"}}
        response = await server.post(**body)
        *_, last = await server.stream(**body)

        assert response.json()["error"]["code"] == last["error"]["code"] == "schema_violation"
        assert len(server.engine.asked) == 2
        assert repairs(server) == {}


@pytest.mark.parametrize("subject", SUBJECTS)
@pytest.mark.parametrize("strict", [True, False])
async def test_with_report_what_is_wrong_passes_and_is_marked(
    vocabulary: Vocabulary, subject: str, *, strict: bool
) -> None:
    """As it is written, since nothing can hold it up; the mark comes with the finish reason."""
    policy = {"on_violation": "report"} if strict else None
    async with serving(vocabulary, always(vocabulary, SUBJECTS[subject](WRONG))) as server:
        body = {**request(subject, strict=strict), "strictcall": policy}
        whole, chunks = await server.chat(**body), await server.stream(**body)

        assert told(whole) == told(fold(chunks)) == [given(subject, WRONG)]
        assert verdict_of(fold(chunks)) == verdict_of(whole)
        [violation] = (verdict_of(whole) or {}).pop("violations")
        name = ("tool", "tag") if subject == "call" else ("format", "tags")
        wanted = {"attempt": 1, name[0]: name[1], "path": "$.tags", "keyword": "uniqueItems"}
        assert violation.items() >= wanted.items()
        assert chunks[-1]["choices"][0]["delta"].keys() == {"strictcall"}
        assert len(chunks) > 5
        assert repairs(server) == {}


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_what_is_right_is_not_marked(vocabulary: Vocabulary, subject: str) -> None:
    """Clients who have not asked see OpenAI's fields only."""
    async with serving(vocabulary, always(vocabulary, SUBJECTS[subject](RIGHT))) as server:
        for strict in (True, False):
            answer = await server.chat(**request(subject, strict=strict))
            assert "strictcall" not in answer["choices"][0]["message"]


@pytest.mark.parametrize("subject", SUBJECTS)
async def test_the_answer_says_what_was_masked_checked_and_wrong_if_asked(
    vocabulary: Vocabulary, subject: str
) -> None:
    """Streamed and not streamed alike, and in a form that the SDK takes."""
    texts = [SUBJECTS[subject](text) for text in (WRONG, RIGHT)] * 3
    owner = {"tool": "tag"} if subject == "call" else {"format": "tags"}
    async with serving(vocabulary, texts) as server:
        body = {**request(subject), "strictcall": {"report": True}}
        whole, streamed = await server.chat(**body), fold(await server.stream(**body))
        question: Any = QUESTION
        parsed = await server.sdk.chat.completions.create(
            model="smol", messages=question, extra_body={"strictcall": body.pop("strictcall")}, **body
        )

    verdict = verdict_of(whole)
    assert verdict is not None
    assert verdict == verdict_of(streamed) == verdict_of(parsed.model_dump())
    assert verdict["attempts"] == 2
    assert [each["attempt"] for each in verdict["violations"]] == [1]
    assert verdict["checked"] == [{**owner, "pointer": "#/properties/tags", "keyword": "uniqueItems"}]
    assert {**owner, "pointer": "#/properties/tags/items", "keyword": "type"} in verdict["masked"]


async def test_all_rules_of_a_loose_call_are_checked(vocabulary: Vocabulary) -> None:
    """The mask holds its form only."""
    async with serving(vocabulary, [LOOKS]) as server:
        verdict = verdict_of(await server.chat(tools=[LOOK], strictcall={"report": True}))

    assert verdict is not None
    assert verdict["masked"] == []
    assert {"tool": "look", "pointer": "#/properties/n", "keyword": "type"} in verdict["checked"]
    assert (verdict["violations"], verdict["attempts"]) == ([], 1)


async def test_text_before_a_wrong_call_stays_and_the_next_attempt_is_a_call(vocabulary: Vocabulary) -> None:
    """It may have been read already; the mask of the next attempt has no more text."""
    texts = [f"Sure.\n{SUBJECTS['call'](WRONG)}", f"Sorry!{SUBJECTS['call'](RIGHT)}"] * 2
    async with serving(vocabulary, texts) as server:
        [answer] = await server.answers(**request("call"))

        assert answer == Told("Sure.", calls=(("tag", RIGHT),), finish="tool_calls")
        first, second = [asked.structural_tag or "" for asked in server.engine.asked[:2]]
        assert second.count("any_text") < first.count("any_text")
        assert "Sure." in prompts(server, vocabulary)[1]


async def test_calls_before_a_wrong_one_stay(vocabulary: Vocabulary) -> None:
    """They are right, and may be with the client already; the model is told not to repeat them."""
    texts = [f"{LOOKS}\n{SUBJECTS['call'](WRONG)}\n{LOOKS}", SUBJECTS["call"](RIGHT)] * 2
    async with serving(vocabulary, texts) as server:
        [answer] = await server.answers(tools=[LOOK, tool("tag", TAGS, strict=True)])
        whole = prompts(server, vocabulary)[1]

        assert answer.calls == (("look", '{"n": 1}'), ("tag", RIGHT))
        assert whole.count("The call is accepted") == 1
        assert [asked.ending for asked in server.engine.asked[:2]] == [Ending.CLOSED, Ending.FINISHED]
        assert server.metric("strictcall_aborts_total", cause="retry") == 2


async def test_each_attempt_draws_from_a_seed_of_its_own(vocabulary: Vocabulary) -> None:
    """With the same one, the same numbers would draw the same wrong call again."""
    texts = [SUBJECTS["call"](text) for text in (WRONG, RIGHT)]
    async with serving(vocabulary, texts) as server:
        await server.chat(**request("call", strict=True), seed=5)

        assert [asked.sampling.seed for asked in server.engine.asked] == [5, 5 + MOST_CHOICES]


async def test_ids_and_indices_go_on_over_attempts(vocabulary: Vocabulary) -> None:
    """To the client it is one answer."""
    texts = [f"{LOOKS}\n{SUBJECTS['call'](WRONG)}", SUBJECTS["call"](RIGHT)]
    async with serving(vocabulary, texts) as server:
        chunks = await server.stream(tools=[LOOK, tool("tag", TAGS, strict=True)])

    calls = [each for chunk in chunks for each in chunk["choices"][0]["delta"].get("tool_calls", [])]
    assert [each["index"] for each in calls if "id" in each] == [0, 1]
    assert len({each["id"] for each in calls if "id" in each}) == 2


async def test_reasoning_of_a_wrong_attempt_stays(vocabulary: Vocabulary) -> None:
    """It was shown as it was thought; that of the next attempt follows it."""
    texts = [f"<think>a</think>{SUBJECTS['call'](WRONG)}", f"<think>b</think>{SUBJECTS['call'](RIGHT)}"] * 2
    async with serving(vocabulary, texts) as server:
        [answer] = await server.answers(**request("call"))

    assert answer == Told(reasoning="ab", calls=(("tag", RIGHT),), finish="tool_calls")


async def test_usage_counts_every_attempt(vocabulary: Vocabulary) -> None:
    """Each was read and written."""
    texts = [SUBJECTS["answer"](text) for text in (WRONG, RIGHT)]
    async with serving(vocabulary, texts) as server:
        usage = (await server.chat(**request("answer")))["usage"]

        assert usage["prompt_tokens"] == sum(len(asked.prompt) for asked in server.engine.asked)
        written = sum(len(vocabulary.encode(text)) + 1 for text in texts)
        assert usage["completion_tokens"] == written
        assert server.metric("strictcall_tokens_total", kind="completion") == written


async def test_log_probabilities_are_those_of_the_answer(vocabulary: Vocabulary) -> None:
    """Those of a call that was written again are not told."""
    scripts = []
    for text in (f"Sure.\n{SUBJECTS['call'](WRONG)}", SUBJECTS["call"](RIGHT)):
        ids = vocabulary.encode(text)
        logprobs = [TokenLogprob(token_id, -1.0) for token_id in ids]
        scripts.append(Script([[token_id] for token_id in ids], logprobs=logprobs))
    async with serving(vocabulary, scripts * 2) as server:
        [answer] = await server.answers(**request("call"), logprobs=True)

    texts = "".join(text for text, _ in answer.logprobs or ())
    assert texts == f"Sure.{SUBJECTS['call'](RIGHT)}"


async def test_the_budget_is_that_of_each_attempt(vocabulary: Vocabulary) -> None:
    """And one that ends an attempt says so."""
    scripts = [script(vocabulary, SUBJECTS["call"](WRONG)), script(vocabulary, SUBJECTS["call"](RIGHT))]
    async with serving(vocabulary, scripts) as server:
        budget = len(scripts[0].deltas)
        answer = await server.chat(**request("call"), max_tokens=budget)
        assert told(answer) == [given("call", RIGHT)]
        assert [asked.sampling.max_tokens for asked in server.engine.asked] == [budget, budget]

    cut = script(vocabulary, SUBJECTS["call"](RIGHT)[:60], finish=Finish.LENGTH)
    async with serving(vocabulary, [scripts[0], cut]) as server:
        [short] = told(await server.chat(**request("call")))
        assert short.finish == "length"
        assert repairs(server) == {"unfinished": 1}


async def test_each_choice_is_repaired_by_itself(vocabulary: Vocabulary) -> None:
    """A choice that is right is not written again for another's sake."""
    texts = {"0": WRONG, "1": RIGHT, "2": RIGHT}
    async with serving(
        vocabulary, lambda asked: script(vocabulary, SUBJECTS["call"](texts[asked.request_id[-1]]))
    ) as server:
        answer = await server.chat(**request("call"), n=2, strictcall={"report": True})

        assert told(answer) == [given("call", RIGHT)] * 2
        verdicts = [verdict_of(answer, index) or {} for index in (0, 1)]
        assert [verdict["attempts"] for verdict in verdicts] == [2, 1]
        assert len(server.engine.asked) == 3


async def test_an_attempt_that_does_not_fit_the_context_is_not_begun(vocabulary: Vocabulary) -> None:
    """The error is that of the call, and not one about the client's messages."""
    text = SUBJECTS["answer"](json.dumps({"tags": ["word " * 500, "word " * 500]}))
    async with serving(vocabulary, always(vocabulary, text)) as server:
        server.engine.max_model_len = len(vocabulary.encode(text)) + 60
        response = await server.post(**request("answer"))

        assert response.json()["error"]["code"] == "schema_violation"
        assert len(server.engine.asked) == 1
        assert repairs(server) == {}


async def test_an_engine_that_fails_on_the_next_attempt_fails_the_request(vocabulary: Vocabulary) -> None:
    """As it would on the first."""
    scripts = [script(vocabulary, SUBJECTS["call"](WRONG)), Script([], error=EngineError("out of pages"))]
    async with serving(vocabulary, scripts) as server:
        response = await server.post(**request("call"))

        assert response.json()["error"]["code"] == "engine_error"
        assert repairs(server) == {"unfinished": 1}


async def test_an_answer_that_continues_a_message_is_not_written_again(vocabulary: Vocabulary) -> None:
    """Another answer would not continue it."""
    messages = [*QUESTION, {"role": "assistant", "content": "Here: "}]
    async with serving(vocabulary, always(vocabulary, WRONG)) as server:
        response = await server.post(**request("answer"), messages=messages, continue_final_message=True)

        assert response.json()["error"]["code"] == "schema_violation"
        assert len(server.engine.asked) == 1


async def test_a_call_that_continues_a_message_is_written_again_behind_it(vocabulary: Vocabulary) -> None:
    """The message is finished then: its text is that of the turn with the call."""
    messages = [*QUESTION, {"role": "assistant", "content": "Here: "}]
    texts = [f"it is.{SUBJECTS['call'](text)}" for text in (WRONG, RIGHT)]
    async with serving(vocabulary, texts) as server:
        answer = await server.chat(**request("call"), messages=messages, continue_final_message=True)

        assert told(answer) == [Told("it is.", calls=(("tag", RIGHT),), finish="tool_calls")]
        assert "Here: it is." in prompts(server, vocabulary)[1]


async def test_settings_are_the_policy_of_requests_that_say_nothing(vocabulary: Vocabulary) -> None:
    """One attempt is no further one."""
    async with serving(
        vocabulary, always(vocabulary, SUBJECTS["call"](WRONG)), Settings(max_attempts=1)
    ) as server:
        assert (await server.post(**request("call"))).json()["error"]["code"] == "schema_violation"
        assert len(server.engine.asked) == 1


@pytest.mark.parametrize("by_server", [True, False])
async def test_every_tool_can_be_made_strict(vocabulary: Vocabulary, *, by_server: bool) -> None:
    """By the server for all, or by a request for its own; legacy functions too."""
    settings = Settings(strict_tools=by_server)
    policy = {} if by_server else {"strict_tools": True}
    async with serving(vocabulary, always(vocabulary, LOOKS), settings) as server:
        await server.chat(tools=[LOOK], strictcall=policy)
        await server.chat(functions=[LOOK["function"]], strictcall=policy)

        held = {"choice": "auto", "constraint": "schema", "family": "hermes"}
        assert server.metric("strictcall_tool_calls_total", **held) == 2


async def test_reject_names_every_keyword_before_any_model_time(vocabulary: Vocabulary) -> None:
    """In OpenAI's form; what the mask holds is not named, and nothing that is not strict."""
    both = {**TAGS, "properties": {**TAGS["properties"], "more": TAGS["properties"]["tags"]}}  # type: ignore[dict-item,index]
    tools = [tool("loose", TAGS), tool("tag", both, strict=True)]
    async with serving(vocabulary, []) as server:
        response = await server.post(tools=tools, strictcall={"unsupported_keywords": "reject"})

        error = response.json()["error"]
        assert response.status_code == 400
        assert (error["code"], error["param"]) == (
            "invalid_function_parameters",
            "tools[1].function.parameters",
        )
        assert "function 'tag'" in error["message"]
        for name in ("tags", "more"):
            assert f"'uniqueItems' at '#/properties/{name}'" in error["message"]
        assert "loose" not in error["message"]
        assert server.engine.asked == []


async def test_describe_tells_the_model_and_checks_all_the_same(vocabulary: Vocabulary) -> None:
    """The rule is in the prompt, in words; the check is that of the schema as the client wrote it."""
    async with serving(vocabulary, [SUBJECTS["call"](text) for text in (WRONG, RIGHT)]) as server:
        answer = await server.chat(**request("call"), strictcall={"unsupported_keywords": "describe"})

        assert told(answer) == [given("call", RIGHT)]
        assert all("The items all differ." in prompt for prompt in prompts(server, vocabulary))
