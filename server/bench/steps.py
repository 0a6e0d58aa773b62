"""How many steps an engine has taken, read from the metrics that vLLM publishes.

`vllm:iteration_tokens_total` has one observation for each step that an engine took. strictcall passes it on
as vLLM's own server does; of other servers, and where metrics are not to be had, nothing is known.
"""

import httpx2

STEPS = "vllm:iteration_tokens_total_count"


async def engine_steps(client: httpx2.AsyncClient) -> float | None:
    """Ask the server whose API `client` calls; None if it does not tell."""
    url = client.base_url.copy_with(path="/metrics")
    try:
        response = await client.get(url)
    except httpx2.HTTPError:
        return None
    return steps_in(response.text) if response.status_code == 200 else None


def steps_in(metrics: str) -> float | None:
    """The sum over all engines of a page of metrics in Prometheus' text format."""
    found = [line.rpartition(" ")[2] for line in metrics.splitlines() if line.startswith(STEPS)]
    return sum(map(float, found)) if found else None
