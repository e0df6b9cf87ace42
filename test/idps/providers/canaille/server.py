"""`canaille run`, which ends when its standard input does: with whoever started it, at the latest."""

import os
import sys
import threading

from canaille.commands import cli


def end_with_input():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
# No workers means this process and no other.
cli.main(args=["run", "--workers", "0", *sys.argv[1:]])
