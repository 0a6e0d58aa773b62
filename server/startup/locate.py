"""What can be known of a model before anything slow is imported: where it is, and what the settings say.

    locate(Settings(model="/models/qwen"), report=print)
    # Located(model="/models/qwen", family=None, template=None)

A mistake in a setting therefore shows at once, and not after the frameworks have been loaded.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from parsers.family import Family
from parsers.registry import UnknownFamilyError, find
from server.config.settings import DEFAULT_MODEL, DEFAULT_MODEL_FAMILY, Settings, SettingsError
from server.console.terminal import CommandError, Say


@dataclass(frozen=True, slots=True)
class Located:
    """`model` is a directory or a hub name, as loaders take it; `template` the text of `--chat-template`.

    `family` is that of `--family`, or that of the default model; None where it is left to be found out from
    the model itself. `because` says why it is the one.
    """

    model: str
    family: Family | None
    template: str | None
    because: str = "--family names it"


def locate(settings: Settings, *, report: Say) -> Located:
    """Find what the settings name. Raises `SettingsError` for a wrong setting, `CommandError` otherwise."""
    family = find_family(settings.family)
    template = None if settings.chat_template is None else read_template(settings.chat_template)
    located = Located(locate_model(settings, report), family, template)
    if family is None and template is None and settings.model == DEFAULT_MODEL:
        return replace(
            located, family=find(DEFAULT_MODEL_FAMILY), because="the default model is served with it"
        )
    return located


def find_family(name: str) -> Family | None:
    try:
        return None if name == "auto" else find(name)
    except UnknownFamilyError as exc:
        raise SettingsError(f"--family: {exc}") from exc


def read_template(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as exc:
        raise SettingsError(f"--chat-template: {path} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise SettingsError(f"--chat-template: {path} is not UTF-8 text.") from exc


def locate_model(settings: Settings, report: Say) -> str:
    path = Path(settings.model).expanduser()
    if path.is_dir():
        return str(path)
    if settings.model == DEFAULT_MODEL:
        return prepare_default(settings.cache_dir / "models", report)
    if settings.model.startswith(("/", "./", "../", "~")):
        raise CommandError(
            f"There is no model directory '{settings.model}'. Name one that exists, or a hub name such as "
            "Qwen/Qwen3-8B."
        )
    return settings.model


def prepare_default(cache: Path, report: Say) -> str:
    from server.startup.default_model import DefaultModelError, prepare

    try:
        return str(prepare(cache, report))
    except DefaultModelError as exc:
        raise CommandError(str(exc)) from exc
