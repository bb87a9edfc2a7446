"""Tables have the same cells as Markdown, CSV and HTML, and the form of the paper's Table 3 and Appendix Tables."""

import csv

from graph2graph.analysis.error_analysis import Bin
from graph2graph.analysis.significance import Difference
from graph2graph.analysis.tables import Table, bins_table, labels_table, significance_table


def test_a_table_in_three_formats() -> None:
    table = Table("t", "Title", ["a|b", "c"], [["<1>", "2, 3"]], note="A note.")
    assert table.markdown() == "## Title\n\nA note.\n\n| a\\|b | c |\n|---|---|\n| <1> | 2, 3 |\n"
    assert list(csv.reader(table.csv().splitlines())) == [["a|b", "c"], ["<1>", "2, 3"]]
    assert "<td>&lt;1&gt;</td><td>2, 3</td>" in table.html()
    assert table.html().endswith("<p>A note.</p>")


def test_bins_and_their_sizes() -> None:
    bins = {"1": Bin(gold=4, found=2, system=2, right=2), "2": Bin()}
    table = bins_table("lengths", "By length", {"SentTr": bins})
    assert table.header == ["labelled F", "1", "2"]
    assert table.rows == [["SentTr", "66.67", "–"], ["SentTr: arcs", "2", "0"], ["gold: arcs", "4", "0"]]


def test_labels_with_their_error_reduction_as_in_table_3() -> None:
    """rcmod of StateTr+G2GTr and StateTr: 86.84 and 76.38 (-79.5 %)."""
    first, other = Bin(10_000, 8684, 10_000, 8684), Bin(10_000, 7638, 10_000, 7638)
    table = labels_table({"StateTr+G2GTr": {"rcmod": first}, "StateTr": {"rcmod": other, "dep": Bin(gold=1)}})
    assert table.rows == [
        ["dep", "0.00", "0.00 (+0.0 %)", "0"],
        ["rcmod", "86.84", "76.38 (-79.5 %)", "10000"],
    ]


def test_p_values_say_what_they_mean() -> None:
    table = significance_table("A", {"B": Difference(0.2, 0.16, 0.31), "C": Difference(1.5, 0.0, 0.0001)})
    assert [row[-1] for row in table.rows] == ["not significant (p = 0.31)", "significant (p < 0.001)"]
