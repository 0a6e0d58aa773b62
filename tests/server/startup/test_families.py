"""Choosing the family of a model, with the reason that is told."""

from pathlib import Path

import pytest

from parsers.families.generic import GENERIC
from parsers.families.qwen3_coder import QWEN3_CODER
from parsers.registry import FAMILIES
from server.startup.families import choose, find_sign

FAMILY_OF = {
    "Apertus-8B-Instruct": "apertus",
    "Apriel-1.6-15b-Thinker-fixed": "apriel",
    "Bielik-11B-v3.0-Instruct": "hermes",
    "ByteDance-Seed-OSS": "seed_oss",
    "Cohere2MoE": "cohere_command",
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": "cohere_command",
    "GLM-4.6": "glm45",
    "GLM-4.7-Flash": "glm47",
    "GigaChat3-10B-A1.8B": "gigachat3",
    "GigaChat3.1-10B-A1.8B": "gigachat3",
    "Kimi-K2-Instruct": "kimi_k2",
    "Kimi-K2-Thinking": "kimi_k2",
    "Kimi-K3": "kimi_k3",
    "LFM2-8B-A1B": "lfm2",
    "LFM2.5-8B-A1B": "lfm2",
    "LFM2.5-Instruct": "lfm2",
    "MiMo-VL": "hermes",
    "MiniMax-M1": "minimax_m1",
    "MiniMax-M2": "minimax_m2",
    "MiniMax-M3": "minimax_m3",
    "Mistral-Small-3.2-24B-Instruct-2506": "mistral_v11",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen3_coder",
    "NVIDIA-Nemotron-Nano-v2": "nemotron_nano_v2",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": "hermes",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": "hermes",
    "Qwen-QwQ-32B": "hermes",
    "Qwen-Qwen2.5-7B-Instruct": "hermes",
    "Qwen-Qwen3-0.6B": "hermes",
    "Qwen3-Coder": "qwen3_coder",
    "Qwen3.5-4B": "qwen3_coder",
    "Reka-Edge": "reka",
    "Spark2.5": "glm47",
    "StepFun3.5-Flash": "step35",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": "deepseek_v3",
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": "deepseek_v3",
    "deepseek-ai-DeepSeek-V3.1": "deepseek_v31",
    "deepseek-ai-DeepSeek-V3.2": "deepseek_v32",
    "deepseek-ai-DeepSeek-V4": "deepseek_v4",
    "deepseek-ai-DeepSeek-V4-Flash-0731": "deepseek_v4",
    "fireworks-ai-llama-3-firefunction-v2": "phi4_mini",
    "google-gemma-4-31B-it": "gemma4",
    "google-gemma-4-31B-it-interleaved": "gemma4",
    "ibm-granite-granite-3.3-2B-Instruct": "granite3",
    "ibm-granite-granite-4.0": "granite4",
    "ibm-granite-granite-4.1": "granite4",
    "inclusionai-ling-3.0-flash": "glm45",
    "llama-cpp-deepseek-r1": "deepseek_v3",
    "meta-llama-Llama-3.1-8B-Instruct": "llama3_json",
    "meta-llama-Llama-3.2-3B-Instruct": "llama3_json",
    "meta-llama-Llama-3.3-70B-Instruct": "llama3_json",
    "mistralai-Ministral-3-14B-Reasoning-2512": "mistral_v13",
    "mistralai-Mistral-Nemo-Instruct-2407": "mistral_v3",
    "moonshotai-Kimi-K2": "kimi_k2",
    "openai-gpt-oss-120b": "gpt_oss",
    "poolside-Laguna-S-2.1": "glm47",
    "poolside-Laguna-XS-2.1": "glm45",
    "poolside-Laguna-XS.2": "glm45",
    "tencent-Hy3": "hy3",
    "unsloth-Apriel-1.5": "apriel",
    "unsloth-mistral-Devstral-Small-2507": "mistral_v13",
}
"""Real templates, by the form in which their models write calls."""

NO_FAMILY = {
    "CohereForAI-c4ai-command-r-plus-tool_use",
    "HuggingFaceTB-SmolLM3-3B",
    "google-gemma-2-2b-it",
    "llama-cpp-rwkv-world",
    "meetkai-functionary-medium-v3.1",
    "meetkai-functionary-medium-v3.2",
    "microsoft-Phi-3.5-mini-instruct",
    "muse-glimmer",
    "openbmb-MiniCPM5-1B",
    "upstage-Solar-Open-100B",
}
"""Real templates that show no call, or one of a form that has no name here."""


def test_real_templates_show_their_family(model_data: Path) -> None:
    """Each of the templates of popular models is told by its signs, or has none."""
    pages = sorted((model_data / "chat_templates").glob("*.jinja"))
    found = {page.stem: find_sign([page.read_text(encoding="utf-8")]) for page in pages}

    assert len(found) == 70
    assert {name: sign[0].name for name, sign in found.items() if sign} == FAMILY_OF
    assert {name for name, sign in found.items() if not sign} == NO_FAMILY


