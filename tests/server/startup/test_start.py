"""Loading what stands in front of the engine, and what is said when it cannot be loaded."""

import json
from pathlib import Path

import pytest

from parsers.families.hermes import HERMES
from server.config.settings import DEFAULT_MODEL, Settings, SettingsError, default_cache
from server.console.terminal import CommandError
from server.engine.protocol import EngineError
from server.engine.scripted import Script, ScriptedEngine
from server.mask.compiling import warm_up_tag
from server.schema.plan import SchemaPlanner
from server.startup.default_model import prepare
from server.startup.locate import Located
from server.startup.start import (
    as_trained,
    engine_starter,
    load_template,
    load_vocabulary,
    not_installed,
    read_engine_args,
    start,
    warm_up,
)
from server.telemetry.metrics import Metrics
from server.tokens.vocabulary import Vocabulary
from tests.server.workers import working


@pytest.fixture(name="vocabulary", scope="module")
def _vocabulary() -> Vocabulary:
    return load_vocabulary(str(prepare(default_cache() / "models", lambda line: None)))


def test_a_model_without_a_tool_template_gets_the_familys(vocabulary: Vocabulary) -> None:
    """The default model's own template does not show tools; the log says which is used, and why."""
    template = load_template(Located("m", None, None), vocabulary, HERMES)

    assert template.traits.tools
    assert "templates/hermes.jinja" in template.origin


def test_a_given_template_is_used_as_it_is(vocabulary: Vocabulary) -> None:
    """`--chat-template` wins over the model's own and ours."""
    template = load_template(Located("m", None, "{{ messages[0].content }}"), vocabulary, HERMES)

    assert template.origin == "--chat-template"
    assert template.render([{"role": "user", "content": "Hi"}]) == "Hi"


def test_a_template_that_does_not_compile_is_told(vocabulary: Vocabulary) -> None:
    """The start fails with the compiler's reason."""
    with pytest.raises(CommandError, match="cannot be compiled"):
        load_template(Located("m", None, "{% if %}"), vocabulary, HERMES)


def test_a_directory_without_a_tokenizer_is_told_in_one_line(tmp_path: Path) -> None:
    """The library's message is pages long; its first line is enough."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")

    with pytest.raises(CommandError) as failure:
        load_vocabulary(str(tmp_path))

    assert str(failure.value).startswith(f"The model '{tmp_path}' cannot be loaded: ")
    assert "\n" not in str(failure.value)


def test_no_engine_flags_need_no_engine() -> None:
    """vLLM, which takes seconds to import, is not asked where there is nothing to ask."""
    assert read_engine_args(()) == {}


def test_a_missing_engine_is_told_with_the_way_out() -> None:
    """Without an extra there is no vLLM; the message says which to install."""
    message = str(not_installed(ModuleNotFoundError("No module named 'vllm'", name="vllm")))

    assert "vllm" in message
    assert "strictcall[cpu]" in message


def test_a_model_reasons_only_if_one_of_its_templates_spells_the_span() -> None:
    """A model that was not trained to reason is not offered the span by its mask."""
    assert as_trained(HERMES, "{{ messages }}", None).reasoning is None
    assert as_trained(HERMES, None, "…</think>…") == HERMES
    assert as_trained(HERMES, None).reasoning is None


def test_flags_of_the_engine_are_refused_where_there_is_none() -> None:
    """They belong to the workers, which would not see them."""
    settings = Settings(engine_url=("http://10.0.0.2:8000",), engine_args=("--max-model-len", "2048"))

    with pytest.raises(SettingsError, match=r"--max-model-len 2048.*give it to the workers"):
        engine_starter(settings, Located("m", None, None), Metrics())


async def test_workers_that_serve_the_model_are_the_engine(vocabulary: Vocabulary) -> None:
    """Its names, its tokens and its defaults are read here, where the model's files are."""
    model = str(prepare(default_cache() / "models", lambda line: None))
    async with working([Script([(1,)])], name=DEFAULT_MODEL) as worker:
        settings = Settings(engine_url=(worker.url,))
        engine = await engine_starter(settings, Located(model, None, None), Metrics())()
        await warm_up(engine, [7], warm_up_tag(SchemaPlanner()))
        await engine.close()

    assert engine.undrafted
    assert worker.engine.asked[0].prompt == (7,)


async def test_the_warm_up_asks_for_one_token_of_the_costliest_grammar() -> None:
    """One token is enough: the grammar is compiled before it."""
    engine = ScriptedEngine([Script([(1,)])])

    await warm_up(engine, [7], warm_up_tag(SchemaPlanner()))

    [asked] = engine.asked
    assert asked.prompt == (7,)
    assert asked.sampling.max_tokens == 1
    assert "structural_tag" in (asked.structural_tag or "")


async def test_an_engine_that_cannot_generate_is_told_at_start() -> None:
    """A server that could not answer does not say it is ready."""
    engine = ScriptedEngine([Script([], error=EngineError("no kernel"))])

    with pytest.raises(CommandError, match="cannot generate: no kernel"):
        await warm_up(engine, [7], warm_up_tag(SchemaPlanner()))


async def test_a_store_that_cannot_be_used_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    """Nobody waits for a model to learn of a mistyped path."""
    (tmp_path / "file").touch()
    settings = Settings(response_store=str(tmp_path / "file" / "responses.sqlite"))
    metrics = Metrics(families=("hermes",))
    told: list[str] = []

    with pytest.raises(SettingsError, match="--response-store"):
        await start(settings, Located("no such model", None, None), metrics, report=told.append)

    metrics.close()
    assert told == []
