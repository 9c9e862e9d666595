"""The place Draft by plain forms, as a browser without scripts sends them."""

from __future__ import annotations

import html
import re
from importlib import resources

import pytest

import copublish as cp
from support.studio import entered

HEADER = "customer_id,age,region,default\n"
DICTIONARY = (
    "name,kind,values,bounds,unit\nage,number,,18..99,years\nregion,category,north|south,,\ndefault,class,no|yes,,\n"
)
HOSTILE = [
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    "</textarea><img src=x onerror=alert(1)>",
    "{{7*7}}",
]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))


def fields_of(page: str) -> dict[str, str]:
    """What a browser would send back of the form with the fields: every input, choice and text, unescaped."""
    form = page[page.index('<form id="draft-form"') :].partition("</form>")[0]
    found = {}
    for tag in re.findall(r"<input [^>]*>", form):
        said = dict(re.findall(r'([\w-]+)="([^"]*)"', tag))
        if said["type"] != "checkbox" or " checked" in tag:
            found[html.unescape(said["name"])] = html.unescape(said.get("value", "on"))
    for name, inner in re.findall(r'<textarea [^>]*?name="([^"]*)"[^>]*>\n?(.*?)</textarea>', form, re.S):
        found[html.unescape(name)] = html.unescape(inner)
    for name, inner in re.findall(r'<select [^>]*?name="([^"]*)"[^>]*>(.*?)</select>', form, re.S):
        chosen = re.search(r'value="([^"]*)" selected', inner) or re.search(r'value="([^"]*)"', inner)
        found[html.unescape(name)] = html.unescape(chosen[1])
    return found


def test_from_a_header_and_a_dictionary_to_a_complete_agreement_without_scripts(tmp_path):
    (tmp_path / "bank.csv").write_text(HEADER + "1,secret-77,north,no\n")
    browser = entered(tmp_path)
    assert "Open a draft, read a header, or start from the example" in browser.get("/draft").text
    answer = browser.submit(
        "/draft/start",
        {"way": "columns", "party": "bank", "data": str(tmp_path / "bank.csv"), "identifier": "customer_id",
         "partition": "horizontal", "name": "trial"},
        files={"dictionary": ("d.csv", DICTIONARY)},
    )  # fmt: skip
    assert answer.status_code == 200 and "Saved as" in answer.text
    text = (tmp_path / "agreement.toml").read_text()
    assert "secret-77" not in text + answer.text, "no value is read"
    fields = fields_of(answer.text)
    assert fields["columns-0-lower"] == "18" and fields["class_values"] == "no\nyes"
    with pytest.raises(cp.AgreementError) as refused:
        cp.load_agreement(tmp_path / "agreement.toml")
    for sentence in refused.value.problems:  # the same sentences as `check`, in the list and under their fields
        assert html.escape(sentence, quote=False) in html.unescape(answer.text) or sentence in html.unescape(
            answer.text
        )
    assert f"Open points ({len(refused.value.problems)})" in answer.text

    fields |= {"dataset": "people", "expected": "1000", "epsilon": "1"}
    added = browser.submit("/draft/edit", {**fields, "act": "add parties"}).text
    fields = fields_of(added) | {"parties-1-name": "loans"}
    fewer = fields_of(browser.submit("/draft/edit", {**fields, "act": "remove parties 0"}).text)
    assert fewer["parties-0-name"] == "loans" and "parties-1-name" not in fewer
    done = browser.submit("/draft/save", fields)
    assert "No open points" in done.text and 'id="state-draft">complete' in done.text
    assert set(cp.load_agreement(tmp_path / "agreement.toml").parties) == {"bank", "loans"}


def test_the_sentence_of_check_stands_at_its_field_while_typing(tmp_path):
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(cp.drafts.draft()))
    browser = entered(tmp_path)
    fields = fields_of(browser.get("/draft").text) | {"columns-0-upper": "1", "epsilon": "99"}
    side = browser.submit("/draft/check", fields).text
    draft = cp.drafts.DraftForm.from_fields(fields).read()[0]
    said = {problem.sentence for problem in cp.drafts.draft_problems(draft)}
    assert len(said) == 2 and all(sentence in html.unescape(side) for sentence in said)
    assert 'data-field="epsilon"' in side and 'data-field="columns-0-lower"' in side
    assert "No open points" in browser.submit("/draft/check", fields_of(browser.get("/draft").text)).text


