"""Warnings about text that may make scores misleading."""

import unicodedata
import warnings

import pytest

import tensormt as tm
from tensormt.command.main import main
from tensormt.evaluator import Evaluator
from tensormt.registry import make
from tensormt.segments import Segments
from tensormt.text_warnings import TextWarnings

LINE = "The dog ran home and slept"


def warned(hyps, metrics, refs=None):
    """The warnings of a score, as texts."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tm.score(hyps, [refs or [f"{LINE}."] * len(hyps)], metrics)
    return [str(warning.message) for warning in found]


def test_tokenised_output_is_warned_of_once():
    [message] = warned([f"{LINE} ."] * 3, ["bleu", "chrf"])
    assert message.startswith("3 of 3 outputs end in a period with a space before it")
    assert warned([f"{LINE} ."] * 2, ["bleu"]) == []  # too few to say
    assert warned([f"{LINE}."] * 5, ["bleu"]) == []
    assert warned([f"{LINE} ."] * 3, ["bleu:tokenize=none"]) == []


def test_a_hundred_lines_are_enough_in_any_corpus():
    few = [f"{LINE} ."] * 99 + [f"{LINE}."] * 901
    assert warned(few, ["bleu"]) == []
    [message] = warned([*few, f"{LINE} ."], ["bleu"])
    assert message.startswith("100 of 1,001 outputs")


def test_short_output_is_counted_where_a_metric_does_not_see_it():
    hyps = [LINE, "", "dog", None]
    messages = warned(hyps, ["stm", "bleu"], [LINE] * 4)
    assert "3 of 4 outputs are empty or less than half as long" in messages[1]
    assert "stm cannot see" in messages[1]
    assert messages[0].startswith("1 of 4 hypotheses are missing (None or NaN)")
    [_, empty] = warned(hyps, ["stm:balance=f1", "bleu"], [LINE] * 4)
    assert empty == "2 of 4 outputs are empty"


def test_chunks_are_counted_together():
    segments = Segments({"a": [f"{LINE} ."] * 4}, [[LINE] * 4])
    with pytest.warns(UserWarning, match="4 of 4 outputs end in a period"):
        list(Evaluator(["bleu"]).run(segments, size=1))


def test_normal_forms_that_do_not_match():
    composed = ["café au lait", "déjà vu", "a plain line"]
    decomposed = [unicodedata.normalize("NFD", text) for text in composed]
    [message] = warned(decomposed, ["chrf"], composed)
    assert message.startswith("67% of the outputs are not in Unicode's normal form NFC, but 0%")
    [message] = warned(composed, ["chrf"], decomposed)
    assert message.startswith("67% of the references")
    assert warned(composed, ["chrf"], composed) == []
    assert warned(decomposed, ["chrf"], decomposed) == []


ZH = ["我们今天去公园散步。", "他喜欢吃苹果。", "BBC 的新闻。"]


@pytest.mark.parametrize("metric", ["bleu", "blend", "wer", "queen:chrf+bleu", "bleu+stm"])
def test_words_that_no_blank_separates(metric):
    lines = [ZH] * 3 if metric.startswith("queen") else [ZH]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        seen = TextWarnings({metric: make(metric), "chrf": tm.ChrF()})
        segments = Segments({"a": ZH}, lines)
        seen.add(segments, Evaluator(["chrf"]).evaluate(segments))
        seen.warn()
    [message] = [str(warning.message) for warning in found]
    assert message.startswith("references are in a script without blanks between words (CJK), but ")
    assert f"but {metric} cut words at blanks" in message


def test_scripts_that_need_no_other_tokeniser():
    for metrics, refs in (
        (["chrf"], ZH),
        (["bleu:tokenize=char"], ZH),
        (["bleu:tokenize=none"], ZH),  # cut by somebody else
        (["bleu"], ["Россия", "Straße", "東京 is a city of Japan"]),
        (["bleu"], ["한국어 문장", *["A sentence"] * 2]),
        (["bleu"], [*ZH, *["A sentence."] * 3]),  # not most of them
        (["bleu"], ["12 + 30", "…", "7"]),
    ):
        assert warned(refs, metrics, refs) == [], (metrics, refs)


def test_scripts_of_which_rouge_reads_nothing():
    russian = ["Кошка сидит на ковре.", "Мы идём в парк.", "BBC"]
    for refs, script in ((russian, "CYRILLIC"), (ZH, "CJK")):
        for metric in ("rouge", "rouge:variant=2", "rouge+chrf"):
            [message] = warned(refs, [metric], refs)
            assert message.startswith(f"references are in a script ({script}) of which {metric} ")
        assert warned(refs, ["rouge:tokenize=char", "chrf"], refs) == []
    assert warned(["Schöne Grüße", "Ça va"], ["rouge"], ["Schöne Grüße", "Ça va"]) == []


def test_a_chinese_file_without_its_language(tmp_path, capsys):
    path = tmp_path / "zh.txt"
    path.write_text("".join(f"{line}\n" for line in ZH), encoding="utf-8")
    words = ["score", str(path), "-i", str(path)]
    assert main(words) == 0
    assert "cut words at blanks, so that a sentence is one word" in (err := capsys.readouterr().err)
    assert "--lang" in err
    assert main([*words, "--lang", "zh"]) == 0
    assert "blanks" not in capsys.readouterr().err


def test_many_empty_outputs():
    for metrics in (["bleu", "chrf", "blend"], ["ter"], ["ter+chrf"]):
        assert warned([""] * 20, metrics) == ["20 of 20 outputs are empty"]
    assert warned(["", *[LINE] * 19], ["bleu"]) == []  # 5%
    assert warned(["", " ", *[LINE] * 18], ["bleu"]) == ["2 of 20 outputs are empty"]


@pytest.mark.parametrize("options", ["", ":asian_support=yes", ":normalized=yes"])
def test_ter_of_words_that_no_blank_separates(options):
    [message] = warned(ZH, [f"ter{options}"], ZH)
    assert f"(CJK), but ter{options} cut words at blanks" in message
    assert message.endswith("set normalized=yes,asian_support=yes for Chinese, or take cer or chrf")
    assert warned(ZH, ["ter:normalized=yes,asian_support=yes"], ZH) == []
    assert warned([LINE], ["ter"]) == []


@pytest.mark.parametrize(
    ("line", "script"), [("ひらがなでかいたぶんです", "KANA"), ("สวัสดีชาวโลก", "THAI")]
)
def test_ter_cuts_no_kana_and_no_thai(line, script):
    [message] = warned([line], ["ter:normalized=yes,asian_support=yes"], [line])
    assert f"({script}), but ter:normalized=yes,asian_support=yes cut words at blanks" in message
    assert message.endswith("so that a sentence is one word: take cer or chrf")
    assert tm.score([line + "よ"], [[line]], ["ter:normalized=yes,asian_support=yes"]).corpus == {
        "ter:normalized=yes,asian_support=yes": 100
    }


def test_sentences_of_lines_where_there_are_none():
    [message] = warned([LINE], ["rouge:variant=lsum"])
    assert message.startswith("no text has a line break, where sentences end for rouge:")
    assert warned([f"{LINE}.\nIt woke up."], ["rouge:variant=lsum"], [LINE]) == []
    assert warned([LINE], ["rouge:variant=lsum,sentences=split"]) == []
    assert warned([LINE], ["rouge:variant=lsum"], [f"{LINE}.\nIt woke up."]) == []


def test_letters_of_scripts_without_blanks_count_as_words():
    some = Segments({"a": ["我们今天去公园散步。", "我们", "BBC"]}, [["我们今天去公园散步。"] * 3])
    assert some.short_outputs() == 2
    assert Segments({"a": ["der Hund rennt"]}, [["狗跑回家"]]).short_outputs() == 0
