"""The place Plan by plain forms: what an epsilon means, and rows of jobs whose files are made up here."""

from __future__ import annotations

import fcntl
import html
import json
import math
import os
import re
import tomllib
from decimal import Decimal

import pytest

import copublish as cp
from copublish.studio.context import Situation
from copublish.studio.sections.run import predicted_seconds
from copublish.tools.planning import meaning
from copublish.tools.planning.links import keep_link
from copublish.tools.planning.meaning import TRIED
from support.examples import specialization_example
from support.studio import desk_in, entered

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def browser(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(cp.drafts.draft()))
    return entered(tmp_path)


def job(folder, number, mechanism, *, area=None, raw=False, state="complete", epsilon="1", message=""):
    """The files of a job, as if a process had left them."""
    agreement = folder / "agreement.toml"
    place = folder / "jobs" / f"{number:032x}"
    place.mkdir(parents=True)
    asked = {"agreement": str(agreement), "mechanism": mechanism, "like": "public.csv", "epsilon": epsilon, "runs": 3}
    inputs = {"agreement": cp.load_agreement(agreement).hash}
    (place / "request.json").write_text(json.dumps({"kind": "try_mechanism", "arguments": asked, "inputs": inputs}))
    os.utime(place / "request.json", (number, number))  # which one is newer
    (place / "lock").write_text("")
    (place / "end.json").write_text(json.dumps({"state": state, "at": "", "exit_code": 0, "message": message}))
    one = {"value": 0.25, "standard_error": 0.01}
    row = {"area": area, "area_standard_error": 0.01, "means": one, "pairs": one}
    if area is not None:
        found = {"mechanism": mechanism, "agreement_hash": cp.load_agreement(agreement).hash, "row": row}
        found |= {"epsilon": epsilon} | ({"raw": {**row, "area": 0.95}} if raw else {})
        found |= {} if raw else {"cost": {"seconds": 10, "mib_sent": 12, "round_trips": 100, "why": ""}}
        (place / "result.json").write_text(json.dumps(found))


def test_where_membership_is_hidden_the_page_says_what_it_means_against_another_owner(browser, tmp_path):
    agreement, page = tmp_path / "agreement.toml", {"epsilon": "1"}
    agreement.write_text(shared := specialization_example())
    assert "another owner" not in browser.get("/plan/words", params=page).text
    lengths = ", ".join(f"{owner} = 40000" for owner in cp.agreement_from_mapping(tomllib.loads(shared)).owners)
    hidden = shared.replace("[records]\n", f'[records]\nmembership = "hidden"\nat_most = {{ {lengths} }}\n')
    agreement.write_text(hidden.replace("[privacy]\n", '[privacy]\nmembership_epsilon = "0.05"\n'))
    assert "one person added or removed: epsilon 1.05" in browser.get("/plan/words", params=page).text


def test_an_epsilon_is_said_in_words_and_in_people(browser, tmp_path):
    (tmp_path / "agreement.toml").write_text(specialization_example())
    page = html.unescape(browser.get("/plan", params={"epsilon": "1"}).text)
    # 1 / (1 + 1/e) is 0.731; noise of 0.6 epsilon on counts: 95 % lie within 5, by the geometric series.
    assert "can become at most 74 % sure that a person is in the data" in page
    tail = sum(2.718281828 ** (-0.6 * k) for k in range(6, 200)) * 2
    whole = 1 + 2 * sum(2.718281828 ** (-0.6 * k) for k in range(1, 200))
    assert tail / whole < 0.05 < (tail + 2 * 2.718281828 ** (-0.6 * 5)) / whole
    assert "±5 people" in page and "Delta: at most" in page
    moved = browser.get("/plan", params={"epsilon": "1", "shown": "1", "step": "3"}).text  # the slider, without scripts
    assert 'name="epsilon" value="0.5"' in moved and 'aria-valuetext="epsilon 0.5"' in moved
    wrong = browser.get("/plan", params={"epsilon": SCRIPT})
    assert wrong.status_code == 422 and SCRIPT not in wrong.text and 'href="#epsilon"' in wrong.text


