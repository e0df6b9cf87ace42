"""Canaille's own commands in one process: each would start Python and read everything anew.

A JSON line each on the standard input (`{ id, verb, with }`), answered by `{ answer: id, value }` or `{ answer: id, error }`.
"""

import contextlib
import io
import json
import sqlite3
import sys

from canaille.commands import cli

database, kept = sys.argv[1:]


def copy(source, target):
    """As a backup of a database that others have open."""
    with contextlib.closing(sqlite3.connect(source)) as one, contextlib.closing(sqlite3.connect(target)) as other:
        one.backup(other)


def carry_out(verb, given):
    if verb == "run":
        with contextlib.redirect_stdout(io.StringIO()):
            cli.main(args=given, standalone_mode=False)
    elif verb == "keep":
        copy(database, kept)
    elif verb == "restore":
        copy(kept, database)
    elif verb == "age":
        with contextlib.closing(sqlite3.connect(database)) as opened, opened:
            opened.execute("UPDATE token SET issue_date = '2020-01-01 00:00:00'")
    else:
        raise ValueError(verb)


for line in sys.stdin:
    order = json.loads(line)
    said = {"answer": order["id"]}
    try:
        carry_out(order["verb"], order["with"])
    except Exception as error:
        said["error"] = f"{type(error).__name__}: {getattr(error, 'message', error)}"
    # The separators that whoever reads this looks for.
    print(json.dumps(said, separators=(",", ":")), flush=True)
