"""Text in pieces of bounded length, so that the work on what waits does not grow with what one feed brings.

in_pieces("x" * 3000)    # three texts, of 1024, 1024 and 952 characters
"""

LONGEST_PIECE = 1024


def in_pieces(text: str) -> list[str]:
    if len(text) <= LONGEST_PIECE:
        return [text]
    return [text[start : start + LONGEST_PIECE] for start in range(0, len(text), LONGEST_PIECE)]
