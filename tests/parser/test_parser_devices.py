"""Device discipline of the whole parser without a GPU: see pretend.py."""

import torch
from pretend import Away, Watch, home

from tensormt.parser import Parser, checkpoint
from tensormt.parser.network import ConstituencyNetwork
from tensormt.parser.parser import DEFAULT

TEXT = [
    "The dog ran home. It was red!",
    "",
    "A cat saw the very old man in town , who left .",
    "Hi",
]


def test_the_whole_path_stays_on_the_device():
    """Same trees from a model that says it is on the device; syncs a batch, not a sentence.

    A batch waits three times (spans one word wide, wider ones, number of nodes), a call five
    times more (to put sentences in order and join them).
    """
    expected = Parser.load("default")
    assert expected.network.device.type == "cpu"  # loaded before anything is watched
    settings = checkpoint.load_settings(DEFAULT)
    parser = checkpoint.load_model(DEFAULT, settings)
    with Watch() as watch:
        for module in parser.model.modules():
            for name, weight in module._parameters.items():
                if weight is not None:
                    module._parameters[name] = weight.detach().to("cuda")
        parser.model.to = lambda _: parser.model  # it is there already
        network = ConstituencyNetwork(parser, settings, torch.device("cuda"), True)
        for copies in (1, 20):
            watch.syncs.clear()
            trees = Parser(network, "there", hyphens=True).parse(TEXT * copies)
            # a constant number per batch of sentences: nothing is read sentence by sentence
            assert sum(watch.syncs.values()) <= 10, watch.syncs
            here = expected.parse(TEXT * copies).nodes
            for name in ("label", "parent", "word", "offsets"):
                there = getattr(trees.nodes, name)
                assert isinstance(there, Away)
                assert torch.equal(home(there), getattr(here, name))
