"""vLLM's own flags, which the command line passes through: text in, engine options out.

    engine_options(["--max-model-len", "2048", "--engine-arg", "dtype=float32"])
    # {"max_model_len": 2048, "dtype": "float32"}

Names, types and choices are those of the installed vLLM, read from its own parser, so a new flag of vLLM
needs no change here. Only what was given is returned; defaults stay vLLM's (or ours, see `vllm.py`).
"""

import argparse
import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

RESERVED = {
    "model": "The model is named as `strictcall serve MODEL`.",
    "scheduler_cls": "The scheduler is strictcall's own: it measures the masks.",
    "structured_outputs_config": "Tool calls need the backend `xgrammar`, which is always on.",
    "worker_cls": "The worker is strictcall's own on a CPU, and vLLM's elsewhere.",
    "skip_tokenizer_init": "The masks are made from the tokenizer's vocabulary.",
}


class EngineArgumentError(ValueError):
    """A flag that vLLM's engine does not have, or not with this value. The message is for the user."""


def engine_options(arguments: Sequence[str]) -> dict[str, Any]:
    """Parse vLLM's flags into the fields of `AsyncEngineArgs` that they set.

    `--engine-arg key=value` means `--key value`, and `--engine-arg key=true` or `key=false` a switch.
    Imports vLLM, which takes seconds. Raises `EngineArgumentError`.
    """
    if not arguments:
        return {}
    parser, names = build_parser()
    options = vars(parser.parse_args(list(expand(arguments, names))))
    for name, reason in RESERVED.items():
        if name in options:
            raise EngineArgumentError(f"`--{name.replace('_', '-')}` cannot be set. {reason}")
    return options


def build_parser() -> tuple[argparse.ArgumentParser, dict[str, bool]]:
    """Return vLLM's parser without its defaults, and its flags: name -> whether it is a switch."""
    from vllm import AsyncEngineArgs
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    class Parser(FlexibleArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise EngineArgumentError(explain(message, switches))

    switches: dict[str, bool] = {}
    parser: argparse.ArgumentParser = Parser(prog="strictcall serve", add_help=False, allow_abbrev=False)
    AsyncEngineArgs.add_cli_args(parser)
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of its arguments
        action.default = argparse.SUPPRESS
        for flag in action.option_strings:
            switches[flag] = action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction)
    return parser, switches


def expand(arguments: Sequence[str], switches: dict[str, bool]) -> Iterator[str]:
    """Spell each `--engine-arg key=value` as vLLM's own flag."""
    rest = iter(arguments)
    for argument in rest:
        name, _, joined = argument.partition("=")
        if name not in ("--engine-arg", "--engine_arg"):
            yield argument
            continue
        pair = joined or next(rest, "")
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise EngineArgumentError(
                f"`--engine-arg` wants `key=value`, such as `--engine-arg max-model-len=2048`; got {pair!r}."
            )
        yield from spell(key.replace("_", "-"), value, switches)


def spell(key: str, value: str, switches: dict[str, bool]) -> tuple[str, ...]:
    """`dtype`, `float32` is `--dtype=float32`; the switch `enforce-eager`, `false` is its `--no-` form."""
    flag = f"--{key}"
    if switches.get(flag):
        match value.lower():
            case "true" | "1":
                return (flag,)
            case "false" | "0":
                return (f"--no-{key}",)
        raise EngineArgumentError(f"`--engine-arg {key}` is a switch: `true` or `false`, not {value!r}.")
    return (f"{flag}={value}",)


def explain(message: str, flags: dict[str, bool]) -> str:
    """Make argparse's message one for our user: which flag, what is wrong, and what was likely meant."""
    unknown = re.fullmatch(r"unrecognized arguments: (\S+).*", message, re.DOTALL)
    if unknown is None:
        return f"vLLM's engine refuses this: {message}"
    flag = unknown[1].partition("=")[0]
    if not flag.startswith("-"):
        return f"`{flag}` belongs to no flag."
    near = difflib.get_close_matches(flag, flags, n=1)
    hint = f" Did you mean `{near[0]}`?" if near else ""
    return f"Neither strictcall nor vLLM's engine has a flag `{flag}`.{hint}"
