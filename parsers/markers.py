"""Where markers stand in text that is still being written.

first_marker("a <tool_call> b", ("<tool_call>",))  -> (2, "<tool_call>")
held_tail("so far <tool", ("<tool_call>",))        -> 5
"""

from collections.abc import Sequence

LETTERS = tuple(map(chr, range(0xFDD0, 0xFDF0)))
"""What stands for a marker that is a token of its own: Unicode's noncharacters, which no text holds."""

TAG_STARTS = ("<", *LETTERS)
"""With what a tag, or a marker in a place of one, may begin."""


def first_marker(text: str, markers: Sequence[str]) -> tuple[int, str]:
    """Index and text of the marker that stands first, or (-1, "")."""
    best, found = -1, ""
    for marker in markers:
        # Only what begins before the best so far is still of interest: not to look further keeps it linear.
        at = text.find(marker) if best < 0 else text.find(marker, 0, best + len(marker) - 1)
        if at >= 0:
            best, found = at, marker
    return best, found


def held_tail(text: str, markers: Sequence[str]) -> int:
    """Length of the longest end of `text` that more text could complete to a marker."""
    longest = 0
    for marker in markers:
        at = text.find(marker[0], 1 - len(marker)) if len(marker) > 1 else -1
        while at >= 0:
            if marker.startswith(text[at:]):
                longest = max(longest, len(text) - at)
                break
            at = text.find(marker[0], at + 1)
    return longest


def may_become(text: str, markers: Sequence[str]) -> bool:
    """Whether `text` is the beginning of a marker, but not yet the whole of one."""
    return any(len(text) < len(marker) and marker.startswith(text) for marker in markers)
