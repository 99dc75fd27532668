"""Odd text for property tests: what tokenisers stumble over."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = [
    *"..,,--0159aAbΣσ'",
    *'!"#$%&()*+/:;<=>?@[\\]^_`{|}~',
    *("&quot;", "&amp;", "&lt;", "&gt;", "&AMP;", "amp;", "lt;", "<skipped>", "<ski", "pped>"),
    *("-\n", "\n", " ", "\t", "\r", "\x0b", "\x1c", "\x1f", "\x00", "\x7f", "\x85", "\xa0"),
    *("\u1680", "\u2003", "\u200b", "\u2028", "\u202f", "\u205f", "\u3000", "\ufeff"),
    *("é", "e\u0301", "ß", "漢", "İ", "²", "٣", "\u1081", "…", "\U0001f600", "👩\u200d🚀"),
]
texts = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
    st.text(alphabet=".,-59a ", max_size=12),
)
# few different characters, so that n-grams repeat and match
similar = st.one_of(
    st.text(alphabet="ab .", max_size=30),
    st.lists(
        st.sampled_from(["a", "b", "A", "Σ", "İ", "a.", "(b", "é", "\u2003"]), max_size=14
    ).map(" ".join),
    texts,
)
