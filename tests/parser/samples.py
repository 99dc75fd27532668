"""Small treebanks and recipes for the tests of training: constituency and dependency trees."""

from tensormt.parser import dependency_fitting, fitting
from tensormt.parser.recipe import DependencyRecipe, Recipe, TeacherRecipe

SUBJECTS = [
    "(NP (DT the) (NN dog))",
    "(NP (PRP I))",
    "(NP (NNP John))",
    "(NP (DT a) (JJ red) (NN cat))",
]
VERBS = [
    "(VP (VBD ran))",
    "(VP (VBD saw) (NP (NN town)))",
    "(VP (MD will) (VP (VB run) (ADVP (RB home))))",
]
TREES = [f"(TOP (S {s} {v} (. .)))" for s in SUBJECTS for v in VERBS] + ["(TOP (NP (NN town)))"]
SMALL_RECIPE = Recipe(
    epochs=4, tokens=40, rate=1e-2, warmup=2, average=0.9, embedding=12, characters=12, hidden=16,
    layers=2, span=16, label=12, min_count=1, dropout=0.1,
)  # fmt: skip
SMALL_TEACHER = TeacherRecipe(
    epochs=3, tokens=40, rate=1e-2, encoder_rate=1e-3, warmup=2, average=0.9, span=16, label=12,
    dropout=0.1, mixed=2,
)  # fmt: skip


def write_encoder(folder):
    """Write a tiny BERT with random weights and a tokenizer of letters."""
    import torch
    import transformers

    folder.mkdir()
    letters = sorted(set("".join(TREES)))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{c}" for c in letters)]
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    config = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=128,
    )  # fmt: skip
    torch.manual_seed(1)
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer = transformers.BertTokenizer(str(folder / "vocab.txt"), do_lower_case=False)
    tokenizer.save_pretrained(folder)


def write_treebank(folder):
    """Write train.ptb and dev.ptb."""
    (folder / "train.ptb").write_text("\n".join(TREES * 2) + "\n\n")
    (folder / "dev.ptb").write_text("\n".join(TREES[::2]) + "\n")
    return folder


def fit_constituency(files, recipe=SMALL_RECIPE, out="out", **options):
    """Train on the files of `write_treebank`."""
    train, dev = files / "train.ptb", files / "dev.ptb"
    return fitting.fit_constituency(train, dev, files / out, recipe, **options)


SMALL_DEPENDENCY = DependencyRecipe(
    epochs=4, tokens=40, rate=1e-2, warmup=2, average=0.9, embedding=12, characters=12, hidden=16,
    layers=2, arc=16, relation=12, min_count=1, min_chars=1, dropout=0.1,
)  # fmt: skip
NOUN_PHRASES = {
    "de": ["der Hund", "ein Kind", "die Katze"],
    "fr": ["le chien", "un homme", "la dame"],
}
PREDICATES = {"de": ["lief", "sah"], "fr": ["court", "voit"]}


def rows(*words):
    return "".join(
        f"{k}\t{form}\t_\t{tag}\t_\t_\t{head}\t{name}\t_\t_\n"
        for k, (form, tag, head, name) in enumerate(words, 1)
    )


def dependency_trees(lang):
    """Subject first in German, verb first in French."""
    found = []
    for subject in NOUN_PHRASES[lang]:
        det, noun = subject.split()
        for verb in PREDICATES[lang]:
            if lang == "de":
                words = [
                    (det, "DET", 2, "det"),
                    (noun, "NOUN", 3, "nsubj"),
                    (verb, "VERB", 0, "root"),
                ]
            else:
                words = [
                    (verb, "VERB", 0, "root"),
                    (det, "DET", 3, "det"),
                    (noun, "NOUN", 1, "obj:x"),
                ]
            found.append(rows(*words, (".", "PUNCT", 1 + 2 * (lang == "de"), "punct")))
    return "\n".join(found) + "\n"


def write_treebanks(folder):
    """Write a CoNLL-U file per language."""
    for lang in NOUN_PHRASES:
        (folder / f"{lang}.conllu").write_text(dependency_trees(lang))
    return folder


def language_files(files, *langs):
    return [(lang, files / f"{lang}.conllu") for lang in langs]


def fit_dependency(files, recipe=SMALL_DEPENDENCY, out="out", langs=("de", "fr"), **options):
    both = language_files(files, *langs)
    return dependency_fitting.fit_dependency(both, both, files / out, recipe, **options)
