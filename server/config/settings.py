"""Every setting of a server, with its default, its help and how its text is read.

    Settings(max_calls=4).max_calls          # 4
    specs()["max_calls"].read("4")           # 4, where "x" raises ValueError
    flag("max_calls"), variable("max_calls") # "--max-calls", "STRICTCALL_MAX_CALLS"

`server.config.sources` reads them from flags, environment and file; nothing else does.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from parsers.families.hermes import HERMES
from server.config.values import level, one_of, text, web_address, whole, yes_or_no
from server.policy import MOST_ATTEMPTS, Policy, UnsupportedKeywords
from server.schema.limits import DEFAULT_LIMITS, NAMES, SchemaLimits, read_limit
from server.schema.profile import SchemaProfile

PREFIX = "STRICTCALL_"
DEFAULT_MODEL = "SmolLM2-135M-Instruct"
"""The model that the package itself brings (see `server.startup.default_model`)."""
DEFAULT_MODEL_FAMILY = HERMES.name
"""How it is asked for calls, of which its own chat template knows nothing."""


MEMORY, OFF = "memory", "off"
"""Values of `response_store` that are no path."""


class SettingsError(Exception):
    """A setting cannot be read. The message names the source, the setting and the way out."""


class ToolMask(StrEnum):
    """Which calls are written under a mask when the request has tools."""

    ENVELOPE = "envelope"
    """All: a call is well formed and names a real tool; with `strict` it also fits its schema."""
    STRICT = "strict"
    """Only those of requests that have a strict tool or force a call."""


class NamedFinish(StrEnum):
    """The finish reason of a call that a named `tool_choice` forced."""

    TOOL_CALLS = "tool_calls"
    STOP = "stop"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


def path(value: str) -> Path:
    return Path(text(value)).expanduser()


def default_otlp() -> str:
    """Where OpenTelemetry's own variables send spans over HTTP, or nowhere."""
    base = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    whole = f"{base.rstrip('/')}/v1/traces" if base else ""
    return os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", whole)


