"""A bundle for the people who decide: the agreement, what it would open in words, and what they are asked to do."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

from copublish.agreement.loading import LARGEST_FILE, load_agreement, taxonomy_files
from copublish.agreement.model import Agreement
from copublish.errors import AgreementError, ReleaseError
from copublish.files.regular import read_inside, read_regular
from copublish.files.scratch import Scratch
from copublish.kernel.certificate.certificate import AuditStatement
from copublish.party.audit_file import LARGEST_AUDIT, default_audit_file, read_audit
from copublish.release.describe import Description, describe

AGREEMENT, TEXT, JSON, README = "agreement.toml", "description.txt", "description.json", "README.md"
AUDIT = "agreement.audit.json"


HOW_TO_APPROVE = """```console
$ copublish describe agreement.toml    # prints description.txt anew, from the agreement
$ copublish approve agreement.toml --party PARTY --as "YOUR ROLE" --name "YOUR NAME" --note "..."
```"""


def write_proposal(agreement_file: Path, to: Sequence[str], folder: Path) -> Agreement:
    """Write the bundle to a folder that is not there yet; return the agreement that is proposed.

    Args:
        agreement_file: The agreement; its taxonomies lie beside it.
        to: The parties that are asked.
        folder: Where to write.

    Raises:
        AgreementError: If the agreement is not one.
        ReleaseError: If the folder is there already, or cannot be written.
    """
    agreement = load_agreement(agreement_file)
    described = describe(agreement)
    try:
        files = {AGREEMENT: read_regular(agreement_file, LARGEST_FILE)}
        for name in taxonomy_files(agreement_file):
            files[name] = read_inside(agreement_file.parent, name, LARGEST_FILE)
        files[TEXT] = f"{described}\n".encode()
        files[JSON] = (json.dumps(described.to_dict(), indent=2, ensure_ascii=False) + "\n").encode()
        audit = read_audit(default_audit_file(agreement_file), agreement)
        if audit is not None:
            files[AUDIT] = read_regular(default_audit_file(agreement_file), LARGEST_AUDIT)
        files[README] = _readme(agreement, described, to, audit).encode()
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    except FileExistsError:
        raise ReleaseError(f"'{folder}' is there already. Choose another --out.") from None
    except OSError as exc:
        raise ReleaseError(f"The proposal cannot be written to '{folder}': {exc.strerror}.") from exc
    if load_agreement(folder / AGREEMENT).hash != agreement.hash:
        raise AgreementError(str(agreement_file), ["it was changed while it was copied"])
    return agreement


def bundle_of_proposal(agreement_file: str | Path, to: Sequence[str] | None = None) -> bytes:
    """The bundle as a ZIP file, to send.

    Args:
        agreement_file: The agreement; its taxonomies lie beside it.
        to: The parties that are asked; all unless given.
    """
    with Scratch() as private:
        folder = private / "proposal"
        asked = list(load_agreement(agreement_file).parties) if to is None else to
        write_proposal(Path(agreement_file), asked, folder)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bundle:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    bundle.write(path, path.relative_to(folder))
        return out.getvalue()


def _readme(agreement: Agreement, described: Description, to: Sequence[str], audit: AuditStatement | None) -> str:
    warning = [] if described.warning is None else [f"> **WARNING: {described.warning}**"]
    asked = [
        f"- **{party}**: {_number(agreement.parties[party].approvals)}; its key is "
        f"`{agreement.parties[party].signer or agreement.parties[party].certificate or 'not named yet'}`"
        for party in to
    ]
    sections = [
        *warning,
        f"# Proposal: {agreement.name}",
        agreement.description or f"A release of data set '{agreement.dataset}'.",
        f"Parties: {', '.join(agreement.parties)}. Mechanism: {agreement.mechanism.name}. Epsilon: "
        f"{described.epsilon.agreed}, for {described.epsilon.calibrated_to}.",
        f"The agreement's hash, which every approval is for: `{agreement.hash}`",
        "## What you decide",
        "Whether your organization may run this release together with the others. `description.txt` says, in full, "
        "what it would open, to whom, at which price, what is protected and what is not. `agreement.toml` is the "
        "agreement itself, with its taxonomies beside it; nothing else counts. Nothing has been spent so far.",
        *(
            []
            if audit is None
            else [f"`{AUDIT}`: {audit.words} It goes into the certificate if all parties run with it."]
        ),
        "## Who is asked",
        "\n".join(asked),
        "## How to check and approve",
        HOW_TO_APPROVE,
        "`approve` needs your organization's key, and calls nobody. It writes a file to `agreement.approvals/`; "
        "whoever runs `copublish run` in your organization needs that file beside the agreement. **Your name, role "
        "and note are shown to the other parties and published with the release.** If anything in the agreement "
        "changes, its hash does, and approvals have to be given anew.",
    ]
    return "\n\n".join(sections) + "\n"


def _number(approvals: int) -> str:
    if approvals == 0:
        return "no approval is needed by the agreement"
    return "one person has to approve" if approvals == 1 else f"{approvals} different people have to approve"
