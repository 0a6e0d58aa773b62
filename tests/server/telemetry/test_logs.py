"""How records are written."""

import json
import logging
import sys

import pytest

from server.telemetry.logs import REQUEST_ID, JsonFormatter, TextFormatter


def record_of(message: str, *args: object, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("server.test", logging.WARNING, __file__, 1, message, args, None)
    record.created = 1_700_000_000.25
    record.__dict__["fields"] = fields
    return record


def test_text_is_one_line_with_fields_at_its_end() -> None:
    """People read time, level, message, then what is known beside it; what is not known is left out."""
    line = TextFormatter().format(record_of("took %d", 3, n=1, code=None))

    assert line == "2023-11-14T22:13:20.250Z WARNING took 3 n=1"


def test_json_is_one_object_with_fields_beside_the_message() -> None:
    """Collectors find every field under its own name."""
    line = JsonFormatter().format(record_of("took %d", 3, n=1))

    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "level": "warning",
        "logger": "server.test",
        "message": "took 3",
        "n": 1,
    }


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
async def test_a_record_tells_the_request_it_belongs_to(formatter: logging.Formatter) -> None:
    """Whatever is logged while a request is answered can be found by its id."""
    token = REQUEST_ID.set("req_1")
    try:
        line = formatter.format(record_of("hello"))
    finally:
        REQUEST_ID.reset(token)

    assert "req_1" in line


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_nothing_in_a_message_can_begin_a_line(formatter: logging.Formatter) -> None:
    """Line breaks and terminal codes are shown escaped."""
    line = formatter.format(record_of("a\nb\r\x1b[31mc"))

    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_a_stack_is_logged_with_its_record(formatter: logging.Formatter) -> None:
    """An exception is never reduced to its message."""
    record = record_of("failed")
    try:
        int("gone")
    except ValueError:
        record.exc_info = sys.exc_info()

    line = formatter.format(record)

    assert "Traceback" in line
    assert "ValueError: invalid literal" in line
