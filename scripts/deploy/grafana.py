"""The dashboard against the types that Grafana publishes, as grafana-foundation-sdk has them."""

import json

from scripts.deploy.files import DASHBOARD
from scripts.deploy.tools import lost


def check_types() -> list[str]:
    """Return where Grafana's own reader would not find what the dashboard says."""
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins
    from grafana_foundation_sdk.models.dashboard import Dashboard

    register_default_plugins()
    written = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    return [f"dashboard.json{fault}" for fault in lost(written, read)]
