"""Who may import whom, and what an import may cost."""

import ast
import importlib.metadata
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from parsers.registry import FAMILIES

ROOT = Path(__file__).parent.parent
OURS = ("parsers", "server", "templates")
HTTP = {"asyncio", "fastapi", "httpx", "httpx2", "pydantic", "starlette", "uvicorn"}

LAYERS = (
    ("errors", "policy", "version", "console", "tokens", "bench"),
    ("request",),
    ("schema", "prompt"),
    ("config",),
    ("telemetry", "store"),
    ("limits", "mask", "engine"),
    ("context", "http", "derive"),
    ("answering",),
    ("api",),
    ("app",),
    ("startup",),
    ("doctor",),
    ("commands",),
    ("main",),
    ("__main__",),
)
"""The parts of `server`, the lowest first: a module or a package imports only from layers below its own."""


def imports(module: Path) -> Iterator[str]:
    """Yield the dotted names that a module imports, at its top or inside its functions."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def importers(package: str, *, of: set[str]) -> dict[str, str]:
    """Map each module of a package to one of the top-level names that it imports."""
    return {
        module.relative_to(ROOT).as_posix(): name
        for module in sorted((ROOT / package).rglob("*.py"))
        for name in imports(module)
        if name.split(".")[0] in of
    }


def modules(*packages: str) -> list[Path]:
    return [module for package in packages for module in sorted((ROOT / package).rglob("*.py"))]


@pytest.mark.parametrize(
    "module", modules("parsers", "templates"), ids=lambda path: str(path.relative_to(ROOT))
)
def test_parsers_and_templates_import_only_the_standard_library(module: Path) -> None:
    """What models write is read without HTTP, without an event loop and without an engine."""
    allowed = (sys.stdlib_module_names | {"parsers"}) - HTTP

    foreign = {name for name in imports(module) if name.split(".")[0] not in allowed}

    assert foreign == set()


def test_streamed_text_is_read_without_regular_expressions() -> None:
    """A pattern that meets text in pieces is wrong, or slow, or both."""
    assert importers("parsers", of={"re", "fnmatch"}) == {}


def named_families(module: Path) -> set[str]:
    """The families that a module's code names; what its docstrings say is for people."""
    names = {family.name for family in FAMILIES}
    tree = ast.parse(module.read_text(encoding="utf-8"))
    said = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node not in said and node.value in names
    }


NO_RECORDS = [module for module in modules(*OURS) if module.parent != ROOT / "parsers" / "families"]


@pytest.mark.parametrize("module", NO_RECORDS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_family_is_named_outside_its_record(module: Path) -> None:
    """What is so for one family alone is data of its record, and never an `if` somewhere else."""
    assert named_families(module) == set()


def test_only_the_engine_adapter_imports_vllm() -> None:
    """Another engine, or another vLLM, changes one folder."""
    others = importers("server", of={"vllm", "torch"})

    assert [module for module in others if not module.startswith("server/engine/")] == []


def test_only_one_module_imports_the_harmony_library() -> None:
    """Prompts of one family are written by it; answers are read without."""
    assert importers("server", of={"openai_harmony"}) == {"server/prompt/harmony.py": "openai_harmony"}


def test_schemas_are_compiled_without_http() -> None:
    """`server.schema` can be tested, and used by a command, without an application around it."""
    assert importers("server/schema", of=HTTP) == {}


def layers() -> dict[str, int]:
    return {part: height for height, parts in enumerate(LAYERS) for part in parts}


def test_every_part_of_the_server_has_its_layer() -> None:
    """A new part is given its place before anything imports it."""
    parts = {path.stem for path in (ROOT / "server").iterdir() if path.suffix == ".py" or path.is_dir()}

    assert parts - {"__init__", "__pycache__"} == layers().keys()


def test_the_parts_of_the_server_stand_in_layers() -> None:
    """Whoever reads or changes a part needs to know of nothing but what stands below it."""
    height = layers()
    upwards = [
        (module.relative_to(ROOT).as_posix(), name)
        for module in modules("server")
        for own in [module.relative_to(ROOT / "server").parts[0].removesuffix(".py")]
        for name in imports(module)
        for part in [name.removeprefix("server.").partition(".")[0]]
        if name.partition(".")[0] == "server" and part != own and height.get(part, len(LAYERS)) >= height[own]
    ]

    assert upwards == []


@pytest.mark.parametrize("part", ["answering", "mask", "prompt", "tokens"])
def test_the_path_is_taken_without_http(part: str) -> None:
    """A command or a test can take a step of the path as well as a request can."""
    assert importers(f"server/{part}", of=HTTP - {"asyncio"}) == {}


def test_imports_are_absolute() -> None:
    """A name in an import is the name that a search of the repository finds."""
    relative = [
        (module, name) for module in modules(*OURS) for name in imports(module) if name.startswith(".")
    ]

    assert relative == []


def test_the_command_starts_without_the_heavy_libraries() -> None:
    """`strictcall --help` answers at once: vLLM, torch and transformers take seconds to import."""
    heavy = {"vllm", "torch", "transformers", "openai_harmony"}
    code = f"import sys, server.main; print(*{heavy} & sys.modules.keys())"

    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )

    assert loaded.stdout.split() == []


def test_no_other_distribution_owns_our_import_names() -> None:
    """`server`, `parsers` and `templates` are plain words: nothing else that is installed may claim them."""
    owners = importlib.metadata.packages_distributions()

    assert {name: owners[name] for name in OURS if set(owners.get(name, ())) - {"strictcall"}} == {}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as a user would install it."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return next(folder.glob("strictcall-*.whl"))


def test_the_wheel_holds_our_packages_and_nothing_else(wheel: Path) -> None:
    """Tests, scripts and benchmarks stay out; templates and the licence are in."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    tops = {name.split("/")[0] for name in names}
    templates = {path.relative_to(ROOT).as_posix() for path in (ROOT / "templates").rglob("*.jinja")}

    assert {top for top in tops if not top.endswith(".dist-info")} <= set(OURS)
    assert templates <= set(names)
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_the_wheel_runs_without_the_sources(wheel: Path, tmp_path: Path) -> None:
    """Whatever the command imports is in the wheel, not only beside it in the repository."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    # -I would hide the wheel as well; the site's own path comes after PYTHONPATH, so the wheel wins.
    code = "import server.main, sys; print(server.main.__file__)"
    environment = {"PYTHONPATH": str(tmp_path), "PATH": ""}

    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )

    assert Path(run.stdout.strip()) == tmp_path / "server" / "main.py"
