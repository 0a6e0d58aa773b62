"""Log records with the id of the request they belong to, as text for people or JSON for collectors.

    log.info("POST /v1/chat/completions 200", extra={"fields": {"duration_ms": 812, "completion_tokens": 57}})

    2026-11-29T10:00:00.000Z INFO    POST /v1/chat/completions 200 duration_ms=812 … request_id=req_5f…
    {"time": "2026-11-29T10:00:00.000Z", "level": "info", "logger": "server.http.exchange", "message": "…", …}

No record holds what a user or a model wrote, nor a key: log counts and names, never text. Messages of
exceptions may quote it, so in a request only the kinds of exceptions are logged, and where they were raised;
the level `debug` shows the messages too.
"""

import json
import logging
import logging.config
import traceback
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from server.config.settings import LogFormat
from server.telemetry.tracing import trace_id

REQUEST_ID: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that the current task works for."""

CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), 127)}
"""Shown escaped, so that nothing a client sends can begin a line of its own."""


def configure(level: str, form: LogFormat) -> None:
    """Send every logger of the process, uvicorn's included, to standard error in one form."""
    formatter = JsonFormatter if form is LogFormat.JSON else TextFormatter
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"ours": {"()": formatter, "quotes": level.lower() == "debug"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "ours"}},
            "root": {"handlers": ["stderr"], "level": level.upper()},
            "loggers": {
                # What uvicorn says of its own start and stop, we say better.
                "uvicorn.error": {"level": "WARNING"},
                "httpx2": {"level": "WARNING"},
                "asyncio": {"level": "WARNING"},
            },
        }
    )


def tell(log: logging.Logger, level: int, message: str, *args: object, fields: Mapping[str, Any]) -> None:
    """Log what comes with every request. Unlike `log.log` it does not look for the line that said it.

    No form of ours shows that line, and to look for it takes longer than all the rest.
    """
    if log.isEnabledFor(level):
        log.handle(log.makeRecord(log.name, level, "", 0, message, args, None, extra={"fields": fields}))


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """The record's own fields and the request it belongs to, without what is not known."""
    fields: Mapping[str, Any] = getattr(record, "fields", {})
    known = {name: value for name, value in fields.items() if value is not None}
    if (request_id := REQUEST_ID.get()) is not None:
        known.setdefault("request_id", request_id)
    if (trace := trace_id()) is not None:
        known.setdefault("trace_id", trace)
    return known


def time_of(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class StackFormatter(logging.Formatter):
    """What both forms share. `quotes`: messages of exceptions are shown, whatever they quote."""

    def __init__(self, *, quotes: bool = False) -> None:
        super().__init__()
        self._quotes = quotes

    def stack(self, record: logging.LogRecord) -> str | None:
        """The stack of a record's exception, if it has one."""
        exc = record.exc_info and record.exc_info[1]
        if not record.exc_info or exc is None:
            return None
        if self._quotes or REQUEST_ID.get() is None:
            return self.formatException(record.exc_info)
        return "".join(unquoted(exc)).rstrip()


def unquoted(exc: BaseException) -> Iterator[str]:
    """The pieces of an exception's traceback, without its message; what caused it comes first."""
    cause = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)
    if cause is not None:
        yield from unquoted(cause)
        yield "\nwhich led to:\n\n"
    yield "Traceback (most recent call last):\n"
    yield from traceback.format_tb(exc.__traceback__)
    members = exc.exceptions if isinstance(exc, BaseExceptionGroup) else ()
    kinds = ", ".join(type(each).__qualname__ for each in (exc, *members))
    yield f"{kinds}: its message may quote the request (--log-level debug shows it)\n"


class TextFormatter(StackFormatter):
    """One line a record, fields as `name=value` at its end; a stack follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in fields_of(record).items())
        line = f"{time_of(record)} {record.levelname:7} {record.getMessage()}{fields}".translate(CONTROLS)
        stack = self.stack(record)
        return line if stack is None else f"{line}\n{stack}"


class JsonFormatter(StackFormatter):
    """One JSON object a record, its stack under `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **fields_of(record),
        }
        if (stack := self.stack(record)) is not None:
            entry["exception"] = stack
        return json.dumps(entry, default=str)
