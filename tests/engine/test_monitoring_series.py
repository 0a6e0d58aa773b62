"""What alert rules and the dashboard ask for, against the exposition of a running server."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scripts.deploy.files import RULES, read_yaml
from scripts.deploy.metric_names import asked
from scripts.deploy.panels import ROWS
from tests.engine.conftest import RunningServer

pytestmark = pytest.mark.engine

EXPRESSIONS = [
    *(rule["expr"] for group in read_yaml(RULES)["groups"] for rule in group["rules"]),
    *(query.expr for _, panels in ROWS for panel in panels for query in panel.queries),
]


async def test_a_scrape_has_every_series_that_is_asked_for(server: RunningServer) -> None:
    """Also vLLM's, under the names and the types that it has when it runs; `up` is Prometheus' own."""
    await server.chat(messages=[{"role": "user", "content": "Hi"}], max_tokens=1)
    exposition = (await server.http.get("/metrics")).text
    exposed = {
        sample.name for family in text_string_to_metric_families(exposition) for sample in family.samples
    }
    wanted = {selector.name for expr in EXPRESSIONS for selector in asked(expr)} - {"up"}

    assert wanted - exposed == set()
