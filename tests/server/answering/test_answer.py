"""The path from a request to its steps, without HTTP: what the engine is asked, and what is left behind."""

import asyncio
import itertools
import threading
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Reasoning, merge
from server.answering.answer import Answer, prepare
from server.answering.choice import SEEDS
from server.answering.observe import Usage
from server.answering.sequence import FinishReason, Step
from server.answering.slices import SLICE
from server.context import Context
from server.engine.protocol import EngineDeadError, EngineError
from server.engine.scripted import Ending, Script
from server.errors import ApiError, Code
from server.request import (
    Matching,
    Message,
    Mode,
    RawText,
    Request,
    SamplingParams,
    ToolChoice,
    ToolDefinition,
)
from server.tokens.vocabulary import Vocabulary
from tests.server.scripted import call, serving

TAGS = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}


def ask(**fields: Any) -> Request:
    return Request(
        **{"id": "r", "api": "chat", "model": "smol", "messages": (Message("user", "Hi"),), **fields}
    )


async def walk(answer: Answer) -> list[Step]:
    async with aclosing(answer.steps()) as steps:
        return [step async for step in steps]


def events(steps: list[Step], index: int = 0) -> list[Event]:
    """The merged events of one choice, ids aside."""
    told = [event for step in steps if step.index == index for event in step.events]
    return merge([replace(event, id=None) if isinstance(event, CallBegin) else event for event in told])


async def test_a_request_becomes_a_prompt_a_mask_and_steps(vocabulary: Vocabulary) -> None:
    """The whole path: what the engine is asked, and the events of what it writes."""
    text = f"<think>hm</think>Sure.{call('f', {'n': 1})}"
    tools = (ToolDefinition("f", parameters={"type": "object"}, strict=True, param="tools[0].function"),)
    async with serving(vocabulary, [text]) as server:
        answer = await prepare(ask(tools=tools, choice=ToolChoice(Mode.AUTO)), server.context)
        steps = await walk(answer)

        [asked] = server.engine.asked
        assert asked.request_id == "r-0"
        assert vocabulary.decode(asked.prompt).endswith("<|im_start|>assistant\n")
        assert asked.sampling.max_tokens == server.engine.max_model_len - len(asked.prompt)
        assert '"begin":"<tool_call>' in (asked.structural_tag or "")
        assert events(steps) == [
            Reasoning("hm"),
            Content("Sure."),
            *(CallBegin(0, "f"), CallArguments(0, '{"n": 1}'), CallEnd(0)),
        ]
        assert [step.finish for step in steps if step.finish] == [FinishReason.TOOL_CALLS]
        assert answer.usage.prompt == len(asked.prompt)


async def test_nothing_is_asked_before_the_steps_are_read(vocabulary: Vocabulary) -> None:
    """A request can be prepared, and dropped, for nothing."""
    async with serving(vocabulary, []) as server:
        answer = await prepare(ask(), server.context)

        assert server.engine.asked == []
        assert (answer.usage.completion, answer.usage.cached) == (0, 0)


@pytest.mark.parametrize(
    ("fields", "apart"),
    [
        pytest.param({"tools": (ToolDefinition("f", parameters={"type": "object"}),)}, True, id="a schema"),
        pytest.param({"answer_format": Matching("a+")}, True, id="a grammar"),
        pytest.param({"messages": (Message("user", "Hi" * 2_000),)}, True, id="a long text"),
        pytest.param({"messages": (Message("user", ""),) * 50}, True, id="many messages"),
        pytest.param({"messages": (Message("assistant", "", reasoning="Hm" * 2_000),)}, True, id="reasoning"),
        pytest.param({"source": RawText("Hi" * 2_000), "messages": ()}, True, id="a raw prompt"),
        pytest.param({}, False, id="a short chat, which takes less time than a thread does to wake"),
    ],
)
async def test_preparing_does_not_keep_the_event_loop(
    vocabulary: Vocabulary, fields: dict[str, Any], apart: bool
) -> None:
    """A large schema is planned while others are answered: another thread does it."""
    threads: list[int] = []

    class Watched(tuple[str, ...]):
        """Names of models that see who reads them."""

        __slots__ = ()

        def __contains__(self, name: object) -> bool:
            threads.append(threading.get_ident())
            return super().__contains__(name)

    async with serving(vocabulary, []) as server:
        context = Context(
            **{name: getattr(server.context, name) for name in Context.__slots__ if name != "model_names"},
            model_names=Watched(["smol"]),
        )
        await prepare(ask(**fields), context)

    assert threads
    assert (threading.get_ident() not in threads) == apart


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"model": "other"}, Code.MODEL_NOT_FOUND),
        ({"messages": (Message("user", "word " * 9000),)}, Code.CONTEXT_LENGTH),
        ({"template_arguments": {"messages": []}}, Code.INVALID_VALUE),
    ],
)
async def test_what_is_refused_is_refused_while_preparing(
    vocabulary: Vocabulary, fields: dict[str, Any], code: Code
) -> None:
    """Each stage of it may refuse."""
    async with serving(vocabulary, []) as server:
        with pytest.raises(ApiError) as caught:
            await prepare(ask(**fields), server.context)

    assert caught.value.kind is code


