"""graph2graph: the Graph2Graph Transformer dependency parser."""

__version__ = "0.1.0"
