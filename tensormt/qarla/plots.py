"""Plots of Figures 5, 6 and 7 of the paper."""

import textwrap
from pathlib import Path

from tensormt.figures import new_figure, save_figure
from tensormt.qarla.summary import Summary


def save_plots(summary: Summary, folder: Path) -> list[Path]:
    """Plot KING by metric, JACK by set of peers, and KING against correlation.

    Args:
        summary: The results.
        folder: The folder of the files; it is created if necessary.

    Returns:
        The files that were written.

    Raises:
        TensorMTError: If matplotlib is not installed or a file cannot be written.
    """
    kings = dict(summary.kings)
    sets = [found for found in (summary.best_without, summary.best) if found]
    kings |= {" + ".join(found["metrics"]): found["king"] for found in sets}
    best = " + ".join(summary.best["metrics"]) if summary.best else ""
    cases = f"{summary.cases} case{'' if summary.cases == 1 else 's'}"
    files = [
        _bars(kings, "KING", f"KING of metrics and sets of metrics ({cases})", best, folder),
        _bars(summary.jacks, "JACK", f"JACK of the best set by peers ({cases})", "", folder),
    ]
    for name, found in (summary.king_and_correlation or {}).items():
        figure = new_figure(6, 5)
        axes = figure.subplots()
        rows = found["sets"]
        axes.scatter([row["king"] for row in rows], [row["r"] for row in rows], s=8)
        axes.set_xlabel("KING")
        axes.set_ylabel(f"Pearson correlation of QUEEN with {name}")
        axes.set_title(
            f"{len(rows)} sets of metrics, {cases}: r = {found['pearson']:.2f}", fontsize="medium"
        )
        files.append(save_figure(figure, folder, f"king-{name}"))
    return files


def _bars(values: dict[str, float], label: str, title: str, best: str, folder: Path) -> Path:
    """Plot horizontal bars, which leave room for long names, with their values."""
    figure = new_figure(9, 1.5 + 0.35 * len(values))
    axes = figure.subplots()
    names = [textwrap.fill(name, 44) for name in values]
    colours = ["C1" if name == best else "C0" for name in values]
    bars = axes.barh(range(len(values)), list(values.values()), color=colours)
    axes.bar_label(bars, [f"{value:.3f}" for value in values.values()], padding=3)
    axes.set_yticks(range(len(values)), names)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set_xlabel(f"{label}{' (orange: the best set)' if best else ''}")
    axes.set_title(title, fontsize="medium")
    return save_figure(figure, folder, label.lower())
