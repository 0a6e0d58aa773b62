"""Vocabularies of real models, for the tests of everything that reads or writes tokens."""

import os
from pathlib import Path

import pytest

from parsers.registry import find
from server.config.settings import default_cache
from server.prompt.template import choose_template
from server.startup.default_model import DefaultModelError, prepare
from server.tokens.vocabulary import Vocabulary
from tests.server.prompting import Renderer


@pytest.fixture(scope="session", name="model_data")
def _model_data() -> Path:
    """A directory with `chat_templates/*.jinja` and `tokenizers/*/` of other models, which we cannot ship."""
    directory = os.environ.get("STRICTCALL_TEST_DATA", "")
    if not directory:
        pytest.skip(
            "STRICTCALL_TEST_DATA does not name a directory with other models' templates and tokenizers"
        )
    return Path(directory)


@pytest.fixture(scope="session", name="smollm2")
def _smollm2() -> Vocabulary:
    """The default model's vocabulary: byte-level BPE, control tokens from 0 to 16."""
    try:
        directory = prepare(default_cache() / "models", lambda line: None)
    except DefaultModelError as error:
        pytest.skip(str(error))
    return Vocabulary.load(str(directory))


@pytest.fixture(scope="session", name="vocabulary")
def _vocabulary(smollm2: Vocabulary) -> Vocabulary:
    """A vocabulary, for tests in which it does not matter whose."""
    return smollm2


@pytest.fixture(scope="session", name="qwen3")
def _qwen3(model_data: Path) -> Vocabulary:
    """Qwen3's vocabulary: `<tool_call>` and `<think>` are control tokens that are not special."""
    return Vocabulary.load(str(model_data / "tokenizers" / "qwen3"))


@pytest.fixture(scope="session", name="hermes")
def _hermes(smollm2: Vocabulary) -> Renderer:
    """Renders as for the default model: our own template, its vocabulary."""
    return Renderer(choose_template(smollm2.chat_template, find("hermes")), smollm2)
