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
from datetime import datetime
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from server.errors import ApiError, Code
from server.placeholders import FIRST, LAST
from server.traits import USER, Traits, probe
from server.vocabulary import SPECIAL_ROLES
from templates import read_template

Turn = dict[str, Any]
"""One message as a template sees it."""

RENDER_ERRORS = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What a template may raise: its own refusals, and the mistakes of a small program on a list of messages."""


class TemplateLoadError(ValueError):
    """There is no chat template that can be used; the message says what to do."""


class ChatTemplate:
    """A compiled template. `traits` is what it can do, `origin` why it was chosen, for the log."""

    def __init__(self, source: str, *, origin: str, defaults: Mapping[str, Any] | None = None) -> None:
        self.origin = origin
        self._defaults = {**dict.fromkeys(SPECIAL_ROLES, ""), **(defaults or {})}
        try:
            self._template = _environment().from_string(source)
        except jinja2.TemplateError as error:
            raise TemplateLoadError(f"The chat template cannot be compiled: {error}") from error
        self._no_tools: list[Turn] | None = None
        try:
            self.render([USER])
        except ApiError:
            # Templates that are meant for tools only walk through them without looking.
            self._no_tools = []
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
        variables = {
            **self._defaults,
            **(arguments or {}),
            "messages": messages,
            "tools": tools or self._no_tools,
            "add_generation_prompt": add_generation_prompt,
        }
        try:
            return self._template.render(variables)
        except RENDER_ERRORS as error:
            raise ApiError(
                Code.TEMPLATE_REFUSED,
                f"The model's chat template refused the conversation: {str(error) or type(error).__name__}",
                "messages",
            ) from error


def choose_template(own: str | None, family_name: str) -> ChatTemplate:
    """Return the model's own template if it shows tools and calls to the model, else ours for the family.

    Ours keeps the system prompt that the model's own writes where a conversation has none. If there is none
    of ours, the own serves with what it shows. Raises `TemplateLoadError` if there is neither.
    """
    problem = "the model has none"
    template = None
    if own is not None:
        try:
            template = ChatTemplate(own, origin="the model's own")
        except TemplateLoadError as error:
            problem = str(error)
        else:
            problem = f"the model's own does not show {'calls' if template.traits.tools else 'tools'}"
            if template.traits.tools and template.traits.calls:
                return template
    ours = read_template(family_name)
    if ours is not None:
        defaults = {"default_system_prompt": _default_system_prompt(template)} if template else {}
        origin = f"templates/{family_name}.jinja, because {problem}"
        return ChatTemplate(ours, origin=origin, defaults=defaults)
    if template is None:
        raise TemplateLoadError(
            f"There is no chat template for this model ({problem}), and none for the family {family_name}. "
            "Serve the instruct version of the model, or put a chat_template.jinja into its directory."
        )
    missing = "earlier calls" if template.traits.tools else "tools"
    template.origin += (
        f", without {missing}: it does not show them, and the family {family_name} has none of ours"
    )
    return template


def _default_system_prompt(template: ChatTemplate) -> str:
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
    sort_keys: bool = False,  # noqa: FBT001, FBT002
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
