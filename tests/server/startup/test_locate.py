"""What is found, or refused, before anything slow is loaded."""

from pathlib import Path

import pytest

from parsers.families.hermes import HERMES
from parsers.families.qwen3_coder import QWEN3_CODER
from server.config.settings import Settings, SettingsError
from server.console.terminal import CommandError
from server.startup.locate import Located, locate


def silent(line: str) -> None:
    """Report to nobody."""


def test_a_directory_is_its_own_place(tmp_path: Path) -> None:
    """A model that is here is loaded from here, and its family is left to be found out from it."""
    located = locate(Settings(model=str(tmp_path)), report=silent)

    assert located == Located(str(tmp_path), None, None)


def test_a_family_that_is_named_is_known_at_once() -> None:
    """`--family` decides before anything is loaded."""
    assert locate(Settings(model="a/b", family="hermes"), report=silent).family == HERMES


def test_a_hub_name_is_left_to_the_hub() -> None:
    """What does not look like a path is the name of a model elsewhere."""
    assert locate(Settings(model="Qwen/Qwen3-4B"), report=silent).model == "Qwen/Qwen3-4B"


@pytest.mark.parametrize("model", ["/nowhere/model", "./nowhere", "../nowhere", "~/nowhere"])
def test_a_path_without_a_directory_is_not_taken_for_a_hub_name(model: str) -> None:
    """The hub's own message would speak of names and hide the mistake."""
    with pytest.raises(CommandError, match="There is no model directory"):
        locate(Settings(model=model), report=silent)


def test_the_default_model_is_served_as_hermes() -> None:
    """Its own template knows no calls; `--family` overrules it."""
    located = locate(Settings(), report=silent)
    overruled = locate(Settings(family="qwen3_coder"), report=silent)

    assert (located.family, located.because) == (HERMES, "the default model is served with it")
    assert overruled.family == QWEN3_CODER


def test_the_default_model_is_prepared() -> None:
    """Without a model, the one that the package brings is made ready in the cache."""
    settings = Settings()

    located = locate(settings, report=silent)

    assert Path(located.model).is_relative_to(settings.cache_dir)
    assert (Path(located.model) / "config.json").is_file()


def test_an_unknown_family_is_told_with_those_there_are() -> None:
    """The message names the flag."""
    with pytest.raises(SettingsError, match=r"--family: .*'zebra'.* hermes"):
        locate(Settings(model="a/b", family="zebra"), report=silent)


def test_a_chat_template_is_read(tmp_path: Path) -> None:
    """Its text goes to the loader, so that a missing file shows at once."""
    path = tmp_path / "own.jinja"
    path.write_text("{{ messages }}", encoding="utf-8")

    assert locate(Settings(model="a/b", chat_template=path), report=silent).template == "{{ messages }}"


def test_a_chat_template_that_is_no_text_is_refused(tmp_path: Path) -> None:
    """A file of another kind is a wrong setting, not a crash."""
    path = tmp_path / "own.jinja"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(SettingsError, match=r"--chat-template: .* is not UTF-8 text"):
        locate(Settings(model="a/b", chat_template=path), report=silent)
