"""A model's chat template: compiled once, asked at load time what it can do, and rendered in a sandbox.

    template = ChatTemplate("{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}", origin="…")
    template.render([{"role": "user", "content": "Hi"}])    # "<|user|>Hi"
    template.traits.tools                                   # False: it does not show tools

Templates are what Hugging Face's `apply_chat_template` renders, with the same functions. There is no
`from_json`, though a few templates try it on arguments that are text: it would make text that nobody has
looked at for control tokens, and arguments come as objects here.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from parsers.call_ids import CallIdForm
from parsers.family import Family
from server.errors import ApiError, Code
from server.prompt.conversation import plain_definitions
from server.prompt.placeholders import FIRST, LAST
from server.prompt.tool_places import PLACES, Place, Put, Turn
from server.prompt.traits import TOOL, TOOL_NAME, USER, Traits, probe
from server.tokens.vocabulary import SPECIAL_ROLES
from templates import read_replacement, read_template

RENDER_ERRORS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""What a template may raise: its own refusals, and the mistakes of a small program on a list of messages."""

COMPILE_ERRORS = (jinja2.TemplateError, SyntaxError, RecursionError, MemoryError)
"""What no template compiles from: Jinja makes Python of it, which has limits and faults of its own."""


class TemplateLoadError(ValueError):
    """There is no chat template that can be used; the message says what to do."""


class ChatTemplate:
    """A compiled template. `traits` is what it can do, `origin` why it was chosen, for the log.

    See `server.prompt.renderer.Renderer`.
    """

    tells_form = False

    def __init__(self, source: str, *, origin: str, defaults: Mapping[str, Any] | None = None) -> None:
        self.origin = origin
        self._defaults = {**dict.fromkeys(SPECIAL_ROLES, ""), **(defaults or {})}
        try:
            self._template = _environment().from_string(source)
        except COMPILE_ERRORS as error:
            raise TemplateLoadError(
                f"The chat template cannot be compiled: {str(error) or type(error).__name__}"
            ) from error
        self._place = self._find_place()
        self._absence = self._find_absence()
        self.traits: Traits = probe(self.render)

    def render(
        self,
        messages: Sequence[Turn],
        *,
        tools: Sequence[Turn] | None = None,
        add_generation_prompt: bool = True,
        arguments: Mapping[str, Any] | None = None,
    ) -> str:
        """Return the prompt's text. `arguments` are the template's other variables.

        Raises `ApiError` (400 chat_template_error) with the template's own words.
        """
        variables = {**(arguments or {}), "add_generation_prompt": add_generation_prompt}
        if not tools:
            return self._fill(Put(messages, self._absence), variables)
        try:
            return self._fill(self._place.put(messages, tools), variables)
        except ApiError:
            with suppress(ApiError):
                return self._fill(self._place.put(messages, plain_definitions(tools)), variables)
            # What the template says of the client's own tools is the better message.
            raise

    def _fill(self, put: Put, variables: Mapping[str, Any] | None = None) -> str:
        try:
            return self._template.render(
                {
                    "datetime": _strftime_now("%Y-%m-%d"),
                    **self._defaults,
                    **(variables or {}),
                    "tools": None,
                    **put.variables,
                    "messages": put.messages,
                }
            )
        except RENDER_ERRORS as error:
            raise ApiError(
                Code.TEMPLATE_REFUSED,
                f"The model's chat template refused the conversation: {str(error) or type(error).__name__}",
                "messages",
            ) from error

    def _find_place(self) -> Place:
        """Return the first place from which tools reach the prompt, the usual one if there is none."""
        for place in PLACES:
            with suppress(ApiError):
                if TOOL_NAME in self._fill(place.put([USER], [TOOL])):
                    return place
        return PLACES[0]

    def _find_absence(self) -> Mapping[str, Any]:
        """Return the variables for a conversation without tools.

        None, except for templates that are meant for tools only and walk through them without looking.
        """
        try:
            self._fill(Put([USER]))
        except ApiError:
            return self._place.put([], []).variables
        return {}


