"""Completions through the whole path: prompts as they stand, gone on with."""

from typing import Any

import httpx2
import openai
import pytest

from server.api.completions.response import CompletionBody
from server.config.settings import Settings
from server.engine.protocol import EngineError, Finish, TokenLogprob
from server.engine.scripted import Script
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import MODEL, Server, always, chunks, script, serving

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


async def post(server: Server, **body: Any) -> httpx2.Response:
    """Send a completion of a prompt unless `body` has its own."""
    return await server.http.post("/v1/completions", json={"model": MODEL, "prompt": "Once", **body})


async def choices(server: Server, **body: Any) -> list[dict[str, Any]]:
    """The choices of the answer to a request that is sent twice; it must be the same when streamed."""
    response = await post(server, **body)
    assert response.status_code == 200, response.text
    whole = CompletionBody.model_validate(response.json()).model_dump(exclude_unset=True)["choices"]
    streamed: dict[int, dict[str, Any]] = {}
    for chunk in chunks((await post(server, **body, stream=True)).text):
        for part in chunk["choices"]:
            choice = streamed.setdefault(part["index"], {**part, "text": "", "logprobs": None})
            choice["text"] += part["text"]
            choice["finish_reason"] = part["finish_reason"]
            if part["logprobs"]:
                choice["logprobs"] = {
                    key: [*(choice["logprobs"] or {}).get(key, []), *values]
                    for key, values in part["logprobs"].items()
                }
    assert [streamed[index] for index in sorted(streamed)] == whole
    return list(whole)


async def test_a_prompt_is_not_rendered(vocabulary: Vocabulary) -> None:
    """Its tokens are those of the text, with control tokens where they are spelled, and 16 is the budget."""
    text = "<|im_start|>user\nHi<|im_end|>\n"
    async with serving(vocabulary, always(vocabulary, " there")) as server:
        [choice] = await choices(server, prompt=text)
        asked = server.engine.asked[0]

    assert list(asked.prompt) == vocabulary.encode(text)
    assert (choice["text"], choice["finish_reason"]) == (" there", "stop")
    assert (asked.sampling.max_tokens, asked.structural_tag) == (16, None)


async def test_markers_are_text(vocabulary: Vocabulary) -> None:
    """Who sends raw prompts reads raw answers: no call and no thought is taken out of them."""
    text = '<think>Hm.</think><tool_call>\n{"name": "f"}\n</tool_call>'
    async with serving(vocabulary, always(vocabulary, text)) as server:
        [choice] = await choices(server, max_tokens=100)
        failures = server.metric("strictcall_parse_failures_total", family="hermes", reason="no_name")

    assert choice["text"] == text
    assert failures == 0


async def test_tokens_are_a_prompt_too(vocabulary: Vocabulary) -> None:
    """They reach the engine as they are."""
    ids = vocabulary.encode("Once upon")
    async with serving(vocabulary, always(vocabulary, " a")) as server:
        await choices(server, prompt=ids)

        assert list(server.engine.asked[0].prompt) == ids


async def test_each_prompt_has_its_choices(vocabulary: Vocabulary) -> None:
    """Choices of the first prompt come first, and each prompt is counted once."""
    texts = {"0": "a", "1": "b", "2": "c", "3": "d"}
    async with serving(vocabulary, lambda asked: script(vocabulary, texts[asked.request_id[-1]])) as server:
        answer = await choices(server, prompt=["One two", "Three"], n=2, echo=True)
        usage = (await post(server, prompt=["One two", "Three"], n=2)).json()["usage"]
        prompts = [asked.prompt for asked in server.engine.asked[-4:]]

    assert [choice["text"] for choice in answer] == ["One twoa", "One twob", "Threec", "Threed"]
    assert {tuple(prompt) for prompt in prompts} == {
        tuple(vocabulary.encode(text)) for text in ("One two", "Three")
    }
    assert usage["prompt_tokens"] == sum(map(len, prompts)) // 2


async def test_a_seed_means_the_same_for_every_prompt(vocabulary: Vocabulary) -> None:
    """A prompt among others is gone on with as if it were alone; its choices differ."""
    async with serving(vocabulary, always(vocabulary, "a")) as server:
        await post(server, prompt=["One", "Two"], n=2, seed=7)
        seeds = {(vocabulary.decode(asked.prompt), asked.sampling.seed) for asked in server.engine.asked}

    assert seeds == {("One", 7), ("One", 8), ("Two", 7), ("Two", 8)}


async def test_a_stop_sequence_ends_the_text(vocabulary: Vocabulary) -> None:
    """It is not part of it."""
    async with serving(vocabulary, always(vocabulary, " one, two, three")) as server:
        [choice] = await choices(server, stop=[", t"])

    assert (choice["text"], choice["finish_reason"]) == (" one", "stop")


