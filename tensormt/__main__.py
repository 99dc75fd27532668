"""The command line, Ctrl-C during its first imports and its last steps included."""

import signal
import sys


def run() -> int:
    """Run the command line; the exit status."""
    try:
        from tensormt.command.main import main

        return main()
    except KeyboardInterrupt:  # before the command itself listens
        print("tensormt: stopped by Ctrl-C", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left to do is to leave


if __name__ == "__main__":
    sys.exit(run())
