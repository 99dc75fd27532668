"""Random texts as contextual vectors, and a tiny encoder made on the spot."""

import torch

from tensormt.trees.batch import TreeBatch
from tensormt.vectors.batch import TextVectors, VectorBatch

WORDS = "the a cat dog cats sat ran on mat , . un ##able ##s new house".split()


def random_vectors(seed, sizes, size=5):
    """Vectors of texts with a special symbol at both ends; words of one or two pieces."""
    random = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([n + 2 if n else 0 for n in sizes], dtype=torch.int64)
    total = int(lengths.sum())
    vectors = torch.randn(total, size, generator=random)
    ids = torch.randint(2, 9, (total,), generator=random)
    joined = torch.randint(0, 2, (total,), generator=random)
    words, at = torch.full((total,), -1), 0
    for n in lengths.tolist():
        if n:
            ids[at], ids[at + n - 1] = 0, 1
            word = -1
            for k in range(1, n - 1):
                word += int(k == 1 or not joined[at + k])
                words[at + k] = word
        at += n
    spans = torch.stack([torch.arange(total), torch.arange(total) + 1], 1)
    texts = ["x" * (total + 1)] * len(sizes)
    return TextVectors(texts, vectors, lengths, ids, words, spans)


def random_trees(seed, source):
    """Vectors of the same texts whose words are single letters, with random dependency trees."""
    random = torch.Generator().manual_seed(seed)
    sizes = [max(n - 2, 0) for n in source.lengths.tolist()]
    total = sum(source.lengths.tolist())
    letters = [[chr(97 + number) for number in row] for row in _split(source, sizes)]
    source.texts = [" ".join(row) for row in letters]
    spans, words = torch.zeros(total, 2, dtype=torch.int64), torch.full((total,), -1)
    at, heads = 0, []
    for n in sizes:
        place = torch.arange(n)
        if n:
            spans[at + 1 : at + 1 + n] = torch.stack([2 * place, 2 * place + 1], 1)
            words[at + 1 : at + 1 + n] = place
            at += n + 2
        order = torch.randperm(n, generator=random).tolist()
        row = [0] * n
        for k in range(1, n):  # each word hangs on one that comes before it in a random order
            row[order[k]] = 1 + order[int(torch.randint(k, (1,), generator=random))]
        heads.append(row)
    source.spans, source.words = spans, words
    return source.with_trees(TreeBatch.from_heads(letters, heads)), heads


def _split(source, sizes):
    """Ids of the pieces of each text without special symbols."""
    at = 0
    for n in sizes:
        yield source.ids[at + 1 : at + 1 + n].tolist()
        at += n + 2 if n else 0


def batch(source):
    return VectorBatch(source, torch.arange(len(source.lengths)))


def pieces(source, text):
    """Vectors, ids and words of the pieces of a text, as lists."""
    low = int(source.lengths[:text].sum())
    rows = slice(low, low + int(source.lengths[text]))
    return [part[rows].tolist() for part in (source.vectors, source.ids, source.words)]


def words(source, text):
    """Vector (the sum of its pieces) and pieces of each word of a text."""
    found = {}
    for vector, number, word in zip(*pieces(source, text), strict=True):
        if word >= 0:
            own = found.setdefault(word, ([0.0] * len(vector), []))
            own[0][:] = [a + b for a, b in zip(own[0], vector, strict=True)]
            own[1].append(number)
    return [vector for vector, _ in found.values()], [tuple(ids) for _, ids in found.values()]


def make_encoder(folder, layers=3, longest=32, vocabulary=WORDS, safe=True):
    """Write a BERT of a few thousand random weights with its tokeniser, as save_pretrained does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *vocabulary]
    tokenizer = Tokenizer(models.WordPiece({n: k for k, n in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    special = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=longest, **special)
    fast.save_pretrained(folder)
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(names),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=longest,
    )
    model = BertModel(config)
    model.save_pretrained(folder)
    if not safe:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    return folder
