"""N-gram counts of many shards."""

from scale.samples import rows, scores, write_jsonl

from tensormt.scale import score_files


def test_saved_frequencies_are_taken(tmp_path):
    from tensormt.ngram.frequencies import Frequencies
    from tensormt.text.tokens import TokenBatch

    some = rows(40)
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    table = Frequencies(5)
    refs = [text for row in [*some, *rows(200, seed=2)] for text in row["references"]]
    table.add([TokenBatch.from_text(refs, "13a").lowered])
    table.save(tmp_path / "table.safetensors")
    own = score_files([path], tmp_path / "own", ["nist"], workers=1)
    other = score_files(
        [path], tmp_path / "out", ["nist"], workers=1,
        frequencies=[str(tmp_path / "table.safetensors")],
    )  # fmt: skip
    assert not (tmp_path / "out" / "counts").exists()
    assert own.corpus != other.corpus
    import tensormt as tm

    metric = tm.NIST(counts=Frequencies.load(tmp_path / "table.safetensors"))
    streams = [[(row["references"] + [""])[k] for row in some] for k in range(2)]
    expected = tm.score([row["hypothesis"] for row in some], streams, [metric]).segments["nist"]
    assert [row["nist"] for row in scores(other, ["nist"])] == expected.tolist()


def test_the_language_sets_the_tokens_that_are_counted(tmp_path):
    import tensormt as tm

    hyps, refs = ["他喜欢吃苹果。", "我们去公园。"], ["他爱吃苹果。", "我们今天去公园。"]
    some = [{"hyp": h, "refs": [r]} for h, r in zip(hyps, refs, strict=True)]
    path = write_jsonl(tmp_path / "rows.jsonl", some)
    columns = {"hyp": "hyp", "refs": ["refs"], "workers": 1, "lang": "zh"}
    found = score_files([path], tmp_path / "out", ["nist"], **columns)
    expected = tm.score(hyps, [refs], ["nist"], lang="zh").corpus["nist"]
    assert abs(found.corpus["nist"] - float(expected)) < 1e-12
    assert expected > 1
