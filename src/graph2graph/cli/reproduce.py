"""`g2g reproduce`: run a table of the paper anew."""

import os
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from graph2graph.cli.printing import LOGGER, is_quiet, print_json, print_table, report
from graph2graph.errors import DataError
from graph2graph.files import write_json, write_text
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import PlannedRun, Plans
from graph2graph.reproduce.rows import ProfileName

if TYPE_CHECKING:
    from graph2graph.reproduce.status import Status


def reproduce(
    name: str = typer.Argument(metavar="TABLE", help="A directory of experiments/ (wsj, ud, …), or claims."),
    profile: ProfileName = typer.Option(
        "cpu",
        help="cpu: what a small machine can train. paper: the paper's settings, which need a GPU and the paper's data.",
    ),
    dry_run: bool = typer.Option(
        False, "--dry-run", help="Run nothing; show what is done and how long the rest takes."
    ),
    rows: str = typer.Option(None, metavar="A,B,…", help="Only these rows."),
    seeds: str = typer.Option(None, metavar="1,2,…", help="These seeds instead of those planned."),
    minutes: float = typer.Option(
        None, min=0.05, help="Time limit of each run, instead of the planned one; such results are kept apart."
    ),
    workers: int = typer.Option(
        1, min=1, help="Runs at the same time; each has its share of the cores, and so many times its minutes."
    ),
    treebanks: Path = typer.Option(
        None, envvar="G2G_TREEBANKS", help="Directory with CODE/train.conllu and so on; default: ../shared/treebanks."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print the state of all runs as JSON."),
) -> None:
    """Run the missing rows of a table of the paper, and write its page with our figures beside the published ones.

    Needs a clone of the repository. Finished runs are skipped; stopped runs are resumed, even after a kill. Results are in
    experiments/results/, pages in docs/tables/, models and parsed files in runs/reproduce/.

    Examples:

    g2g reproduce wsj --dry-run

    g2g reproduce wsj --workers 2

    g2g reproduce claims
    """
    paths = Paths.find(treebanks)
    if name == "claims":
        if rows or seeds:
            raise typer.BadParameter("claims are tested with all results; --rows and --seeds are for tables")
        _claims(paths, profile, minutes, as_json=as_json, write=not dry_run)
        return
    plans = Plans.read(paths.experiments, name, profile, minutes=minutes)
    chosen = None if rows is None else rows.split(",")
    for row in chosen or ():
        if row in plans.rows and (same := plans.rows[row].same_as):
            report(f"{name}/{row} shows the runs of {same}; to run them: g2g reproduce {same.replace('/', ' --rows ')}")
    runs = plans.runs(chosen, None if seeds is None else _numbers(seeds))
    failed = [] if dry_run else _run(runs, plans, paths, workers)
    statuses = _statuses(runs, plans, paths)
    if as_json:
        found = [_as_json(run, status, plans) for run, status in statuses]
        shared = {name: row.same_as for name, row in plans.rows.items() if row.same_as}
        print_json(found + [{"table": plans.name, "row": row, "same_as": same} for row, same in shared.items()])
    else:
        _show(statuses, plans)
    if failed:
        raise DataError(f"{len(failed)} of {len(runs)} runs failed; the same command tries them again")


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"--seeds {text}: expected numbers, as in 1,2") from error


def _statuses(runs: list[PlannedRun], plans: Plans, paths: Paths) -> "list[tuple[PlannedRun, Status]]":
    from graph2graph.reproduce.status import status

    return [(run, status(run, plans, paths)) for run in runs]


def _run(runs: list[PlannedRun], plans: Plans, paths: Paths, workers: int) -> list[str]:
    """Run what can be run; write the page after each run, and once in any case."""
    from graph2graph.reproduce.runner import run_all
    from graph2graph.reproduce.table_page import page, picture

    note: Callable[[str], None] = LOGGER.info if is_quiet() else partial(typer.echo, err=True)

    def write() -> None:
        write_text(paths.page(plans.name, plans.label), page(plans, paths))
        try:
            svg = picture(plans, paths)
        except DataError as error:  # without matplotlib the runs go on
            note(f"{plans.name}: no picture: {error}")
            return
        if svg is not None:
            write_text(paths.page(plans.name, plans.label, ".svg"), svg)

    wanted = []
    for run, status in _statuses(runs, plans, paths):
        if status.is_to_be_run:
            wanted.append(run)
        elif status.kind != "done":
            note(f"{run.name}: {status}")
    failed = run_all(wanted, paths, workers=workers, note=note, done=write)
    write()
    return failed


def _as_json(run: PlannedRun, status: "Status", plans: Plans) -> dict[str, Any]:
    return {
        **run.names,
        "state": status.kind,
        "detail": status.detail,
        "budget_minutes": run.minutes,
        "expected_minutes": round(status.minutes, 1),
        "plan": run.plan,
        "against": plans.against(run.row),
        "published": plans.rows[run.row].published.model_dump(),
    }


def _show(statuses: "list[tuple[PlannedRun, Status]]", plans: Plans) -> None:
    """Print all rows in the table's order, with those that show runs of another table."""
    title, n_cores = f"{plans.table.title} ({plans.label})", os.cpu_count() or 1
    table = Table("row", "title", "seed", "state", f"budget, of {n_cores} cores", "expected", title=title)
    for name, row in plans.rows.items():
        if row.same_as:
            table.add_row(name, row.title, "", f"is {row.same_as}", "", "")
        for run, status in statuses:
            if run.row != name:
                continue
            budget = f"{run.config.train.epochs} epochs" if run.minutes is None else f"{run.minutes:g} min"
            budget = "" if status.kind == "done" else budget  # it is of this machine; the run had that of its own
            table.add_row(name, run.title, str(run.seed), str(status), budget, _expected([status]))
    table.caption = _summary([status for _, status in statuses])
    print_table(table)


def _summary(statuses: "list[Status]") -> str:
    """How many runs are done, how many cannot be run here or now, and the time of the rest."""
    kinds = Counter(status.kind for status in statuses)
    others = [f"{kinds[kind]} {kind}" for kind in ("outdated", "cannot run") if kinds[kind]]
    rest = [status for status in statuses if status.is_to_be_run]
    left = [f"the rest: {_expected(rest)}"] if rest else []
    return "; ".join([f"{kinds['done']} of {len(statuses)} runs done", *others, *left])


def _expected(statuses: "list[Status]") -> str:
    """The time these runs will take; unknown without a time limit or a running time from the paper."""
    minutes = sum(status.minutes for status in statuses)
    if minutes:
        return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
    return "unknown" if any(status.is_to_be_run for status in statuses) else ""


def _claims(paths: Paths, profile: ProfileName, minutes: float | None, *, as_json: bool, write: bool) -> None:
    """Test the claims with the results there are."""
    from graph2graph.reproduce.claims import claims_page, comparisons, read_claims

    claims = read_claims(paths.experiments)
    rows = comparisons(claims, paths, profile, minutes=minutes)
    label = profile if minutes is None else f"{profile}-{minutes:g}m"
    text = claims_page(claims, rows)
    if write:
        write_json(paths.result("claims", label, "claims"), rows, indent=1)
        write_text(paths.page("claims", label), text)
    if as_json:
        print_json(rows)
    else:
        typer.echo(text, nl=False)
