"""The command line: one module per command, with `DESCRIPTION`, `EXAMPLES`, `add_arguments(parser)`
and `run(args)`; `tensormt.command.main` lists the commands.
"""
