"""Learned weights: the plain metric without them, what people reward with them, safe files."""

import random

import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import tensormt as tm
from tensormt.registry import make
from tensormt.syntax import learned_weights
from tensormt.train import learned as module
from tensormt.train.learned import Learned

SPECS = [
    "stm",
    "stm:balance=f1,max_depth=3",
    "stm:balance=recall",
    "hwcm",
    "hwcm:balance=f1",
    "dstm:balance=f1",
]


def batches(seed, segments=5):
    hyps, refs = oracles.random_case(seed, most=12, segments=segments)
    make_batch = tm.TreeBatch.from_brackets
    streams = [make_batch([oracles.brackets(t) for t in s]) for s in zip(*refs, strict=True)]
    return make_batch([oracles.brackets(tree) for tree in hyps]), streams


@pytest.mark.parametrize("spec", SPECS)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**9))
def test_without_weights_it_is_the_metric(spec, seed):
    hyp, refs = batches(seed)
    found = Learned(spec)(hyp, refs)
    assert torch.allclose(found, make(spec)(hyp, refs), rtol=0, atol=1e-12)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("theta", [-3.0, 2.0])
def test_one_weight_for_all_changes_nothing(spec, theta):
    """Weights of exp(-3) sum to less than 1: a fraction of such sums is a fraction all the same."""
    hyp, refs = batches(5)
    metric = make(spec)
    weights = torch.full((64,), theta, dtype=torch.float64)
    found = learned_weights.LearnedMetric(metric, weights)(hyp, refs)
    assert torch.allclose(found, metric(hyp, refs), rtol=0, atol=1e-12)


def test_chunks_change_nothing():
    """Twelve segments two hundred times over take several chunks."""
    hyp, refs = batches(35, 12)
    model = Learned("stm:balance=f1")
    with torch.no_grad():
        model.theta.normal_(generator=torch.Generator().manual_seed(0))
    expected = model(hyp, refs).repeat(200)
    rows = list(range(12)) * 200
    found = model(hyp[rows], [ref[rows] for ref in refs])
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)


def test_weights_by_hand():
    """Labels S NP VP N V against S NP VP N X: with weight 3 on V, P(1) = 4 / 7."""
    hyp = tm.TreeBatch.from_brackets(["(S (NP (N a)) (VP (V b)))"])
    ref = tm.TreeBatch.from_brackets(["(S (NP (N a)) (VP (X b)))"])
    model = Learned("stm:max_depth=1")
    share = model.features(hyp, [ref]).hyp[0]
    assert share.matched.tolist() == [True, True, True, True, False]
    with torch.no_grad():
        model.theta[share.bucket[4]] = torch.tensor(3.0).log()
    assert model(hyp, [ref]).item() == pytest.approx(4 / 7)


def study(count=60):
    """People here mind a wrong VB and nothing else; half the outputs get it wrong."""
    rng = random.Random(0)
    hyps, human = [], []
    for _ in range(count):
        verb, noun = rng.random() < 0.5, rng.random() < 0.5
        hyps.append(f"(S (NP ({'NN' if noun else 'NNS'} a)) (VP ({'VB' if verb else 'MD'} b)))")
        human.append(float(verb))
    ref = tm.TreeBatch.from_brackets(["(S (NP (NN a)) (VP (VB b)))"] * count)
    return tm.TreeBatch.from_brackets(hyps), [ref], torch.tensor(human)


@pytest.mark.parametrize("ranked", [False, True])
def test_it_learns_what_people_mind(ranked):
    hyp, refs, human = study()
    model = Learned("stm:balance=f1")
    before = module.correlation_loss(model(hyp, refs), human).item()
    groups = torch.arange(len(hyp)) // 10 if ranked else None
    losses = model.fit(model.features(hyp, refs), human, groups, steps=60)
    assert losses[-1] < losses[0]
    after = module.correlation_loss(model(hyp, refs), human).item()
    assert before > 0.2
    assert after < before / 2


