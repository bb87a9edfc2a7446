"""Lines that report the course of a run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from graph2graph.scoring import Scores

if TYPE_CHECKING:
    from graph2graph.training.plan import Plan

SMOOTHING = 0.95  # of the loss that is shown


class LineReport:
    """An observer that reports the plan and each scoring, a line each."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self.note = note  # is called with each line
        self.loss: float | None = None  # smoothed

    def planned(self, plan: "Plan", resumed_at: int) -> None:
        """Report the plan."""
        scored = f"{plan.eval_sentences:,} sentences of" if plan.eval_sentences else "all of"
        when = "each epoch" if plan.eval_epochs == 1 else f"every {plan.eval_epochs} epochs"
        self.note(
            f"plan: {plan.n_steps:,} steps, about {plan.seconds / 60:.0f} minutes "
            f"({1 / plan.seconds_a_piece:,.0f} pieces a second); {scored} the development set after {when}"
        )
        if resumed_at:
            self.note(f"continuing after step {resumed_at:,}")

    def stepped(self, step: int, loss: float) -> None:  # noqa: ARG002 - the protocol has it
        """Keep the loss for the next line."""
        self.loss = loss if self.loss is None else SMOOTHING * self.loss + (1 - SMOOTHING) * loss

    def scored(self, step: int, epoch: int, scores: Scores, best: bool) -> None:
        """Report a scoring; a star marks the best so far."""
        loss = "" if self.loss is None else f"loss {self.loss:.3f}, "
        mark = " *" if best else ""
        self.note(f"epoch {epoch}, step {step:,}: {loss}UAS {scores.uas:.2f}, LAS {scores.las:.2f}{mark}")
