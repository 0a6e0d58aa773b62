"""What was made before, and is still likely to be asked for: a bounded store, safe for threads.

squares = Recent[int, int](size=2)
squares.get(3, lambda: 9)     # 9, made
squares.get(3, lambda: 0)     # 9, remembered
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Remembers the last `size` values that were asked for."""

    def __init__(self, *, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of `key`, made if need be; what `make` raises is passed on and not remembered.

        Making is not under the lock: two threads may make the same value, and neither waits for another's.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        value = make()
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value
