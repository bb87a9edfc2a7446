"""What `import graph2graph` gives, and what it imports to do so."""

import subprocess
import sys

import pytest

import graph2graph


def imported_by(code: str) -> set[str]:
    """The modules that are loaded in a new process after some code."""
    code += "\nimport sys; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_the_package_imports_nothing_else() -> None:
    modules = imported_by("import graph2graph; dir(graph2graph)")
    assert {name for name in modules if name.startswith("graph2graph")} == {"graph2graph"}
    assert not modules & {"torch", "numpy", "pydantic"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["DataError", "ParseOptions", "TagSource"])
def test_names_that_need_no_model_import_no_torch(name: str) -> None:
    assert "torch" not in imported_by(f"import graph2graph; graph2graph.{name}")


@pytest.mark.slow
def test_catalogue_and_command_line_import_no_torch() -> None:
    assert "torch" not in imported_by("import graph2graph.cli, graph2graph.text.udpipe, graph2graph.parser.catalogue")


def test_every_public_name_is_there() -> None:
    for name in graph2graph.__all__:
        value = getattr(graph2graph, name)
        assert getattr(value, "__name__", name) == name
        assert getattr(graph2graph, name) is value
    assert set(graph2graph.__all__) <= set(dir(graph2graph))
    assert sorted(set(graph2graph.__all__) - {"__version__"}) == sorted(graph2graph._MODULES)
    with pytest.raises(AttributeError, match="has no attribute 'pars'"):
        _ = graph2graph.pars
