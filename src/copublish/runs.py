"""Runs and jobs in processes of their own: check, start, follow, list and stop them."""

from __future__ import annotations

from copublish.lazy_names import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from copublish.errors import InvalidInputsError
    from copublish.party.detached.jobs import job, list_jobs, start_job
    from copublish.party.detached.runs import BeforeRun, before_run, data_of_run, follow, list_runs, start, stop
    from copublish.party.detached.status import Job, Run
    from copublish.rows.sources import PartyData
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "copublish.errors": ("InvalidInputsError",),
            "copublish.party.detached.jobs": ("job", "list_jobs", "start_job"),
            "copublish.party.detached.runs": (
                "BeforeRun",
                "before_run",
                "data_of_run",
                "follow",
                "list_runs",
                "start",
                "stop",
            ),
            "copublish.party.detached.status": ("Job", "Run"),
            "copublish.rows.sources": ("PartyData",),
        },
    )

__all__ = [
    "BeforeRun",
    "InvalidInputsError",
    "Job",
    "PartyData",
    "Run",
    "before_run",
    "data_of_run",
    "follow",
    "job",
    "list_jobs",
    "list_runs",
    "start",
    "start_job",
    "stop",
]