def test_a_file_that_somebody_else_changed_is_shown_and_never_overwritten(tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text(cp.drafts.draft_text(cp.drafts.draft()))
    browser = entered(tmp_path)
    fields = fields_of(browser.get("/draft").text) | {"columns-2-upper": "500000"}
    file.write_text(file.read_text().replace("epsilon = 1.0", "epsilon = 0.5"))
    before = file.read_bytes()
    answer = browser.submit("/draft/save", fields)
    said = html.unescape(answer.text)
    assert answer.status_code == 422 and file.read_bytes() == before
    assert "column balance: upper bound 100,000 → 500,000" in said and "privacy: epsilon 0.5 → 1.0" in said
    now = re.search(r'name="started_from" value="(\w+)" formaction', answer.text)[1]
    assert browser.submit("/draft/save", {**fields, "started_from": now}).status_code == 200
    assert "500000" in file.read_text()


def test_text_that_cannot_be_read_names_its_line_and_stays(tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text("name = unquoted\n")
    browser = entered(tmp_path)
    page = browser.get("/draft")
    assert page.status_code == 200 and "line 1" in page.text and "name = unquoted" in page.text
    answer = browser.submit(
        "/draft/text", {"text": "format = 1\nname = [", "started_from": cp.drafts.hash_of_file(file)}
    )
    assert answer.status_code == 422 and "name = [" in answer.text and file.read_text() == "name = unquoted\n"


def test_a_name_that_no_certificate_can_have_is_refused_with_words(tmp_path, monkeypatch):
    monkeypatch.setenv("COPUBLISH_HOME", str(tmp_path))
    answer = entered(tmp_path).submit("/draft/identity", {"party": "x" * 5000})
    assert answer.status_code == 422 and "up to 64 letters" in answer.text


def test_two_drafts_are_merged_by_choices_that_nobody_made_beforehand(tmp_path):
    mine = cp.drafts.draft()
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(mine))
    theirs = cp.drafts.draft_text(mine).replace("bounds = [18, 99]", "bounds = [16, 99]")
    browser = entered(tmp_path)
    page = browser.submit("/draft/merge", files={"theirs": ("theirs.toml", theirs)}).text
    assert "1 thing is said differently" in page and " checked" not in page
    name = html.unescape(re.search(r'type="radio" name="([^"]*)"', page)[1])
    kept = {"theirs_text": theirs, "started_from": cp.drafts.hash_of_file(tmp_path / "agreement.toml")}
    assert browser.submit("/draft/merge", {**kept, "act": "save"}).status_code == 422
    decided = browser.submit("/draft/merge", {**kept, name: "theirs", "act": "choose"})
    assert "Both drafts fit together" in decided.text
    assert "Saved" in browser.submit("/draft/merge", {**kept, name: "theirs", "act": "save"}).text
    assert "bounds = [16, 99]" in (tmp_path / "agreement.toml").read_text()
    changed = browser.submit("/draft/changes", files={"before": ("a.toml", cp.drafts.draft_text(mine))}).text
    assert "column age: lower bound 18 → 16" in html.unescape(changed)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_strings_in_every_name_and_value_stay_text(tmp_path, hostile):
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(cp.drafts.draft()))
    browser = entered(tmp_path)
    fields = fields_of(browser.get("/draft").text)
    for name in fields.keys() - {"started_from", "form_token"}:
        fields[name] = hostile
    pages = [
        browser.submit(path, {**fields, "act": "refresh"}).text
        for path in ("/draft/check", "/draft/edit", "/draft/save")
    ]
    theirs = cp.drafts.draft_text(cp.drafts.DraftForm.from_fields(fields | {"more": ""}).read()[0])
    pages.append(browser.submit("/draft/merge", files={"theirs": ("t.toml", theirs)}).text)
    pages.append(
        browser.submit("/draft/start", {"way": "columns", "party": hostile, "data": hostile, "name": hostile}).text
    )
    pages.append(browser.submit("/draft/identity", {"party": hostile}).text)
    for page in pages:
        assert "<script>alert" not in page and "<img src=x" not in page and "onmouseover='alert" not in page
        assert "49" not in re.findall(r">\s*(49)\s*<", page)


