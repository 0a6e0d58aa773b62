"""What a text holds: base64, JSON. In drafts 6 and 7 that is checked, in all others it describes.

schema = {"$schema": "http://json-schema.org/draft-07/schema#", "contentEncoding": "base64"}
unmasked_contents(Document.load(schema))
# (Unmasked("#", "contentEncoding", "the mask does not look into what a text holds"),)
"""

from server.schema.document import Document
from server.schema.drafts import Draft
from server.schema.unmasked import Unmasked

CONTENT = frozenset({"contentEncoding", "contentMediaType", "contentSchema"})
CHECKED_IN = (Draft.D6, Draft.D7)
"""Where the validator takes the first two for assertions; later drafts say that they are not."""


def unmasked_contents(document: Document) -> tuple[Unmasked, ...]:
    """The keywords of contents that are checked, all of which no mask holds."""
    if document.draft not in CHECKED_IN:
        return ()
    return tuple(
        Unmasked(node.pointer, keyword, "the mask does not look into what a text holds")
        for node in document.walk()
        if isinstance(node.schema, dict)
        for keyword in ("contentEncoding", "contentMediaType")
        if keyword in node.schema
    )
