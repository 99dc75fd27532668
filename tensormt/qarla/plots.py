"""The paper's Figures 5, 6 and 7 as files."""

import textwrap
from pathlib import Path

from tensormt.figures import new_figure, save_figure
from tensormt.qarla.summary import Report


def save_plots(report: Report, folder: Path) -> list[Path]:
    """Draw KING by metric, JACK by peer set and KING against people; return the files."""
    kings = dict(report.kings)
    sets = [found for found in (report.best_without, report.best) if found]
    kings |= {" + ".join(found["metrics"]): found["king"] for found in sets}
    best = " + ".join(report.best["metrics"]) if report.best else ""
    cases = f"{report.cases} case{'' if report.cases == 1 else 's'}"
    files = [
        _bars(kings, "KING", f"KING of metrics and sets of metrics ({cases})", best, folder),
        _bars(report.jacks, "JACK", f"JACK of the best set by peers ({cases})", "", folder),
    ]
    for name, found in (report.king_against_people or {}).items():
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
    """Lying bars, which leave room for long names, each with its value; the best one is marked."""
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
