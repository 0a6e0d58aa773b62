"""A name that is gone from vLLM is told of before it is missed."""

from types import SimpleNamespace

import pytest

from server.engine.seams import SeamError, require


def test_a_missing_name_is_an_error_that_names_the_tested_versions() -> None:
    """Who installs another vLLM reads what is missing and what to install."""
    with pytest.raises(
        SeamError, match=r"types\.SimpleNamespace has no 'fill'.*vllm 0\.32\.0 and xgrammar 0\.2\.8"
    ):
        require(SimpleNamespace(), "fill")
