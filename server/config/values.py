"""How the text of a setting becomes its value. Each reader raises `ValueError` with what is wrong.

whole(1, 10)("4")     # 4
whole(1, 10)("x")     # ValueError: 'x' is not a whole number from 1 to 10
"""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlsplit

Member = TypeVar("Member", bound=StrEnum)


def text(value: str) -> str:
    if not value.strip():
        raise ValueError("it is empty")
    return value


def web_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"'{value}' is not an address such as http://10.0.0.2:8000")
    return value.rstrip("/")


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(value: str) -> int:
        if not value.isascii() or not value.isdecimal() or not least <= int(value) <= most:
            raise ValueError(f"'{value}' is not a whole number from {least} to {most}")
        return int(value)

    return read


def one_of(kind: type[Member]) -> Callable[[str], Member]:
    def read(value: str) -> Member:
        if value not in list(kind):
            raise ValueError(f"'{value}' is none of {', '.join(kind)}")
        return kind(value)

    return read


def level(value: str) -> str:
    if value.lower() not in ("debug", "info", "warning", "error"):
        raise ValueError(f"'{value}' is none of debug, info, warning, error")
    return value.lower()


def yes_or_no(value: str) -> bool:
    if value.lower() not in ("true", "false"):
        raise ValueError(f"'{value}' is none of true, false")
    return value.lower() == "true"
