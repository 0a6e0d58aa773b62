"""What the dashboard shows, as data: rows of panels, each of them queries with a sentence on how to read it.

The first row answers what is asked first: is it up, how fast is it, how many calls are wrong and why, and
what does the mask cost. `scripts/deploy/dashboard.py` makes Grafana's JSON of it.
"""

from dataclasses import dataclass
from enum import Enum

SELECT = 'job="strictcall", instance=~"$instance"'
"""Which series are meant: those of the servers that are chosen above the dashboard."""


class Kind(Enum):
    """Grafana's panel types that are used."""

    STAT = "stat"
    SERIES = "timeseries"


@dataclass(frozen=True, slots=True)
class Query:
    """One query and what its series are called."""

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel; `width` is in Grafana's columns, of which a row has 24."""

    title: str
    description: str
    queries: tuple[Query, ...]
    unit: str = "short"
    width: int = 8
    kind: Kind = Kind.SERIES
    bad_above: float | None = None
    """From here on it is shown in red; for a stat."""


def rate(metric: str, *labels: str) -> str:
    """The rate of a counter, over the interval that Grafana has a point for."""
    return f"rate({metric}{{{', '.join((SELECT, *labels))}}}[$__rate_interval])"


def by(label: str, expr: str) -> str:
    return f"sum by ({label}) ({expr})"


def mean(histogram: str) -> str:
    return f"sum({rate(f'{histogram}_sum')}) / sum({rate(f'{histogram}_count')})"


def quantile(share: float, histogram: str) -> str:
    return f"histogram_quantile({share}, sum by (le) ({rate(f'{histogram}_bucket')}))"


def quantiles(histogram: str, *shares: float) -> tuple[Query, ...]:
    return tuple(Query(quantile(share, histogram), f"p{share * 100:.0f}") for share in shares)


def gauge(metric: str, legend: str) -> Query:
    return Query(f"sum({metric}{{{SELECT}}})", legend)


UNREADABLE = rate("strictcall_parse_failures_total")
CALLS = rate("strictcall_tool_calls_total")
ERRORS = rate("strictcall_requests_total", 'status=~"5.."')
BROKEN = rate("strictcall_schema_repairs_total", 'outcome="failed"')
CACHED = rate("strictcall_grammar_cache_total", 'result="hit"')

AT_A_GLANCE = (
    Panel(
        "Servers up",
        "Servers that answer their scrapes. Red if there is none.",
        (Query('sum(up{job="strictcall"}) or vector(0)', "up"),),
        width=3,
        kind=Kind.STAT,
    ),
    Panel(
        "Requests that fail",
        "Share of the requests that end with a status of 500 or more.",
        (Query(f"(sum({ERRORS}) or vector(0)) / sum({rate('strictcall_requests_total')})", "failed"),),
        unit="percentunit",
        width=3,
        kind=Kind.STAT,
        bad_above=0.05,
    ),
    Panel(
        "First token and the ones after it",
        "From the request to its first token, and the mean time of each later one, as a client waits.",
        (
            Query(quantile(0.5, "strictcall_time_to_first_token_seconds"), "first token, p50"),
            Query(quantile(0.95, "strictcall_time_to_first_token_seconds"), "first token, p95"),
            Query(quantile(0.5, "strictcall_time_per_output_token_seconds"), "each token after it, p50"),
        ),
        unit="s",
        width=6,
    ),
    Panel(
        "Wrong calls, by reason",
        "Share of the tool calls that could not be read, by reason, or broke their schema however often they "
        "were written. `truncated` is the clients' token budget; the other reasons are the model's.",
        (
            Query(f"{by('reason', UNREADABLE)} / scalar(sum({CALLS}) + sum({UNREADABLE}))", "{{reason}}"),
            Query(
                f"sum({BROKEN}) / (sum({CALLS}) + sum({UNREADABLE}))",
                "breaks its schema",
            ),
        ),
        unit="percentunit",
        width=6,
    ),
    Panel(
        "What the mask costs",
        "Time to fill the masks of all constrained sequences in one engine step. On a GPU it runs beside the "
        "forward pass, and costs speed only where it is longer than that.",
        (
            Query(mean("strictcall_mask_fill_seconds"), "mean"),
            Query(quantile(0.99, "strictcall_mask_fill_seconds"), "p99"),
        ),
        unit="s",
        width=6,
    ),
)

REQUESTS = (
    Panel(
        "Requests",
        "By HTTP status; 499 is a client that left before its answer was complete.",
        (Query(by("status", rate("strictcall_requests_total")), "{{status}}"),),
        unit="reqps",
    ),
    Panel(
        "Duration",
        "From request to the last byte of the answer.",
        quantiles("strictcall_request_seconds", 0.5, 0.95, 0.99),
        unit="s",
    ),
    Panel(
        "In flight and waiting",
        "Requests that are being answered, and those among them that wait for the engine.",
        (
            gauge("strictcall_requests_in_flight", "in flight"),
            gauge("vllm:num_requests_running", "run by the engine"),
            gauge("vllm:num_requests_waiting", "waiting for it"),
        ),
    ),
)

