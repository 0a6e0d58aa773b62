"""From settings to a context that can answer: model, tokenizer, template, engine, in this order.

    context = await start(Settings(model="/models/qwen"), metrics, report=print)

What is quick is done first, so that a mistake shows before the engine takes its seconds.
"""

import time
from pathlib import Path

from parsers.family import Family
from parsers.registry import UnknownFamilyError, find
from server.context import Context
from server.engine.arguments import EngineArgumentError, engine_options
from server.engine.protocol import EngineError
from server.engine.vllm import VllmEngine
from server.metrics import Metrics
from server.schema.plan import SchemaPlanner
from server.settings import DEFAULT_MODEL, Settings, SettingsError
from server.template import ChatTemplate, TemplateLoadError, choose_template
from server.terminal import CommandError, Say, progress
from server.vocabulary import Vocabulary, VocabularyError

DEFAULT_FAMILY = "hermes"
"""What most models that are not told apart by name write: Hermes' and Qwen's form."""


async def start(settings: Settings, metrics: Metrics, *, report: Say) -> Context:
    """Load everything. Raises `SettingsError` for a setting that is wrong, else `CommandError`."""
    family = choose_family(settings.family)
    model = locate_model(settings, report)
    with progress("Loading the tokenizer", report):
        vocabulary = load_vocabulary(model)
    template = load_template(settings.chat_template, vocabulary, family)
    report(f"Chat template: {template.origin}. Tool calls: {family.name}.")
    with progress(f"Loading {model} into vLLM", report):
        engine = await start_engine(settings, model, metrics)
    return Context(
        settings=settings,
        engine=engine,
        vocabulary=vocabulary,
        template=template,
        family=family,
        planner=SchemaPlanner(),
        metrics=metrics,
        model_names=settings.model_names,
        created=int(time.time()),
    )


def choose_family(name: str) -> Family:
    try:
        return find(DEFAULT_FAMILY if name == "auto" else name)
    except UnknownFamilyError as exc:
        raise SettingsError(f"--family: {exc}") from exc


def locate_model(settings: Settings, report: Say) -> str:
    """What the loaders are given: a directory or a hub name. The default model is prepared first."""
    if settings.model != DEFAULT_MODEL or Path(settings.model).is_dir():
        return str(Path(settings.model).expanduser())
    from server.default_model import DefaultModelError, prepare

    try:
        return str(prepare(settings.cache_dir / "models", report))
    except DefaultModelError as exc:
        raise CommandError(str(exc)) from exc


def load_vocabulary(model: str) -> Vocabulary:
    try:
        return Vocabulary.load(model)
    except VocabularyError as exc:
        raise CommandError(str(exc)) from exc
    except (OSError, ValueError) as exc:
        # Of the library's long message, the first line says what is the matter.
        reason = str(exc).strip().partition("\n")[0]
        raise CommandError(f"The model '{model}' cannot be loaded: {reason}") from exc


def load_template(path: Path | None, vocabulary: Vocabulary, family: Family) -> ChatTemplate:
    try:
        if path is None:
            return choose_template(vocabulary.chat_template, family.name)
        return ChatTemplate(path.read_text(encoding="utf-8"), origin=str(path))
    except OSError as exc:
        raise SettingsError(f"--chat-template: {path} cannot be read: {exc.strerror}.") from exc
    except TemplateLoadError as exc:
        raise CommandError(str(exc)) from exc


async def start_engine(settings: Settings, model: str, metrics: Metrics) -> VllmEngine:
    try:
        options = engine_options(settings.engine_args)
        return await VllmEngine.start(model, options=options, metrics_directory=metrics.engine_directory)
    except EngineArgumentError as exc:
        raise SettingsError(str(exc)) from exc
    except ModuleNotFoundError as exc:
        message = "Install it with `pip install 'strictcall[cpu]'`, or [gpu] where there is one."
        raise CommandError(f"The engine needs {exc.name}, which is not installed. {message}") from exc
    except EngineError as exc:
        raise CommandError(str(exc)) from exc
