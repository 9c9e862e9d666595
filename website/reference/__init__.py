"""Pages that are made from the code at every build, so that they cannot say anything else than it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from website.reference.agreement_keys import page_of_agreement_keys
from website.reference.certificate import page_of_certificate
from website.reference.commands import page_of_commands
from website.reference.decisions import page_of_decisions
from website.reference.messages import page_of_messages
from website.reference.python_names import page_of_python_names
from website.reference.run_options import page_of_run_options

GENERATED: Mapping[str, Callable[[], str]] = {
    "reference/commands.md": page_of_commands,
    "reference/run-options.md": page_of_run_options,
    "reference/python-names.md": page_of_python_names,
    "reference/agreement-keys.md": page_of_agreement_keys,
    "reference/certificate.md": page_of_certificate,
    "reference/messages.md": page_of_messages,
    "decisions/index.md": page_of_decisions,
}
"""Where each page is in the site, and what makes it."""