async def test_structured_outputs_are_the_whole_answer(vocabulary: Vocabulary) -> None:
    """The mask is the format, without a thought before it; a cut answer is `length`."""
    cut = script(vocabulary, '{"a": ', finish=Finish.LENGTH)
    async with serving(vocabulary, lambda _: cut) as server:
        [choice] = await choices(server, structured_outputs={"json": SCHEMA})
        tag = server.engine.asked[0].structural_tag

    assert tag is not None
    assert "think" not in tag
    assert choice["finish_reason"] == "length"


async def test_an_answer_outside_its_schema_is_an_error(vocabulary: Vocabulary) -> None:
    """There is no conversation in which it could be written again."""
    unique = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}
    form = {"type": "json_schema", "json_schema": {"name": "ids", "schema": unique, "strict": True}}
    async with serving(vocabulary, always(vocabulary, "[1, 1]")) as server:
        response = await post(server, response_format=form)

        assert len(server.engine.asked) == 1
    assert response.json()["error"]["code"] == "schema_violation"


async def test_logprobs_have_the_form_of_this_api(vocabulary: Vocabulary) -> None:
    """Tokens, their log probabilities and alternatives, and where each begins."""
    ids = vocabulary.encode(" there is")
    told = [TokenLogprob(id, -0.5, ((id, -0.5), (7, float("-inf")))) for id in ids]
    scripted = Script([[id] for id in ids], Finish.LENGTH, logprobs=told)
    async with serving(vocabulary, lambda _: scripted) as server:
        [choice] = await choices(server, logprobs=1)

    logprobs = choice["logprobs"]
    assert logprobs["tokens"] == [" there", " is"]
    assert logprobs["text_offset"] == [0, 6]
    assert logprobs["token_logprobs"] == [-0.5, -0.5]
    assert logprobs["top_logprobs"][0][" there"] == -0.5
    assert min(logprobs["top_logprobs"][0].values()) == -9999.0


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"prompt": None}, "prompt", "invalid_type"),
        ({"prompt": ""}, "prompt", "string_below_min_length"),
        ({"prompt": []}, "prompt", "empty_array"),
        ({"prompt": ["a", ""]}, "prompt[1]", "string_below_min_length"),
        ({"prompt": [[]]}, "prompt[0]", "empty_array"),
        ({"prompt": [1, "a"]}, "prompt[1]", "invalid_type"),
        ({"prompt": [True]}, "prompt[0]", "invalid_type"),
        ({"prompt": [10**7]}, "prompt[0]", "invalid_value"),
        ({"prompt": {"a": 1}}, "prompt", "invalid_type"),
        ({"prompt": ["a"] * 5, "n": 4}, "prompt", "invalid_value"),
        ({"prompt": "word " * 200_000}, "prompt", "context_length_exceeded"),
        ({"suffix": "end"}, "suffix", "unsupported_parameter"),
        ({"best_of": 2}, "best_of", "unsupported_parameter"),
        ({"logprobs": 6}, "logprobs", "integer_above_max_value"),
        ({"logprobs": 1, "echo": True}, "echo", "invalid_value"),
        ({"max_tokens": 0}, "max_tokens", "integer_below_min_value"),
        ({"model": "gone"}, "model", "model_not_found"),
    ],
)
async def test_what_is_refused_names_its_field(
    vocabulary: Vocabulary, body: dict[str, Any], param: str, code: str
) -> None:
    """Before any model time."""
    async with serving(vocabulary, []) as server:
        response = await post(server, **body)
        assert server.engine.asked == []

    assert (response.json()["error"]["param"], response.json()["error"]["code"]) == (param, code)


async def test_the_sdk_takes_whole_and_streamed_answers(vocabulary: Vocabulary) -> None:
    """`best_of: 1` is what it is without."""
    async with serving(vocabulary, always(vocabulary, " upon")) as server:
        whole = await server.sdk.completions.create(model=MODEL, prompt="Once", best_of=1)
        stream = await server.sdk.completions.create(
            model=MODEL, prompt="Once", stream=True, stream_options={"include_usage": True}
        )
        parts = [part async for part in stream]

    assert whole.choices[0].text == "".join(part.choices[0].text for part in parts[:-1]) == " upon"
    assert parts[-1].usage == whole.usage


async def test_an_engine_that_fails_midway_ends_the_stream_with_an_error(vocabulary: Vocabulary) -> None:
    """As in a chat."""
    broken = Script([vocabulary.encode("Hel"), []], error=EngineError("lost"))
    async with serving(vocabulary, [broken]) as server:
        with pytest.raises(openai.APIError):
            async for _ in await server.sdk.completions.create(model=MODEL, prompt="Once", stream=True):
                pass
        assert server.metric("strictcall_requests_total", api="completions", status="500") == 1


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/audio/speech", "/v1/batches"])
async def test_what_is_elsewhere_is_said(vocabulary: Vocabulary, path: str) -> None:
    """A client that asks for it reads where to go, instead of a 404 that looks like a typing error."""
    async with serving(vocabulary, [], Settings()) as server:
        response = await server.http.post(path, json={"model": MODEL, "input": "a"})

    assert response.status_code == 404
    assert response.json()["error"]["code"] == "unsupported_endpoint"
    assert path in response.json()["error"]["message"]
