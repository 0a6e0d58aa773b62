"""The health check of the images: exit with 0 if the server in this container answers `GET /health` with 200.

    $ python3 healthcheck.py; echo $?
    http://127.0.0.1:8000/health: <urlopen error [Errno 111] Connection refused>
    1

It asks for `/health` and not for `/ready`, as a container that is unhealthy is ended and started anew; a
server that starts a dead engine anew is only unready.
The port is that of the variable STRICTCALL_PORT, so inside a container set it by that and not by the flag.
"""

import os
import sys
import urllib.error
import urllib.request

SECONDS = 4
"""Less than the time-out of the images' HEALTHCHECK, so that the reason is still told."""


def url() -> str:
    """Where the server of this container answers."""
    port = os.environ.get("STRICTCALL_PORT", "")
    # For a Service of our name, Kubernetes sets it to tcp://…, which the server passes over as well.
    return f"http://127.0.0.1:{port if port.isdigit() else 8000}/health"


def main() -> int:
    """Print the reason and return 1 if the server is not well."""
    address = url()
    # A proxy in the environment is meant for model hubs, not for this.
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(address, timeout=SECONDS):
            return 0
    except (urllib.error.URLError, OSError) as exc:
        print(f"{address}: {exc}")
        return 1


if __name__ == "__main__":
    sys.exit(main())
