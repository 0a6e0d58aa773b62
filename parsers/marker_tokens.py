r"""Markers that are tokens of their own, told from text that only spells them.

    letters = as_letters(["<tool_call>"])
    parser = MarkerTokenParser(Parser(letters.within(HERMES.call), …), letters)
    parser.feed("The tag <tool_call> begins ")    # [Content("The tag <tool_call> begins")]
    parser.feed_marker("<tool_call>")             # []: a call, perhaps

In the family's markup and in what the machine reads, one letter that no text holds stands for each such
marker. What the machine says has the marker's own text again.
"""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TypeVar, cast

from parsers.answer_parser import AnswerParser
from parsers.events import CallArguments, Content, Event, Malformed, Reasoning
from parsers.markers import LETTERS

_NO_LETTERS = dict.fromkeys(map(ord, LETTERS), "\ufffd")
"""A noncharacter that the model itself has written is no letter of a marker."""

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class MarkerLetters:
    """The letter of each marker. The longest come first: a marker may hold another one."""

    letters: tuple[tuple[str, str], ...]

    def within(self, record: Record) -> Record:
        """The record with letters in place of the markers, in every text of it and of the records in it."""
        return cast("Record", self._within(record))

    def _within(self, record: object) -> object:
        if isinstance(record, str):
            for marker, letter in self.letters:
                record = record.replace(marker, letter)
            return record
        if isinstance(record, tuple):
            return tuple(map(self._within, record))
        if is_dataclass(record) and not isinstance(record, type):
            changed = {field.name: self._within(getattr(record, field.name)) for field in fields(record)}
            return replace(record, **changed)
        return record

    def spelled(self, event: Event) -> Event:
        """The event with markers in place of their letters."""
        match event:
            case Content(text) | Reasoning(text) | CallArguments(_, text) if not self._stands_in(text):
                return event
            case Content(text) | Reasoning(text):
                return replace(event, text=self._spelled(text))
            case CallArguments(_, text):
                return replace(event, text=self._spelled_in_json(text))
            case Malformed(raw):
                return replace(event, raw=self._spelled(raw))
            case _:
                return event

    def _stands_in(self, text: str) -> bool:
        return not text.isascii() and any(letter in text for _, letter in self.letters)

    def _spelled(self, text: str) -> str:
        for marker, letter in self.letters:
            text = text.replace(letter, marker)
        return text

    def _spelled_in_json(self, text: str) -> str:
        """A marker can only stand in a string there: what is outside of one has been found to be JSON."""
        for marker, letter in self.letters:
            text = text.replace(letter, json.dumps(marker, ensure_ascii=False)[1:-1])
        return text


def as_letters(markers: Collection[str]) -> MarkerLetters:
    """A letter for each of the markers, of which no family has as many as there are letters."""
    longest_first = sorted(set(markers), key=lambda marker: (-len(marker), marker))
    return MarkerLetters(tuple(zip(longest_first, LETTERS, strict=False)))


def told_from_text(
    tokens: Collection[str], record: Record, machine: Callable[[Record], AnswerParser]
) -> AnswerParser:
    """The `machine` that reads by the record, with the tokens told from text that only spells them."""
    if not tokens:
        return machine(record)
    letters = as_letters(tokens)
    return MarkerTokenParser(machine(letters.within(record)), letters)


def spellings(record: object) -> Iterator[str]:
    """Every text of a record and of the records in it."""
    if isinstance(record, str):
        yield record
    elif isinstance(record, tuple):
        for member in record:
            yield from spellings(member)
    elif is_dataclass(record):
        for field in fields(record):
            yield from spellings(getattr(record, field.name))


class MarkerTokenParser:
    """Reads one answer in which markers come by `feed_marker`, with a machine that knows their letters."""

    def __init__(self, machine: AnswerParser, letters: MarkerLetters) -> None:
        self._machine = machine
        self._letters = letters
        self._letter_of = dict(letters.letters)

    @property
    def in_reasoning(self) -> bool:
        return self._machine.in_reasoning

    def feed(self, text: str) -> list[Event]:
        if not text.isascii():
            text = text.translate(_NO_LETTERS)
        return self._spelled(self._machine.feed(text))

    def feed_marker(self, marker: str) -> list[Event]:
        return self._spelled(self._machine.feed(self._letter_of[marker]))

    def finish(self, *, truncated: bool = False) -> list[Event]:
        return self._spelled(self._machine.finish(truncated=truncated))

    def _spelled(self, events: list[Event]) -> list[Event]:
        return list(map(self._letters.spelled, events))
