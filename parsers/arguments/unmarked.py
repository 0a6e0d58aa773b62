"""Calls that no marker announces: they have to prove themselves, or they are text.

reader = UnmarkedReader(JsonCall().reader(tools), tools, opening="")
reader.read('{"name": "f"')             # Reading(12, (), Progress.UNDECIDED)
reader.read(', "arguments": {"a": ')    # Reading(21, (Name("f"), Arguments('{"a": ')), Progress.OPEN)

The proof is the name of a tool of the request, with arguments. Until then all steps are held back, and
whatever is wrong shows that the text is no call. All of it is given back then, but for its marker, or
its first character where it has none: there may be other calls in it.
"""

from parsers.arguments.style import Arguments, CallReader, Name, Progress, Reading, Step, Tools

_NEVER_FIRST = ("]", "}", ",", ";")
"""What may stand behind a call or between two, but in front of none."""


class UnmarkedReader:
    """Reads one call with another reader, and says nothing of it before it is proved to be one.

    `opening` is the marker of the style's calls, or empty.
    """

    __slots__ = ("_held", "_length", "_opening", "_proved", "_reader", "_tools")

    def __init__(self, reader: CallReader, tools: Tools, *, opening: str) -> None:
        self._reader = reader
        self._tools = tools
        self._opening = opening
        self._held: list[Step] = []
        self._length = 0
        """How much has been read before."""
        self._proved = False

    def read(self, text: str) -> Reading:
        if not (self._opening or self._length or self._proved) and text.startswith(_NEVER_FIRST):
            return self._give_back()
        reading = self._reader.read(text)
        if self._proved or reading.progress in (Progress.AROUND, Progress.PROSE):
            self._length += len(text)
            return reading
        self._held += reading.steps
        match self._held:
            case [Name(text=name), Arguments(), *_] if name in self._tools:
                self._proved = True
                return Reading(reading.consumed, tuple(self._held), reading.progress, reading.fault)
            case [Name(text=name), *_] if name not in self._tools:
                return self._give_back()
        if reading.fault or not reading.progress.goes_on:
            return self._give_back()
        self._length += len(text)
        return Reading(reading.consumed, (), Progress.UNDECIDED)

    def pass_plain(self, text: str) -> str | None:
        passed = self._reader.pass_plain(text) if self._proved else None
        self._length += 0 if passed is None else len(text)
        return passed

    def _give_back(self) -> Reading:
        return Reading((len(self._opening) or 1) - self._length, (), Progress.PROSE)