def test_data_outside_the_folders_are_not_read(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "other.csv").write_text(HEADER)
    browser = entered(inside)
    answer = browser.submit("/draft/start", {"way": "columns", "party": "bank", "data": str(tmp_path / "other.csv")})
    assert answer.status_code == 422 and "does not lie below a folder" in answer.text
    assert not (inside / "agreement.toml").exists()


def test_the_own_script_stays_small():
    script = resources.files("copublish.studio").joinpath("static", "studio.js").read_text()
    assert len(script.splitlines()) < 200


def rows_of(page: str) -> dict[str, bool]:
    """Which parts of a draft can be folded, and whether they are open."""
    return {
        id_: bool(opened) for id_, opened in re.findall(r'<details class="(?:row|part)" id="([\w-]+)"( open)?>', page)
    }


def test_what_is_complete_is_folded_and_what_is_not_shows_its_message(tmp_path):
    file = tmp_path / "agreement.toml"
    file.write_text(cp.drafts.draft_text(cp.drafts.draft()))
    browser = entered(tmp_path)
    page = browser.get("/draft").text
    found = rows_of(page)
    assert {"parties-0", "records", "class", "columns-0", "columns-5"} <= set(found) and not any(found.values())
    digest = re.search(r'id="digest-columns-0">(.*?)</span></span>', page, re.S)[1]
    shown = [html.unescape(cell) for cell in re.findall(r">([^<>]+)<", f"{digest}<") if cell.strip()]
    assert shown == ["age", "number", "18 to 99", "every 9", "bank", "complete"]
    wrong = browser.submit("/draft/save", fields_of(page) | {"columns-2-upper": "-9999", "expected": ""}).text
    assert [row for row, is_open in rows_of(wrong).items() if is_open] == ["records", "columns-2"]
    assert "1 open point" in re.search(r'id="digest-columns-2">(.*?)</span></span>', wrong, re.S)[1]
    at = wrong.index('id="said-columns-2-lower"')
    assert "said-of-field" in wrong[at : at + 200], "the message stands at its field"


def test_digests_follow_what_is_typed_and_a_row_at_which_somebody_is_stays_open(tmp_path):
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(cp.drafts.draft()))
    browser = entered(tmp_path)
    fields = fields_of(browser.get("/draft").text)
    part = browser.submit("/draft/check", {**fields, "columns-0-upper": "120"}).text
    assert 'id="digest-columns-0" hx-swap-oob="true"' in part and "18 to 120" in part
    refreshed = browser.submit("/draft/edit", {**fields, "act": "refresh columns 1"}).text
    assert [row for row, is_open in rows_of(refreshed).items() if is_open] == ["columns-1"]


def test_a_mechanism_without_a_promise_says_so_where_it_is_chosen(tmp_path):
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(cp.drafts.draft()))
    page = entered(tmp_path).get("/draft").text
    labels = dict(re.findall(r'<option value="([\w-]+)"(?: selected)?>([^<]+)</option>', page))
    assert labels["idp-ir"] == "idp-ir (not differential privacy)" and labels["marginals"] == "marginals"
    assert set(cp.drafts.mechanism_names()) <= set(labels)


PATIENTS = "patient_id,first_name,age,cost,stage\n" + "".join(f"{i},Ann,{20 + i},{i}00,I\n" for i in range(30))
PATIENT_CODES = "name,kind,values,bounds\nage,number,,0..120\ncost,number,,0..50000\nstage,,I|II|III,\n"


