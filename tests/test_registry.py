"""registry, typed: options are read by their declared type, and the list says what is so."""

import contextlib
import inspect
import math
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensormt as tm
from tensormt.command.main import main
from tensormt.options import Boolean, Choice, Integer, Number
from tensormt.registry import (
    METRICS,
    find,
    is_combined,
    make,
    metrics,
    parse_spec,
    split_specs,
)


def test_every_metric_is_registered_with_its_options():
    assert {*"bleu nist bm bma nm chrf stm tkm hwcm dstm dtkm".split()} <= set(METRICS)
    for name, metric in metrics():
        assert metric.name.lower() == name
        assert metric.summary
        assert make(name).signature.startswith(metric.name)
        assert metric.options()
    assert make("stm:max_depth=2,lexical=True").settings() == {
        "depth": 2,
        "balance": "precision",
        "lexical": True,
    }


@pytest.mark.parametrize("name", METRICS)
def test_every_parameter_is_a_declared_option(name):
    """Options are the constructor's parameters, and what they refuse the class refuses."""
    metric = find(name)
    parameters = inspect.signature(metric).parameters.values()
    assert [o.name for o in metric.options()] == [p.name for p in parameters if p.name != "counts"]
    for option in metric.options():
        assert option.check(option.default) == option.default
        assert option.help
        assert option.expected
        for good, bad in _ends(option):
            with_value = {option.name: good}
            if option.name == "smooth_value":
                with_value["smooth"] = "floor"
            metric(**with_value)
            with pytest.raises(tm.TensorMTError):
                metric(**{**with_value, option.name: bad})


def test_listing_metrics_does_not_import_torch():
    code = (
        "import sys; from tensormt.registry import metrics, make;"
        "found = [metric.options() for _, metric in metrics()]; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr


def _ends(option):
    if isinstance(option, Integer):
        yield from [(option.low, option.low - 1), (option.high, option.high + 1)]
        yield from [(option.low, True), (option.low, 1.5), (option.low, "2")]
    elif isinstance(option, Number):
        top = option.high if math.isfinite(option.high) else 5.0
        yield from [(top, -1.0), (top, math.inf), (top, math.nan), (top, True), (top, "1")]
        if option.exclusive:
            yield top, option.low
    elif isinstance(option, Boolean):
        yield from [(True, "false"), (False, 1), (True, "yes")]
    else:
        assert isinstance(option, Choice)
        yield from [(choice, "other") for choice in option.choices]
        yield (option.choices or ("folder",))[0], 77


@pytest.mark.parametrize(
    ("text", "value"),
    [("yes", True), ("YES", True), ("True", True), ("no", False), ("No", False), ("FALSE", False)],
)
def test_yes_and_no_in_any_case(text, value):
    assert parse_spec(f"bleu:lowercase={text}") == ("bleu", {"lowercase": value})
    assert make(f"bleu:lowercase={text}").lowercase is value


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("bleu:effective_order=maybe", "effective_order is 'maybe', expected yes or no"),
        ("bleu:lowercase=", "lowercase is '', expected yes or no"),
        ("bleu:max_order=True", "max_order is 'True', expected a whole number from 1 to 100"),
        ("bleu:max_order=1000000", "expected a whole number from 1 to 100"),
        ("bleu:max_order=" + "9" * 5000, "expected a whole number from 1 to 100"),
        ("bleu:max_order=1_0", "expected a whole number"),
        ("bleu:max_order=\u0663", "expected a whole number"),
        ("bleu:smooth=floor,smooth_value=1e400", "expected a finite number of at least 0"),
        ("bleu:smooth=floor,smooth_value=nan", "expected a finite number"),
        ("bleu:smooth=floor,smooth_value=-1", "expected a finite number of at least 0"),
        ("bleu:smooth=plus", "smooth is 'plus', expected none, floor, add-k, exp or epsilon"),
        ("bleu:smooth_value=0.5", "takes no value"),
        ("bleu:tokenize=nothing", "nothing"),
        ("tkm:decay=0", "expected a finite number above 0 and at most 1"),
        ("stm:max_depth=2.5", "expected a whole number from 1 to 1000"),
        ("stm:max_depth={[]}", "expected a whole number"),
        ("stm:max_depth=2,max_depth=3", "'max_depth=3' is given twice"),
        ("stm:depth=3", "'depth=3' is no option of stm"),
        ("stm:max_depth", "'max_depth' is no option of stm"),
        ("hwcm:rules=mine", "no head rules named 'mine'"),
        ("blue", r"no metric named 'blue': did you mean bleu\?"),
        ("rougeLsum", r"no metric named 'rougeLsum': did you mean rouge:variant=lsum\?"),
        ("rouge-2", r"no metric named 'rouge-2': did you mean rouge:variant=2\?"),
        ("xyz", "no metric named 'xyz': choose from bleu, nist"),
        ("", "no metric named ''"),
    ],
)
def test_what_is_refused(spec, message):
    with pytest.raises(tm.TensorMTError, match=message.replace("(", r"\(")) as error:
        make(spec)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 6000