@pytest.mark.parametrize("mechanism", ["specialization", pytest.param("marginals", marks=pytest.mark.slow)])
def test_the_error_that_people_can_bear_gives_the_smallest_epsilon_of_two_digits(browser, tmp_path, mechanism):
    if mechanism == "specialization":
        (tmp_path / "agreement.toml").write_text(specialization_example())
    agreement = cp.load_agreement(tmp_path / "agreement.toml")
    assert agreement.mechanism.name == mechanism
    found = cp.planning.epsilon_for_error(agreement, 5)
    assert found == f"{float(found):.2g}" and cp.planning.meaning(agreement, found).errors[0].people <= 5
    step = 10 ** math.floor(math.log10(float(found)) - 1)
    for steps in (1, 2):
        assert cp.planning.meaning(agreement, f"{float(found) - steps * step:.4g}").errors[0].people > 5
    assert f'name="epsilon" value="{found}"' in browser.get("/plan", params={"by": "error", "error": "5"}).text


def test_an_error_that_no_epsilon_gives_or_that_is_none_is_refused(browser, tmp_path):
    (tmp_path / "agreement.toml").write_text(specialization_example())
    refused = browser.get("/plan", params={"by": "error", "error": "-1"})
    assert refused.status_code == 422 and "No epsilon up to 10" in refused.text
    assert browser.get("/plan", params={"by": "error", "error": SCRIPT}).status_code == 422


