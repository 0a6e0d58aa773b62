"""One sequence from tokens to checked events: the same however the tokens are grouped."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Event, Malformed, Reasoning, merge
from parsers.families.hermes import HERMES
from server.answering.sequence import FinishReason, SequenceReader
from server.answering.stop import StopSequences
from server.answering.validate import AnswerGate, CallGate, Subject
from server.engine.protocol import Finish, Output, TokenLogprob
from server.mask.constrain import AnswerRule, CallRule, Constraint
from server.policy import DEFAULT_POLICY, OnViolation, Policy
from server.request import ToolDefinition
from server.schema.instance import InstanceError, InstanceValidator
from server.telemetry.labels import Held
from server.tokens.reader import TokenReader
from server.tokens.vocabulary import Vocabulary

CALL = '<tool_call>\n{"name": "f", "arguments": {"n": 1}}\n</tool_call>'
EVENTS: list[Event] = [CallBegin(0, "f"), CallArguments(0, '{"n": 1}'), CallEnd(0)]
VALIDATOR = InstanceValidator({"type": "object", "properties": {"n": {"type": "integer"}}})


class Deaf:
    """Nobody who wants to know."""

    def call_passed(self, rule: CallRule) -> None: ...

    def call_unreadable(self, failure: Malformed) -> None: ...

    def schema_violated(self, name: str, errors: Sequence[InstanceError]) -> None: ...


def reader_of(
    vocabulary: Vocabulary,
    *,
    stop: Sequence[str] = (),
    answer: AnswerRule | None = None,
    thinking: bool = False,
    policy: Policy = DEFAULT_POLICY,
    **more: Any,
) -> SequenceReader:
    rule = CallRule(ToolDefinition("f", strict=True), {}, VALIDATOR, Held.SCHEMA, streams=False)
    return SequenceReader(
        tokens=TokenReader(vocabulary.detokenizer(), HERMES.parser(["f"], opens_reasoning=thinking), {}),
        stop=StopSequences(stop),
        calls=CallGate(Constraint(None, {"f": rule}, None, policy=policy), Deaf()),
        answer=AnswerGate(answer, Deaf(), policy),
        end_ids=frozenset(vocabulary.end_ids),
        **more,
    )


def outputs(
    vocabulary: Vocabulary, text: str, *, size: int = 1, finish: Finish = Finish.STOP
) -> Iterable[Output]:
    """The engine's outputs of `size` tokens each, with logprobs, the end token last if the model stops."""
    ids = [*vocabulary.encode(text), *([min(vocabulary.end_ids)] if finish is Finish.STOP else [])]
    for at in range(0, len(ids), size):
        part = tuple(ids[at : at + size])
        logprobs = tuple(TokenLogprob(token_id, -0.5) for token_id in part)
        yield Output(
            part, finish if at + size >= len(ids) else None, logprobs, cached_tokens=3 if at == 0 else 0
        )


def read(
    reader: SequenceReader, outputs: Iterable[Output]
) -> tuple[list[Event], list[int], FinishReason | None]:
    """Merged events, the ids of the logprobs, and the finish reason; reads no further than that."""
    events: list[Event] = []
    ids: list[int] = []
    for output in outputs:
        got, logprobs, finish = reader.feed(output)
        events += got
        ids += [entry.token_id for entry in logprobs]
        if finish is not None or reader.rejected is not None:
            return merge(events), ids, finish
    return merge(events), ids, None


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_text_and_calls_are_read_whatever_the_grouping(vocabulary: Vocabulary, size: int) -> None:
    """The end token is neither text nor among the logprobs, but it was generated."""
    reader = reader_of(vocabulary)
    text = f"Sure, 東🍋.\n{CALL}"
    events, ids, finish = read(reader, outputs(vocabulary, text, size=size))

    assert events == [Content("Sure, 東🍋."), *EVENTS]
    assert finish is FinishReason.TOOL_CALLS
    assert ids == vocabulary.encode(text)
    assert (reader.tokens.completion, reader.tokens.cached) == (len(ids) + 1, 3)


def test_an_output_in_the_middle_finishes_nothing(vocabulary: Vocabulary) -> None:
    """Only the engine, or a stop sequence, ends a sequence."""
    assert reader_of(vocabulary).feed(Output(tuple(vocabulary.encode("Hi")))) == ((Content("Hi"),), (), None)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("prompted", [True, False])
