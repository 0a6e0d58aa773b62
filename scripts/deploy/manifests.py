"""The plain manifests in `deploy/kubernetes`, which the Helm chart renders from the values beside them.

    $ python -m scripts.deploy.manifests            # exits with 1 and names what the chart renders otherwise
    $ python -m scripts.deploy.manifests --write    # renders deploy/kubernetes/gpu.yaml and the others

It needs helm-python-sdk, of requirements/deploy.txt. Each manifest names the digest of what it was made from,
so that tests know without Helm whether it is out of date.
"""

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.deploy.files import CHART, ROOT, read_yaml

KUBERNETES = ROOT / "deploy/kubernetes"
NAMESPACE = "strictcall"
RENDERED = ("Chart.yaml", "values.yaml", "files/*", "templates/*.tpl", "templates/*.yaml")
HEAD = """\
# Rendered from the chart in deploy/helm/strictcall with {values}, by `make manifests`.
# kubectl create namespace {namespace} && kubectl --namespace {namespace} apply -f {name}
# sha256 of chart and values: {digest}
"""


def sources() -> list[Path]:
    """The values of each manifest."""
    return sorted(KUBERNETES.glob("*.values.yaml"))


def manifest_of(values: Path) -> Path:
    """`gpu.values.yaml` → `gpu.yaml`."""
    return values.with_name(values.name.replace(".values.yaml", ".yaml"))


def digest(values: Path, chart: Path = CHART) -> str:
    """Return the digest of all that a manifest is made from, which the schema of the values is not."""
    total = hashlib.sha256()
    for path in (*sorted(path for part in RENDERED for path in chart.glob(part)), values):
        total.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    return total.hexdigest()


def head(values: Path) -> str:
    """Return the comment that a manifest begins with."""
    name = manifest_of(values).name
    return HEAD.format(values=values.name, namespace=NAMESPACE, name=name, digest=digest(values))


def render(values: Path) -> str:
    """Return what the chart renders, without its notes, in the order of the templates' names."""
    import helm_python

    with helm_python.Chart.load(str(CHART)) as chart:
        rendered = chart.render(read_yaml(values), name="strictcall", namespace=NAMESPACE)
    documents = [tidy(text) for path, text in sorted(rendered.items()) if path.endswith(".yaml")]
    return head(values) + "".join(f"---\n{text}\n" for text in documents if text)


def tidy(text: str) -> str:
    """Take the spaces away that indenting leaves on empty lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def main(arguments: Sequence[str]) -> int:
    """Write the manifests if asked to; else name those that are out of date and return 1 if there are any."""
    stale = 0
    for values in sources():
        manifest, text = manifest_of(values), render(values)
        if "--write" in arguments:
            manifest.write_text(text, encoding="utf-8")
        elif not manifest.is_file() or manifest.read_text(encoding="utf-8") != text:
            print(f"{manifest.relative_to(ROOT)}: out of date: run make manifests")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
