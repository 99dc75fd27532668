"""The readme for a package index: the README without links to files of the project.

An index shows the readme alone: a link to `docs/parser.md` would lead nowhere there, so it becomes
text, and a picture is left out. Everything else about the package stands in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

PICTURE = re.compile(r"!\[[^\]]*\]\((?![a-z]+:)[^)]*\)\n*")
LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)[^)]*\)")  # those without a scheme

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
setup(
    long_description=LINK.sub(r"`\1`", PICTURE.sub("", readme)),
    long_description_content_type="text/markdown",
)