@pytest.mark.parametrize(("seed", "seeds"), [(None, [None, None]), (7, [7, 8]), (SEEDS - 1, [SEEDS - 1, 0])])
async def test_each_choice_has_a_seed_of_its_own(
    vocabulary: Vocabulary, seed: int | None, seeds: list[int | None]
) -> None:
    """With one seed all choices would be the same; the engine's seeds end at 2**63."""
    async with serving(vocabulary, ["One", "Two"]) as server:
        await walk(await prepare(ask(n=2, sampling=SamplingParams(seed=seed)), server.context))

        assert [asked.sampling.seed for asked in server.engine.asked] == seeds
        assert [asked.request_id for asked in server.engine.asked] == ["r-0", "r-1"]


async def test_usage_is_that_of_all_choices(vocabulary: Vocabulary) -> None:
    """The prompt is counted once, what was cached as the first choice found it."""
    one, two = vocabulary.encode("One"), vocabulary.encode("Two of them")
    scripts = [Script([one], cached_tokens=3), Script([two], cached_tokens=9)]
    async with serving(vocabulary, scripts) as server:
        answer = await prepare(ask(n=2), server.context)
        await walk(answer)

        prompt = len(server.engine.asked[0].prompt)
        assert answer.usage == Usage(prompt, completion=len(one) + len(two), reasoning=0, cached=3)
        counted = {
            kind: server.metric("strictcall_tokens_total", kind=kind) for kind in ("prompt", "completion")
        }
        assert counted == {"prompt": prompt, "completion": len(one) + len(two)}


async def test_leaving_early_aborts_every_choice_and_counts_what_was_used(vocabulary: Vocabulary) -> None:
    """The engine is told at once; the tokens up to there were generated."""
    async with serving(vocabulary, ["A long story. " * 50, "Another one. " * 50]) as server:
        answer = await prepare(ask(n=2), server.context)
        async with aclosing(answer.steps()) as steps:
            await anext(steps)

        assert [asked.ending for asked in server.engine.asked] == [Ending.CLOSED, Ending.CLOSED]
        assert server.metric("strictcall_aborts_total", cause="disconnect") == 2
        assert server.metric("strictcall_tokens_total", kind="completion") == answer.usage.completion > 0


async def test_a_stop_sequence_aborts_its_choice_only(vocabulary: Vocabulary) -> None:
    """The others go on to their end."""
    async with serving(vocabulary, ["One END two", "Three four"]) as server:
        steps = await walk(await prepare(ask(n=2, stop=("END",)), server.context))

        assert (events(steps, 0), events(steps, 1)) == ([Content("One ")], [Content("Three four")])
        assert [asked.ending for asked in server.engine.asked] == [Ending.CLOSED, Ending.FINISHED]
        assert server.metric("strictcall_aborts_total", cause="stop_sequence") == 1
        assert server.metric("strictcall_aborts_total", cause="disconnect") == 0


async def test_a_stop_sequence_with_the_last_token_aborts_nothing(vocabulary: Vocabulary) -> None:
    """The model was done."""
    async with serving(vocabulary, [Script([vocabulary.encode("One END")])]) as server:
        await walk(await prepare(ask(stop=("END",)), server.context))

        assert server.engine.asked[0].ending is Ending.FINISHED
        assert server.metric("strictcall_aborts_total", cause="stop_sequence") == 0


async def test_others_have_their_turn_while_many_tokens_of_one_output_are_read(
    vocabulary: Vocabulary,
) -> None:
    """A client that did not read for a while finds thousands of them."""
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with serving(vocabulary, [Script([vocabulary.encode("word ") * (2 * SLICE)])]) as server:
        answer = await prepare(ask(), server.context)
        async with aclosing(answer.steps()) as steps:
            task = asyncio.create_task(other())
            before = [turns async for _ in steps]
            task.cancel()

        assert len(before) > 1
        assert all(earlier < later for earlier, later in itertools.pairwise(before))


@pytest.mark.parametrize("error", [EngineError("out of pages"), EngineDeadError("killed")])
async def test_what_the_engine_raises_passes_through_and_is_counted(
    vocabulary: Vocabulary, error: EngineError
) -> None:
    """The boundary knows what to tell of it; here it is an abort."""
    async with serving(vocabulary, [Script([], error=error)]) as server:
        answer = await prepare(ask(), server.context)
        with pytest.raises(type(error), match=str(error)):
            await walk(answer)

        assert server.metric("strictcall_aborts_total", cause="failure") == 1


async def test_what_the_mask_does_not_hold_is_counted_once_a_request(vocabulary: Vocabulary) -> None:
    """However many choices there are."""
    tools = (ToolDefinition("f", parameters=TAGS, strict=True, param="tools[0].function"),)
    async with serving(vocabulary, []) as server:
        await prepare(ask(tools=tools, choice=ToolChoice(Mode.AUTO), n=3), server.context)

        assert server.metric("strictcall_unmasked_keywords_total", keyword="uniqueItems") == 1


@pytest.mark.parametrize(("n", "most"), [(1, 1), (3, 18)])
async def test_a_slow_reader_holds_the_engine_back(vocabulary: Vocabulary, n: int, most: int) -> None:
    """Memory does not grow with a client that does not read: a choice is a few steps ahead at most."""
    async with serving(vocabulary, ["word " * 200] * n) as server:
        answer = await prepare(ask(n=n), server.context)
        async with aclosing(answer.steps()) as steps:
            await anext(steps)
            for _ in range(1000):
                await asyncio.sleep(0)

            assert answer.usage.completion <= most