@given(st.sampled_from(list(METRICS)), st.text(max_size=30))
def test_any_text_behind_a_name_makes_a_metric_or_one_error(name, text):
    with contextlib.suppress(tm.TensorMTError):
        assert make(f"{name}:{text}").signature


def test_values_that_are_read():
    assert parse_spec("bleu:smooth_value=None,smooth=add-k, max_order= 2") == (
        "bleu",
        {"smooth_value": None, "smooth": "add-k", "max_order": 2},
    )
    assert parse_spec("tkm:decay=.5") == ("tkm", {"decay": 0.5})
    assert parse_spec("tkm:decay=1e-3")[1] == {"decay": 0.001}


def test_metrics_separated_by_commas():
    assert split_specs("bleu") == ["bleu"]
    assert split_specs("bleu, CHRF++,stm:max_depth=3,balance=f1,blend") == [
        "bleu",
        "CHRF++",
        "stm:max_depth=3,balance=f1",
        "blend",
    ]
    mean = "chrf:beta=1,lowercase=yes+hwcm:max_length=1"
    assert split_specs(f"{mean},queen:bleu+chrf") == [mean, "queen:bleu+chrf"]
    assert split_specs("stm:lexical") == ["stm:lexical"]  # refused with the options of stm


def test_names_in_any_case_and_other_names():
    assert make("BLEU").signature == make("bleu").signature
    assert make("Blend").signature == make("blend").signature
    assert make("chrf++").signature == make("chrf:word_order=2").signature
    assert make("chrF++:beta=1").signature == make("chrf:word_order=2,beta=1").signature
    both = make("bleu+chrf++").signature
    assert both == make("bleu+chrf:word_order=2").signature
    assert make("chrf+++bleu").signature == make("chrf:word_order=2+bleu").signature
    assert make("Queen:BLEU+chrf++").signature == make("queen:bleu+chrf:word_order=2").signature
    assert is_combined("BLEND")
    assert not is_combined("chrf++")


def test_blend_context_matches_words_and_pairs_by_vectors(tmp_path):
    context = make("Blend-Context")
    assert [(metric.name, metric.units) for metric in context.metrics] == [
        ("BERTScore", "words"),
        ("BERTScore", "pairs"),
    ]
    assert context.needs_fit
    assert context.reads_trees
    assert is_combined("blend-context")
    assert split_specs("bleu,blend-context,chrf") == ["bleu", "blend-context", "chrf"]
    (tmp_path / "config.json").write_text("{}")
    spec = f"blend-context:encoder={tmp_path},cache=kept"
    assert split_specs(f"bleu,{spec}") == ["bleu", spec]
    for other in (make(spec), make("blend-context", encoder=str(tmp_path), cache="kept")):
        facts = {(own.encoder, own.layer, own.cache, own.idf) for own in other.metrics}
        assert facts == {(str(tmp_path), None, "kept", True)}  # the layer was MiniLM's
    assert make(f"{spec},layer=2").metrics[0].layer == 2
    for bad in ("blend-context:units=words", "blend-context:x=1", "blend-context:layer"):
        with pytest.raises(tm.TensorMTError, match=r"metric '.*is no option of"):
            make(bad)
    with pytest.raises(tm.TensorMTError, match="takes no options"):
        make("blend", encoder="minilm")


def test_the_language_sets_the_tokenisers_of_blend():
    assert [own.tokenize for own in make("blend", "zh").metrics] == ["zh"] * 2
    assert make("blend", "de").signature == make("blend").signature


def test_the_language_sets_the_tokeniser_unless_it_is_named():
    assert make("bleu", "zh").tokenize == "zh"
    assert make("nist", "zh").tokenize == "zh"
    assert make("bleu:tokenize=13a", "zh").tokenize == "13a"
    assert make("bleu", "de").tokenize == make("bleu").tokenize == "13a"
    assert [member.tokenize for member in make("bleu+bm", "zh").metrics] == ["zh", "zh"]
    assert make("chrf", "zh").signature == make("chrf").signature


def test_the_list_is_in_words(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    for name, metric in metrics():
        assert f"\n{name:5} {metric.summary}\n" in "\n" + out
    assert "lowercase=no" in out
    assert "[B" not in out
    assert "None: its usual value" in out


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["list"], ["score", "--help"], []])
def test_torch_is_not_imported_to_say_what_there_is(words):
    code = (
        "import sys; from tensormt.command.main import main\n"
        f"try: main({words!r})\nexcept SystemExit: pass\n"
        "sys.exit(any(m in sys.modules for m in ('torch', 'pyarrow', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("spec", ["blend:x=1", "blend:lowercase=yes", "blend:"])
def test_a_named_mean_takes_no_options(spec):
    with pytest.raises(tm.TensorMTError, match="takes no options: type blend, or the mean") as told:
        make(spec)
    assert "no metric named" not in str(told.value)
    wanted = str(told.value).rpartition(" ")[2]  # what it says can be typed
    assert make(wanted).signature == make("blend").signature


@pytest.mark.parametrize("spec", ["queen", "queen:", "queen:bleu"])
def test_queen_says_what_to_type(spec):
    with pytest.raises(tm.TensorMTError, match=r"queen:chrf\+stm"):
        make(spec)
    assert make("queen:chrf+stm").name == "QUEEN"
