"""Flags, environment and file: which wins, what passes through, and what is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from server.config.settings import Settings, SettingsError, ToolMask
from server.config.sources import load, serve_parser

WriteFile = Callable[[str], Path]


@pytest.fixture(name="write")
def _write(tmp_path: Path) -> WriteFile:
    def write(text: str) -> Path:
        path = tmp_path / "strictcall.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_nothing_said_gives_the_defaults() -> None:
    """Without flags, variables and file, the settings are those of the record."""
    assert load([], {}) == Settings()


def test_flag_wins_over_environment_over_file_over_default(write: WriteFile) -> None:
    """Each source overrides the ones after it, setting by setting."""
    path = write("port = 1\nmax_n = 2\nmax_calls = 3\n")
    environ = {"STRICTCALL_CONFIG": str(path), "STRICTCALL_MAX_N": "20", "STRICTCALL_MAX_CALLS": "30"}

    settings = load(["--max-calls", "100"], environ)

    assert (settings.port, settings.max_n, settings.max_calls) == (1, 20, 100)
    assert settings.host == "127.0.0.1"


def test_config_flag_wins_over_config_variable(write: WriteFile) -> None:
    """`--config` names the file, whatever the environment says."""
    path = write('tool_mask = "strict"')

    settings = load(["--config", str(path)], {"STRICTCALL_CONFIG": "/nowhere.toml"})

    assert settings.tool_mask is ToolMask.STRICT


def test_the_model_is_the_first_argument() -> None:
    """`serve MODEL` and `--model MODEL` mean the same; the first wins."""
    assert load(["a/b"], {}).model == "a/b"
    assert load(["--model", "a/b"], {}).model == "a/b"
    assert load(["a/b", "--model", "c"], {}).model == "a/b"


def test_repeated_values_come_from_every_source(write: WriteFile) -> None:
    """Flags repeat, a variable is parted by commas, a file has a list; sources are not mixed."""
    path = write('served_model_name = ["a", "b"]')

    assert load(["--config", str(path)], {}).served_model_name == ("a", "b")
    assert load([], {"STRICTCALL_SERVED_MODEL_NAME": "c, d,"}).served_model_name == ("c", "d")
    flags = ["--served-model-name", "e", "--served-model-name=f"]
    assert load(flags, {"STRICTCALL_SERVED_MODEL_NAME": "c"}).served_model_name == ("e", "f")


ENGINE_FLAGS = [
    (["--max-model-len", "2048"], ("--max-model-len", "2048")),
    (["m", "--max-model-len=2048", "--port", "1"], ("--max-model-len=2048",)),
    (["--enforce-eager", "--port", "1"], ("--enforce-eager",)),
    (["--seed", "-1"], ("--seed", "-1")),
    (["--engine-arg", "max_model_len=2048"], ("--engine-arg", "max_model_len=2048")),
    (["--port", "1", "--", "--prot", "x"], ("--prot", "x")),
    (["--load-format", "dummy"], ("--load-format", "dummy")),
]


@pytest.mark.parametrize(("argv", "expected"), ENGINE_FLAGS, ids=" ".join)
def test_flags_of_the_engine_pass_through(argv: list[str], expected: tuple[str, ...]) -> None:
    """A flag that is not ours, with what follows it, reaches vLLM as it was written."""
    settings = load(argv, {})

    assert settings.engine_args == expected


def test_engine_arguments_come_from_every_source_the_flag_last(write: WriteFile) -> None:
    """VLLM takes the last of equal flags, so the order is file, environment, flag."""
    path = write('[engine]\nmax_model_len = 1\nquantization = "fp8"\nrope_scaling = {factor = 2.0}\n')
    environ = {"STRICTCALL_ENGINE_ARGS": "--max-model-len 2 --served 'a b'"}

    settings = load(["--config", str(path), "--max-model-len", "3"], environ)

    assert settings.engine_args == (
        "--engine-arg",
        "max_model_len=1",
        "--engine-arg",
        "quantization=fp8",
        "--engine-arg",
        'rope_scaling={"factor": 2.0}',
        "--max-model-len",
        "2",
        "--served",
        "a b",
        "--max-model-len",
        "3",
    )


MISSPELT = [
    (["--prot", "8001"], "--prot: there is no such setting. Did you mean --port?"),
    (["--api-keys", "k"], "Did you mean --api-key?"),
    (["--max_calls", "4"], "Did you mean --max-calls?"),
    (["--tools-mask=strict"], "Did you mean --tool-mask?"),
]


@pytest.mark.parametrize(("argv", "message"), MISSPELT, ids=lambda value: value[0])
def test_a_misspelt_flag_of_ours_is_refused_with_the_right_one(argv: list[str], message: str) -> None:
    """What is nearly our flag is not handed to the engine."""
    with pytest.raises(SettingsError) as failure:
        load(argv, {})

    assert message in str(failure.value)


WRONG_VALUES = [
    (["--port", "http"], {}, "--port: 'http' is not a whole number from 0 to 65535."),
    ([], {"STRICTCALL_PORT": "http"}, "STRICTCALL_PORT: 'http' is not a whole number"),
    (
        [],
        {"STRICTCALL_MAX_CALS": "4"},
        "there is no setting STRICTCALL_MAX_CALS. Did you mean STRICTCALL_MAX_CALLS?",
    ),
    ([], {"STRICTCALL_ENGINE_ARGS": "'"}, "STRICTCALL_ENGINE_ARGS: No closing quotation"),
    (["--config", "/nowhere.toml"], {}, "/nowhere.toml cannot be read: No such file"),
    (["--api-key-file", "/nowhere"], {}, "The API key file /nowhere cannot be read"),
]


@pytest.mark.parametrize(("argv", "environ", "message"), WRONG_VALUES)
def test_an_error_names_the_source_and_the_setting(
    argv: list[str], environ: dict[str, str], message: str
) -> None:
    """A user can find what to change from the message alone."""
    with pytest.raises(SettingsError) as failure:
        load(argv, environ)

    assert message in str(failure.value)


WRONG_FILES = [
    ("port = [", "is not TOML"),
    ("port = true", "strictcall.toml: port: 'True' is not a whole number"),
    ("prot = 1", "there is no setting prot. Did you mean port?"),
    ("zebra = 1", "there is no setting zebra."),
    ("engine = 1", "engine: it must be a table"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_FILES)
def test_a_wrong_file_is_refused_by_name(text: str, message: str, write: WriteFile) -> None:
    """Every key of the file is one of ours, with a value that can be read."""
    with pytest.raises(SettingsError) as failure:
        load(["--config", str(write(text))], {})

    assert message in str(failure.value)
    assert "strictcall.toml" in str(failure.value)


def test_variables_of_other_programs_are_left_alone() -> None:
    """Kubernetes describes a Service named strictcall by variables like these; none is a setting of ours."""
    environ = {
        "STRICTCALL_PORT": "tcp://10.0.0.7:80",
        "STRICTCALL_SERVICE_HOST": "10.0.0.7",
        "STRICTCALL_PORT_80_TCP_ADDR": "10.0.0.7",
        "PORT": "9",
    }

    assert load([], environ) == Settings()


def test_keys_come_from_flag_and_file_together(tmp_path: Path) -> None:
    """A key file has one key a line, with comments, and adds to the keys that are given."""
    path = tmp_path / "keys"
    path.write_text("# rotated in May\nk2\n\n k3 \nk1\n", encoding="utf-8")

    settings = load(["--api-key", "k1", "--api-key-file", str(path)], {})

    assert settings.api_key == ("k1", "k2", "k3")


def test_a_key_file_without_a_key_does_not_open_the_server(tmp_path: Path) -> None:
    """An empty file is an error, since the server would be open without a key."""
    path = tmp_path / "keys"
    path.write_text("# none\n", encoding="utf-8")

    with pytest.raises(SettingsError, match="holds no key"):
        load(["--api-key-file", str(path)], {})


def test_help_says_flag_variable_and_default_of_every_setting() -> None:
    """`strictcall serve --help` is complete."""
    text = " ".join(serve_parser().format_help().split())

    assert "--max-calls COUNT Calls that one answer may hold under the mask. Default: 16." in text
    assert "[STRICTCALL_MAX_CALLS]" in text
    assert "--api-key-file PATH" in text
    assert "[STRICTCALL_CONFIG]" in text


def test_a_flag_without_its_value_ends_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    """Argparse tells what is missing, and exits with 2 as command lines do."""
    with pytest.raises(SystemExit) as end:
        load(["--port"], {})

    assert end.value.code == 2
    assert "--port" in capsys.readouterr().err


def test_a_switch_stands_alone_or_with_its_value(write: WriteFile) -> None:
    """A flag alone means yes; environment and file say which."""
    path = write("strict_tools = true")

    assert load(["--strict-tools"], {}).strict_tools
    assert load(["--strict-tools", "--port", "1"], {}).port == 1
    assert not load(["--strict-tools", "false"], {"STRICTCALL_STRICT_TOOLS": "true"}).strict_tools
    assert load(["--config", str(path)], {}).strict_tools
    assert not load(["--config", str(path), "--no-strict-tools", "--port", "1"], {}).strict_tools
    assert load(["--no-strict-tools", "--strict-tools"], {}).strict_tools