@pytest.mark.parametrize(
    ("family", "template"),
    [
        ("hermes", '{{- "<tool_call>\\n{\\"name\\": " }}{{ call.arguments | tojson }}'),
        ("qwen3_coder", "{{- '\\n<tool_call>\\n<function=' + tool_call.name + '>\\n' }}"),
        ("step35", "{{- '<tool_call>\\n<function=' + name }}{{- '<|im_start|>tool_response\\n' }}"),
        ("reka", "{{ '<sep>assistant: <tool_call>\\n' + call }}"),
        ("llama3_json", "{{ '<|start_header_id|>assistant' }}{{- '\"parameters\": ' }}"),
        ("mistral_v3", "{{ '[TOOL_CALLS][' }}"),
        ("mistral_v11", "{{ '[TOOL_CALLS]' + name + '[CALL_ID]' + id + '[ARGS]' + arguments }}"),
        ("mistral_v13", "{{ '[TOOL_CALLS]' + name + '[ARGS]' + arguments }}"),
        ("deepseek_v3", "<｜tool▁calls▁begin｜>{{ name + '\\n```json\\n' }}"),
        ("deepseek_v31", "<｜tool▁calls▁begin｜>{{ name + '<｜tool▁sep｜>' }}"),
        ("deepseek_v32", "<｜DSML｜function_calls>"),
        ("deepseek_v4", "<｜DSML｜tool_calls>"),
        ("glm45", "<tool_call>{{ name }}\n<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>"),
        ("glm47", "<tool_call>{{ name }}<arg_key>{{ k }}</arg_key><arg_value>{{ v }}</arg_value>"),
        ("granite3", "<|start_of_role|>assistant<|end_of_role|><|tool_call|>"),
        ("granite4", "<|start_of_role|>assistant<|end_of_role|><tool_call>"),
        ("seed_oss", "<seed:tool_call>\n<function={{ name }}>"),
        ("minimax_m2", "<minimax:tool_call>\n<invoke name="),
        ("kimi_k2", "<|tool_calls_section_begin|>"),
        ("hunyuan_a13b", "{{ '<tool_calls>[' + calls + ']</tool_calls>' }}"),
        ("apriel", "{{ '<tool_calls>[' + calls }}{{ thoughts + '[BEGIN FINAL RESPONSE]' }}"),
        ("apertus", "{{ '<|tools_prefix|>[' + calls }}"),
        ("kimi_k3", "{{ '<|open|>' + tag + '<|sep|>' }}{{ '<|close|>' }}"),
        ("cohere_command", "<|START_ACTION|>[{{ calls }}]<|END_ACTION|>"),
        ("ernie45", "<tool_call>{{ call }}</tool_call>{{ '<response>' + content }}"),
        ("functiongemma", "<start_function_call>call:{{ name }}"),
        ("gigachat3", "{{ '<|function_call|>' + call + '<|message_sep|>' }}"),
        ("hy3", "{{ '<tool_calls{}>'.format(s) }}{{ name + '<tool_sep{}>'.format(s) }}"),
        ("internlm2", "<|action_start|><|plugin|>{{ call }}<|action_end|>"),
        ("minimax_m3", "{%- set mark = ']<]minimax[>[' -%}{{ mark ~ '<tool_call>' }}"),
        ("minimax_m1", "<beginning_of_sentence>ai name=assistant\n<tool_calls>\n"),
        ("olmo3", "{{ '<function_calls>' + calls + '</function_calls>' }}"),
        ("step3", "<｜tool_calls_begin｜>{{ calls }}"),
        ("xlam", "<|start_header_id|>When using tools, make calls in a single JSON array:"),
    ],
)
def test_a_template_shows_its_family(family: str, template: str) -> None:
    """The markers that are unlike any other's decide, however many others it shares."""
    chosen = choose(None, template=template, control_strings=())

    assert chosen.family.name == family
    assert chosen.sentence.startswith(f"{family}, because the chat template writes ")


def test_every_family_that_is_built_in_has_a_sign() -> None:
    """A family that nothing leads to could only be served by name. Where nothing else leads is `generic`."""
    assert [family for family in FAMILIES if not family.signs] == [GENERIC]


def test_a_named_family_is_not_argued_with() -> None:
    """`--family` wins over whatever the template shows."""
    chosen = choose(QWEN3_CODER, template="<tool_call>", control_strings=())

    assert (chosen.family, chosen.sentence) == (QWEN3_CODER, "qwen3_coder, because --family names it.")


def test_a_model_without_a_template_is_known_by_its_vocabulary() -> None:
    """Mistral's models come without a chat template, but with tokens that no other has."""
    chosen = choose(None, template=None, control_strings={"[TOOL_CALLS]", "[ARGS]"})

    assert chosen.sentence == "mistral_v13, because the vocabulary has [TOOL_CALLS] and [ARGS]."


def test_a_vocabulary_says_nothing_against_a_template() -> None:
    """What a model was trained on last is in its template; its vocabulary may be that of another model."""
    assert choose(None, template="plain", control_strings={"[TOOL_CALLS]"}).family == GENERIC


def test_a_template_without_signs_is_served_as_generic_and_says_so() -> None:
    """The log tells that nothing was found, and why nothing could be derived."""
    chosen = choose(None, template="{{ messages[0].content }}", control_strings=())
    without_template = choose(None, template=None, control_strings=())

    assert chosen.family == without_template.family == GENERIC
    assert chosen.sentence == (
        "generic, because the chat template writes no form of calls that is known here: it shows no tools."
    )
    assert without_template.sentence == (
        "generic, because nothing shows a form of calls: there is no chat template."
    )
