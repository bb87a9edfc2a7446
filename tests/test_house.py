"""The house rules that a program can check: sizes of functions, one place for each decision, names used once."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "graph2graph"
FILES = sorted(PACKAGE.rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    """Every function of the package, with the place where it stands."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}", node


def found(pattern: str, *, but: str = "") -> list[str]:
    """The lines of the package that match, but for those of one file."""
    matches = re.compile(pattern)
    return [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in FILES
        if str(path.relative_to(PACKAGE)) != but
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if matches.search(line)
    ]


def is_command(name: str) -> bool:
    """Whether a function is a command of Typer, whose parameters are its options: the one that its file is named after."""
    path, function = name.split()
    return path.startswith("cli/") and Path(path.partition(":")[0]).stem == function


def test_functions_are_at_most_45_lines_long() -> None:
    long = [name for name, node in functions() if (node.end_lineno or 0) - node.lineno >= 45]
    assert [name for name in long if not is_command(name)] == []


def test_functions_have_at_most_10_parameters() -> None:
    def n_parameters(node: Function) -> int:
        return sum(map(len, (node.args.posonlyargs, node.args.args, node.args.kwonlyargs)))

    long = [name for name, node in functions() if n_parameters(node) > 10]
    assert [name for name in long if not is_command(name)] == []


def test_the_top_of_the_package_has_at_most_nine_modules() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 9


def test_files_are_written_in_one_place() -> None:
    assert found(r"os\.(replace|rename)\(|\.write_(text|bytes)\(|NamedTemporaryFile|mkstemp", but="files.py") == []


def test_head_and_dependent_are_derived_in_one_place() -> None:
    """From an action and its focus: by `arc_of` and `arcs_of`."""
    derived = found(r"LEFT_ARC else|is_left else|np\.where\(is_left")
    assert [line for line in derived if not line.startswith("transition/state")] == []


def test_no_class_name_is_used_twice() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_equations_have_their_printed_numbers() -> None:
    """Labels such as `eq:tr4` differ from the printed numbers; only the paper's map may mention them."""
    assert found(r"eq:[a-z]") == []


def test_every_package_says_what_is_in_it() -> None:
    for path in FILES:
        if path.name == "__init__.py":
            assert len(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "") > 20, path
