"""From a located model to a context that can answer: engine flags, tokenizer, template, engine.

context = await start(settings, located, metrics, report=print)
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from parsers.family import Family
from server.config.settings import Settings, SettingsError, ToolMask
from server.console.terminal import CommandError, Say, progress
from server.context import Context
from server.engine.arguments import EngineArgumentError, engine_options
from server.engine.environment import prepare_environment
from server.engine.protocol import Engine, EngineError
from server.engine.remote import Identity, RemoteEngine
from server.engine.revived import RevivedEngine
from server.engine.vllm import VllmEngine
from server.limits.admission import admission_of
from server.mask.compiling import compile_deadline, warm_up_tag
from server.prompt.renderer import Renderer, choose_renderer
from server.prompt.template import TemplateLoadError
from server.request import SamplingParams
from server.schema.plan import SchemaPlanner
from server.startup.families import Choice, choose
from server.startup.locate import Located
from server.store.open import open_store
from server.telemetry.metrics import Metrics
from server.telemetry.tracing import Tracing, TracingError, start_tracing
from server.tokens.markers import marker_tokens
from server.tokens.vocabulary import Vocabulary, VocabularyError, loading_fault


class FirstEngine(Engine, Protocol):
    """An engine that has just come up."""

    undrafted: str | None
    """Why forced tokens are not drafted, or None if they are."""


Begin = Callable[[], Awaitable[FirstEngine]]
"""Loads the model into an engine, and raises `EngineError` if it does not come up."""


async def start(settings: Settings, located: Located, metrics: Metrics, *, report: Say) -> Context:
    """Load everything. Raises `SettingsError` for a setting that is wrong, else `CommandError`."""
    tracing = begin_tracing(settings)
    responses = open_store(settings)
    begin = await asyncio.to_thread(engine_starter, settings, located, metrics)
    with progress("Loading the tokenizer", report):
        vocabulary = await asyncio.to_thread(load_vocabulary, located.model)
    chosen = choose_family(located, vocabulary)
    template = load_template(located, vocabulary, chosen.family)
    family = as_trained(chosen.family, vocabulary.chat_template, located.template)
    metrics.start_family(family.name)
    report(f"Chat template: {template.origin}. Tool calls: {chosen.sentence}")
    if template.tells_form:
        report("Every call is masked, whatever --tool-mask says: the model was not trained on their form.")
        settings = replace(settings, tool_mask=ToolMask.ENVELOPE)
    with progress(loading(settings, located), report):
        began = time.monotonic()
        engine = await start_engine(begin)
    metrics.tell_drafting(engine.undrafted)
    if engine.undrafted:
        report(f"Forced tokens are not drafted: {engine.undrafted}.")
    planner = SchemaPlanner(limits=settings.schema_limits)
    with progress("Warming up", report):
        spelling = family.call.style.spelling
        tag, prompt = warm_up_tag(planner, spelling), vocabulary.encode("Hi")
        deadline = compile_deadline(vocabulary, planner, seconds=settings.compile_seconds, spelling=spelling)
        await asyncio.gather(
            warm_up(engine, prompt, tag),
            # It reads the vocabulary as well, for which no request should have to wait.
            asyncio.to_thread(deadline.start),
        )
    revived = RevivedEngine(
        engine,
        partial(begin_warm, begin, prompt, tag),
        attempts=settings.engine_restarts,
        took=time.monotonic() - began,
        counted=metrics.count_restart,
    )
    return Context(
        settings=settings,
        engine=revived,
        vocabulary=vocabulary,
        template=template,
        family=family,
        markers=marker_tokens(family, vocabulary),
        planner=planner,
        deadline=deadline,
        metrics=metrics,
        admission=admission_of(settings, metrics),
        model_names=settings.model_names,
        created=int(time.time()),
        responses=responses,
        tracing=tracing,
    )


def loading(settings: Settings, located: Located) -> str:
    """What is being done while the engine is not there."""
    if settings.engine_url:
        return f"Waiting for {located.model} at {', '.join(settings.engine_url)}"
    return f"Loading {located.model} into vLLM"


def engine_starter(settings: Settings, located: Located, metrics: Metrics) -> Begin:
    """Return what starts the engine here, or finds its workers elsewhere. Raises `SettingsError`."""
    if settings.engine_url:
        return remote_starter(settings, located, metrics)
    return partial(
        VllmEngine.start,
        located.model,
        options=read_engine_args(settings.engine_args),
        metrics_directory=metrics.engine_directory,
        draft_forced_tokens=settings.draft_forced_tokens,
    )


def remote_starter(settings: Settings, located: Located, metrics: Metrics) -> Begin:
    if settings.engine_args:
        given = " ".join(settings.engine_args)
        raise SettingsError(f"`{given}` is for vLLM, which does not run here: give it to the workers.")

    async def begin() -> FirstEngine:
        identity = await asyncio.to_thread(Identity.load, located.model, settings.model_names)
        return await RemoteEngine.connect(
            settings.engine_url, identity, api_key=settings.engine_api_key, counted=metrics.count_loss
        )

    return begin


def begin_tracing(settings: Settings) -> Tracing:
    try:
        return start_tracing(settings.otlp_endpoint)
    except TracingError as exc:
        raise CommandError(str(exc)) from exc


def read_engine_args(args: tuple[str, ...]) -> Mapping[str, Any]:
    prepare_environment()
    try:
        return engine_options(args)
    except EngineArgumentError as exc:
        raise SettingsError(str(exc)) from exc
    except ModuleNotFoundError as exc:
        raise not_installed(exc) from exc


def load_vocabulary(model: str) -> Vocabulary:
    try:
        return Vocabulary.load(model)
    except VocabularyError as exc:
        raise CommandError(str(exc)) from exc
    except (OSError, ValueError) as exc:
        raise CommandError(f"The model '{model}' cannot be loaded: {loading_fault(exc)}") from exc


def choose_family(located: Located, vocabulary: Vocabulary) -> Choice:
    """The family of a model, and why."""
    return choose(
        located.family,
        template=vocabulary.chat_template if located.template is None else located.template,
        control_strings=vocabulary.control_strings,
        end_strings={vocabulary.token_text(end) for end in vocabulary.end_ids},
        because=located.because,
    )


def load_template(located: Located, vocabulary: Vocabulary, family: Family) -> Renderer:
    try:
        return choose_renderer(family, own=vocabulary.chat_template, given=located.template)
    except TemplateLoadError as exc:
        raise CommandError(str(exc)) from exc


def as_trained(family: Family, *templates: str | None) -> Family:
    """The family as one model of it writes it: no reasoning, unless one of its templates spells the span.

    Under a mask a model that was never trained to reason would be offered the span all the same.
    """
    span = family.reasoning
    if span is None or any(span.end in template for template in templates if template):
        return family
    return family.without_reasoning()


async def warm_up(engine: Engine, prompt: Sequence[int], tag: str) -> None:
    """Generate one token under the grammar that costs most when it is new."""
    try:
        await generate_one(engine, prompt, tag)
    except EngineError as exc:
        raise CommandError(f"The engine cannot generate: {exc}") from exc


async def generate_one(engine: Engine, prompt: Sequence[int], tag: str) -> None:
    async for _ in engine.generate("warm-up", prompt, SamplingParams(max_tokens=1), tag):
        pass


async def begin_warm(begin: Begin, prompt: Sequence[int], tag: str) -> Engine:
    """Start another engine and warm it up. Raises `EngineError`."""
    engine = await begin()
    try:
        await generate_one(engine, prompt, tag)
    except EngineError:
        await engine.close()
        raise
    return engine


async def start_engine(begin: Begin) -> FirstEngine:
    try:
        return await begin()
    except ModuleNotFoundError as exc:
        raise not_installed(exc) from exc
    except EngineError as exc:
        raise CommandError(str(exc)) from exc


def not_installed(exc: ModuleNotFoundError) -> CommandError:
    return CommandError(
        f"The engine needs the package {exc.name}, which is not installed. "
        "Run `pip install 'strictcall[cpu]'`, or `'strictcall[gpu]'` where there is a GPU."
    )
