"""`copublish`, and `python -m copublish`: the command line, which can be stopped from the first moment on.

The commands take a second to load. Until then nothing is open and nothing can have been charged, so Ctrl-C and SIGTERM
end the process at once. Nothing else happens on import: child processes import the module that their parent began with.
"""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Load the commands and run the command that was typed."""
    # Without Python's own handler, Ctrl-C is ignored here (nohup, children that are told to): then it stays so.
    can_be_stopped = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if can_be_stopped:
        signal.signal(signal.SIGINT, _end_while_loading)  # before anything else is imported
    can_be_ended = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if can_be_ended:
        signal.signal(signal.SIGTERM, _end_while_loading)
    import gc

    gc.disable()  # until all is loaded: that stays, and would be looked through for garbage again and again
    from copublish.cli import main as run_command_line

    def stop_by_an_exception() -> None:
        if can_be_ended:  # commands that have something to say about it hear it themselves
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if can_be_stopped:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    try:
        run_command_line(when_loaded=stop_by_an_exception)
    finally:
        if can_be_stopped:  # a Ctrl-C while Python tidies up shows no traceback either
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end_while_loading(number: int, _: object) -> None:
    # Not by an exception, which libraries that are being loaded may catch, or turn into an error of their own.
    os.write(2, b"Stopped. Nothing was charged.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
