"""Parses beside the shards: a second run with another metric on trees parses nothing."""

import pytest
from scale.samples import corpus, scores, wanted, write_jsonl

from tensormt.parser.cache import CachedParser
from tensormt.parser.parser import Parser
from tensormt.scale import score_files

WORDS = ["the dog ran", "a old dog runs fast", "it saw the cat", "dogs", "the cat saw it ."]


@pytest.fixture
def sample(tmp_path):
    some = [
        {"hypothesis": WORDS[k % 5], "references": [WORDS[k // 5], f"{WORDS[k % 3]} again"]}
        for k in range(25)
    ]
    return some, write_jsonl(tmp_path / "rows.jsonl", some)


@pytest.fixture
def parsed(monkeypatch):
    """The texts that were parsed in this process."""
    seen, parse = [], Parser.parse

    def watched(self, segments, *more, **options):
        seen.extend(segments)
        return parse(self, segments, *more, **options)

    monkeypatch.setattr(Parser, "parse", watched)
    return seen


def test_a_second_run_parses_nothing(tmp_path, sample, parsed):
    some, path = sample
    cache = str(tmp_path / "scores" / "parses")  # in the folder of the scores
    common = {"workers": 1, "shard_bytes": 500, "cache": cache}
    first = score_files([path], tmp_path / "scores", ["stm"], **common)
    texts = {text for row in some for text in [row["hypothesis"], *row["references"]]}
    assert sorted(parsed) == sorted([*texts, ""])  # each once, over all shards
    assert len(first.outputs) > 3
    del parsed[:]
    again = score_files([path], tmp_path / "more", ["tkm", "hwcm", "stm"], **common)
    assert parsed == []
    report, segments = wanted(tmp_path, some, ["tkm", "hwcm", "stm"], "--no-cache")
    assert (corpus(again), scores(again, ["tkm", "hwcm", "stm"])) == (report, segments)
    assert again.corpus["stm"] == first.corpus["stm"]
    assert score_files([path], tmp_path / "scores", ["stm"], **common) == first  # goes on beside


@pytest.mark.heavy(needs="minutes")
def test_workers_share_the_parses(tmp_path, sample, parsed):
    _, path = sample
    cache = tmp_path / "parses"
    common = {"shard_bytes": 500, "cache": str(cache)}
    two = score_files([path], tmp_path / "two", ["stm"], workers=2, **common)
    assert parsed == []  # others did it
    one = score_files([path], tmp_path / "one", ["stm", "dtkm"], workers=1, **common)
    assert parsed == []
    assert one.corpus["stm"] == two.corpus["stm"]


def test_tensormt_score_takes_them_too(tmp_path, sample, parsed):
    some, path = sample
    cache = tmp_path / "parses"
    score_files([path], tmp_path / "out", ["stm"], workers=1, cache=str(cache))
    del parsed[:]
    wanted(tmp_path, some, ["hwcm"], "--cache", cache)
    assert parsed == []
    CachedParser(Parser.load("default"), cache)(["unseen words"])
    assert parsed == ["unseen words"]
