"""The language of texts against the training data of a parser."""

import pickle
import warnings

import pytest

import tensormt as tm
from tensormt.command.main import main
from tensormt.errors import TensorMTError, TensorMTWarning
from tensormt.evaluator import Evaluator
from tensormt.parser import Parser
from tensormt.parser.cache import CachedParser
from tensormt.parser.language_check import LanguageCheck
from tensormt.segments import Segments
from tensormt.trees.sources import TreeOptions

ENGLISH = (
    "The museum that was closed for repairs opens again today, and everybody may come to see it."
)
GERMAN = (
    "Das Museum, das wegen Umbauarbeiten geschlossen war, öffnet heute wieder für alle Besucher."
)
FRENCH = (
    "Le musée, fermé pour cause de travaux, ouvre de nouveau ses portes aux visiteurs aujourd'hui."
)
CHINESE = "因维修而关闭的博物馆今天重新开放，所有人都可以来参观。"


@pytest.fixture(scope="module")
def parser():
    return Parser.load()


def test_english_is_known(parser):
    assert parser.language.scripts == {"LATIN"}
    for text in (ENGLISH, "Zoë's naïve café", "123 %", "", "He wrote 北京 on it."):
        assert parser.language.unknown_script([text] * 5) == ""
        assert parser.language.unknown_words([text] * 5) == ""
    for name in ("english-large", "english-small"):
        found = Parser.load(name, lang="en").language.unknown_words([GERMAN] * 5)
        assert name.replace("-", "_") in found


@pytest.mark.parametrize("text", [GERMAN, FRENCH])
def test_another_language_is_warned_of_once(text, parser):
    segments = Segments({"a": [text] * 6}, [[text] * 6])
    evaluator = Evaluator(["stm"], parser)
    with pytest.warns(TensorMTWarning, match="words are unknown to the parser english") as found:
        list(evaluator.run(segments, size=3))
    assert len(found) == 1
    assert found[0].message.options == "lang parser"


def test_too_few_words_say_nothing(parser, recwarn):
    tm.score([GERMAN], [[GERMAN]], ["stm"], parser)
    assert not recwarn.list


def test_an_unknown_script_is_an_error_before_anything_is_parsed(parser):
    trees = CachedParser(parser)
    segments = Segments({"a": [ENGLISH]}, [[CHINESE]])
    with pytest.raises(TensorMTError, match=r"script \(CJK\) that the parser english") as error:
        Evaluator(["stm"], trees).evaluate(segments)
    assert "no_language_check" in error.value.options
    assert trees.parsed == 0


def test_an_output_in_another_script_is_bad_output_not_bad_input(parser):
    """A reward must not end a training because a model wrote Chinese."""
    with pytest.warns(TensorMTWarning, match="some sentences are in a script"):
        found = tm.score([CHINESE, ENGLISH], [[ENGLISH, ENGLISH]], ["stm"], parser)
    assert found.segments["stm"][1] == 1


def test_a_later_chunk_in_another_script_is_a_warning(parser):
    refs = [ENGLISH] * 2 + [CHINESE] * 2
    with pytest.warns(TensorMTWarning, match="the text is in a script"):
        list(Evaluator(["stm"], parser).run(Segments({"a": [ENGLISH] * 4}, [refs]), size=2))


def test_trees_that_are_kept_are_checked_too(parser, tmp_path):
    options = TreeOptions(parser, cache=tmp_path)
    segments = Segments({"a": [GERMAN] * 6}, [[GERMAN] * 6])
    for _ in range(2):  # parsed, then read
        with pytest.warns(TensorMTWarning, match="unknown to the parser"):
            Evaluator(["stm"], options).evaluate(segments)


def test_the_check_can_be_switched_off(parser):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        evaluator = Evaluator(["stm"], TreeOptions(parser, check_language=False))
        evaluator.evaluate(Segments({"a": [CHINESE]}, [[CHINESE]]))
    assert [str(w.message).partition(" (")[0] for w in found] == ["some sentences are in a script"]


def test_the_language_of_a_dependency_parser():
    assert Parser.load("ud", lang="ru").language.unknown_script([CHINESE]) != ""
    assert Parser.load("ud", lang="ru").language.unknown_script(["Это музей у реки."]) == ""
    assert Parser.load("ud", lang="de").language.words is None


def test_pickles_stay_small(parser):
    parser.language.unknown_words([ENGLISH])
    assert len(pickle.dumps(CachedParser(parser))) < 1000


def test_texts_without_letters():
    check = LanguageCheck("p", frozenset({"LATIN"}), {"a"})
    assert check.unknown_script([None, "", "12"]) == check.unknown_words([None, "", "12"]) == ""


def test_the_commands_name_their_options(tmp_path, capsys):
    path = tmp_path / "zh.txt"
    path.write_text(f"{CHINESE}\n" * 3, encoding="utf-8")
    for words in (["score", path, "-i", path, "-m", "stm"], ["parse", path]):
        assert main([*map(str, words), "-q"]) == 2
        assert "(--lang, --parser, --no-language-check)" in capsys.readouterr().err
    assert main(["score", str(path), "-i", str(path), "-m", "stm", "--lang", "zh", "-q"]) == 2
    assert "metrics without trees such as bleu and chrf" in capsys.readouterr().err
    forced = ["parse", str(path), "-q", "--no-language-check"]
    assert main(forced) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    path.write_text(f"{GERMAN}\n" * 5, encoding="utf-8")
    assert main(["parse", str(path), "-q"]) == 0
    assert "unknown to the parser english" in capsys.readouterr().err