def begun(tmp_path, **more):
    (tmp_path / "clinic.csv").write_text(PATIENTS)
    browser = entered(tmp_path)
    fields = {"way": "columns", "party": "clinic", "data": str(tmp_path / "clinic.csv"), "identifier": "patient_id"}
    fields |= {"no_class": "yes", "partition": "vertical", **more}
    return browser, browser.submit("/draft/start", fields, files={"dictionary": ("d.csv", PATIENT_CODES)})


def test_questions_become_tables_and_stay_typed_until_they_can_be_read(tmp_path):
    browser, page = begun(tmp_path)
    fields = fields_of(page.text) | {"questions": "mean cost by stge\nage under 33 by stage"}
    checked = html.unescape(browser.submit("/draft/check", fields).text)
    assert "'mean cost by stge': 'stge' is neither a column" in checked and "Did you mean 'stage'?" in checked
    refused = browser.submit("/draft/save", fields)
    assert refused.status_code == 422
    assert fields_of(refused.text)["questions"] == fields["questions"], "nothing that was typed is lost"
    assert 'id="questions" name="questions" aria-describedby="hint-questions said-questions" aria-invalid="true"' in (
        refused.text
    )
    assert "tables =" not in (tmp_path / "agreement.toml").read_text()

    fields["questions"] = "mean cost by stage\nage under 33 by stage"
    assert "must = [[" in html.unescape(browser.submit("/draft/check", fields).text), "seen before it is saved"
    saved = browser.submit("/draft/save", fields)
    content = cp.drafts.load_draft(tmp_path / "agreement.toml").content
    assert content["mechanism"]["tables"] == {"must": [["cost", "stage"], ["age", "stage"]], "then": "auto"}
    assert content["attributes"]["age"]["grid"] == {"round": 20, "also": [33]}
    assert fields_of(saved.text)["questions"] == "" and "<li>mean cost by stage</li>" in saved.text
    again = browser.submit("/draft/save", fields_of(saved.text))
    assert cp.drafts.load_draft(tmp_path / "agreement.toml").content == content and again.status_code == 200


def test_whom_owners_share_is_hidden_unless_the_page_is_told_otherwise_and_lengths_have_fields(tmp_path):
    browser, page = begun(tmp_path, expected="400")
    fields = fields_of(page.text)
    assert (fields["membership"], fields["parties-0-at_most"], fields["membership_epsilon"]) == (
        "hidden",
        "800",
        "0.05",
    )
    typed = browser.submit("/draft/check", fields | {"parties-0-at_most": "0"}).text
    assert "records.at_most.clinic: must be above 0" in html.unescape(typed)
    saved = browser.submit("/draft/save", fields | {"parties-0-at_most": "900"})
    assert cp.drafts.load_draft(tmp_path / "agreement.toml").content["records"]["at_most"] == {"clinic": 900}
    browser.submit("/draft/save", fields_of(saved.text) | {"membership": "shared"})
    content = cp.drafts.load_draft(tmp_path / "agreement.toml").content
    assert content["records"]["membership"] == "shared"
    assert "at_most" not in content["records"] and "membership_epsilon" not in content["privacy"]


def test_a_draft_can_be_started_with_shared_membership(tmp_path):
    begun(tmp_path, expected="400", membership="shared")
    text = (tmp_path / "agreement.toml").read_text()
    assert 'membership = "shared"' in text and "at_most =" not in text


def test_columns_that_seem_to_identify_people_are_left_out_until_their_box_is_ticked(tmp_path):
    browser, page = begun(tmp_path)
    assert "first_name" not in (tmp_path / "agreement.toml").read_text()
    assert "<strong>first_name</strong>: by its name it has names of people" in page.text
    assert 'name="keep-0" value="first_name"' in page.text and 'value="first_name" checked' not in page.text
    fields = fields_of(page.text)
    untouched = browser.submit("/draft/edit", fields | {"act": "refresh"})
    assert 'name="keep-0" value="first_name"' in untouched.text, "the choice stays while other things are done"
    kept = browser.submit("/draft/edit", fields | {"act": "keep", "keep-0": "first_name"})
    assert 'name="keep-0"' not in kept.text
    browser.submit("/draft/save", fields_of(kept.text))
    assert cp.drafts.load_draft(tmp_path / "agreement.toml").content["attributes"]["first_name"]["held_by"] == "clinic"


