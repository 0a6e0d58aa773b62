"""What a running server holds, made once and passed to whoever needs it; there is no other shared state.

context = Context(settings=…, engine=…, …)
create_app(context)              # kept as app.state.context
context_of(request)              # the same object, in an endpoint
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import Request

from parsers.call_ids import CallIdForm
from parsers.family import Family
from server.config.settings import Settings
from server.engine.protocol import Engine
from server.limits.admission import Admission
from server.prompt.call_ids import form_of
from server.prompt.renderer import Renderer
from server.schema.deadline import CompileDeadline
from server.schema.plan import SchemaPlanner
from server.store.responses import ResponseStore
from server.telemetry.metrics import Metrics
from server.telemetry.tracing import Tracing
from server.tokens.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The served model and all that answers for it."""

    settings: Settings
    engine: Engine
    vocabulary: Vocabulary
    template: Renderer
    family: Family
    markers: Mapping[int, str]
    """The tokens of the vocabulary that are the family's markers, with their texts."""
    planner: SchemaPlanner
    deadline: CompileDeadline
    metrics: Metrics
    admission: Admission
    model_names: tuple[str, ...]
    """What requests may call the model; the first is the canonical name."""
    created: int
    """When the model was loaded, in seconds since 1970."""
    responses: ResponseStore | None = None
    """Where responses are kept; None where nothing is."""
    tracing: Tracing = field(default_factory=Tracing)

    @property
    def call_id_form(self) -> CallIdForm:
        """How the ids of calls look to this model."""
        return form_of(self.family, self.template.traits.call_ids)


def context_of(request: Request) -> Context:
    """The context of the app that serves `request`."""
    return cast("Context", request.app.state.context)
