"""`g2g reproduce`: a table of the paper, run anew."""

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from graph2graph.errors import DataError

if TYPE_CHECKING:
    from graph2graph.reproduce.places import Places
    from graph2graph.reproduce.plans import Plans, Run
    from graph2graph.reproduce.state import State


class ProfileChoice(StrEnum):
    """With what means."""

    CPU = "cpu"
    PAPER = "paper"


def reproduce(
    name: str = typer.Argument(metavar="TABLE", help="A directory of experiments/ (wsj, ud, …), or claims."),
    profile: ProfileChoice = typer.Option(
        ProfileChoice.CPU,
        help="What a small machine can train, or the paper's own settings, which need a GPU and its data.",
    ),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Only say what is done, what is missing and how long it will take."
    ),
    rows: str = typer.Option(None, metavar="A,B,…", help="Only these rows."),
    seeds: str = typer.Option(None, metavar="1,2,…", help="These seeds instead of those planned."),
    minutes: float = typer.Option(
        None, min=0.05, help="Another budget for each run; such results are kept apart from those of the plan."
    ),
    workers: int = typer.Option(
        1, min=1, help="Runs side by side, the cores shared among them; each then has so many times its minutes."
    ),
    treebanks: Path = typer.Option(
        None, envvar="G2G_TREEBANKS", help="Directory with CODE/train.conllu and so on; default: ../shared/treebanks."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print what is done and what is not as JSON."),
) -> None:
    """Run what is missing of a table of the paper, and write the table with our figures beside the published ones.

    Needs a clone of the repository. What is done is skipped, and what was interrupted, however rudely, goes on. Results are in
    experiments/results/, tables in docs/tables/, models and parsed files in runs/reproduce/.

    Examples:

    g2g reproduce wsj --dry-run

    g2g reproduce wsj --workers 2

    g2g reproduce claims
    """
    from graph2graph.reproduce.places import Places
    from graph2graph.reproduce.plans import Plans

    places = Places.find(treebanks)
    if name == "claims":
        _claims(places, profile, minutes, as_json=as_json, write=not dry_run)
        return
    plans = Plans.read(places.experiments, name, profile.value, minutes=minutes)
    runs = plans.runs(None if rows is None else rows.split(","), None if seeds is None else _numbers(seeds))
    failed = [] if dry_run else _run(runs, plans, places, workers)
    states = _states(runs, plans, places)
    if as_json:
        found = [_as_json(run, state, plans) for run, state in states]
        found += [{"table": plans.name, "row": row, "same_as": plans.rows[row].same_as} for row in plans.shared]
        typer.echo(json.dumps(found, indent=1, ensure_ascii=False))
    else:
        _show(states, plans)
    if failed:
        raise DataError(f"{len(failed)} of {len(runs)} runs failed; the same command tries them again")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"--seeds {text}: expected numbers, as in 1,2") from error


def _states(runs: "list[Run]", plans: "Plans", places: "Places") -> "list[tuple[Run, State]]":
    from graph2graph.reproduce.state import state

    return [(run, state(run, plans, places)) for run in runs]


def _run(runs: "list[Run]", plans: "Plans", places: "Places", workers: int) -> list[str]:
    """Run what can be run; the page is written anew after each run, and once in any case."""
    from graph2graph.reproduce.places import write_text
    from graph2graph.reproduce.runner import run_all
    from graph2graph.reproduce.tables import page, picture

    console = Console(stderr=True)

    def note(message: str) -> None:
        console.print(message, highlight=False, markup=False, soft_wrap=True)

    def write() -> None:
        write_text(places.page(plans.name, plans.label), page(plans, places))
        try:
            svg = picture(plans, places)
        except DataError as error:  # no matplotlib: no reason to stop the runs
            note(f"{plans.name}: no picture: {error}")
            return
        if svg is not None:
            write_text(places.page(plans.name, plans.label, ".svg"), svg)

    wanted = []
    for run, state in _states(runs, plans, places):
        if state.is_to_be_run:
            wanted.append(run)
        elif state.kind != "done":
            note(f"{run.name}: {state}")
    failed = run_all(wanted, plans, places, workers=workers, note=note, done=write)
    write()
    return failed


def _as_json(run: "Run", state: "State", plans: "Plans") -> dict[str, Any]:
    names = {"table": run.table, "profile": run.profile, "row": run.row, "title": run.title, "seed": run.seed}
    found: dict[str, Any] = names | {"state": state.kind, "detail": state.detail}
    found |= {"budget_minutes": run.minutes, "expected_minutes": round(state.minutes, 1), "plan": run.plan}
    row = plans.rows[run.row]
    return found | {"against": plans.against(run.row), "published": row.published.model_dump()}


def _show(states: "list[tuple[Run, State]]", plans: "Plans") -> None:
    """All rows of the table, in its order, those that other tables have run too."""
    table = Table("row", "title", "seed", "state", "budget", "expected", title=f"{plans.table.title} ({plans.label})")
    by_row: dict[str, list[tuple[Run, State]]] = {}
    for run, state in states:
        by_row.setdefault(run.row, []).append((run, state))
    for name, row in plans.rows.items():
        if row.same_as:
            table.add_row(name, row.title, "", f"is {row.same_as}", "", "")
        for run, state in by_row.get(name, []):
            epochs = f"{run.config.train.epochs} epochs"
            budget = epochs if run.minutes is None else f"{run.minutes:g} min"
            table.add_row(name, run.title, str(run.seed), str(state), budget, _expected([state]))
    n_done = sum(state.kind == "done" for _, state in states)
    rest = _expected([state for _, state in states if state.is_to_be_run])
    table.caption = f"{n_done} of {len(states)} runs done; the rest: {rest or 'nothing'}"
    Console(width=None if Console().is_terminal else 160).print(table)


def _expected(states: "list[State]") -> str:
    """The time that these runs will take; unknown, where epochs are the budget and the paper has no figure."""
    minutes = sum(state.minutes for state in states)
    if minutes:
        return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
    return "unknown" if any(state.is_to_be_run for state in states) else ""


def _claims(places: "Places", profile: ProfileChoice, minutes: float | None, *, as_json: bool, write: bool) -> None:
    """Test the claims with the results there are."""
    from graph2graph.reproduce import claims
    from graph2graph.reproduce.places import write_json, write_text

    known = claims.read(places.experiments)
    rows = claims.comparisons(known, places, profile.value, minutes=minutes)
    label = profile.value if minutes is None else f"{profile.value}-{minutes:g}m"
    text = claims.page(known, rows)
    if write:
        write_json(places.result("claims", label, "claims"), rows)
        write_text(places.page("claims", label), text)
    typer.echo(json.dumps(rows, indent=1, ensure_ascii=False) if as_json else text, nl=False)
