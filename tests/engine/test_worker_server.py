"""The command line of `vllm serve` with our defaults in it."""

import pytest

from server.engine.environment import prepare_environment
from server.engine.worker_server import parse, preset

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def _vllm() -> None:
    pytest.importorskip("ijson", reason="what vLLM's server needs beside its CPU wheel is not installed")
    prepare_environment()


def test_a_worker_has_what_front_ends_need() -> None:
    """The API of token ids, the prefix cache's share, and one mask backend for all requests."""
    parsed = parse(["org/model", *preset([])])

    assert parsed.model == "org/model"
    assert parsed.enable_scale_out
    assert parsed.enable_prompt_tokens_details
    assert parsed.structured_outputs_config.backend == "xgrammar"


@pytest.mark.parametrize("flag", ["--max-num-seqs=4", "--no-enforce-eager", "--enforce-eager"])
def test_what_is_given_takes_the_place_of_a_default(flag: str) -> None:
    """The user's flag stands alone, so vLLM does not warn of two."""
    name = flag.partition("=")[0].replace("--no-", "--")
    given = [*preset([flag]), flag]

    assert [each for each in given if each.replace("--no-", "--").startswith(name)] == [flag]
    parse(["org/model", *given])
