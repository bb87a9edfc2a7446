"""The paper's tables as commands: plans from experiments/, runs that survive a kill, their results, pages and claims.

Imports analysis, training, parser and below; never cli, server or integrations.
"""
