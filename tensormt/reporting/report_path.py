"""The path of a report, which shows the report in a notebook."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from tensormt.data import files

if TYPE_CHECKING:
    _SystemPath = Path
else:
    _SystemPath = type(Path())  # the class of this system's paths, which can be derived from


class ReportPath(_SystemPath):
    """The path of a report; a notebook shows the report itself.

    The page is put into the notebook as a frame of its own, which can run the script of the page
    and nothing else. Of a page above 30 MB the notebook shows where the file is.

    >>> ReportPath("missing.html").name
    'missing.html'
    """

    def _repr_html_(self) -> str | None:
        return self.frame()

    def frame(self, largest: int = 30_000_000) -> str | None:
        """Return the page as an HTML frame.

        Args:
            largest: Size in bytes above which only the name of the file is returned.

        Returns:
            HTML; None if there is no such file.
        """
        if not self.is_file():
            return None
        name = html.escape(str(self))
        if self.stat().st_size > largest:
            return f"<p>The report is too large to be shown here: open <code>{name}</code>.</p>"
        page = html.escape(files.text(str(self)))
        return (
            f'<iframe title="{name}" sandbox="allow-scripts" srcdoc="{page}" '
            'style="width: 100%; height: 820px; border: 1px solid #bbb"></iframe>'
        )
