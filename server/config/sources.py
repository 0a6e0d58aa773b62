"""Reads the settings from where a user may write them: the one reader of flags, environment and file.

The first of these that says something wins:

    strictcall serve --max-calls 4        # 1. flag
    STRICTCALL_MAX_CALLS=4                # 2. environment
    max_calls = 4                         # 3. TOML file, named by --config or STRICTCALL_CONFIG
                                          # 4. the default in `Settings`

Flags that are not ours belong to vLLM's engine (`--max-model-len 2048`, `--engine-arg max_model_len=2048`);
in the environment they stand in `STRICTCALL_ENGINE_ARGS`, in the file in the table `[engine]`.
"""

import argparse
import difflib
import json
import shlex
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from server.config.settings import PREFIX, Settings, SettingsError, flag, specs, variable

ENGINE_LOOKALIKES = frozenset({"--load-format", "--config-format"})
"""Flags of vLLM that resemble ours so much that they would be taken for typing errors."""

RESEMBLANCE = 0.82
"""From here on, an unknown name is a typing error of ours and not a flag of the engine."""


@dataclass(frozen=True, slots=True)
class Source:
    """One place with settings, still as text: `values["port"]` is `["8000"]`; `where("port")` names it."""

    spelling: str
    values: Mapping[str, list[str]]
    engine_args: tuple[str, ...] = ()

    def where(self, name: str) -> str:
        return self.spelling.format(flag=flag(name), variable=variable(name), key=name)


