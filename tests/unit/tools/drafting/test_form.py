"""Drafts in fields, as indented text, against each other, and saved over nobody's work."""

from __future__ import annotations

import pytest

import copublish as cp
from copublish.mechanisms.registry import mechanism_named
from copublish.tools.drafting.text import tree_from_text, tree_text

ODD = """
[network]
connect_seconds = 30

[attributes."a.b c"]
kind = "numerical"
bounds = [0, 10]
grid = { edges = [2, 5.5] }
decimals = 1
held_by = ["bank", "loans"]

[attributes.z]
kind = "numerical"
bounds = [0, 99999]
held_by = "bank"

[attributes."a.b"]
kind = "categorical"
values = ["x", "y"]
unlisted = "x"
held_by = "bank"
"""


COMMENTED = """# ours, not the program's

# to begin with
format = 1
name = "trial" # why it is called so # and more
[parties.bank]
#no space
host = "bank.example:7700"
[records]   # at a header
expected = 100
missing_spellings = [ # in a list
  "#", '#', # signs in texts are no comments
]
[attributes.age]
# in years
kind = "numerical" # as in "the [law]"

[attributes.job]
kind = "categorical"
[attributes.job.taxonomy.ANY]
# how jobs are grouped
Office = { "clerk # 1" = {} }
# at the end
"""


def comments_of(text: str) -> list[str]:
    """Every comment that nobody but a person writes; none of them is a part of another one."""
    own = (
        "ours",
        "to begin",
        "why it",
        "no space",
        "at a header",
        "in a list",
        "signs",
        "in years",
        "as in",
        "how jobs",
    )
    return sorted(word for word in (*own, "at the end") for _ in range(text.count(word)))


def flat(form: cp.drafts.DraftForm) -> dict[str, str]:
    """Every field as a browser would send it."""
    found = {name: value for name, value in vars(form).items() if isinstance(value, str)}
    found |= {name: "on" for name, value in vars(form).items() if value is True}
    for rows in ("parties", "columns"):
        for number, row in enumerate(getattr(form, rows)):
            for name, value in vars(row).items():
                if value is not False:
                    found[f"{rows}-{number}-{name}"] = "on" if value is True else value.replace("\n", "\r\n")
    return found


@pytest.mark.parametrize("name", cp.drafts.mechanism_names())
def test_nothing_is_lost_between_a_file_its_fields_and_a_browser(name):
    before, _, _ = cp.drafts.draft_text(cp.drafts.draft()).partition("[mechanism]")
    mechanism = mechanism_named(name).settings.example or f'[mechanism]\nname = "{name}"\n'
    draft = cp.drafts.draft_from_text(f"{before}\n{mechanism}\n{ODD}")
    form = cp.drafts.DraftForm.from_fields(flat(cp.drafts.DraftForm.of(draft)))
    again, unread = form.read()
    assert unread == () and again.content == draft.content and again.words == draft.words
    assert cp.drafts.differences(draft, again) == []


def test_comments_of_a_file_are_kept_also_if_what_they_are_about_is_gone():
    draft = cp.drafts.draft_from_text(COMMENTED)
    form = cp.drafts.DraftForm.from_fields(flat(cp.drafts.DraftForm.of(draft)))
    assert form.columns[0].words == "in years", "what is in a field is in no comment besides"
    text = cp.drafts.draft_text(form.read()[0])
    assert comments_of(text) == comments_of(COMMENTED) and len(comments_of(text)) == 11
    assert cp.drafts.draft_text(cp.drafts.draft_from_text(text)) == text, "what was written once is written so again"
    lines = text.splitlines()
    assert any(
        line.startswith('name = "trial"') and line.endswith("# why it is called so # and more") for line in lines
    )
    assert lines[lines.index("[attributes.age]") + 1] == "# in years"
    assert text.index("how jobs") < text.index("taxonomy = ") < text.index("[privacy]")
    form.remove("columns", 1)
    form.remove("parties", 0)
    fewer = cp.drafts.draft_text(form.read()[0])
    assert comments_of(fewer) == comments_of(text) and fewer.rstrip().endswith("# at the end")
    assert {**cp.drafts.draft_from_text(fewer).content, "parties": {}} == form.read()[0].content, (
        "no comment says anything"
    )
    together = cp.drafts.merge_drafts({"a": draft, "b": cp.drafts.draft_from_text(COMMENTED)})
    assert comments_of(cp.drafts.draft_text(together)) == comments_of(COMMENTED)
    form.comments = '[{"path": [], "text": "# x\\nname = 1", "side": "above"}]'
    assert [problem.sentence for problem in form.read()[1]] == [
        "the comments of the file cannot be read in this form. Load the page again"
    ]


@pytest.mark.parametrize(
    "line",
    [
        'missing_spellings = ["n,a", "NA"]',  # a comma is no end of a spelling
        "missing_spellings = []",
        'missing_spellings = ["", "?"]',  # lines cannot say it
        "",  # the usual ones
    ],
)
@pytest.mark.parametrize("neighbors", ["", 'neighbors = "replace"'])
def test_an_agreement_that_goes_through_its_fields_stays_the_same_to_the_letter(line, neighbors):
    text = cp.drafts.draft_text(cp.drafts.draft()).replace('missing_spellings = ["?", "NA"]', line)
    draft = cp.drafts.draft_from_text(text.replace('neighbors = "add-remove"', neighbors))
    again, unread = cp.drafts.DraftForm.from_fields(flat(cp.drafts.DraftForm.of(draft))).read()
    assert unread == ()
    before, after = (cp.agreement_from_mapping(one.content) for one in (draft, again))
    assert before.hash == after.hash
    assert before.privacy.neighbors == ("replace" if neighbors else "add-remove"), "the text was changed as meant"


