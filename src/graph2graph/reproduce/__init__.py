"""The paper's tables as commands: plans from experiments/, runs that survive a kill, results, tables and claims."""
