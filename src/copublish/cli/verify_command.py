"""`copublish verify`: whether a release is what all of its parties signed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from copublish.agreement.parties import FINGERPRINT_PATTERN
from copublish.cli.terminal import Format, FormatOption, note, parse_pairs, print_json, results_console
from copublish.errors import ReleaseError, visible
from copublish.release.verify import SIGNERS_UNKNOWN, Verification, verify_release

UNKNOWN_SIGNERS = 11
"""The exit code if all of it holds and nobody vouched for the key of some party."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("verify")(verify)


def verify(
    folder: Annotated[Path, typer.Argument(help="A release folder.")],
    fingerprint: Annotated[
        list[str] | None,
        typer.Option(
            help="PARTY=sha256:...: the certificate that a party has told you to be its own, or that of the authority "
            "which issued it. Repeat it for every party."
        ),
    ] = None,
    recompute: Annotated[
        bool, typer.Option("--recompute", help="Make the records from the model again, and compare. Takes a minute.")
    ] = False,
    allow_unknown_keys: Annotated[
        bool,
        typer.Option(
            "--allow-unknown-keys", help="Exit code 0 also if you did not name the fingerprint of every party."
        ),
    ] = False,
    output: FormatOption = Format.TEXT,
) -> None:
    """Check a release: its files, its certificate, the signatures of all parties, and who approved. Calls nobody.

    Anybody can do that, offline, with nothing but the folder. Without --fingerprint the signatures are by keys that
    the folder names itself: whoever made up a release could have made up the keys as well. So ask the parties for the
    fingerprints, or look them up in the agreement. Exit code 0 if all of it holds and you named the fingerprint of
    every party, 11 if all of it holds and you did not (0 with --allow-unknown-keys), 7 if something does not hold.

    It also compares what was published with what the certificate says was opened, and the laws of noise. Unless you add
    --recompute the release's mechanism is not loaded, so three things are not checked: that the mechanism is known
    here, that tables and the model can be read, and that the certificate's warning agrees with the mechanism.
    'copublish show' checks them.

    Example: copublish verify release/

    Example: copublish verify release/ --fingerprint bank=sha256:0c1f... --fingerprint loans=sha256:77ab...
    """
    known = parse_pairs(fingerprint or [], "--fingerprint")
    for party, said in known.items():
        if not FINGERPRINT_PATTERN.fullmatch(said):
            raise typer.BadParameter(
                f"for '{party}' write sha256: and 64 hexadecimal digits, as 'copublish identity show' prints them",
                param_hint="--fingerprint",
            )
    found = verify_release(folder, known, recompute=recompute)
    if output is Format.JSON:
        print_json(_facts(found))
    else:
        _print(found)
    if not found.is_well:
        raise typer.Exit(ReleaseError.exit_code)
    if found.unknown_keys and not allow_unknown_keys:
        raise typer.Exit(UNKNOWN_SIGNERS)


def _facts(found: Verification) -> dict[str, object]:
    return {
        "verdict": found.verdict,
        "ok": found.verdict == "verified",
        "findings": [{"what": one.what, "ok": one.is_well, "found": one.said} for one in found.findings],
        "keys_without_fingerprint": list(found.unknown_keys),
        "approvals": [approval.to_json() for approval in found.approvals],
    }


def _print(found: Verification) -> None:
    for one in found.findings:
        line = f"{'ok' if one.is_well else 'NO':3} {one.what}: {one.said}"
        results_console().print(visible(line), markup=False, soft_wrap=True)
    for approval in found.approvals:
        results_console().print(visible(f"    approved by {approval.words}"), markup=False, soft_wrap=True)
    results_console().print(f"Verdict: {found.verdict}", markup=False)
    if found.is_well and found.unknown_keys:
        note(
            f"{SIGNERS_UNKNOWN} Ask {', '.join(found.unknown_keys)} for the fingerprint of its certificate, or look "
            "into the agreement, and add --fingerprint PARTY=sha256:..."
        )
    if not found.is_well:
        note("This release does not hold: do not rely on it. Ask a party for its copy.")