def test_tokens_of_the_reasoning_span_are_counted(
    vocabulary: Vocabulary, size: int, *, prompted: bool
) -> None:
    """Also where the prompt has opened the span (fault B199)."""
    reader = reader_of(vocabulary, thinking=prompted)
    inside = "so it must be two"
    text = f"{'' if prompted else '<think>'}{inside}</think>2"
    events, _, finish = read(reader, outputs(vocabulary, text, size=size))

    assert (events, finish) == ([Reasoning(inside), Content("2")], FinishReason.STOP)
    assert len(vocabulary.encode(inside)) <= reader.tokens.reasoning < reader.tokens.completion


@pytest.mark.parametrize("size", [1, 2, 1000])
def test_a_stop_sequence_ends_the_sequence_to_the_token(vocabulary: Vocabulary, size: int) -> None:
    """What stands behind it in the same output is not text, no call, no token and no logprob."""
    reader = reader_of(vocabulary, stop=["END"])
    events, ids, finish = read(reader, outputs(vocabulary, f"One END two {CALL}", size=size))

    assert (events, finish) == ([Content("One ")], FinishReason.STOP)
    assert vocabulary.decode(ids) == "One END"
    assert reader.tokens.completion == len(ids)


def test_a_stop_sequence_means_nothing_inside_a_call(vocabulary: Vocabulary) -> None:
    """The JSON of a call, its markers and the reasoning may spell it (faults B139, B178)."""
    reader = reader_of(vocabulary, stop=["n", "tool_call", "so"])
    events, _, finish = read(reader, outputs(vocabulary, f"<think>so</think>{CALL}"))

    assert (events, finish) == ([Reasoning("so"), *EVENTS], FinishReason.TOOL_CALLS)


@pytest.mark.parametrize("size", [1, 1000])
def test_a_stop_sequence_after_a_call_leaves_the_call_its_name(vocabulary: Vocabulary, size: int) -> None:
    """Agents run the calls of an answer only if its finish reason says that there are some (fault B200)."""
    reader = reader_of(vocabulary, stop=["END"])
    events, _, finish = read(reader, outputs(vocabulary, f"{CALL}Done. END of it", size=size))

    assert (events, finish) == ([*EVENTS, Content("Done. ")], FinishReason.TOOL_CALLS)


def test_text_held_for_a_stop_sequence_is_given_at_the_end(vocabulary: Vocabulary) -> None:
    """The beginning of one is text if nothing more comes."""
    events, _, finish = read(reader_of(vocabulary, stop=["END"]), outputs(vocabulary, "The EN"))

    assert (events, finish) == ([Content("The EN")], FinishReason.STOP)


def test_text_held_for_a_stop_sequence_comes_before_the_call_that_follows_it(vocabulary: Vocabulary) -> None:
    """Clients close the text at the first call, so what was held back may not come behind it."""
    events, _, finish = read(reader_of(vocabulary, stop=["END"]), outputs(vocabulary, "The E" + CALL))

    assert (events, finish) == ([Content("The E"), *EVENTS], FinishReason.TOOL_CALLS)


def test_a_stop_sequence_that_the_last_flush_completes_still_ends_the_text(vocabulary: Vocabulary) -> None:
    """The parser may hold text, as the beginning of a marker, until the very end."""
    events, _, finish = read(reader_of(vocabulary, stop=["<tool"]), outputs(vocabulary, "See <tool"))

    assert (events, finish) == ([Content("See ")], FinishReason.STOP)


def test_nothing_behind_a_stop_sequence_passes_the_last_flush(vocabulary: Vocabulary) -> None:
    """A span that never closes is read at the end, as calls and text; they end at the stop sequence too."""
    reader = reader_of(vocabulary, stop=["END"])
    events, _, finish = read(reader, outputs(vocabulary, f"<think>so{CALL}END{CALL}"))

    assert (events, finish) == ([Reasoning("so"), *EVENTS], FinishReason.TOOL_CALLS)