def test_gradcheck():
    hyp, refs = batches(35)
    model = Learned("stm:balance=f1", buckets=16)
    features = model.features(hyp, refs)

    def scores(theta):
        return torch.func.functional_call(model, {"theta": theta}, (features,))

    theta = torch.randn(16, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(scores, theta)


def test_losses_by_hand():
    score = torch.tensor([1.0, 2.0, 3.0])
    assert module.correlation_loss(score, 2 * score).item() == pytest.approx(0, abs=1e-12)
    assert module.correlation_loss(score, -score).item() == pytest.approx(2)
    assert module.correlation_loss(score * 0, score).item() == 1
    groups = torch.tensor([0, 0, 1])
    one = module.ranking_loss(score, torch.tensor([0.0, 1.0, 5.0]), groups, scale=1.0)
    assert one.item() == pytest.approx(torch.tensor(-1.0).exp().log1p().item())


def test_files_hold_everything(tmp_path):
    hyp, refs, human = study()
    model = Learned("hwcm:balance=f1,max_length=2", buckets=1 << 10)
    model.fit(model.features(hyp, refs), human, steps=5)
    path = tmp_path / "weights.safetensors"
    model.save(path)
    again = Learned.load(path)
    assert torch.equal(again(hyp, refs), model(hyp, refs))
    assert again.spec == model.spec


@pytest.mark.parametrize("spec", ["stm", "stm:balance=f1,max_depth=3", "hwcm:balance=recall"])
def test_a_file_of_weights_is_a_metric(spec, tmp_path):
    hyp, refs = batches(7, 12)
    model = Learned(spec, buckets=64)
    with torch.no_grad():
        model.theta.normal_(generator=torch.Generator().manual_seed(1))
    model.save(tmp_path / "w.safetensors")
    metric = make(f"learned:{tmp_path / 'w.safetensors'}")
    assert torch.allclose(metric(hyp, refs), model(hyp, refs), rtol=0, atol=1e-12)
    assert metric.signature.startswith(
        f"Learned|of:{make(spec).format_signature(short=True)}|weights:"
    )
    # sums of weights are what a corpus is scored by
    rows = metric.statistics(hyp, refs)
    assert rows.shape[1] == metric.width
    expected = make(spec).score(rows.sum(0), segment=False)
    assert metric.corpus(hyp, refs).item() == pytest.approx(expected.item())
    # other weights have another name
    with torch.no_grad():
        model.theta[0] += 1
    model.save(tmp_path / "v.safetensors")
    assert make(f"learned:{tmp_path / 'v.safetensors'}").signature != metric.signature


def test_without_weights_all_sums_are_the_metric_s(tmp_path):
    hyp, refs = batches(9, 12)
    Learned("stm:balance=f1").save(tmp_path / "w.safetensors")
    path, plain = f"learned:{tmp_path / 'w.safetensors'}", make("stm:balance=f1")
    assert torch.equal(make(path).statistics(hyp, refs), plain.statistics(hyp, refs).double())


def test_in_the_command_and_in_a_mean(tmp_path, capsys):
    from tensormt.command.main import main

    Learned("stm:balance=f1").save(tmp_path / "w.safetensors")
    for name in ("ref", "hyp"):
        (tmp_path / name).write_text("(S (NP (N a)) (VP (V b)))\n(S (NP (N c)))\n")
    spec = f"learned:{tmp_path / 'w.safetensors'}"
    files = [str(tmp_path / "ref"), "-i", str(tmp_path / "hyp"), "--trees"]
    assert main(["score", *files, "-m", spec, f"{spec}+stm", "--format", "json"]) == 0
    assert capsys.readouterr().out.count("1.0") >= 2
    assert main(["score", *files, "-m", "learned:nowhere"]) == 2
    assert "nowhere cannot be read as learned weights" in capsys.readouterr().err


def test_errors_say_what_is_wrong(tmp_path):
    with pytest.raises(tm.TensorMTError, match="no weights to learn"):
        Learned("tkm")
    with pytest.raises(tm.TensorMTError, match="no weights to learn"):
        Learned("stm:balance=brevity")
    path = tmp_path / "x.safetensors"
    path.write_bytes(b"no such thing")
    with pytest.raises(tm.TensorMTError, match="cannot be read"):
        Learned.load(path)
    tm.Frequencies(2).add([tm.TokenBatch.from_text(["a b"])]).save(path)
    with pytest.raises(tm.TensorMTError, match="no learned weights"):
        Learned.load(path)


def test_hooks_of_torch_see_what_goes_in_and_out():
    hyp, refs = batches(1)
    model, seen = Learned("stm:balance=f1"), []
    model.register_forward_pre_hook(lambda module, inputs: seen.append(inputs))
    model.register_forward_hook(lambda module, inputs, output: seen.append(output))
    found = model(hyp, refs)
    assert seen[0] == (hyp, refs)
    assert seen[1] is found
    model.register_forward_hook(lambda module, inputs, output: output * 0)
    assert (model(model.features(hyp, refs)) == 0).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e308, 101.0])
def test_weights_that_are_not_finite_are_refused(tmp_path, value):
    from tensormt.data.tensor_files import save_tensors
    from tensormt.registry import make

    path = tmp_path / "weights.safetensors"
    theta = torch.zeros(8, dtype=torch.float64)
    theta[3] = value
    about = {"spec": "stm", "buckets": 8, "signature": ""}
    save_tensors(path, "tensormt learned weights 1", {"theta": theta}, about)
    with pytest.raises(tm.TensorMTError, match="must be finite"):
        make(f"learned:{path}")


@pytest.mark.parametrize("spec", ["learned:{}", "chrf+learned:{}", "queen:stm+learned:{}"])
def test_weights_of_themselves_are_refused(tmp_path, spec):
    from tensormt.data.tensor_files import save_tensors
    from tensormt.registry import make

    path = tmp_path / "weights.safetensors"
    about = {"spec": spec.format(path), "buckets": 8, "signature": ""}
    save_tensors(path, "tensormt learned weights 1", {"theta": torch.zeros(8)}, about)
    with pytest.raises(tm.TensorMTError, match="which is learned itself"):
        make(f"learned:{path}")
    with pytest.raises(tm.TensorMTError, match="names no file of weights: type learned:FILE"):
        make("learned:")
