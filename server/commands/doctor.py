"""`strictcall doctor`: whether a model's template, mask, writer and parser speak of the same calls.

    $ strictcall doctor Qwen/Qwen3-0.6B
    Family: hermes, because the chat template writes <tool_call>.
    …
    pass  both tools are in the prompt
    …
    All 19 checks pass.

Only the tokenizer of a model is loaded, and nothing for a chat template alone (a file *.jinja). Exit codes:
0 if all checks pass, 1 if not, 2 for a wrong command line.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from server.config.settings import DEFAULT_MODEL, Settings, SettingsError
from server.console.terminal import say
from server.startup.locate import find_family, locate

if TYPE_CHECKING:
    from server.doctor.subject import Subject


def run(argv: Sequence[str]) -> int:
    options = _arguments().parse_args(argv)
    subject = _template(options) if options.subject.endswith(".jinja") else _model(options)
    # As in the functions below: what is behind it takes seconds to import, and mistakes are told before.
    from server.doctor.checks import CHECKS, examined
    from server.doctor.subject import Difference
    from server.doctor.text import paint_for, report, told

    paint = paint_for(sys.stdout, os.environ)
    for line in report(subject, paint):
        say(line)
    say("")
    failed = 0
    for rule, finding in examined(subject):
        failed += isinstance(finding, Difference)
        for line in told(rule, finding, paint):
            say(line)
    say("")
    say(f"{failed} of {len(CHECKS)} checks fail." if failed else f"All {len(CHECKS)} checks pass.")
    return 1 if failed else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strictcall doctor",
        description="Check that a model's chat template, mask, writer and parser agree, without running it.",
    )
    parser.add_argument(
        "subject",
        metavar="MODEL_OR_TEMPLATE",
        help=f"a model's directory or hub name, such as {DEFAULT_MODEL}, or a chat template (*.jinja)",
    )
    parser.add_argument("--family", default="auto", help="take this family, whatever the template writes")
    return parser


def _template(options: argparse.Namespace) -> "Subject":
    family, source = find_family(options.family), _read(Path(options.subject))
    from server.doctor.subject import of_template

    return of_template(source, name=options.subject, named=family)


def _model(options: argparse.Namespace) -> "Subject":
    located = locate(Settings(model=options.subject, family=options.family), report=say)
    from server.doctor.subject import of_model

    return of_model(located)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"The chat template {path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"The chat template {path} is not UTF-8 text.") from error
