"""A tiny dependency parser of two languages, with random weights, made on the spot."""

import torch

from tensormt.parser import checkpoint, model

SIZES = {
    "n_embed": 8, "n_pretrained": 8, "n_feat_embed": 6, "n_char_embed": 5, "n_char_hidden": 10,
    "n_lstm_hidden": 7, "n_lstm_layers": 2, "n_arc_mlp": 9, "n_rel_mlp": 4,
    "embed_dropout": 0.33, "encoder_dropout": 0.33, "mlp_dropout": 0.33,
}  # fmt: skip
LANGS = ["de", "ru"]
SPECIALS = ["<pad>", "<unk>", "<bos>", "<eos>", *(f"<{lang}>" for lang in LANGS)]


def settings(languages=LANGS):
    return {
        "format": 2,
        "kind": "biaffine-dependency",
        "args": SIZES,
        "words": [*SPECIALS, *"der hund lief . , собака".split()],
        "chars": [*SPECIALS, *"abcdefghijklmnopqrstuvwxyzHDбакос.,"],
        "relations": ["det", "nsubj", "obj", "punct", "root"],
        "languages": list(languages),
        "spelling": 6,
    }


def write(folder, seed=2, **more):
    """Save it into a folder; large random weights, so that many best heads are no trees."""
    found = {**settings(), **more}
    torch.manual_seed(seed)
    made = model.build_dependency(found)
    for weight in made.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    checkpoint.save_model(folder, made, found)
    return found
