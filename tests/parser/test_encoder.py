"""encoder, labels, network: the fused path against supar's own modules."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from supar.modules.lstm import CharLSTM, VariationalLSTM
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tensormt.parser.encoder import reverse_index, run_chars, run_lstm


def test_reverse_index_turns_each_row_within_its_length():
    assert reverse_index(torch.tensor([3, 1, 4]), 4).tolist() == [
        [2, 1, 0, 3],
        [0, 1, 2, 3],
        [3, 2, 1, 0],
    ]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), st.integers(0, 1000))
def test_lstm_is_supars(lengths, seed):
    torch.manual_seed(seed)
    lstm = VariationalLSTM(6, 5, 3, bidirectional=True, dropout=0.3).eval()
    for parameter in lstm.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    x = torch.randn(len(lengths), max(lengths), 6)
    with torch.no_grad():
        packed, _ = lstm(pack_padded_sequence(x, lengths, True, False))
        expected, _ = pad_packed_sequence(packed, True)
        got = run_lstm(lstm, x, torch.tensor(lengths))
    for b, length in enumerate(lengths):
        torch.testing.assert_close(got[b, :length], expected[b, :length], rtol=1e-5, atol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(0, 1000), st.booleans())
def test_chars_are_supars(lengths, seed, projected):
    torch.manual_seed(seed)
    chars = CharLSTM(9, 4, 6, 5 if projected else 6, 0).eval()
    types = torch.zeros(len(lengths), max(lengths), dtype=torch.int64)
    for row, length in enumerate(lengths):
        types[row, :length] = torch.randint(1, 9, (length,))
    with torch.no_grad():
        torch.testing.assert_close(run_chars(chars, types), chars(types[None])[0])


def test_dropout_only_in_training():
    lstm = VariationalLSTM(4, 3, 2, bidirectional=True, dropout=0.5)
    x, lengths = torch.randn(2, 5, 4), torch.tensor([5, 3])
    lstm.train()
    assert not torch.equal(run_lstm(lstm, x, lengths, 0.5), run_lstm(lstm, x, lengths, 0.5))
    lstm.eval()
    assert torch.equal(run_lstm(lstm, x, lengths, 0.5), run_lstm(lstm, x, lengths))
