"""The command line: one module a subcommand, each with `add(subparsers)` and `run(args)`."""
