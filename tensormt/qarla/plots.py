"""The paper's Figures 5, 6 and 7 as files; the only module that imports matplotlib."""

from pathlib import Path
from typing import Any

from tensormt.errors import TensorMTError
from tensormt.qarla.findings import Report


def save_plots(report: Report, folder: Path) -> list[Path]:
    """Draw KING by metric, JACK by peer set and KING against people; return the files."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise TensorMTError("plots need matplotlib: pip install 'tensormt[report]'") from error
    folder.mkdir(parents=True, exist_ok=True)
    kings = dict(report.kings)
    best = (report.best_without, report.best)
    kings |= {"\n+ ".join(found["metrics"]): found["king"] for found in best if found}
    files = [
        _bars(Figure(figsize=(9, 5)), kings, "KING", folder / "king.png"),
        _bars(Figure(figsize=(6, 4)), report.jacks, "JACK", folder / "jack.png"),
    ]
    for name, found in (report.king_against_people or {}).items():
        figure = Figure(figsize=(6, 5))
        axes = figure.subplots()
        axes.scatter(
            [row["king"] for row in found["sets"]], [row["r"] for row in found["sets"]], s=6
        )
        axes.set_xlabel("KING")
        axes.set_ylabel(f"Pearson correlation of QUEEN with {name}")
        files.append(_save(figure, folder / f"king-{name}.png"))
    return files


def _bars(figure: Any, values: dict[str, float], label: str, path: Path) -> Path:
    axes = figure.subplots()
    axes.bar(range(len(values)), list(values.values()))
    axes.set_xticks(range(len(values)), list(values), rotation=60, ha="right")
    axes.set_ylabel(label)
    return _save(figure, path)


def _save(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    return path
