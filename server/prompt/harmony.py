r"""Prompts of Harmony models, by the format's own library: their published chat template cannot hold them.

    prompt = HarmonyPrompt()
    prompt.render([{"role": "user", "content": "Hi"}])
    # <|start|>system<|message|>You are ChatGPT, …<|end|><|start|>user<|message|>Hi<|end|><|start|>assistant

The template shows the first call of a turn only, names every result after it, and quotes results a second
time. Here each call is a message, and each result is that of its own tool. Instructions and tools are the
developer's message. Thoughts are shown where a model goes on with them: behind its last answer to the user.

The library writes tokens of its own vocabulary, which are read back as text: what is text and what a control
token is settled by placeholders, as for every template, and by the model's own vocabulary.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from parsers.arguments.json_text import write_json
from parsers.harmony_marks import ANALYSIS, COMMENTARY, FINAL, NAMESPACE
from server.errors import ApiError, Code
from server.prompt.thinking import EFFORT, Switch
from server.prompt.tool_places import Turn
from server.prompt.traits import Arguments, CallIds, SystemRole, TextBesideCalls, Traits

if TYPE_CHECKING:
    import openai_harmony

ENCODING = "HarmonyGptOss"
EFFORTS = {"minimal": "Low", "low": "Low", "medium": "Medium", "high": "High", "xhigh": "High"}
"""The model knows three efforts."""

THOUGHTS = "reasoning_content"

TRAITS = Traits(
    tools=True,
    calls=True,
    results=True,
    parallel_calls=True,
    text_calls=False,
    text_beside_calls=TextBesideCalls.TOGETHER,
    arguments=Arguments.OBJECT,
    text_arguments=True,
    system=SystemRole.FRONT,
    developer=False,
    call_ids=CallIds.ANY,
    empty_content="",
    reasoning_key=THOUGHTS,
    thinking=Switch({}, {EFFORT: "low"}),
)


class HarmonyPrompt:
    """See `server.prompt.renderer.Renderer`."""

    origin = "the Harmony library, in place of the model's own"
    tells_form = False
    traits = TRAITS

    def __init__(self) -> None:
        # It takes seconds to load, and no other family needs it.
        import openai_harmony

        self._library = openai_harmony
        self._encoding = openai_harmony.load_harmony_encoding(ENCODING)

    def render(
        self,
        messages: Sequence[Turn],
        *,
        tools: Sequence[Turn] | None = None,
        add_generation_prompt: bool = True,
        arguments: Mapping[str, Any] | None = None,
    ) -> str:
        library = self._library
        instructions, turns = _instructions(messages)
        shown = _shown(turns, goes_on=not add_generation_prompt)
        written = [
            self._message(library.Role.SYSTEM, self._system(arguments or {})),
            *self._developer(instructions, tools or ()),
            *(message for turn in shown for message in self._messages(turn)),
        ]
        conversation = library.Conversation.from_messages(written)
        # Which thoughts are shown has been decided.
        config = library.RenderConversationConfig(auto_drop_analysis=False)
        try:
            if add_generation_prompt:
                ids = self._encoding.render_conversation_for_completion(
                    conversation, library.Role.ASSISTANT, config
                )
            else:
                ids = self._encoding.render_conversation(conversation, config)
        except (library.HarmonyError, ValueError) as error:
            raise ApiError(
                Code.TEMPLATE_REFUSED, f"The conversation cannot be written in Harmony: {error}", "messages"
            ) from error
        return str(self._encoding.decode_utf8(ids))

    def _message(
        self, role: "openai_harmony.Role", content: "str | openai_harmony.Content", channel: str = ""
    ) -> "openai_harmony.Message":
        message = self._library.Message.from_role_and_content(role, content)
        return message.with_channel(channel) if channel else message

    def _system(self, arguments: Mapping[str, Any]) -> "openai_harmony.SystemContent":
        effort = arguments.get(EFFORT, "medium")
        if effort not in EFFORTS:
            known = ", ".join(EFFORTS)
            raise ApiError(
                Code.TEMPLATE_REFUSED, f"'{EFFORT}' is one of {known} for this model, not {effort!r}.", EFFORT
            )
        system = self._library.SystemContent.new()
        if identity := arguments.get("model_identity"):
            system = system.with_model_identity(str(identity))
        today = datetime.now().astimezone().strftime("%Y-%m-%d")
        return system.with_conversation_start_date(today).with_reasoning_effort(
            self._library.ReasoningEffort(EFFORTS[effort])
        )

    def _developer(self, instructions: str, tools: Sequence[Turn]) -> Iterator["openai_harmony.Message"]:
        content = self._library.DeveloperContent.new()
        if instructions:
            content = content.with_instructions(instructions)
        if tools:
            content = content.with_function_tools([self._tool(tool["function"]) for tool in tools])
        if instructions or tools:
            yield self._message(self._library.Role.DEVELOPER, content)

    def _tool(self, function: Mapping[str, Any]) -> "openai_harmony.ToolDescription":
        schema = dict(function["parameters"])
        takes_nothing = schema.get("type") == "object" and not schema.get("properties")
        return self._library.ToolDescription.new(
            function["name"], function.get("description", ""), None if takes_nothing else schema
        )

    def _messages(self, turn: Turn) -> Iterator["openai_harmony.Message"]:
        """The messages of one turn."""
        role, library = turn["role"], self._library
        if role == "tool":
            author = library.Author.new(library.Role.TOOL, NAMESPACE + turn.get("name", ""))
            result = library.Message.from_author_and_content(author, turn["content"])
            yield result.with_channel(COMMENTARY).with_recipient("assistant")
        elif role == "user":
            yield self._message(library.Role.USER, turn["content"])
        elif role == "assistant":
            yield from self._said(turn)
        else:
            yield from self._developer(turn["content"], ())

    def _said(self, turn: Turn) -> Iterator["openai_harmony.Message"]:
        """The messages of a turn of the model: a thought, text and calls."""
        role = self._library.Role.ASSISTANT
        calls = turn.get("tool_calls", ())
        if thought := turn.get(THOUGHTS):
            yield self._message(role, thought, ANALYSIS)
        if turn["content"] or not calls:
            yield self._message(role, turn["content"], COMMENTARY if calls else FINAL)
        for call in calls:
            function = call["function"]
            arguments = function["arguments"]
            text = arguments if isinstance(arguments, str) else write_json(arguments)
            message = self._message(role, text, COMMENTARY)
            yield message.with_recipient(NAMESPACE + function["name"]).with_content_type("<|constrain|>json")


def _instructions(messages: Sequence[Turn]) -> tuple[str, Sequence[Turn]]:
    """The system's words, which stand in front, and the other turns."""
    if messages and messages[0]["role"] == "system":
        return messages[0]["content"], messages[1:]
    return "", messages


def _shown(turns: Sequence[Turn], *, goes_on: bool) -> Iterator[Turn]:
    """The turns with those thoughts that the model still sees: what led to an answer is gone with it.

    `goes_on`: the last turn is an answer that the model has not finished.
    """
    ended = turns[:-1] if goes_on else turns
    answers = (
        i for i, turn in enumerate(ended) if turn["role"] == "assistant" and not turn.get("tool_calls")
    )
    last = max(answers, default=-1)
    for i, turn in enumerate(turns):
        yield turn if i > last else {key: value for key, value in turn.items() if key != THOUGHTS}
