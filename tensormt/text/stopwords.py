"""English function words, which QARLA's measures and ROUGE leave out if asked to."""

_WORDS = """
a about above across after again against all almost along already also although always am among
an and another any anybody anyone anything are around as at away back be became because become
becomes been before behind being below between both but by came can cannot come could did do
does doing done down during each either else enough even ever every everybody everyone
everything few for from further get gets getting go goes going gone got had has have having he
hence her here hers herself him himself his how however i if in indeed instead into is it its
itself just last least less like made make makes making many may maybe me might mine more most
much must my myself near neither never nevertheless no nobody none nor not nothing now nowhere
of off often on once one only onto or other others otherwise our ours ourselves out over own
per perhaps quite rather really s said same say says see seem seemed seems several shall she
should since so some somebody someone something sometimes somewhere still such t take than that
the their theirs them themselves then there therefore these they thing things this those though
through thus to together too toward towards under until up upon us very was we well went were
what whatever when whenever where wherever whether which while who whoever whole whom whose why
will with within without would yes yet you your yours yourself yourselves
"""

STOP_WORDS = frozenset(_WORDS.split())
