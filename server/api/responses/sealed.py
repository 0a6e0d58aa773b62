"""Reasoning in the field `encrypted_content`, for clients that send back nothing else of it.

    sealed("It must be two.")        # "strictcall1.SXQgbXVzdCBiZSB0d28u"
    unsealed("strictcall1.SXQg…")    # "It must be two."; None for what other servers wrote

Nothing is secret here, as the item has the reasoning in `content` as well: it is encoded, not encrypted.
"""

import base64
import binascii

MARK = "strictcall1."


def sealed(text: str) -> str:
    return MARK + base64.urlsafe_b64encode(text.encode(errors="replace")).decode()


def unsealed(content: str) -> str | None:
    """The text, or None where it is not one of ours, or was changed."""
    if not content.startswith(MARK):
        return None
    try:
        return base64.b64decode(content.removeprefix(MARK), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return None
