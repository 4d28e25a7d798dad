"""PCDepGraph: the memory reuse of a kernel launch as a graph over program counters.

>>> from cuvein.graph import load, reuse_ratio
>>> graph = load("launch-000001.json")  # doctest: +SKIP
>>> for subgraph in graph.closed_subgraphs:  # doctest: +SKIP
...     print(subgraph.traffic, subgraph.footprint, reuse_ratio(subgraph, "grid"))
"""

from cuvein.graph.export import UNTRACKED, MissingExtra, to_arrow, to_networkx
from cuvein.graph.graph import Graph
from cuvein.graph.histogram import mean, mode, total, weighted_sum
from cuvein.graph.labels import LABELS, REUSE_LABELS, WITHIN_BLOCK
from cuvein.graph.loading import load, stream
from cuvein.graph.metrics import coalescing_ratio, conflict_ratio, ideal_sectors, reuse_intensity, reuse_ratio
from cuvein.graph.subgraph import Subgraph
from cuvein.graph.totals import Totals

__all__ = [
    "LABELS",
    "REUSE_LABELS",
    "UNTRACKED",
    "WITHIN_BLOCK",
    "Graph",
    "MissingExtra",
    "Subgraph",
    "Totals",
    "coalescing_ratio",
    "conflict_ratio",
    "ideal_sectors",
    "load",
    "mean",
    "mode",
    "reuse_intensity",
    "reuse_ratio",
    "stream",
    "to_arrow",
    "to_networkx",
    "total",
    "weighted_sum",
]
