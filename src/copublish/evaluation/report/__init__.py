"""The report: one self-contained page about a release, for privacy officers and analysts."""

from copublish.evaluation.report.page import report_page

__all__ = ["report_page"]
