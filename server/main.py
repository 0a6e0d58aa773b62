"""The command `strictcall`.

    $ strictcall serve --port 8001
    $ strictcall version
    strictcall 0.1.0 …

Exit codes: 0 done, 1 failed, 2 wrong command line, 130 or 143 stopped by a signal before it was done,
141 nobody reads the output any more.
"""

import difflib
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from server.config.settings import SettingsError
from server.console.terminal import CommandError


@dataclass(frozen=True, slots=True)
class Command:
    """A subcommand and the module whose `run(argv)` does it; the module is imported when it is called."""

    name: str
    summary: str
    module: str


COMMANDS = (
    Command("serve", "Serve a model by OpenAI's API.", "server.commands.serve"),
    Command("worker", "Serve a model to servers elsewhere, by token ids.", "server.commands.worker"),
    Command("parse", "Read a model's raw output as its family's parser does.", "server.commands.parse"),
    Command("doctor", "Check that a model's template, mask and parser agree.", "server.commands.doctor"),
    Command("families", "Print the model families and a call of each.", "server.commands.families"),
    Command("check", "Say what a mask holds of a JSON Schema, and what is checked.", "server.commands.check"),
    Command("bench", "Time an endpoint, or yours against another.", "server.commands.bench"),
    Command("version", "Print the versions that matter in a bug report.", "server.commands.version"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` names and return its exit code."""
    name, *rest = (sys.argv[1:] if argv is None else list(argv)) or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return 0
    by_name = {command.name: command for command in COMMANDS}
    command = by_name.get(name.lstrip("-") if name == "--version" else name)
    if command is None:
        close = difflib.get_close_matches(name, by_name, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else " See strictcall --help."
        return complain(f"there is no command '{name}'.{hint}", code=2)
    try:
        return int(importlib.import_module(command.module).run(rest))
    except SettingsError as exc:
        return complain(str(exc), code=2)
    except CommandError as exc:
        return complain(str(exc), code=1)
    except BrokenPipeError:
        # Whoever read the output has seen enough, as `head` has. What is left is written to nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        return 128 + signal.SIGINT


def usage() -> str:
    lines = [
        "usage: strictcall COMMAND [...]",
        "",
        "An OpenAI-compatible inference server that makes tool calls dependable.",
        "",
        *(f"  {command.name:10}{command.summary}" for command in COMMANDS),
        "",
        "strictcall COMMAND --help says more.",
    ]
    return "\n".join(lines)


def complain(message: str, *, code: int) -> int:
    print(f"strictcall: {message}", file=sys.stderr)
    return code