@pytest.mark.parametrize("text", ["Once upon", f"{CALL}\n{CALL}", f"{CALL}\n<tool_call>\n{{"])
def test_length_wins_over_every_other_reason(vocabulary: Vocabulary, text: str) -> None:
    """A client must see that something may be missing, complete calls or not (faults B203, B204)."""
    _, _, finish = read(reader_of(vocabulary), outputs(vocabulary, text, finish=Finish.LENGTH))

    assert finish is FinishReason.LENGTH


def test_a_call_cut_by_the_budget_is_told_as_far_as_it_goes(vocabulary: Vocabulary) -> None:
    """No end is said for it."""
    text = CALL.removesuffix("1}}\n</tool_call>")
    events, _, finish = read(reader_of(vocabulary), outputs(vocabulary, text, finish=Finish.LENGTH))

    assert (events, finish) == ([CallBegin(0, "f"), CallArguments(0, '{"n": ')], FinishReason.LENGTH)


def test_the_finish_reason_of_calls_can_be_another(vocabulary: Vocabulary) -> None:
    """OpenAI's own service says `stop` for a named call; a setting takes that over."""
    reader = reader_of(vocabulary, after_calls=FinishReason.STOP)

    assert read(reader, outputs(vocabulary, CALL)) == (EVENTS, vocabulary.encode(CALL), FinishReason.STOP)


def test_a_held_answer_is_given_once_it_is_checked(vocabulary: Vocabulary) -> None:
    """Nothing is seen of it before, and the log probabilities come with it."""
    text = '{"n": 1}'
    reader = reader_of(vocabulary, answer=AnswerRule("out", VALIDATOR, strict=True, streams=False))
    *before, (events, logprobs, finish) = [reader.feed(output) for output in outputs(vocabulary, text)]

    assert before == [((), (), None)] * len(before)
    assert (events, finish) == ((Content(text),), FinishReason.STOP)
    assert [entry.token_id for entry in logprobs] == vocabulary.encode(text)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_sequence_ends_where_a_call_is_rejected(vocabulary: Vocabulary, size: int) -> None:
    """The text before it passes with its log probabilities; nothing of the call does, and no finish."""
    wrong = CALL.replace("1", '"x"')
    reader = reader_of(vocabulary, stop=["Sure?"])
    events, ids, finish = read(reader, outputs(vocabulary, f"No. Sure{wrong}{CALL}", size=size))

    assert (events, finish) == ([Content("No. Sure")], None)
    assert vocabulary.decode(ids) == "No. Sure"
    assert reader.rejected is not None
    assert reader.rejected.text == '{"n": "x"}'
    assert reader.tokens.completion < len(vocabulary.encode(f"No. Sure{wrong}{CALL}"))


def test_a_call_that_passes_all_the_same_is_remembered(vocabulary: Vocabulary) -> None:
    """It is an answer like any other, with a mark."""
    reader = reader_of(vocabulary, policy=Policy(on_violation=OnViolation.REPORT))
    events, _, finish = read(reader, outputs(vocabulary, CALL.replace("1", '"x"')))

    assert events == [CallBegin(0, "f"), CallArguments(0, '{"n": "x"}'), CallEnd(0)]
    assert (finish, reader.rejected) == (FinishReason.TOOL_CALLS, None)
    assert [violation.name for violation in reader.violations] == ["f"]


def test_a_wrong_answer_is_rejected_only_if_the_model_ended_it(vocabulary: Vocabulary) -> None:
    """The token budget, and a stop sequence of the client's, cut an answer that might have become right."""
    rule = AnswerRule("out", VALIDATOR, strict=True, streams=False)
    wrong = '{"n": "x"}'
    reader = reader_of(vocabulary, answer=rule)

    assert read(reader, outputs(vocabulary, wrong)) == ([], [], None)
    assert reader.rejected is not None
    assert reader.rejected.subject is Subject.FORMAT
    cut = read(reader_of(vocabulary, answer=rule), outputs(vocabulary, wrong, finish=Finish.LENGTH))
    stopped = read(reader_of(vocabulary, answer=rule, stop=["x"]), outputs(vocabulary, wrong))
    assert (cut[0], cut[2]) == ([Content(wrong)], FinishReason.LENGTH)
    assert (stopped[0], stopped[2]) == ([Content('{"n": "')], FinishReason.STOP)