def default_cache() -> Path:
    """`~/.cache/strictcall`, or where `XDG_CACHE_HOME` says."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "strictcall"


@dataclass(frozen=True, slots=True)
class Spec:
    """What a field of `Settings` needs to be read from text. A field that holds a tuple may be repeated."""

    help: str
    read: Callable[[str], Any]
    metavar: str
    alone: str | None = None
    """What the flag says without a value, if it may stand alone."""


def said(help_: str, read: Callable[[str], Any] = text, metavar: str = "TEXT") -> dict[str, Spec]:
    return {"spec": Spec(help_, read, metavar)}


def switch(help_: str) -> dict[str, Spec]:
    return {"spec": Spec(help_, yes_or_no, "[true|false]", alone="true")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of one server. Made by `server.config.sources.load`, or directly in tests."""

    model: str = field(
        default=DEFAULT_MODEL,
        metadata=said(
            "Directory or hub name of the model; the default one comes with the package.", text, "MODEL"
        ),
    )
    served_model_name: tuple[str, ...] = field(
        default=(),
        metadata=said(
            "Name that clients call the model by; repeatable, the first is canonical.", text, "NAME"
        ),
    )
    host: str = field(
        default="127.0.0.1", metadata=said("Address to listen on; 0.0.0.0 is every interface.", text, "HOST")
    )
    port: int = field(
        default=8000, metadata=said("Port to listen on; 0 takes a free one.", whole(0, 65535), "PORT")
    )
    api_key: tuple[str, ...] = field(
        default=(),
        repr=False,  # so that no log line can show one
        metadata=said(
            "Key that clients must send; repeatable. Other users of this machine can see flags: "
            "prefer the variable or the file.",
            text,
            "KEY",
        ),
    )
    api_key_file: Path | None = field(
        default=None, metadata=said("File with one API key a line.", path, "PATH")
    )
    ops_port: int | None = field(
        default=None,
        metadata=said(
            "Port of its own for /metrics and /version, which --port then does not have; both answer probes.",
            whole(0, 65535),
            "PORT",
        ),
    )
    ops_api_key: tuple[str, ...] = field(
        default=(),
        repr=False,
        metadata=said("Key for /metrics and /version, which need none without it; repeatable.", text, "KEY"),
    )
    ops_api_key_file: Path | None = field(
        default=None, metadata=said("File with one key for /metrics and /version a line.", path, "PATH")
    )
    family: str = field(
        default="auto", metadata=said("How the model writes calls; auto looks at the model.", text, "FAMILY")
    )
    chat_template: Path | None = field(
        default=None, metadata=said("Jinja chat template to use in place of the model's own.", path, "PATH")
    )
    tool_mask: ToolMask = field(
        default=ToolMask.ENVELOPE,
        metadata=said(
            "envelope: the form of every call is masked; strict: only in requests with strict tools.",
            one_of(ToolMask),
            "envelope|strict",
        ),
    )
    strict_tools: bool = field(
        default=False,
        metadata=switch("Every tool is strict, whatever its definition says."),
    )
    unsupported_keywords: UnsupportedKeywords = field(
        default=UnsupportedKeywords.VALIDATE,
        metadata=said(
            "What becomes of keywords of strict schemas that the mask cannot hold: reject refuses the "
            "request, validate checks them afterwards, describe also tells them to the model.",
            one_of(UnsupportedKeywords),
            "reject|validate|describe",
        ),
    )
    max_attempts: int = field(
        default=2,
        metadata=said(
            "Times that a call or answer which breaks its schema is written before the request fails.",
            whole(1, MOST_ATTEMPTS),
            "COUNT",
        ),
    )
    draft_forced_tokens: bool = field(
        default=True,
        metadata=switch("Tokens that the mask forces are read several in one step, where vLLM can."),
    )
    max_calls: int = field(
        default=16, metadata=said("Calls that one answer may hold under the mask.", whole(1, 128), "COUNT")
    )
    max_n: int = field(
        default=16, metadata=said("Highest `n` that a request may ask for.", whole(1, 128), "COUNT")
    )
    max_body_bytes: int = field(
        default=8 * 2**20, metadata=said("Largest request body.", whole(1024, 2**30), "BYTES")
    )
    receive_seconds: int = field(
        default=60,
        metadata=said("How long a client may take to send one request.", whole(1, 3600), "SECONDS"),
    )
    unread_seconds: int = field(
        default=60,
        metadata=said(
            "How long a client may leave what it is sent unread before its connection is closed.",
            whole(1, 3600),
            "SECONDS",
        ),
    )
    max_concurrent_requests: int = field(
        default=1024,
        metadata=said(
            "Requests that the engine is given at once; it has a queue of its own, so this is better more "
            "than its --max-num-seqs than less.",
            whole(1, 100_000),
            "COUNT",
        ),
    )
    max_queued_requests: int = field(
        default=256,
        metadata=said(
            "Requests that wait while the engine has as many as it is given; further ones are refused "
            "with 429.",
            whole(0, 100_000),
            "COUNT",
        ),
    )
    request_seconds: int = field(
        default=3600,
        metadata=said(
            "How long one request may take, waiting included; clients may ask for less with the header "
            "x-request-timeout.",
            whole(1, 7 * 24 * 3600),
            "SECONDS",
        ),
    )
    schema_limit: tuple[tuple[str, int], ...] = field(
        default=(),
        metadata=said(
            f"How large a schema may be; repeatable. NAME is one of {', '.join(NAMES)}.",
            read_limit,
            "NAME=COUNT",
        ),
    )
    compile_seconds: int = field(
        default=10,
        metadata=said(
            "How long a mask may take to compile; one that could take a second or more is tried in a process "
            "of its own before the engine sees it.",
            whole(1, 600),
            "SECONDS",
        ),
    )
    schema_profile: SchemaProfile = field(
        default=SchemaProfile.NATIVE,
        metadata=said(
            "Which strict schemas are taken; openai refuses what OpenAI's own strict mode does.",
            one_of(SchemaProfile),
            "native|openai",
        ),
    )
    named_finish_reason: NamedFinish = field(
        default=NamedFinish.TOOL_CALLS,
        metadata=said(
            "Finish reason of a call forced by a named tool_choice; OpenAI's own service says stop.",
            one_of(NamedFinish),
            "tool_calls|stop",
        ),
    )
    response_store: str = field(
        default=MEMORY,
        metadata=said(
            "Where /v1/responses are kept for previous_response_id: in memory, in a SQLite file that servers "
            "may share, or not at all.",
            text,
            "memory|off|PATH",
        ),
    )
    response_store_limit: int = field(
        default=1000, metadata=said("Responses that are kept.", whole(1, 10**7), "COUNT")
    )
    response_store_bytes: int = field(
        default=2**28, metadata=said("Bytes of all of them.", whole(1024, 2**40), "BYTES")
    )
    response_store_seconds: int = field(
        default=30 * 86_400, metadata=said("How long each is kept.", whole(1, 10**9), "SECONDS")
    )
    cors_origin: tuple[str, ...] = field(
        default=(),
        metadata=said("Origin whose web pages may call the server, or *; repeatable.", text, "ORIGIN"),
    )
    engine_url: tuple[str, ...] = field(
        default=(),
        metadata=said(
            "Generate with the vLLM worker or router at this address, and start no engine here; repeatable.",
            web_address,
            "URL",
        ),
    )
    engine_api_key: str | None = field(
        default=None,
        repr=False,
        metadata=said("Key that the workers of --engine-url want; prefer the variable.", text, "KEY"),
    )
    engine_restarts: int = field(
        default=5,
        metadata=said(
            "How often in a row to try to start an engine that has died; then, or with 0 at once, the server "
            "ends with exit code 1.",
            whole(0, 1000),
            "COUNT",
        ),
    )
    drain_seconds: int = field(
        default=30,
        metadata=said(
            "How long running requests may go on when the server stops.", whole(0, 3600), "SECONDS"
        ),
    )
    log_level: str = field(
        default="info", metadata=said("Least level that is logged.", level, "debug|info|warning|error")
    )
    log_format: LogFormat = field(
        default=LogFormat.TEXT,
        metadata=said("text for people, json for log collectors.", one_of(LogFormat), "text|json"),
    )
    otlp_endpoint: str = field(
        default_factory=default_otlp,
        metadata=said(
            "URL that OpenTelemetry spans are posted to, as http://collector:4318/v1/traces; OpenTelemetry's "
            "own variables are taken as well.",
            text,
            "URL",
        ),
    )
    cache_dir: Path = field(
        default_factory=default_cache,
        metadata=said("Where the default model is kept, once prepared.", path, "PATH"),
    )
    engine_args: tuple[str, ...] = ()
    """vLLM's flags, as they would stand on its own command line."""

    @property
    def schema_limits(self) -> SchemaLimits:
        """The limits of schemas: the defaults, but for those that are set."""
        return DEFAULT_LIMITS.changed(self.schema_limit)

    @property
    def policy(self) -> Policy:
        """The handling of schemas in requests that do not say anything about it."""
        return Policy(
            unsupported_keywords=self.unsupported_keywords,
            max_attempts=self.max_attempts,
            strict_tools=self.strict_tools,
        )

    @property
    def model_names(self) -> tuple[str, ...]:
        """The names that requests may use, the canonical one first.

        A model in a directory is named after the directory, and answers to the path as well.
        """
        if self.served_model_name:
            return tuple(dict.fromkeys(self.served_model_name))
        directory = Path(self.model).expanduser()
        names = (directory.resolve().name, self.model) if directory.is_dir() else (self.model,)
        return tuple(dict.fromkeys(names))


def specs() -> dict[str, Spec]:
    """The settings by field name, in the order of the help."""
    return {each.name: each.metadata["spec"] for each in fields(Settings) if "spec" in each.metadata}


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def variable(name: str) -> str:
    return PREFIX + name.upper()
