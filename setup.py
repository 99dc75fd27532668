"""The readme for a package index: the README with its links to files of the project as plain text.

An index shows the readme alone, so a link to `docs/parser.md` would lead nowhere there. Everything
else about the package stands in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)[^)]*\)")  # those without a scheme

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
setup(
    long_description=LINK.sub(r"`\1`", readme),
    long_description_content_type="text/markdown",
)
