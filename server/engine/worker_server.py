"""`vllm serve` with our scheduler in it: what `strictcall worker` runs, for front ends elsewhere.

    serve_worker("/models/qwen", ["--port", "8001"], drafts=True)     # returns when it has been stopped

Everything but the scheduler and a few defaults is vLLM's own, its command line included. A worker that was
started as `vllm serve --enable-scale-out` serves front ends as well, without our metrics of masks.
"""

import json
import logging
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from server.engine.environment import prepare_environment
from server.engine.protocol import EngineError
from server.engine.seams import SeamError
from server.engine.vllm import OPTIONS, cpu_options, fitting, reason_of

log = logging.getLogger(__name__)

FLAGS: Mapping[str, Any] = {
    "enable_scale_out": True,  # the API of token ids
    "enable_prompt_tokens_details": True,  # what the prefix cache paid for
}
"""What front ends need of a worker."""


def serve_worker(model: str, flags: Sequence[str], *, drafts: bool) -> None:
    """Serve `model` until a signal comes; `flags` are those of `vllm serve`.

    Raises `EngineError` if the engine cannot be configured so. Ends the program where vLLM does.
    """
    prepare_environment()
    from vllm import AsyncEngineArgs
    from vllm.entrypoints.cli.serve import ServeSubcommand

    from server.engine.scheduling import install_scheduler

    arguments = parse([model, *preset(flags), *flags])
    for name, value in fitting(vars(arguments)).items():
        setattr(arguments, name, value)
    try:
        config = AsyncEngineArgs.from_cli_args(arguments).create_engine_config(headless=arguments.headless)
        undrafted = install_scheduler(config, drafts=drafts)
    except (SeamError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise EngineError(f"vLLM cannot serve the model {model!r}: {reason_of(error)}") from error
    if undrafted:
        log.info("Forced tokens are not drafted: %s.", undrafted)
    arguments.scheduler_cls = config.scheduler_config.scheduler_cls
    ServeSubcommand.cmd(arguments)


def preset(given: Sequence[str]) -> list[str]:
    """Our defaults as flags, but for those that are given."""
    from vllm.platforms import current_platform

    options = {**(cpu_options() if current_platform.is_cpu() else {}), **OPTIONS, **FLAGS}
    names = {flag.partition("=")[0].replace("--no-", "--") for flag in given}
    return [spelled(name, value) for name, value in options.items() if flag_of(name) not in names]


def flag_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def spelled(name: str, value: Any) -> str:
    if value is True:
        return flag_of(name)
    return f"{flag_of(name)}={json.dumps(value) if isinstance(value, dict) else value}"


def parse(arguments: Sequence[str]) -> Namespace:
    """Read the command line of `vllm serve`."""
    from vllm.entrypoints.cli.serve import ServeSubcommand
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = FlexibleArgumentParser(prog="strictcall worker")
    command = ServeSubcommand()
    command.subparser_init(parser.add_subparsers(required=True, dest="subparser"))
    parsed: Namespace = parser.parse_args([command.name, *arguments])
    parsed.model = parsed.model_tag
    command.validate(parsed)
    return parsed
