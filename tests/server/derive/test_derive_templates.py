"""What is derived from the templates of 70 models, with the signs of the known families out of the way.

The pages are other people's: they are read from the directory that STRICTCALL_TEST_DATA names.
"""

from pathlib import Path

import pytest

from parsers.family import MarkedFamily
from server.derive import NotDerivedError, derive
from server.derive.probe import Call
from server.startup.families import find_sign

ENDS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|tool_response>", "<｜hy_eos:opensource｜>"),
    *("<SPECIAL_12>", "<|message_sep|>", "<|calls|>"),
)
"""What ends answers in the vocabularies of some of these models."""

CALLS: list[Call] = [
    ("find_wombat", {"burrow": "hill", "depth": 7}),
    ("feed_numbat", {"meal": "nuts"}),
    ("rest", {}),
]

WRITTEN_OTHERWISE = {
    "GigaChat3-10B-A1.8B": "it shows the turn of a call as that of another speaker, in words",
    "GigaChat3.1-10B-A1.8B": "it shows one call, and several are guessed to stand on lines",
    "inclusionai-ling-3.0-flash": "its arguments follow each other without a line break",
    "meta-llama-Llama-3.1-8B-Instruct": "it shows one call, and several are guessed to stand on lines",
    "meta-llama-Llama-3.2-3B-Instruct": "it shows one call, and several are guessed to stand on lines",
    "meta-llama-Llama-3.3-70B-Instruct": "it shows one call, and several are guessed to stand on lines",
}
"""Templates from which a record follows that writes three calls in another way than the family's own."""

NEW = {"meetkai-functionary-medium-v3.1"}
"""Templates of no known family, from which a record follows."""

UNLIKE = "would be written in another way than the template does"
NOT_DERIVED = {
    "CohereForAI-c4ai-command-r-plus-tool_use": "it refuses an answer of calls",
    "HuggingFaceTB-SmolLM3-3B": "it shows no tools",
    "Kimi-K2-Instruct": "it shows no calls",
    "Kimi-K2-Thinking": "it shows no calls",
    "Kimi-K3": f"two calls {UNLIKE}",
    "LFM2-8B-A1B": "it shows no calls",
    "LFM2.5-8B-A1B": f"text that wants escapes {UNLIKE}",
    "LFM2.5-Instruct": "it shows no calls",
    "MiniMax-M3": "none of the styles of arguments fits",
    "Mistral-Small-3.2-24B-Instruct-2506": f"two calls {UNLIKE}",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "it shows no tools",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "it shows no tools",
    "deepseek-ai-DeepSeek-V3.1": "it shows no tools",
    "google-gemma-2-2b-it": "it shows no tools",
    "ibm-granite-granite-3.3-2B-Instruct": "it shows no calls",
    "llama-cpp-rwkv-world": "it shows no tools",
    "meetkai-functionary-medium-v3.2": "nothing announces its calls",
    "microsoft-Phi-3.5-mini-instruct": "it shows no tools",
    "mistralai-Mistral-Nemo-Instruct-2407": "none of the styles of arguments fits",
    "moonshotai-Kimi-K2": f"two calls {UNLIKE}",
    "muse-glimmer": "nothing announces its calls",
    "openai-gpt-oss-120b": "one call would not be read",
    "openbmb-MiniCPM5-1B": f"text that wants escapes {UNLIKE}",
    "upstage-Solar-Open-100B": "two calls would not be read",
}
"""The other templates, and why nothing follows from them."""


@pytest.fixture(scope="module", name="derived")
def _derived(model_data: Path) -> dict[str, MarkedFamily | str]:
    """For each page, the family that is derived from it, or why none is."""
    derived: dict[str, MarkedFamily | str] = {}
    for path in sorted((model_data / "chat_templates").glob("*.jinja")):
        try:
            derived[path.stem] = derive(path.read_text(encoding="utf-8"), end_strings=ENDS)
        except NotDerivedError as error:
            derived[path.stem] = str(error)
    return derived


def test_what_cannot_be_derived_is_refused_for_a_reason(derived: dict[str, MarkedFamily | str]) -> None:
    """Templates that do not show calls as the model writes them, and forms that no style can say."""
    assert len(derived) == 70
    assert {page: found for page, found in derived.items() if isinstance(found, str)} == NOT_DERIVED


def test_known_families_are_found_again(derived: dict[str, MarkedFamily | str], model_data: Path) -> None:
    """The record that is derived writes what the family's own does, but for those that are listed."""
    otherwise, new = set(), set()
    for page, family in derived.items():
        if isinstance(family, str):
            continue
        known = find_sign([(model_data / "chat_templates" / f"{page}.jinja").read_text(encoding="utf-8")])
        if known is None:
            new.add(page)
        elif family.write_calls(CALLS).strip() != known[0].write_calls(CALLS).strip():
            otherwise.add(page)

    assert otherwise == WRITTEN_OTHERWISE.keys()
    assert new == NEW
