"""The forms that the ids of calls have, by what a model was trained on.

CallIdForm.NUMBERED.new("get_weather", 0)       # "functions.get_weather:0"
CallIdForm.NINE_LETTERS.new("get_weather", 0)   # "b81Ac03Fe"
CallIdForm.UNIQUE.new("get_weather", 0)         # "call_5f0c6e0d4fc84d6a9c7d1a2b"
"""

import secrets
import string
from enum import Enum

LETTERS = string.ascii_letters + string.digits
LONGEST_NUMBER = 9


class CallIdForm(Enum):
    """How ids look."""

    UNIQUE = "unique"
    """OpenAI's: `call_` and 24 characters that no other call has."""
    NINE_LETTERS = "nine letters"
    """Nine letters or digits: Mistral's."""
    NUMBERED = "numbered"
    """`functions.NAME:N`, where N counts all calls of the conversation from 0: Kimi's."""

    def holds(self, id: str, name: str) -> bool:
        """Whether the id of a call of `name` is of this form."""
        match self:
            case CallIdForm.NUMBERED:
                before, number = f"functions.{name}:", id.rpartition(":")[2]
                is_number = number.isascii() and number.isdecimal() and len(number) <= LONGEST_NUMBER
                return is_number and id == before + number
            case CallIdForm.NINE_LETTERS:
                return len(id) == 9 and id.isascii() and id.isalnum()
            case CallIdForm.UNIQUE:
                return False  # No model writes ids that no other call anywhere has.

    def new(self, name: str, number: int) -> str:
        """An id of this form for a call of `name`, before which there are `number` others."""
        match self:
            case CallIdForm.NUMBERED:
                return f"functions.{name}:{number}"
            case CallIdForm.NINE_LETTERS:
                return "".join(secrets.choice(LETTERS) for _ in range(9))
            case CallIdForm.UNIQUE:
                return f"call_{secrets.token_hex(12)}"
