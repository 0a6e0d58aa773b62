"""How a template is told to let the model think, or not to: by variables that no standard names.

    switch = find_switch(template.render)
    # Switch(on={"enable_thinking": True}, off={"enable_thinking": False}); None if there is none
    template_arguments(switch, "none")      # {"enable_thinking": False}
    template_arguments(switch, "high")      # {"enable_thinking": True, "reasoning_effort": "high"}

A switch is found by trying: with one that works, the prompt is another when it is on than when it is off.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from server.errors import ApiError

NONE = "none"
"""The effort that asks for no reasoning at all."""

EFFORT = "reasoning_effort"


@dataclass(frozen=True, slots=True)
class Switch:
    """Variables that a template reads: with `on` it lets the model think, with `off` it does not."""

    on: Mapping[str, Any]
    off: Mapping[str, Any]


SWITCHES = (
    Switch({"enable_thinking": True}, {"enable_thinking": False}),
    Switch({"thinking": True}, {"thinking": False}),
    Switch({"thinking_mode": "enabled"}, {"thinking_mode": "disabled"}),
    Switch({"thinking_budget": -1}, {"thinking_budget": 0}),
)
"""Variables that are there for nothing else."""

OFF_EFFORTS = (NONE, "no_think", "minimal")
"""Words for no reasoning in templates that are switched by the effort itself."""

NO_EFFORT = "wombat"
"""A word that is no effort. What a template refuses it for, it knows the words that it takes."""


class Render(Protocol):
    """`ChatTemplate.render`, as far as it is needed here."""

    def __call__(self, messages: Sequence[dict[str, Any]], *, arguments: Mapping[str, Any]) -> str: ...


def find_switch(render: Render) -> Switch | None:
    """Return the switch of a template, None if nothing that is known here is one."""
    prompts = _Prompts(render)
    for switch in SWITCHES:
        on, off = prompts.of(switch.on), prompts.of(switch.off)
        if on is not None and off is not None and on != off:
            return switch
    thinking = prompts.of({EFFORT: "high"})
    for word in OFF_EFFORTS:
        effort = {EFFORT: word}
        prompt = prompts.of(effort)
        if thinking is None or prompt is None or prompt == thinking:
            continue
        # One that prints whatever it is given is no switch: what the answer begins with has to change.
        if _answer(prompt) != _answer(thinking) or prompts.of({EFFORT: NO_EFFORT}) is None:
            return Switch({}, effort)
    return None


def template_arguments(switch: Switch | None, effort: str | None) -> dict[str, Any]:
    """Return the variables that stand for a request's `reasoning_effort`.

    `none` turns thinking off where there is a switch. Where there is none, the template is not told: few
    know the word.
    """
    if effort is None:
        return {}
    if effort == NONE:
        return dict(switch.off) if switch else {}
    return {**(switch.on if switch else {}), EFFORT: effort}


class _Prompts:
    """What one template makes of a user's word."""

    def __init__(self, render: Render) -> None:
        self._render = render

    def of(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the prompt, None if the template refuses the arguments."""
        try:
            return self._render([{"role": "user", "content": _WORD}], arguments=arguments)
        except ApiError:
            return None


_WORD = "quokka"


def _answer(prompt: str) -> str:
    """Return what a prompt has behind the user's word: the beginning of the answer."""
    return prompt.rpartition(_WORD)[2]
