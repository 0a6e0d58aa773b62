"""How much work a parser does for an answer, counted and not timed.

work(HERMES.parser(["f"]), "<tool_call>" * 100, piece=1)    # some thousands, on any machine
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from parsers.answer_parser import AnswerParser


def work(parser: AnswerParser, text: str, piece: int) -> int:
    """The lines of `parsers` that run for the answer, and the characters handed from function to function.

    Inside an argument style, which walks along one piece of text, only lines count.
    """
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        folder = Path(frame.f_code.co_filename).parent
        if event == "call" and folder.name == "parsers":
            count += _handed_over(frame)
        count += event == "line"
        return trace if "parsers" in (folder.name, folder.parent.name) else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for start in range(0, len(text), piece):
            parser.feed(text[start : start + piece])
        parser.finish()
    finally:
        sys.settrace(before)
    return count


def _handed_over(frame: FrameType) -> int:
    """Characters that a call is given, as arguments or in its object's buffer."""
    values = [*frame.f_locals.values(), getattr(frame.f_locals.get("self"), "_buffer", "")]
    return sum(len(value) for value in values if isinstance(value, str))
