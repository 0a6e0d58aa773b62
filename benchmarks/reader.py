"""A client that costs almost nothing: one request on a connection of its own, and a look at the clock.

stream = await read_stream("http://127.0.0.1:8000", body)
stream.complete, stream.gaps       # True, [0.251, 0.249, …]
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

PATH = "/v1/chat/completions"
PIECE = 2**16


@dataclass(slots=True)
class Stream:
    """An answer as it came: when each piece of it did, and how many events there were."""

    times: list[float] = field(default_factory=list)
    events: int = 0
    good: bool = False
    """Whether its status is 200."""
    tail: bytes = b""

    def add(self, piece: bytes) -> None:
        if not self.times:
            self.good = piece.startswith(b"HTTP/1.1 200 ")
        self.times.append(time.perf_counter())
        # The end of what came before is looked at again: it may hold the beginning of an event.
        self.events += (self.tail[-5:] + piece).count(b"data: ")
        self.tail = (self.tail + piece)[-200:]

    @property
    def complete(self) -> bool:
        """Whether the answer is a good one, and its end has come: the stream's, or that of a JSON body."""
        return self.good and self.tail.endswith((b"data: [DONE]\n\n\r\n0\r\n\r\n", b"}"))

    @property
    def gaps(self) -> list[float]:
        """Seconds between one piece and the next."""
        return [after - before for before, after in pairwise(self.times)]

    def longest_gap(self, begun: float, ended: float) -> float:
        """The longest gap that had begun before `ended` and was over after `begun`; 0 if there is none."""
        gaps = (
            (before, after) for before, after in pairwise(self.times) if after >= begun and before <= ended
        )
        return max((after - before for before, after in gaps), default=0.0)


async def read_stream(origin: str, body: Mapping[str, Any], stream: Stream | None = None) -> Stream:
    """Send a chat request and read all that comes back, into `stream` if it is given."""
    place = urlsplit(origin)
    reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=PIECE)
    content = json.dumps(body).encode()
    head = (
        f"POST {PATH} HTTP/1.1\r\nhost: {place.netloc}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\nconnection: close\r\n\r\n"
    )
    writer.write(head.encode() + content)
    await writer.drain()
    stream = stream or Stream()
    while piece := await reader.read(PIECE):
        stream.add(piece)
    writer.close()
    return stream