def choose_template(own: str | None, family: Family) -> ChatTemplate:
    """Return the model's own template if it shows tools and calls to the model, else ours for the family.

    One that shows calls only as text of their turn will do, unless results refer to the calls' ids. Ours
    keeps the system prompt that the model's own writes where a conversation has none, and the beginning of
    an answer. If there is none of ours, the own serves with what it shows. Raises `TemplateLoadError` if
    there is neither.
    """
    problem = "the model has none"
    template = None
    if own is not None:
        try:
            template = ChatTemplate(own, origin="the model's own")
        except TemplateLoadError as error:
            problem = str(error)
        else:
            problem = _problem(template, family)
            if not problem:
                return template
            traits = template.traits
            has_ids = family.call_ids is not CallIdForm.UNIQUE
            if traits.tools and traits.text_calls and not traits.calls and not has_ids:
                template.origin += ", with earlier calls written into the text of their turns"
                return template
    replacement = read_replacement(family.name)
    ours = replacement or read_template(family.name)
    if ours is not None:
        defaults = _kept(template) if template else {}
        folder = "templates/instead" if replacement else "templates"
        origin = f"{folder}/{family.name}.jinja, because {problem}"
        return ChatTemplate(ours, origin=origin, defaults=defaults)
    if template is None:
        raise TemplateLoadError(
            f"There is no chat template for this model ({problem}), and none for the family {family.name}. "
            "Serve the instruct version of the model, or put a chat_template.jinja into its directory."
        )
    missing = "earlier calls" if template.traits.tools else "tools"
    template.origin += (
        f", without {missing}: it does not show them, and the family {family.name} has none of ours"
    )
    return template


def _problem(template: ChatTemplate, family: Family) -> str:
    """Return what speaks against the model's own template, "" if nothing does."""
    if not template.traits.tools:
        return "the model's own does not show tools"
    if not template.traits.calls:
        return "the model's own does not show calls"
    return "the model's own asks for calls in another form" if read_replacement(family.name) else ""


def _kept(template: ChatTemplate) -> dict[str, str]:
    """Return what ours takes over from the model's own template."""
    return {
        "default_system_prompt": default_system_prompt(template),
        "default_answer_prompt": _default_answer_prompt(template),
    }


def _default_answer_prompt(template: ChatTemplate) -> str:
    """Return how a template begins the answer, "" if it cannot be told."""
    try:
        whole = template.render([USER])
        before = template.render([USER], add_generation_prompt=False)
    except ApiError:
        return ""
    return whole.removeprefix(before) if whole.startswith(before) else ""


def default_system_prompt(template: ChatTemplate) -> str:
    """Return the system prompt that a template writes by itself, "" if none.

    Found by comparing two renderings: with a system message of ours, and without.
    """
    mark = "bilby"
    try:
        before, _, after = template.render([{"role": "system", "content": mark}, USER]).partition(mark)
        without = template.render([USER])
    except ApiError:
        return ""
    if not without.startswith(before) or not without.endswith(after):
        return ""
    return without[len(before) : len(without) - len(after)]


class Generation(Extension):
    """`{% generation %}…{% endgeneration %}`, which marks what a model is trained on. Here it is its body."""

    tags = {"generation"}  # noqa: RUF012 (jinja's own declaration)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    @staticmethod
    def _body(caller: Callable[[], str]) -> str:
        return caller()


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    return environment


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)


def _strftime_now(format: str) -> str:
    return datetime.now().astimezone().strftime(format)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,  # noqa: FBT001, FBT002 (templates pass it by position)
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,  # noqa: FBT001, FBT002 - as templates call it
) -> str:
    """Write JSON as Hugging Face does: without HTML escapes, which jinja's own filter has."""
    text = json.dumps(
        value, ensure_ascii=False, indent=indent, separators=separators, sort_keys=sort_keys, default=_listed
    )
    if not ensure_ascii:
        return text
    # Placeholders stay as they are, or the prompt could not be cut at them.
    return re.sub(f"[^\0-\x7f{FIRST}-{LAST}]", lambda match: json.dumps(match[0])[1:-1], text)


def _listed(value: Any) -> list[Any]:
    """Write what `map` and `select` return, as templates for other engines expect."""
    if isinstance(value, Iterable):
        return list(value)
    raise TypeError(f"{type(value).__name__} is not JSON")
