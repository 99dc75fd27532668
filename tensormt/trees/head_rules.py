"""Head rules as data: for each label, where to look for the head among its children.

One row a label: `l` looks from the left, `r` from the right, `e` at the last child only. Each word
after the letter is one search for the first child with that label (`NN|NNS`: one of these); the
next search is tried where this one finds none. When all fail, the first child in the direction of
the last letter is the head. The row `*` serves labels that have no row of their own.

`punctuation` children are heads only where there is nothing else, and the searches do not see them.
`coordination`: where the head found, Y, stands behind one of these (X CC Y), the child before it,
X, is the head instead.
"""

from __future__ import annotations

from typing import NamedTuple

from tensormt.errors import TensorMTError
from tensormt.options import describe


class HeadRules(NamedTuple):
    """A rule set: the table as text, the punctuation tags, the coordinating labels."""

    source: str
    table: str
    punctuation: str
    coordination: str

    def rows(self) -> dict[str, list[tuple[str, frozenset[str]]]]:
        """Label → its searches (direction, labels) in order; the last, without labels, fits all."""
        rows: dict[str, list[tuple[str, frozenset[str]]]] = {}
        for line in self.table.strip().split("\n"):
            label, *words = line.split()
            searches: list[tuple[str, frozenset[str]]] = []
            direction = "l"
            for word in words:
                if word in ("l", "r", "e"):
                    direction = word
                else:
                    searches.append((direction, frozenset(word.split("|"))))
            rows[label] = [*searches, (direction, frozenset())]
        return rows


_PUNCTUATION = ". , : `` '' -LRB- -RRB- HYPH NFP"

_COLLINS = """
ADJP    l NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP    r RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP   r CC RB IN
FRAG    r
INTJ    l
LST     r LS :
NAC     l NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
NP      e POS  r NN|NNP|NNPS|NNS|NX|POS|JJR  l NP  r $|ADJP|PRN CD JJ|JJS|RB|QP
NX      e POS  r NN|NNP|NNPS|NNS|NX|POS|JJR  l NP  r $|ADJP|PRN CD JJ|JJS|RB|QP
PP      r IN TO VBG VBN RP FW
PRN     l
PRT     r RP
QP      l $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC     r VP NP ADVP ADJP PP
S       l TO IN VP S SBAR ADJP UCP NP
SBAR    l WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ   l SQ S SINV SBARQ FRAG
SINV    l VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ      l VBZ VBD VBP VB MD VP SQ
UCP     r
VP      l TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP
WHADJP  l CC WRB JJ ADJP
WHADVP  r CC WRB
WHNP    l WDT WP WP$ WHADJP WHPP WHNP
WHPP    r IN TO FW
X       r
*       l
"""

_YAMADA = """
ADJP    r NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB
ADVP    l RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN
CONJP   l CC RB IN
FRAG    l
INTJ    r
LST     l LS :
NAC     r NN|NNS|NNP|NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW
NP      r POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP
NX      r POS|NN|NNP|NNPS|NNS NX JJR CD JJ JJS RB QP NP
PP      l IN TO VBG VBN RP FW
PRN     r
PRT     l RP
QP      r $ IN NNS NN JJ RB DT CD NCD QP JJR JJS
RRC     l VP NP ADVP ADJP PP
S       r TO IN VP S SBAR ADJP UCP NP
SBAR    r WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG
SBARQ   r SQ S SINV SBARQ FRAG
SINV    r VBZ VBD VBP VB MD VP S SINV ADJP NP
SQ      r VBZ VBD VBP VB MD VP SQ
UCP     l
VP      l VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP TO
WHADJP  r CC WRB JJ ADJP
WHADVP  l CC WRB
WHNP    r WDT WP WP$ WHADJP WHPP WHNP
WHPP    l IN TO FW
X       r
*       r
"""

RULES: dict[str, HeadRules] = {
    "collins": HeadRules(
        "Collins 1999, appendix A: table, noun phrases, coordination; NX as NP",
        _COLLINS,
        _PUNCTUATION,
        "CC CONJP",
    ),
    "yamada": HeadRules(
        "Yamada & Matsumoto 2003, as in Penn2Malt's table", _YAMADA, _PUNCTUATION, ""
    ),
}


def rules_named(name: str) -> HeadRules:
    """The rule set with this name; more can be put into `RULES`."""
    if not isinstance(name, str) or name not in RULES:
        raise TensorMTError(
            f"no head rules named {describe(name)}: choose one of {', '.join(RULES)}"
        )
    return RULES[name]
