"""The formats that the mask holds, as patterns, and whether that is all the format asks.

FORMATS["date"].exact     # True: no string of the mask is refused by the check
FORMATS["email"].exact    # False: nothing keeps the part before the @ to 64 characters

No pattern leaves out what the check takes for a string of the format, but leap seconds that another offset
than UTC's puts at another time than 23:59. Of the formats that are not listed here, those in `CHECKED` are
checked afterwards; all others mean nothing to anyone.
"""

from dataclasses import dataclass

_DAY = (
    r"([0-9]{4}-(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    r"|[0-9]{4}-(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|[0-9]{4}-02-(0[1-9]|1[0-9]|2[0-8])"
    r"|([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)"
)
_SECONDS = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?([Zz]|[+\-]([01][0-9]|2[0-3]):[0-5][0-9])"
_TIME = rf"({_SECONDS}|23:59:60(\.[0-9]+)?([Zz]|[+\-]00:00))"
_SPAN_TIME = r"T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S)"
_SPAN_DATE = r"([0-9]+Y([0-9]+M([0-9]+D)?)?|[0-9]+M([0-9]+D)?|[0-9]+D)"

_HEX = "[0-9a-fA-F]"
_OCTET = r"(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"{_OCTET}(\.{_OCTET}){{3}}"
_H16 = rf"{_HEX}{{1,4}}"
# `::` stands for one group or more, and so has at most seven others beside it (RFC 3986, 3.2.2).
_COMPRESSED = "|".join(rf"(({_H16}:){{0,{4 - n}}}{_H16})?::({_H16}:){{{n}}}" for n in range(5))
_IPV6 = (
    rf"(({_H16}:){{6}}|::({_H16}:){{5}}|{_COMPRESSED})({_H16}:{_H16}|{_IPV4})"
    rf"|(({_H16}:){{0,5}}{_H16})?::{_H16}|(({_H16}:){{0,6}}{_H16})?::"
)

_LABEL = r"[A-Za-z0-9]([A-Za-z0-9\-]*[A-Za-z0-9])?"
_HOST = rf"{_LABEL}(\.{_LABEL})*"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?\^_`{|}~\-]+"
_LOCAL = rf'({_ATOM}(\.{_ATOM})*|"([ !#-\[\]-~]|\\[ -~])*")'

_PERCENT = f"%{_HEX}{_HEX}"
_NAME = r"A-Za-z0-9\-._~!$&'()*+,;="
"""Members of a class: what needs no escape anywhere in a URI."""
_PATH = rf"([{_NAME}:@]|{_PERCENT})"
_ADDRESS = rf"\[({_IPV6}|[vV]{_HEX}+\.[{_NAME}:]+)\]"
_AUTHORITY = rf"(([{_NAME}:]|{_PERCENT})*@)?({_ADDRESS}|([{_NAME}]|{_PERCENT})*)(:[0-9]*)?"
_SEGMENTS = rf"(/{_PATH}*)*"
_ABSOLUTE = rf"//{_AUTHORITY}{_SEGMENTS}|/({_PATH}+{_SEGMENTS})?"
_TAIL = rf"(\?({_PATH}|[/?])*)?(#({_PATH}|[/?])*)?"
_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:"
_ROOTLESS = f"{_PATH}+{_SEGMENTS}"
_URI = f"{_SCHEME}({_ABSOLUTE}|{_ROOTLESS}|){_TAIL}"
# The first segment of a path without a scheme has no colon: it would make it one.
_REFERENCE = (
    f"(({_SCHEME})?({_ABSOLUTE})|{_SCHEME}({_ROOTLESS}|)|(([{_NAME}@]|{_PERCENT})+{_SEGMENTS}|)){_TAIL}"
)
_BEYOND_ASCII = r'[^\u0000-\u0020"<>\\^`{|}]'


@dataclass(frozen=True, slots=True)
class Format:
    pattern: str
    exact: bool
    """Whether every string that the pattern allows is of the format."""


FORMATS = {
    "date": Format(f"^{_DAY}$", exact=True),
    "time": Format(f"^{_TIME}$", exact=True),
    "date-time": Format(f"^{_DAY}[Tt]{_TIME}$", exact=True),
    "duration": Format(f"^P({_SPAN_DATE}({_SPAN_TIME})?|{_SPAN_TIME}|[0-9]+W)$", exact=True),
    "uuid": Format(f"^{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}$", exact=True),
    "ipv4": Format(f"^{_IPV4}$", exact=True),
    "ipv6": Format(f"^({_IPV6})$", exact=True),
    "hostname": Format(f"^{_HOST}$", exact=False),
    "email": Format(rf"^{_LOCAL}@({_HOST}|\[[A-Za-z0-9:.]+\])$", exact=False),
    "uri": Format(f"^{_URI}$", exact=True),
    "uri-reference": Format(f"^{_REFERENCE}$", exact=True),
    "iri": Format(rf"^{_SCHEME}{_BEYOND_ASCII}*$", exact=False),
    "iri-reference": Format(rf"^{_BEYOND_ASCII}*$", exact=False),
    "json-pointer": Format(r"^(/([^~/]|~[01])*)*$", exact=True),
    "relative-json-pointer": Format(r"^(0|[1-9][0-9]*)(#|(/([^~/]|~[01])*)*)$", exact=True),
}

CHECKED = frozenset({"idn-email", "idn-hostname", "uri-template", "regex"})
"""Formats that the check behind the mask knows and the mask does not."""
