"""The answer of a query: prompts that decoding changes, special tokens, and what is refused."""

import pytest

import tensormt as tm
from tensormt.train.query_answer import QueryAnswer


class Added:
    def __init__(self, text, special):
        self.text, self.special = text, special

    def __str__(self):
        return self.text


class Tokenizer:
    """Words by number, decoded with one blank between them, as Hugging Face's tokenizers do."""

    all_special_tokens = ("</s>",)

    def __init__(self):
        self.words = ["</s>", "<|turn|>"]
        self.added_tokens_decoder = {1: Added("<|turn|>", True), 2: Added("word", False)}

    def __call__(self, text, add_special_tokens=True):
        assert not add_special_tokens
        self.words += [word for word in text.split() if word not in self.words]
        return {"input_ids": [self.words.index(word) for word in text.split()]}

    def decode(self, ids, skip_special_tokens):
        assert not skip_special_tokens
        return " ".join(self.words[k] for k in ids)


PROMPT = "Translate  into English:\n ein Hund ="


@pytest.mark.parametrize(
    "query",
    [
        "Translate into English: ein Hund = a word </s>",  # blanks of the prompt are not kept
        "English: ein Hund = a word </s>",  # the beginning of the prompt was cut off
        "= a word <|turn|> </s>",
        f"{PROMPT} a word</s></s>",
    ],
)
def test_a_tokenizer_aligns_the_prompt(query):
    assert QueryAnswer(Tokenizer())(query, PROMPT) == "a word"


def test_the_longest_end_of_the_prompt_is_removed():
    answer = QueryAnswer(Tokenizer())
    assert answer("b = b = c", "a b = b =") == "c"


def test_a_list_of_tokens():
    answer = QueryAnswer(["</s>", "<|end|>", "<|end|>x"])
    assert answer("p a <|end|>x b</s>", "p") == "a  b"
    assert answer("p\n q a b", "p  q") == "a b"  # white space aside
    assert answer("pq a b", "p q") == "a b"


def test_what_cannot_be_aligned_is_refused():
    for special in (None, ["</s>"], Tokenizer()):
        for query in ("something else", "", "Translate into English: ein"):
            with pytest.raises(tm.TensorMTError, match="does not start with its prompt"):
                QueryAnswer(special)(query, PROMPT)
    for token in ("</s>", "<|im_end|>", "<｜end▁of▁sentence｜>", "<end_of_turn>"):
        with pytest.raises(tm.TensorMTError, match="would be scored as a word"):
            QueryAnswer()(f"p a{token}", "p")
    assert QueryAnswer([])("p a</s>", "p") == "a</s>"  # an empty list: there are none
    assert QueryAnswer()("p a <b> c", "p") == "a <b> c"


@pytest.mark.parametrize("wrong", ["</s>", 3, [3], [""]])
def test_what_are_no_special_tokens(wrong):
    with pytest.raises(tm.TensorMTError, match="special"):
        QueryAnswer(wrong)