def test_spellings_that_stand_twice_are_an_open_question():
    form = cp.drafts.DraftForm.of(cp.drafts.draft())
    form.spellings, form.records_more = "NA", 'missing_spellings = ["?"]'
    assert [problem.place for problem in form.read()[1]] == ["spellings"]


def test_a_field_is_found_by_the_longest_name_that_fits():
    form = cp.drafts.DraftForm.of(cp.drafts.draft_from_text(cp.drafts.draft_text(cp.drafts.draft()) + ODD))
    names = [column.name for column in form.columns]
    assert form.field_of("attributes.a.b c.grid") == f"columns-{names.index('a.b c')}-cells"
    assert form.field_of("attributes.a.b.values") == f"columns-{names.index('a.b')}-values"
    assert form.field_of("attributes.a.b.unlisted") == f"columns-{names.index('a.b')}-more"
    assert form.field_of("privacy.epsilon") == "epsilon" and form.field_of("nowhere.at all") == ""


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a\nb", ["a", "b"]),
        ("North\n  a\n  b\nc", {"ANY": {"North": {"a": {}, "b": {}}, "c": {}}}),
        ("World\n  North\n    a\n  b", {"World": {"North": {"a": {}}, "b": {}}}),
        ("ANY\n  North\n    a\n    b", {"ANY": {"North": {"a": {}, "b": {}}}}),
    ],
)
def test_a_tree_as_text_is_read_as_it_is_written(text, tree):
    assert tree_from_text(text) == tree and tree_text(tree) == text
    assert tree_from_text(text.replace("  ", "\t") + "\n\n") == tree


@pytest.mark.parametrize(
    ("text", "why"), [("  a\nb", "line 1 is indented"), ("a\n  b\n  b", "line 3: 'b' stands twice")]
)
def test_a_tree_that_says_too_little_names_its_line(text, why):
    with pytest.raises(ValueError, match=why):
        tree_from_text(text)


def test_what_changed_is_said_in_words():
    text = cp.drafts.draft_text(cp.drafts.draft())
    changed = (
        text.replace("[18, 99]", "[18, 200000]")
        .replace('"car", ', '"boat", ')
        .replace("epsilon = 1.0", 'epsilon = "FILL IN"')
        .replace("[attributes.months]", "[attributes.weeks]")
        .replace("Manual = { builder", "Hands = { builder")
        .replace("public = false", "public = true")
    )
    found = cp.drafts.differences(cp.drafts.draft_from_text(text), cp.drafts.draft_from_text(changed))
    assert found == [
        "records: exact number of records is public no → yes",
        "column age: upper bound 99 → 200,000",
        "column job: values added 'Hands'; taken out 'Manual'; moved 'builder', 'driver', 'cook'",
        "column purpose: values added 'boat'; taken out 'car'",
        "column weeks: added",
        "column months: taken out",
        "privacy: epsilon 1.0 → left open",
    ]
    form = cp.drafts.DraftForm.of(cp.drafts.draft())
    form.columns.reverse()
    assert cp.drafts.differences(cp.drafts.draft(), form.read()[0]) == ["columns: in another order"]


def test_a_choice_decides_a_conflict_and_an_undecided_one_stays_an_error():
    text = cp.drafts.draft_text(cp.drafts.draft())
    drafts = {
        "a": cp.drafts.draft_from_text(text),
        "b": cp.drafts.draft_from_text(text.replace("[18, 99]", "[0, 120]")),
    }
    (conflict,) = cp.drafts.compare_drafts(drafts).conflicts
    with pytest.raises(cp.AgreementError, match=r"attributes\.age\.bounds: 'a' says"):
        cp.drafts.merge_drafts(drafts)
    assert cp.drafts.merge_drafts(drafts, {conflict.path: "b"}).content["attributes"]["age"]["bounds"] == [0, 120]
    assert drafts["a"].content["attributes"]["age"]["bounds"] == [18, 99], "what was merged stays as it was"
    first = cp.drafts.compare_drafts(drafts).rows[0]
    assert first.conflict == conflict and first.said == {"a": "[18, 99]", "b": "[0, 120]"} and first.result is None


def test_a_draft_is_saved_over_nobodys_work(tmp_path):
    file = tmp_path / "draft.toml"
    first = cp.drafts.save_draft("a = 1\n", file, started_from=cp.drafts.hash_of_file(file))
    assert first == cp.drafts.hash_of_file(file)
    file.write_text("a = 2\n")
    with pytest.raises(cp.drafts.DraftChangedError):
        cp.drafts.save_draft("a = 3\n", file, started_from=first)
    assert file.read_text() == "a = 2\n" and [path.name for path in tmp_path.iterdir()] == ["draft.toml"]
    cp.drafts.save_draft("a = 3\n", file, started_from=cp.drafts.hash_of_file(file))
    assert file.read_text() == "a = 3\n"
