"""Files and standard input that a command is given, read with a sentence for whatever is wrong with them.

read_text(Path("tools.json"))    # raises CommandError("tools.json cannot be read: No such file …")
read_json(Path("tools.json"))    # raises CommandError("tools.json is not JSON: …")
"""

import io
import json
import sys
from pathlib import Path
from typing import Any, TextIO

from server.console.terminal import CommandError


def read_text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text.") from error


def read_json(path: Path) -> Any:
    try:
        return parse_json(read_text(path))
    except ValueError as error:
        raise CommandError(f"{path} is not JSON: {error}") from error


def parse_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError, also for one that is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def standard_input() -> TextIO:
    """Standard input as UTF-8, whatever the locale says. Bytes that are none are read as U+FFFD."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdin
