"""The paper's Figures 5, 6 and 7 as files."""

from pathlib import Path
from typing import Any

from tensormt.data.pictures import new_figure, save_figure
from tensormt.qarla.findings import Report


def save_plots(report: Report, folder: Path) -> list[Path]:
    """Draw KING by metric, JACK by peer set and KING against people; return the files."""
    kings = dict(report.kings)
    best = (report.best_without, report.best)
    kings |= {"\n+ ".join(found["metrics"]): found["king"] for found in best if found}
    files = [
        _bars(new_figure(9, 5), kings, "KING", folder, "king"),
        _bars(new_figure(6, 4), report.jacks, "JACK", folder, "jack"),
    ]
    for name, found in (report.king_against_people or {}).items():
        figure = new_figure(6, 5)
        axes = figure.subplots()
        axes.scatter(
            [row["king"] for row in found["sets"]], [row["r"] for row in found["sets"]], s=6
        )
        axes.set_xlabel("KING")
        axes.set_ylabel(f"Pearson correlation of QUEEN with {name}")
        files.append(save_figure(figure, folder, f"king-{name}"))
    return files


def _bars(figure: Any, values: dict[str, float], label: str, folder: Path, name: str) -> Path:
    axes = figure.subplots()
    axes.bar(range(len(values)), list(values.values()))
    axes.set_xticks(range(len(values)), list(values), rotation=60, ha="right")
    axes.set_ylabel(label)
    return save_figure(figure, folder, name)
