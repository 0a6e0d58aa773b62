"""The command line as a user meets it, each time in a process of its own."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from server.commands.serve import base_url, is_loopback
from server.config.settings import PREFIX
from server.console.greeting import TOOL, greeting
from server.main import COMMANDS, main

HEAVY = ("vllm", "torch", "transformers", "fastapi", "pydantic", "xgrammar")


def run(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `strictcall` without any settings of this machine."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    return subprocess.run(
        [sys.executable, "-m", "server", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**own, **environ},
    )


def test_help_lists_every_command() -> None:
    """`strictcall` alone and `--help` say what there is."""
    bare, asked = run(), run("--help")

    assert (bare.returncode, asked.returncode) == (0, 0)
    assert bare.stdout == asked.stdout
    assert all(command.name in bare.stdout and command.summary in bare.stdout for command in COMMANDS)


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["version"]])
def test_help_does_not_wait_for_heavy_imports(arguments: list[str]) -> None:
    """Only `serve` itself pays for the frameworks."""
    script = (
        "import sys\nfrom server.main import main\n"
        f"try:\n    main({arguments!r})\nexcept SystemExit:\n    pass\n"
        f"print(sorted(set(sys.modules) & {set(HEAVY)!r}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stderr == "[]\n"


@pytest.mark.parametrize("arguments", [["version"], ["--version"]])
def test_version_names_what_matters(arguments: list[str]) -> None:
    """One line for us, one for what is beneath."""
    done = run(*arguments)

    first, second = done.stdout.splitlines()
    assert done.returncode == 0
    assert first.startswith("strictcall ")
    assert "xgrammar " in second
    assert "python 3." in second


def test_an_unknown_command_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, as for any wrong command line."""
    assert main(["srve"]) == 2
    assert capsys.readouterr().err == "strictcall: there is no command 'srve'. Did you mean 'serve'?\n"
    assert main(["zebra"]) == 2
    assert "strictcall --help" in capsys.readouterr().err


WRONG = [
    (("--prot", "1"), {}, 2, "Did you mean --port?"),
    (("--port", "x"), {}, 2, "--port: 'x' is not a whole number"),
    ((), {"STRICTCALL_PORT": "x"}, 2, "STRICTCALL_PORT: 'x'"),
    (("--family", "zebra", "--port", "0"), {}, 2, "--family: There is no model family 'zebra'."),
    (
        ("/nowhere/model", "--port", "0"),
        {},
        1,
        "There is no model directory '/nowhere/model'.",
    ),
    (("--api-key-file", "/nowhere/keys", "--port", "0"), {}, 2, "keys cannot be read: No such file or dir"),
    (
        ("--api-key-file", "/", "--port", "0"),
        {},
        2,
        "/ cannot be read: Is a directory. Give the server",
    ),
    (("--port", "8123", "--ops-port", "8123"), {}, 2, "--ops-port: 8123 is that of --port."),
    (("--port", "0"), {"TMPDIR": "/nowhere"}, 1, "The temporary directory /nowhere has no room"),
    (
        ("--chat-template", "/nowhere.jinja", "--port", "0"),
        {},
        2,
        "--chat-template: /nowhere.jinja cannot be read",
    ),
]


@pytest.mark.parametrize(
    ("arguments", "environ", "code", "message"), WRONG, ids=lambda value: str(value)[:40]
)
def test_what_cannot_be_served_is_told_in_one_line(
    arguments: tuple[str, ...], environ: dict[str, str], code: int, message: str
) -> None:
    """No stack: the user made a mistake, and reads which."""
    done = run("serve", *arguments, **environ)

    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@contextmanager
def tiny_disk(directory: Path) -> Iterator[list[str]]:
    """The beginning of a command in which `directory` is a disk of its own that is full."""
    mounting = f"mount -t tmpfs -o size=64k tiny {shlex.quote(str(directory))}"
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    try:
        subprocess.run([*command, mounting], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this machine does not let us mount: {error}")
    yield [*command, f'{mounting} && exec "$@"', "sh"]


def test_a_full_temporary_directory_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    """The engine would be ended by a signal, as it maps its figures into memory."""
    with tiny_disk(tmp_path) as begin:
        done = subprocess.run(
            [*begin, sys.executable, "-m", "server", "serve", "--port", "0"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )

    assert done.returncode == 1
    assert f"The temporary directory {tmp_path} has no room for a few megabytes: No space left" in done.stderr
    assert "TMPDIR" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_in_use_fails_at_once() -> None:
    """The model is not even looked for."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = run("serve", "--port", str(port))

    assert done.returncode == 1
    assert done.stderr.startswith(f"strictcall: Cannot listen on 127.0.0.1:{port}: Address already in use.")
    assert "Loading" not in done.stdout


def test_the_greeting_has_calls_that_work_as_they_stand() -> None:
    """The Python is Python, the shell a command with a JSON body; both have address and name."""
    text = greeting("http://127.0.0.1:8000/v1", "small", needs_key=False)

    python = text.split("In Python (pip install openai):")[1].split("In a shell:")[0]
    compile("\n".join(line.removeprefix("    ") for line in python.splitlines()), "greeting", "exec")
    command = shlex.split(text.split("In a shell:")[1])
    body = json.loads(command[command.index("-d") + 1])
    assert command[:2] == ["curl", "http://127.0.0.1:8000/v1/chat/completions"]
    assert body["model"] == "small"
    assert body["tools"] == [TOOL]
    assert 'base_url="http://127.0.0.1:8000/v1"' in python


def test_the_greeting_of_a_closed_server_reads_the_key() -> None:
    """A key is never printed; both calls take it from the environment."""
    text = greeting("http://127.0.0.1:8000/v1", "small", needs_key=True)

    assert text.count("STRICTCALL_API_KEY") == 2
    assert '"Authorization: Bearer $STRICTCALL_API_KEY"' in text


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000/v1"),
        ("0.0.0.0", "http://127.0.0.1:8000/v1"),
        ("::", "http://[::1]:8000/v1"),
        ("::1", "http://[::1]:8000/v1"),
        ("box.local", "http://box.local:8000/v1"),
    ],
)
def test_the_address_shown_can_be_called(host: str, expected: str) -> None:
    """An address that stands for all interfaces is none that a client can call."""
    assert base_url(host, 8000) == expected


def test_only_loopback_addresses_are_private() -> None:
    """Whether to warn of a server without a key is decided by the address it listens on."""
    assert [is_loopback(each) for each in ("127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "10.0.0.1", "::")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_reader_that_leaves_early_is_no_fault() -> None:
    """As `head` does: nothing is told of it on the error stream."""
    command = [sys.executable, "-m", "server", "families"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, told = process.communicate(timeout=60)

    assert (process.returncode, told) == (128 + signal.SIGPIPE, b"")
