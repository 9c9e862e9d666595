"""`copublish`, and `python -m copublish`: the command line, from the first moment on at which it can be stopped.

The commands take a second to load. Until then nothing is open and nothing can have been charged, so a Ctrl-C ends the
process at once. Nothing else happens on import: child processes import the module that their parent began with.
"""

from __future__ import annotations

import gc
import os
import signal


def main() -> None:
    """Load the commands and run the one that was typed."""
    # Without Python's own handler, Ctrl-C is ignored here (nohup, children that are told to): then it stays so.
    loading = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if loading:
        signal.signal(signal.SIGINT, _end_while_loading)
    gc.disable()  # until all is loaded: that stays, and would be looked through for garbage again and again
    from copublish.cli import main as run_command_line

    if loading:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run_command_line()
    finally:
        if loading:  # whoever presses it again, while Python tidies up, sees no traceback either
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end_while_loading(*_: object) -> None:
    # Not by an exception, which libraries that are being loaded may catch, or turn into an error of their own.
    os.write(2, b"Stopped. Nothing was charged.\n")
    os._exit(130)


if __name__ == "__main__":
    main()
