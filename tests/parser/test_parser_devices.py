"""Device discipline of the whole parser without a GPU: see fake_cuda.py."""

import pytest
import tiny_parser
import torch
from fake_cuda import DeviceTensor, FakeCuda, to_host

from tensormt.parser import Parser

TEXT = [
    "The dog ran home. It was red!",
    "",
    "A cat saw the very old man in town , who left .",
    "Hi",
]


@pytest.mark.parametrize("kind", ["constituency", "mbr", "dependency"])
def test_the_whole_path_stays_on_the_device(kind, tmp_path):
    """Same trees from a model on the device; synchronisations per batch, not per sentence."""
    options = {"mbr": kind == "mbr"} if kind != "dependency" else {"lang": "de"}
    if kind == "dependency":
        tiny_parser.write(tmp_path)
    name = tmp_path if kind == "dependency" else "default"
    expected = Parser.load(name, **options)
    assert expected.network.device.type == "cpu"
    with FakeCuda(strict=False):  # supar builds its modules without a device
        there = Parser.load(name, device="cuda", **options)
        assert there.network.device.type == "cuda"
    operations = []
    for copies in (1, 20):
        here = expected.parse(TEXT * copies).nodes
        with FakeCuda() as cuda:
            found = there.parse(TEXT * copies).nodes
        for field in ("label", "parent", "word", "offsets"):
            assert isinstance(getattr(found, field), DeviceTensor)
            assert torch.equal(to_host(getattr(found, field)), getattr(here, field)), field
        # a constant number per batch of sentences: nothing is read sentence by sentence; a
        # dependency parser reads the few sentences whose best heads are no tree
        assert sum(cuda.syncs.values()) <= 10 + 2 * (kind == "dependency"), cuda.syncs
        # word types in one copy, all that is known of sentences in another, trees in a third
        sent = sum(copy.to_device for copy in cuda.copies)
        assert sent == 3 or (kind == "dependency" and sent == 2), cuda.copies
        operations.append(sum(cuda.operations.values()))
        # TF32 would change one tree in a thousand; weights in pieces are copied at every call
        assert not cuda.imprecise, cuda.imprecise
        assert not cuda.scattered, cuda.scattered
    if kind != "dependency":  # whose rare sentences without a tree are computed again
        # launches for each width of spans (16 words), none for each sentence; more rows than
        # charts._ROWS lie otherwise in memory, after one copy
        assert operations[1] - operations[0] in (0, 1), operations
        assert operations[1] <= 16 * (20 if kind == "mbr" else 5) + 260, operations


def test_products_are_precise_whatever_the_process_allows():
    with FakeCuda(strict=False):
        there = Parser.load("default", device="cuda")
        assert there.network.device.type == "cuda"
    torch.set_float32_matmul_precision("high")
    try:
        with FakeCuda() as cuda:
            torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
            assert sum(cuda.imprecise.values()) == 1
            there.parse(TEXT)
        assert sum(cuda.imprecise.values()) == 1, cuda.imprecise
    finally:
        torch.set_float32_matmul_precision("highest")
