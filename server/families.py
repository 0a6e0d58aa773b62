r"""Which family a model is of, found out from its chat template, with the reason for the log.

    choose(None, template="…<tool_call>\n<function=…", control_strings=set())
    # Choice(QWEN3_CODER, "qwen3_coder, because the chat template writes <tool_call> and <function=.")

A template shows the model the form of its calls, and so spells what makes that form unlike any other.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from parsers.families.generic import GENERIC
from parsers.family import Family
from parsers.registry import UnknownFamilyError, find


@dataclass(frozen=True, slots=True)
class Sign:
    """A family, and the strings that stand together in the chat templates of no other."""

    family: str
    markers: tuple[str, ...]


SIGNS = (
    Sign("deepseek_v4", ("｜DSML｜", "tool_calls>")),
    Sign("deepseek_v32", ("｜DSML｜", "function_calls>")),
    Sign("deepseek_v3", ("<｜tool▁calls▁begin｜>", "```json")),
    Sign("deepseek_v31", ("<｜tool▁calls▁begin｜>",)),
    Sign("mistral_v11", ("[TOOL_CALLS]", "[CALL_ID]", "[ARGS]")),
    Sign("mistral_v13", ("[TOOL_CALLS]", "[ARGS]")),
    Sign("mistral_v3", ("[TOOL_CALLS]",)),
    Sign("kimi_k2", ("<|tool_calls_section_begin|>",)),
    Sign("kimi_k3", ("<|open|>", "<|close|>", "<|sep|>")),
    Sign("apertus", ("<|tools_prefix|>",)),
    Sign("gpt_oss", ("<|channel|>", "<|call|>")),
    Sign("gemma4", ("<|tool_call>",)),
    Sign("granite3", ("<|tool_call|>", "<|start_of_role|>")),
    Sign("granite4", ("<tool_call>", "<|start_of_role|>")),
    Sign("minimax_m2", ("<minimax:tool_call>",)),
    Sign("minimax_m3", ("]<]minimax[>[",)),
    Sign("step3", ("<｜tool_calls_begin｜>",)),
    Sign("seed_oss", ("<seed:tool_call>",)),
    Sign("qwen3_coder", ("<tool_call>", "<function=")),
    Sign("glm47", ("<tool_call>", "</arg_key><arg_value>")),
    Sign("glm47", ("<tool_call>", '"</arg_key>" -}}')),
    Sign("glm45", ("<tool_call>", "<arg_key>")),
    Sign("minimax_m1", ("<tool_calls>", "<beginning_of_sentence>")),
    Sign("apriel", ("<tool_calls>[", "[BEGIN FINAL RESPONSE]")),
    Sign("hunyuan_a13b", ("<tool_calls>[",)),
    Sign("hy3", ("<tool_calls{}>", "<tool_sep{}>")),
    Sign("nemotron_nano_v2", ("<TOOLCALL>",)),
    Sign("phi4_mini", ("functools[",)),
    Sign("phi4_mini", ("<|tool|>", "<|/tool|>")),
    Sign("lfm2", ("<|tool_call_start|>",)),
    Sign("lfm2", ("<|tool_list_start|>",)),
    Sign("lfm2", ("List of tools: [",)),
    Sign("cohere_command", ("<|START_ACTION|>",)),
    Sign("internlm2", ("<|action_start|>", "<|plugin|>")),
    Sign("functiongemma", ("<start_function_call>",)),
    Sign("olmo3", ("<function_calls>", "</function_calls>")),
    Sign("gigachat3", ("<|function_call|>", "<|message_sep|>")),
    Sign("gigachat3", ("function call", "<|role_sep|>")),
    Sign("xlam", ("make calls in a single JSON array",)),
    Sign("llama4_pythonic", ("<|python_start|>",)),
    Sign("llama3_json", ("<|start_header_id|>", '"parameters": ')),
    Sign("ernie45", ("<tool_call>", "<response>")),
    Sign("hermes", ("<tool_call>",)),
)
"""The most specific first. The families that are not built in are there to be told by name."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A family, and why it is the one: `sentence` begins with its name."""

    family: Family
    sentence: str


def choose(
    named: Family | None,
    *,
    template: str | None,
    control_strings: Collection[str],
    because: str = "--family names it",
) -> Choice:
    """The family that `--family` has named, else the one whose signs the template shows, else `generic`.

    A model without a template is known by `control_strings`, the texts of its control tokens. `because` is
    why a named family is the one, where it was not `--family` that named it.
    """
    if named is not None:
        return Choice(named, f"{named.name}, because {because}.")
    if template is not None:
        found, where = find_sign([template]), "the chat template writes"
    else:
        found, where = find_sign(control_strings), "the vocabulary has"
    if found is None:
        return Choice(GENERIC, f"{GENERIC.name}, because nothing shows a form of calls that is known here.")
    shown = f"{where} {' and '.join(found.markers)}"
    try:
        return Choice(find(found.family), f"{found.family}, because {shown}.")
    except UnknownFamilyError:
        form = f"the form of {found.family}, which is not built in"
        return Choice(GENERIC, f"{GENERIC.name}, because {shown}, {form}.")


def find_sign(texts: Iterable[str]) -> Sign | None:
    """The first sign of which every marker stands in one of the texts."""
    together = "\0".join(texts)
    for sign in SIGNS:
        if all(marker in together for marker in sign.markers):
            return sign
    return None
