"""vLLM's flags on our command line: passed through by their own names, refused with a way out."""

import pytest

from server.engine.arguments import EngineArgumentError, engine_options

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param(["--max-model-len", "2048"], {"max_model_len": 2048}, id="vllms-name"),
        pytest.param(["--max_model_len=2048"], {"max_model_len": 2048}, id="underscores"),
        pytest.param(["--max-model-len", "2k"], {"max_model_len": 2000}, id="vllms-own-units"),
        pytest.param(["--engine-arg", "max_model_len=2048"], {"max_model_len": 2048}, id="pair"),
        pytest.param(["--engine-arg=dtype=float32"], {"dtype": "float32"}, id="pair-joined"),
        pytest.param(["--engine-arg", "enforce-eager=true"], {"enforce_eager": True}, id="switch-on"),
        pytest.param(["--engine-arg", "enforce-eager=false"], {"enforce_eager": False}, id="switch-off"),
        pytest.param(["--no-enable-prefix-caching"], {"enable_prefix_caching": False}, id="vllms-own-no"),
        pytest.param(
            ["--dtype", "float32", "--engine-arg", "max-num-seqs=4"],
            {"dtype": "float32", "max_num_seqs": 4},
            id="both-forms",
        ),
    ],
)
def test_flags_become_the_options_they_set_and_no_others(
    arguments: list[str], options: dict[str, object]
) -> None:
    """Values have vLLM's types, and what was not given is left to the defaults."""
    assert engine_options(arguments) == options


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--max-model-length", "9"],
            r"Neither strictcall nor vLLM's engine has a flag `--max-model-length`. "
            r"Did you mean `--max-model-len`\?",
            id="misspelt",
        ),
        pytest.param(
            ["--engine-arg", "max-model-length=9"], "Did you mean `--max-model-len`", id="in-a-pair"
        ),
        pytest.param(["--max-num-seqs", "many"], "--max-num-seqs: .*'many'", id="wrong-type"),
        pytest.param(["--dtype", "float8"], "--dtype: .*'float8'", id="wrong-choice"),
        pytest.param(
            ["--engine-arg", "enforce-eager=perhaps"], "`true` or `false`, not 'perhaps'", id="switch"
        ),
        pytest.param(["--engine-arg", "enforce-eager"], "wants `key=value`", id="no-value"),
        pytest.param(["--engine-arg"], "wants `key=value`", id="nothing-after"),
        pytest.param(["stray"], "`stray` belongs to no flag", id="stray"),
        pytest.param(["--scheduler-cls", "x.Y"], "`--scheduler-cls` cannot be set", id="ours"),
        pytest.param(
            ["--structured-outputs-config", '{"backend": "guidance"}'], "which is always on", id="backend"
        ),
        pytest.param(["--model", "m"], "`strictcall serve MODEL`", id="model"),
    ],
)
def test_wrong_flags_are_refused_with_the_way_out(arguments: list[str], message: str) -> None:
    """The user learns which flag is wrong and what was likely meant; nothing is printed or exited (B239)."""
    with pytest.raises(EngineArgumentError, match=message):
        engine_options(arguments)
