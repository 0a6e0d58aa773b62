"""Which of our schedulers an engine gets: the one that drafts forced tokens, plans them, or only times masks.

install_scheduler(config, drafts=True)     # None, or why forced tokens are not drafted
config.scheduler_config.scheduler_cls      # "server.engine.drafts.DraftingScheduler"
"""

from vllm.config import VllmConfig

from server.engine.core import check_seams, scheduler_name
from server.engine.drafts import check_drafting_seams, obstacle, scheduler_for

SWITCHED_OFF = "--no-draft-forced-tokens"
"""Why forced tokens are not drafted where they could be."""


def install_scheduler(config: VllmConfig, *, drafts: bool) -> str | None:
    """Name the scheduler in the configuration. Raises `SeamError` if the installed vLLM does not fit."""
    check_seams()
    check_drafting_seams()
    unplanned = obstacle(config)
    scheduler = scheduler_name(config) if unplanned else scheduler_for(drafts=drafts)
    config.scheduler_config.scheduler_cls = scheduler
    return unplanned or (None if drafts else SWITCHED_OFF)
