"""Microbenchmarks: kernels that plant one behaviour each, and the graphs derived for them.

``NAME.cu`` holds the kernels of one kind, ``NAME.py`` beside it their graphs, as formulae in the kernels'
parameters. ``expectations`` gathers them, ``python benchmarks/micro`` runs all and compares.
"""
