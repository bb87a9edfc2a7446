"""Two sentences of CoNLL-U with a multiword token, an empty node and a comment of each kind."""

import io

from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

EXAMPLE = """\
# newdoc
# sent_id = s1
# text = Don't go there
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tDo\tdo\tAUX\tVB\tB=1|A=2\t3\taux\t3:aux\tZ=1|SpaceAfter=No
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\t_
3.1\tgone\tgo\tVERB\t_\t_\t_\t_\t0:root\tCopyOf=3
4\tthere\tthere\tADV\tRB\t_\t3\tadvmod\t_\t_

# sent_id = s2
1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\tSpaceAfter=No
2\t.\t.\tPUNCT\t.\t_\t1\tpunct\t_\t_

"""


def read_text(text: str) -> list[Sentence]:
    return list(conllu.read(io.BytesIO(text.encode())))
