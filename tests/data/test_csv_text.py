"""CSV rows equal those of Python's csv module."""

import csv
import io
import random

import pytest

from tensormt.data.csv_text import csv_rows, split_csv
from tensormt.errors import TensorMTError


def read(text):
    lines = text.split("\n")
    return [split_csv(row, "x") for _, row in csv_rows(lines[:-1] if not lines[-1] else lines, "x")]


def test_random_tables_as_csv_writes_them():
    draw = random.Random(5)
    for _ in range(500):
        width = draw.randint(2, 4)  # a row of one empty cell is written as two quotation marks
        table = [
            ["".join(draw.choices('ab ",\n;\t', k=draw.randint(0, 6))) for _ in range(width)]
            for _ in range(draw.randint(1, 5))
        ]
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n", quoting=quoting).writerows(table)
            assert read(text.getvalue()) == table


def test_quotation_marks_inside_a_cell_that_has_none_at_its_start():
    assert read('5" disk,a "b" c\nx,y\n') == [['5" disk', 'a "b" c'], ["x", "y"]]


def test_numbers_of_lines():
    assert [number for number, _ in csv_rows(["a", '"', "", '"', "b"], "x")] == [1, 2, 5]


def test_what_is_refused():
    with pytest.raises(TensorMTError, match=r"x\.csv, line 2: a quotation mark is not closed"):
        list(csv_rows(["a", 'b,"c', "d"], "x.csv"))
    with pytest.raises(TensorMTError, match="x: expected a comma after"):
        split_csv('"a"b,c', "x")