CALLS_ROW = (
    Panel(
        "Tool calls, by what held them",
        "`schema`: the mask held the arguments' schema; `envelope`: the call's form only; `none`: nothing.",
        (Query(by("constraint", CALLS), "{{constraint}}"),),
        unit="ops",
    ),
    Panel(
        "Calls that could not be read",
        "By family and reason.",
        (Query(by("family, reason", UNREADABLE), "{{family}} {{reason}}"),),
        unit="ops",
    ),
    Panel(
        "Generations ended early",
        "By cause: a client that left, a stop sequence, an error, or a call that is written again.",
        (Query(by("cause", rate("strictcall_aborts_total")), "{{cause}}"),),
        unit="ops",
    ),
    Panel(
        "Rules that the mask does not hold",
        "Keywords of schemas in requests that are only checked afterwards.",
        (Query(f"topk(8, {by('keyword', rate('strictcall_unmasked_keywords_total'))}) > 0", "{{keyword}}"),),
        unit="ops",
    ),
    Panel(
        "Rules that were broken",
        "By keyword: errors found in finished calls and answers.",
        (Query(f"topk(8, {by('keyword', rate('strictcall_schema_violations_total'))}) > 0", "{{keyword}}"),),
        unit="ops",
    ),
    Panel(
        "Written again",
        "What came of calls and answers that broke their schema, and how many further tries they took.",
        (
            Query(by("outcome", rate("strictcall_schema_repairs_total")), "{{outcome}}"),
            Query(f"sum({rate('strictcall_schema_retries_total')})", "tries"),
        ),
        unit="ops",
    ),
)

MASKS = (
    Panel(
        "Sequences under a mask",
        "Token masks filled: one for each constrained sequence and step.",
        (Query(f"sum({rate('strictcall_mask_rows_total')})", "masks"),),
        unit="ops",
        width=6,
    ),
    Panel(
        "Grammars",
        "Time to make a request's grammar ready, from the cache or by compiling it.",
        quantiles("strictcall_grammar_compile_seconds", 0.5, 0.99),
        unit="s",
        width=6,
    ),
    Panel(
        "Grammars from the cache",
        "Share that the compiler still had.",
        (
            Query(
                f"sum({CACHED}) / sum({rate('strictcall_grammar_cache_total')})",
                "from the cache",
            ),
        ),
        unit="percentunit",
        width=6,
    ),
    Panel(
        "Forced tokens",
        "Tokens that a mask forced: those given to the model to verify, and those it accepted.",
        (
            Query(f"sum({rate('strictcall_forced_tokens_drafted_total')})", "drafted"),
            Query(f"sum({rate('strictcall_forced_tokens_accepted_total')})", "accepted"),
        ),
        unit="ops",
        width=6,
    ),
)

ENGINE = (
    Panel(
        "Tokens",
        "Read and written; cached ones are part of the prompts, reasoning is part of the completions.",
        (Query(by("kind", rate("strictcall_tokens_total")), "{{kind}}"),),
        unit="ops",
        width=6,
    ),
    Panel(
        "KV cache in use",
        "Near 100 % requests wait, or are dropped and computed again.",
        (Query(f"max by (instance) (vllm:kv_cache_usage_perc{{{SELECT}}})", "{{instance}}"),),
        unit="percentunit",
        width=6,
    ),
    Panel(
        "Preemptions",
        "Requests dropped from the KV cache, to be computed again.",
        (Query(by("instance", rate("vllm:num_preemptions_total")), "{{instance}}"),),
        unit="ops",
        width=6,
    ),
    Panel(
        "Prompts from the prefix cache",
        "Share of the prompts' tokens that were not computed anew.",
        (
            Query(
                f"sum({rate('vllm:prefix_cache_hits_total')}) "
                f"/ sum({rate('vllm:prefix_cache_queries_total')})",
                "cached",
            ),
        ),
        unit="percentunit",
        width=6,
    ),
    Panel(
        "Engine started anew",
        "How often the engine has died and was started anew, by what came of it, within an hour.",
        (
            Query(
                f"sum by (outcome) (increase(strictcall_engine_restarts_total{{{SELECT}}}[1h]))",
                "{{outcome}}",
            ),
        ),
    ),
    Panel(
        "Memory of the server's process",
        "Without the engine's own processes.",
        (Query(f"process_resident_memory_bytes{{{SELECT}}}", "{{instance}}"),),
        unit="bytes",
    ),
    Panel(
        "Processor time of the server's process",
        "In cores; near 1 the process that serves all streams is what limits them.",
        (Query(by("instance", rate("process_cpu_seconds_total")), "{{instance}}"),),
    ),
)

ROWS: tuple[tuple[str, tuple[Panel, ...]], ...] = (
    ("Is it up, how fast, which calls are wrong, what does the mask cost", AT_A_GLANCE),
    ("Requests", REQUESTS),
    ("Tool calls", CALLS_ROW),
    ("Masks and grammars", MASKS),
    ("Engine", ENGINE),
)
