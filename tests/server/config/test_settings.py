"""The record of settings and how each is read from text."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from server.config.settings import (
    LogFormat,
    NamedFinish,
    Settings,
    ToolMask,
    default_cache,
    flag,
    specs,
    variable,
)
from server.policy import Policy, UnsupportedKeywords

READABLE = [
    ("port", "0", 0),
    ("port", "65535", 65535),
    ("max_calls", "1", 1),
    ("tool_mask", "strict", ToolMask.STRICT),
    ("schema_limit", "depth=64", ("depth", 64)),
    ("named_finish_reason", "stop", NamedFinish.STOP),
    ("strict_tools", "true", True),
    ("draft_forced_tokens", "false", False),
    ("strict_tools", "False", False),
    ("unsupported_keywords", "describe", UnsupportedKeywords.DESCRIBE),
    ("log_format", "json", LogFormat.JSON),
    ("log_level", "WARNING", "warning"),
    ("chat_template", "/a/b.jinja", Path("/a/b.jinja")),
    ("engine_url", "http://10.0.0.2:8000/", "http://10.0.0.2:8000"),
]
UNREADABLE = [
    ("port", "65536"),
    ("port", "-1"),
    ("port", "80.0"),
    ("port", "٨٠"),
    ("port", "9" * 5000),
    ("max_calls", "0"),
    ("max_body_bytes", "1"),
    ("tool_mask", "loose"),
    ("schema_limit", "depth=deep"),
    ("strict_tools", "yes"),
    ("unsupported_keywords", "ignore"),
    ("max_attempts", "11"),
    ("log_level", "loud"),
    ("model", " "),
    ("api_key", ""),
    ("engine_url", "10.0.0.2:8000"),
    ("engine_url", "http://"),
]


@pytest.mark.parametrize(("name", "text", "value"), READABLE)
def test_text_becomes_the_value_of_its_setting(name: str, text: str, value: object) -> None:
    """Every kind of setting is read from the text that flags and variables hold."""
    assert specs()[name].read(text) == value


@pytest.mark.parametrize(("name", "text"), UNREADABLE)
def test_text_outside_a_setting_is_refused(name: str, text: str) -> None:
    """A value that the setting cannot have is an error, not a guess."""
    with pytest.raises(ValueError, match=r"is not|is none of|is empty|digits"):
        specs()[name].read(text)


def test_every_setting_has_a_flag_a_variable_and_a_help_text() -> None:
    """Nothing can be set that `--help` does not explain; only the engine's own flags stand apart."""
    expected = set(Settings.__dataclass_fields__) - {"engine_args"}

    assert expected == set(specs())
    assert all(spec.help.endswith((".", "*")) and spec.metavar for spec in specs().values())
    assert (flag("max_calls"), variable("max_calls")) == ("--max-calls", "STRICTCALL_MAX_CALLS")


def test_settings_do_not_show_their_keys() -> None:
    """The representation, which may end in a log, holds no API key."""
    assert "sk-secret" not in repr(Settings(api_key=("sk-secret",)))


def test_settings_cannot_change_while_a_server_runs() -> None:
    """The record is frozen."""
    with pytest.raises(FrozenInstanceError):
        Settings().port = 1  # type: ignore[misc]


def test_a_server_listens_on_this_machine_only_by_default() -> None:
    """Nobody opens a server to the network without saying so."""
    assert Settings().host == "127.0.0.1"


def test_a_model_in_a_directory_is_named_after_it(tmp_path: Path) -> None:
    """Clients may use the directory's name, which is the canonical one, or the path that was given."""
    directory = tmp_path / "Qwen3-4B"
    directory.mkdir()

    assert Settings(model=f"{directory}/").model_names == ("Qwen3-4B", f"{directory}/")


def test_a_hub_name_is_the_models_name() -> None:
    """A model that is no directory here is called as it was named."""
    assert Settings(model="Qwen/Qwen3-4B").model_names == ("Qwen/Qwen3-4B",)


def test_given_names_replace_the_models_own() -> None:
    """The first name is canonical, and a name given twice counts once."""
    settings = Settings(model="Qwen/Qwen3-4B", served_model_name=("gpt-4o", "qwen", "gpt-4o"))

    assert settings.model_names == ("gpt-4o", "qwen")


@pytest.mark.parametrize(
    ("base", "expected"),
    [("/var/cache", Path("/var/cache/strictcall")), ("relative", Path.home() / ".cache/strictcall")],
    ids=["absolute", "relative is ignored as the standard asks"],
)
def test_the_cache_stands_where_xdg_says(base: str, expected: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`XDG_CACHE_HOME` moves the default cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", base)

    assert default_cache() == expected
    assert Settings().cache_dir == expected


def test_the_policy_is_that_of_the_settings() -> None:
    """For requests that say nothing about it."""
    settings = Settings(unsupported_keywords=UnsupportedKeywords.REJECT, max_attempts=5, strict_tools=True)

    assert settings.policy == Policy(UnsupportedKeywords.REJECT, max_attempts=5, strict_tools=True)
    assert Settings().policy == Policy()
