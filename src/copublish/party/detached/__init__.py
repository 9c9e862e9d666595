"""Runs and long jobs as processes of their own, which outlive whoever started them.

Each has a folder that only its user can enter:

    request.json   what was asked for; written once, before the process begins
    lock           held while the process lives, whatever its number is; has the number, for who wants to stop it
    events.jsonl   the log: public facts alone
    status.json    how far it is; replaced as a whole, and removed at the end, since it can tell numbers of records;
                   what a killed one left is removed when the next run starts
    end.json       how it ended, in words for this party's own person; missing while it lives, and for good if it was
                   killed
    result.json    what a job found; a run's result is its release folder

Whoever looks reads these files: a closed browser, a second one and a killed server change nothing. `process.py` has
the folder and the process, `run.py` runs, `jobs.py` jobs, `worker.py` what happens in the process.
"""
