"""Merging of events."""

from parsers.events import CallArguments, CallBegin, CallEnd, Content, Malformed, Reason, Reasoning, merge


def test_merge_joins_only_neighbours_of_one_kind_and_call() -> None:
    """Pieces that stand side by side are one; kind, call and order are kept."""
    bad = Malformed("x", Reason.BAD_JSON)

    assert merge(
        [
            Reasoning("a"),
            Reasoning("b"),
            Content("c"),
            bad,
            bad,
            Content("d"),
            CallBegin(0, "f"),
            CallArguments(0, "{"),
            CallArguments(0, "}"),
            CallArguments(1, "{}"),
            CallEnd(1),
        ]
    ) == [
        Reasoning("ab"),
        Content("c"),
        bad,
        bad,
        Content("d"),
        CallBegin(0, "f"),
        CallArguments(0, "{}"),
        CallArguments(1, "{}"),
        CallEnd(1),
    ]
    assert merge([]) == []
