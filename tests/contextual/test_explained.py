"""What BERTScore matched, word by word."""

import pytest
import soft_oracle
from vector_samples import batch, random_vectors, words

import tensormt as tm
from tensormt.reporting.contributions import contributions


@pytest.mark.parametrize("matching", ["greedy", "one_to_one"])
@pytest.mark.parametrize("balance", ["f1", "recall"])
def test_partners_are_those_of_the_definition(matching, balance):
    sizes = ([6, 4, 0, 5], [6, 4, 5, 0], [6, 0, 5, 5])
    sources = [random_vectors(k, own) for k, own in enumerate(sizes)]
    hyp, *refs = map(batch, sources)
    metric = tm.BERTScore(units="words", matching=matching, balance=balance, threshold=0.2)
    scores = metric(hyp, refs)
    found = metric.explain(hyp, refs)
    explained = tm.explain(metric, hyp, refs)
    match = soft_oracle.one_to_one if matching == "one_to_one" else soft_oracle.greedy
    for k, own in enumerate(explained):
        best = int(found.best[k])
        vectors = [words(sources[side], k)[0] for side in (0, 1 + best)]
        expected = match(*vectors, 0.2)[0] if vectors[0] else []
        assert len(own.matches) == len(vectors[0])
        for item, (value, partner) in zip(own.matches, expected, strict=True):
            assert item.counted == (partner is not None)
            assert item.places[best] == ([] if partner is None else [partner])
            assert item.reference == (best if item.counted else None)
            if partner is not None:
                assert item.text.endswith(f"({value:.2f})")
        total = sum(item.adds for item in own.matches)
        assert total == pytest.approx(float(scores[k]), abs=1e-6)
        assert len(contributions(own)) <= len(own.matches)
