"""The tokenizers of real models, as directories. A test for which there is none is skipped."""

import os
from pathlib import Path

import pytest

from server.config.settings import default_cache
from server.startup.default_model import DefaultModelError, prepare


def smollm2() -> Path:
    """The default model, of 49,000 tokens: markers are ordinary text, in many tokens."""
    try:
        return prepare(default_cache() / "models", lambda line: None)
    except DefaultModelError as error:
        pytest.skip(str(error))


def qwen3() -> Path:
    """151,000 tokens: some markers are single ones, which text can also spell in pieces."""
    directory = os.environ.get("STRICTCALL_TEST_DATA", "")
    if not directory:
        pytest.skip("STRICTCALL_TEST_DATA does not name a directory with other models' tokenizers")
    return Path(directory) / "tokenizers" / "qwen3"