def load(argv: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Read the settings of `strictcall serve`, whose arguments are `argv`.

    Raises `SettingsError` for a value that cannot be read, and for a name that looks like one of ours but
    is not. Ends the program where argparse does: for `--help` and for a flag without its value.
    """
    flags = read_flags(argv)
    config = flags.values.get("config") or [environ.get(variable("config"), "")]
    file = read_file(Path(config[-1]).expanduser()) if config[-1] else Source("", {})
    settings = merge(file, read_environment(environ), flags)
    return replace(
        settings,
        api_key=with_keys(settings.api_key, settings.api_key_file),
        ops_api_key=with_keys(settings.ops_api_key, settings.ops_api_key_file),
    )


def merge(*sources: Source) -> Settings:
    """Turn text into settings; a later source overrides an earlier one."""
    known = specs()
    values: dict[str, Any] = {}
    for source in sources:
        for name, texts in source.values.items():
            if name not in known:
                continue
            try:
                read = [known[name].read(text) for text in texts]
            except ValueError as exc:
                raise SettingsError(f"{source.where(name)}: {exc}.") from exc
            values[name] = tuple(read) if name in repeatable() else read[-1]
    engine_args = [arg for source in sources for arg in source.engine_args]
    return Settings(**values, engine_args=tuple(engine_args))


def repeatable() -> frozenset[str]:
    """The settings that hold several values."""
    return frozenset(each.name for each in fields(Settings) if isinstance(each.default, tuple))


def read_flags(argv: Sequence[str]) -> Source:
    ours, engines = split_engine_args(argv)
    parsed = vars(serve_parser().parse_args(ours))
    if (model := parsed.pop("MODEL", None)) is not None:
        parsed["model"] = [model]
    engine_args = [arg for pair in parsed.pop("engine_arg", ()) for arg in ("--engine-arg", pair)]
    return Source("{flag}", parsed, (*engines, *engine_args))


def negations() -> dict[str, str]:
    """The flags that switch something off, and what that is."""
    return {f"--no{flag(name)[1:]}": name for name, spec in specs().items() if spec.alone is not None}


def split_engine_args(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part our arguments from the engine's: an unknown flag, and what follows it up to the next flag.

    MODEL therefore stands first. What stands after `--` is the engine's altogether.
    """
    known = {flag(name) for name in (*specs(), "config", "engine_arg", "help")} | {"-h", *negations()}
    ours: list[str] = []
    engines: list[str] = []
    target = ours
    for position, arg in enumerate(argv):
        if arg == "--":
            engines.extend(argv[position + 1 :])
            break
        if arg.startswith("-") and not _is_number(arg):
            name = arg.split("=", 1)[0]
            target = ours if name in known else engines
            if target is engines:
                refuse_misspelling(name, known)
        target.append(arg)
    return ours, engines


def refuse_misspelling(name: str, known: Collection[str]) -> None:
    """Raise `SettingsError` if `name` is nearly one of the `known` names."""
    hint = _suggestion(name.replace("_", "-"), known, RESEMBLANCE)
    if hint and name not in ENGINE_LOOKALIKES:
        raise SettingsError(
            f"{name}: there is no such setting.{hint} "
            f"A flag of the engine can be given as --engine-arg {name.lstrip('-')}=VALUE."
        )


def _is_number(arg: str) -> bool:
    try:
        float(arg)
    except ValueError:
        return False
    return True


def serve_parser() -> argparse.ArgumentParser:
    """Build the command line of `strictcall serve`; every value stays text."""
    parser = argparse.ArgumentParser(
        prog="strictcall serve",
        usage="strictcall serve [MODEL] [--FLAG VALUE ...] [FLAGS OF VLLM'S ENGINE ...]",
        description="Serve a model by OpenAI's API. MODEL is a directory or a hub name, and stands first.",
        epilog="A flag wins over its environment variable [in brackets], that over the file, that over the "
        "default. In the environment, repeated values are parted by commas. Flags that are not listed go to "
        "vLLM's engine, for example --max-model-len 2048.",
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("MODEL", nargs="?", help="Same as --model.")
    parser.add_argument(
        "--config",
        action="append",
        metavar="PATH",
        help=f"TOML file with settings, named as here but with underscores. [{variable('config')}]",
    )
    defaults = Settings()
    for name, spec in specs().items():
        default = getattr(defaults, name)
        said = f" Default: {default}." if default not in (None, ()) else ""
        parser.add_argument(
            flag(name),
            action="append",
            nargs=None if spec.alone is None else "?",
            const=spec.alone,
            metavar=spec.metavar.strip("[]"),
            help=f"{spec.help}{said} [{variable(name)}]".replace("%", "%%"),
        )
    for negation, name in negations().items():
        parser.add_argument(
            negation, action="append_const", dest=name, const="false", help=f"The same as {flag(name)} false."
        )
    parser.add_argument(
        "--engine-arg",
        action="append",
        metavar="KEY=VALUE",
        help=f"Option of vLLM's engine; may be repeated. [{variable('engine_args')}, as on a command line]",
    )
    return parser


def read_environment(environ: Mapping[str, str]) -> Source:
    known = {variable(name): name for name in specs()}
    others = (variable("config"), variable("engine_args"))
    values: dict[str, list[str]] = {}
    for key, text in environ.items():
        # Kubernetes sets STRICTCALL_PORT=tcp://… for a Service of our name; nobody means that as our port.
        if not key.startswith(PREFIX) or (key == variable("port") and text.startswith("tcp://")):
            continue
        if (name := known.get(key)) is not None:
            values[name] = _listed(text) if name in repeatable() else [text]
        elif key not in others and (hint := _suggestion(key, [*known, *others], RESEMBLANCE)):
            # Without a resemblance, the name may belong to another program.
            raise SettingsError(f"Environment: there is no setting {key}.{hint}")
    try:
        engine_args = tuple(shlex.split(environ.get(variable("engine_args"), "")))
    except ValueError as exc:
        raise SettingsError(f"{variable('engine_args')}: {exc}.") from exc
    return Source("{variable}", values, engine_args)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _suggestion(name: str, known: Collection[str], resemblance: float) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=resemblance)
    return f" Did you mean {close[0]}?" if close else ""


def read_file(path: Path) -> Source:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise SettingsError(f"The settings file {path} cannot be read: {exc.strerror}.") from exc
    except ValueError as exc:
        raise SettingsError(f"The settings file {path} is not TOML: {exc}.") from exc
    engine = table.pop("engine", {})
    if not isinstance(engine, dict):
        raise SettingsError(
            f"{path}: engine: it must be a table, such as [engine] with max_model_len = 2048."
        )
    values: dict[str, list[str]] = {}
    for name, value in table.items():
        if name not in specs():
            hint = _suggestion(name, specs(), 0.6) or " `strictcall serve --help` lists them."
            raise SettingsError(f"{path}: there is no setting {name}.{hint}")
        values[name] = [str(item) for item in value] if isinstance(value, list) else [str(value)]
    pairs = [f"{key}={_engine_text(value)}" for key, value in engine.items()]
    spelling = str(path).replace("{", "{{").replace("}", "}}") + ": {key}"
    return Source(spelling, values, tuple(arg for pair in pairs for arg in ("--engine-arg", pair)))


def _engine_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def with_keys(keys: tuple[str, ...], path: Path | None) -> tuple[str, ...]:
    """The keys that are set, and those of the file, if there is one."""
    return keys if path is None else tuple(dict.fromkeys(keys + read_keys(path)))


def read_keys(path: Path) -> tuple[str, ...]:
    """Read API keys, one a line; empty lines and lines that begin with # do not count."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as exc:
        raise SettingsError(
            f"The API key file {path} cannot be read: {exc.strerror}. Give the server's user a file that it "
            "may read, with one key a line."
        ) from exc
    except UnicodeDecodeError as exc:
        raise SettingsError(f"The API key file {path} is not UTF-8 text.") from exc
    keys = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not keys:
        raise SettingsError(f"The API key file {path} holds no key; without it the server would be open.")
    return keys