@pytest.mark.parametrize("carried", ["[1]", "{", "7", '{"a": {"b": 1}}', "[" * 100_000])
def test_a_list_of_columns_that_somebody_has_changed_breaks_nothing(tmp_path, carried):
    browser, page = begun(tmp_path)
    answer = browser.submit("/draft/edit", fields_of(page.text) | {"act": "keep", "left_out": carried})
    assert answer.status_code == 200


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_of_columns_that_are_left_out_stay_text(tmp_path, hostile):
    name = hostile.replace('"', '""')
    (tmp_path / "clinic.csv").write_text(f'id,"{name} email"\n' + "".join(f"{i},a{i}@b.example\n" for i in range(30)))
    browser = entered(tmp_path)
    fields = {"way": "columns", "party": "clinic", "data": str(tmp_path / "clinic.csv"), "identifier": "id"}
    page = browser.submit("/draft/start", fields).text
    assert not re.search("<script>alert|<img src=x|onmouseover='|49 email", page)
    assert f"<strong>{hostile} email</strong>" in html.unescape(page), "it is shown, as text"


def test_a_column_that_is_kept_has_the_kind_of_its_type(tmp_path):
    people = "".join(f"p{i},{'ab'[i % 2]}nna{i},{10000 + 7 * i % 977}.5,{i % 9}\n" for i in range(60))
    (tmp_path / "clinic.csv").write_text(f"patient_id,first_name,home_phone,cost\n{people}")
    browser = entered(tmp_path)
    start = {"way": "columns", "party": "clinic", "data": str(tmp_path / "clinic.csv"), "identifier": "patient_id"}
    page = browser.submit("/draft/start", start | {"no_class": "yes", "partition": "vertical"})
    ticked = {"act": "keep", "keep-0": "first_name", "keep-1": "home_phone"}
    kept = browser.submit("/draft/edit", fields_of(page.text) | ticked)
    browser.submit("/draft/save", fields_of(kept.text))
    columns = cp.drafts.load_draft(tmp_path / "agreement.toml").content["attributes"]
    assert columns["first_name"]["kind"] == "categorical" and columns["home_phone"]["kind"] == "numerical"
    # As a draft has them that was told to keep them.
    told = cp.drafts.draft(
        {"clinic": str(tmp_path / "clinic.csv")},
        identifier="patient_id",
        has_class=False,
        partition="vertical",
        keep=["first_name", "home_phone"],
    )
    for name in ("first_name", "home_phone"):
        assert columns[name] == told.content["attributes"][name]


def test_a_drafted_delta_goes_with_the_mechanism_that_has_a_use_for_it_and_a_typed_one_stays(tmp_path):
    (tmp_path / "agreement.toml").write_text(cp.drafts.draft_text(cp.drafts.draft()))
    browser = entered(tmp_path)
    fields = fields_of(browser.get("/draft").text)
    assert fields["delta"] == fields["drafted_delta"] == "1e-6"
    others = {"mechanism": "specialization", "mechanism_more": ""}
    dropped = browser.submit("/draft/check", fields | others).text
    assert "The drafted delta is left out" in dropped and "privacy.delta" not in dropped
    typed = browser.submit("/draft/check", fields | others | {"delta": "1e-7"}).text
    assert "The drafted delta is left out" not in typed and "only Gaussian noise needs it" in typed
    browser.submit("/draft/save", fields | others)
    assert "delta" not in cp.drafts.load_draft(tmp_path / "agreement.toml").content["privacy"]


def test_a_delta_in_a_file_whose_mechanism_has_no_use_for_it_is_refused_as_check_refuses_it(tmp_path):
    text = cp.drafts.draft_text(cp.drafts.draft()).partition("[mechanism]")[0]
    (tmp_path / "agreement.toml").write_text(f'{text}[mechanism]\nname = "specialization"\n')
    page = entered(tmp_path).get("/draft").text
    assert fields_of(page)["drafted_delta"] == "" and "only Gaussian noise needs it" in page