@pytest.mark.parametrize("bump", [0, 1, 5, 9])
@pytest.mark.parametrize("people", [3, 20, 104, 5000])
def test_where_an_error_rises_with_epsilon_the_smallest_one_is_found_by_looking_at_its_neighbors(
    monkeypatch, bump, people
):
    """By trying all: the error falls, and by a step in the middle it is as large as `bump` budgets before."""

    def error(agreement, epsilon):
        place = TRIED.index(epsilon)
        return float(len(TRIED) - place + (bump if place >= len(TRIED) // 2 else 0))

    monkeypatch.setattr(meaning, "_error_at", error)
    for wanted in [people, *(len(TRIED) // 2 + offset for offset in range(-2, 13))]:
        enough = [epsilon for epsilon in TRIED if error(None, epsilon) <= wanted]
        if enough:
            assert cp.planning.epsilon_for_error(None, wanted) == enough[0]


def test_rows_fill_as_jobs_end_with_the_baseline_first_and_raw_data_last(browser, tmp_path):
    job(tmp_path, 1, "class tables alone", area=0.70, raw=True)
    job(tmp_path, 2, "specialization", area=0.885)
    job(tmp_path, 3, "marginals", area=0.89)
    job(tmp_path, 4, "copula", state="stopped")
    job(tmp_path, 5, "vhdp", state="failed", message=f"no {SCRIPT}")
    page = browser.get("/plan", params={"link": "ocean"}).text
    assert SCRIPT not in page
    rows = re.findall(r'<tr><th scope="row">([^<]*)</th>(.*?)</tr>', page, re.S)
    assert rows[0][0] == "class tables alone" and rows[-1][0] == "raw data"
    cells = dict(rows)
    assert "0.89 ± 0.01" in cells["marginals"] and "largest area" in cells["marginals"]
    assert "cannot be told apart" in cells["specialization"] and "told apart" not in cells["class tables alone"]
    assert "27 s, 12 MiB" in cells["marginals"], "10 s, 100 waits of 0.15 s, 12 MiB at 6 MiB/s"
    assert "canceled" in cells["copula"] and "not done" in cells["vhdp"]
    file = tmp_path / "agreement.toml"
    file.write_text(file.read_text().replace("epsilon = 1.0", "epsilon = 0.5"))
    assert "Made for epsilon 1; the draft says 0.5. Run again." in browser.get("/plan").text


def test_the_number_of_running_trials_is_asked_for_again_until_none_is_left(browser, tmp_path):
    """Pages once said "2 running" for as long as they were open."""
    job(tmp_path, 1, "marginals")
    (tmp_path / "jobs" / f"{1:032x}" / "end.json").unlink()
    with (tmp_path / "jobs" / f"{1:032x}" / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as its process would hold it
        page = browser.get("/read").text  # any page, not only the one that shows the trials
        assert '<span class="state" id="state-plan">1 running</span>' in page
        asked = html.unescape(re.search(r'id="states" hidden hx-get="([^"]+)" hx-trigger="every', page)[1])
        again = browser.get(asked).text
        assert 'id="state-plan" hx-swap-oob="true">1 running<' in again and "hx-get" in again
    done = browser.get(asked).text
    assert 'id="state-plan" hx-swap-oob="true">epsilon 1<' in done and "hx-get" not in done
    assert 'id="states"' not in browser.get("/read").text, "nothing is asked for where nothing runs"


@pytest.mark.parametrize(("value", "error", "shown"), [(0.254, 0.01, "25 ± 1 %"), (1.7, 0.4, "more than 100 %")])
def test_no_share_above_100_percent_is_shown(browser, tmp_path, value, error, shown):
    job(tmp_path, 1, "marginals", area=0.7)
    file = tmp_path / "jobs" / f"{1:032x}" / "result.json"
    found = json.loads(file.read_text())
    found["row"]["means"] = {"value": value, "standard_error": error}
    file.write_text(json.dumps(found))
    page = browser.get("/plan").text
    assert f'data-label="means off by">{shown}<' in page
    assert not re.search(r"\b(1[0-9][1-9]|[2-9][0-9][0-9])(\.\d+)? ?%", page)


def test_a_trial_of_the_agreed_mechanism_and_epsilon_says_how_long_a_run_takes(browser, tmp_path):
    agreement = cp.load_agreement(tmp_path / "agreement.toml")
    agreed = agreement.mechanism.name
    other = next(name for name in cp.planning.side_by_side(agreement)[0][1:] if name != agreed)
    job(tmp_path, 1, agreed, state="stopped")
    job(tmp_path, 2, cp.planning.side_by_side(agreement)[0][0], area=0.7, raw=True)
    job(tmp_path, 3, other, area=0.9)
    job(tmp_path, 4, agreed, area=0.9, epsilon="0.5")

    def predicted() -> float | None:
        return predicted_seconds(Situation(desk_in(tmp_path, party="bank")))

    assert predicted() is None
    job(tmp_path, 5, agreed, area=0.9)
    assert predicted() == 10.2, "10 s, 100 waits of 0.001 s, 12 MiB at 100 MiB/s"
    keep_link(agreement, "bank", "loans", round_trip_seconds=0.02, bytes_per_second=1.5 * 2**20)
    assert predicted() == 20, "10 s, 100 waits of 0.02 s, 12 MiB at 1.5 MiB/s"
    file = tmp_path / "agreement.toml"
    file.write_text(file.read_text().replace("expected = ", "expected = 1"))
    assert predicted() is None, "of another agreement"


def test_time_and_traffic_are_for_the_link_that_was_measured_or_typed(browser, tmp_path):
    agreement = cp.load_agreement(tmp_path / "agreement.toml")
    job(tmp_path, 1, "marginals", area=0.89)
    assert "copublish doctor</code> measures the link" in browser.get("/plan").text
    keep_link(agreement, "bank", "loans", round_trip_seconds=0.02, bytes_per_second=1.5 * 2**20)
    (tmp_path / "identities" / "bank").mkdir(parents=True)
    (tmp_path / "identities" / "bank" / "certificate.pem").touch()
    page = html.unescape(browser.get("/plan").text)
    assert "20 s, 12 MiB" in page and "as far apart as 'copublish doctor' measured on 20" in page
    typed = {"link": "typed", "milliseconds": "50", "megabits": "8"}
    page = html.unescape(browser.get("/plan", params=typed).text)
    assert "28 s, 12 MiB" in page, "10 s, 100 waits of 0.05 s, 12 MiB at a million bytes a second: 12.6 s"
    assert "as far apart as you typed: round trip 50 ms, 8 Mbit/s" in page
    for wrong in ({"megabits": "0"}, {"milliseconds": SCRIPT}, {"megabits": "nan"}):
        refused = browser.get("/plan", params={**typed, **wrong})
        assert (
            refused.status_code == 422 and SCRIPT not in refused.text and f'href="#{next(iter(wrong))}"' in refused.text
        )
    (tmp_path / "links.json").write_text('{"bank": 1}')
    assert cp.planning.measured_link(agreement, "bank") is None, "a damaged file is no link"


def test_a_table_has_to_be_called_public_and_lie_below_the_folders(browser, tmp_path):
    (tmp_path / "public.csv").write_text("a\n1\n")
    asked = {"mechanism": "specialization", "epsilon": "1", "runs": "3"}
    not_said = browser.submit("/plan/start", {**asked, "like": str(tmp_path / "public.csv")})
    outside = browser.submit("/plan/start", {**asked, "like": "/etc/passwd", "is_public": "on"})
    wrong = browser.submit("/plan/start", {"mechanism": SCRIPT, "epsilon": SCRIPT, "runs": SCRIPT})
    assert [answer.status_code for answer in (not_said, outside, wrong)] == [422, 422, 422]
    assert "Say that the table is public" in not_said.text and "does not lie below" in outside.text
    assert SCRIPT not in wrong.text and not (tmp_path / "jobs").exists()


def shown_draft(browser) -> dict[str, str]:
    return {"started_from": re.search(r'name="started_from" value="(\w+)"', browser.get("/plan").text)[1]}


def test_an_epsilon_goes_into_the_draft_and_nothing_else_changes(browser, tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text(file.read_text().replace('missing_spellings = ["?", "NA"]', 'missing_spellings = ["n,a", "NA"]'))
    before = cp.drafts.load_draft(file)
    assert before.content["records"]["missing_spellings"] == ["n,a", "NA"]
    assert browser.submit("/plan/take", {**shown_draft(browser), "epsilon": "0.3"}).status_code == 200
    after = cp.drafts.load_draft(file)
    assert cp.drafts.differences(before, after) == ["privacy: epsilon 1.0 → 0.3"]
    changed = {**before.content, "privacy": {**before.content["privacy"], "epsilon": Decimal("0.3")}}
    assert after.content == changed and after.words == before.words


@pytest.mark.parametrize("epsilon", ["abc", "", "nan", "0", "-1", "11", SCRIPT])
def test_what_is_no_epsilon_does_not_go_into_the_draft(browser, tmp_path, epsilon):
    before = (tmp_path / "agreement.toml").read_bytes()
    answer = browser.submit("/plan/take", {**shown_draft(browser), "epsilon": epsilon})
    assert answer.status_code == 422 and "Write an epsilon from 0.000001 to 10." in answer.text
    assert (tmp_path / "agreement.toml").read_bytes() == before


def test_no_epsilon_goes_into_a_draft_that_was_changed_after_it_was_shown(browser, tmp_path):
    shown, file = shown_draft(browser), tmp_path / "agreement.toml"
    file.write_text(file.read_text() + "\n# by somebody else\n")
    for older in (shown, {}):
        answer = browser.submit("/plan/take", {**older, "epsilon": "0.3"})
        assert answer.status_code == 422 and "was changed by somebody else" in answer.text
        assert file.read_text().endswith("# by somebody else\n")
    assert browser.submit("/plan/take", {**shown_draft(browser), "epsilon": "0.3"}).status_code == 200


@pytest.mark.slow
def test_a_mechanism_is_tried_on_the_same_made_up_records_as_the_baseline():
    form = cp.drafts.DraftForm.of(cp.drafts.draft())
    form.expected = "300"
    agreement = cp.agreement_from_mapping(form.read()[0].content)
    names, _ = cp.planning.side_by_side(agreement)
    quick = {"runs": 2, "classifiers": ["decision-tree"]}
    baseline = cp.planning.try_mechanism(agreement, names[0], **quick).to_dict()
    tried = cp.planning.try_mechanism(agreement, "specialization", **quick).to_dict()
    assert 0 <= tried["row"]["area"] <= 1 and tried["data"] == "made up" and tried["cost"]["round_trips"] > 0
    assert (
        baseline["raw"]["area"] > 0.6
        and cp.planning.over_link(tried["cost"], cp.planning.usual_links()["ocean"])["seconds"] > 10
    )
    json.dumps([baseline, tried])  # what a job keeps
