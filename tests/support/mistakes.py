"""A good agreement and the mistakes that newcomers make in it, each with what the message has to say."""

from __future__ import annotations

from pathlib import Path


class Mistake:
    """A patch of the good agreement, and the texts that the message must contain."""

    def __init__(self, name: str, *patches: tuple[str, str], expect: list[str], problems: int = 1) -> None:
        """State a mistake.

        Args:
            name: Its name.
            patches: Texts of the good agreement, each with what is written in its place.
            expect: What the message contains.
            problems: In how many places the mistake shows.
        """
        self.name, self.patches, self.expect, self.problems = name, patches, expect, problems

    @property
    def text(self) -> str:
        """The agreement with the mistake."""
        text = GOOD
        for good, mistaken in self.patches:
            if GOOD.count(good) != 1:
                raise ValueError(f"{self.name}: {good!r} stands {GOOD.count(good)} times in the good agreement")
            text = text.replace(good, mistaken)
        return text


def write_agreement(text: str, folder: Path) -> Path:
    """Write an agreement and the taxonomies beside it; return its path."""
    for name, content in TAXONOMIES.items():
        (folder / name).write_text(content)
    (folder / "agreement.toml").write_text(text)
    return folder / "agreement.toml"


GOOD = """\
format = 1
name = "loan-risk"
dataset = "customers-2024"
partition = "vertical"

[parties.bank]
description = "The bank"

[parties.loans]
description = "The credit bureau"

[records]
identifier = "customer"
expected = 20000

[class]
name = "default"
values = ["no", "yes"]

[attributes.job]
kind = "categorical"
taxonomy = "jobs.json"
held_by = "bank"

[attributes.income]
kind = "numerical"
bounds = [0, 200000]
grid = { step = 10000 }
held_by = "bank"

[attributes.region]
kind = "categorical"
values = ["north", "south", "east", "west"]
held_by = "loans"

[attributes.age]
kind = "numerical"
bounds = [18, 99]
grid = { step = 5 }
held_by = "loans"

[privacy]
epsilon = 1.0

[mechanism]
name = "specialization"
"""
"""The agreement that all mistakes are made in. It is good."""

TAXONOMIES = {
    "jobs.json": """{"job": {"ANY": {
        "Worker": {"cook": {}, "clerk": {}, "driver": {}}, "Doctor": {"surgeon": {}, "vet": {}}
    }}}""",
    "jobs-list.json": """{"job": {"ANY": ["cook", "clerk", "vet"]}}""",
    "jobs-not-json.json": """{
        "job": {
            "ANY": {cook: {}, clerk: {}}
    }}""",
    "jobs-repeated.json": """{"job": {"ANY": {
        "Worker": {"cook": {}, "Driver": {}}, "Driver": {"bus": {}, "lorry": {}}
    }}}""",
    "jobs-sibling-repeated.json": """{"job": {"ANY": {
        "Worker": {"cook": {}, "clerk": {}}, "Worker": {"driver": {}}, "Doctor": {"surgeon": {}, "vet": {}}
    }}}""",
    "jobs-two-roots.json": """{"job": {
        "Worker": {"cook": {}, "clerk": {}}, "Doctor": {"surgeon": {}, "vet": {}}
    }}""",
}
"""Files beside it."""


def after(line: str, *lines: str) -> tuple[str, str]:
    """A patch that writes lines below one of the good agreement."""
    return line, "\n".join([line, *lines])


def before(line: str, *lines: str) -> tuple[str, str]:
    """A patch that writes lines above one of the good agreement."""
    return line, "\n".join([*lines, line])


PINS = [f"sha256:{letters * 32}" for letters in ("ab", "cd")]

MISTAKES = [
    Mistake(
        "unquoted text",
        ('dataset = "customers-2024"', "dataset = customers-2024"),
        expect=["not valid TOML", "line 3", "quotes"],
    ),
    Mistake(
        "section twice",
        before("[privacy]", "[attributes.age]", 'kind = "numerical"', ""),
        expect=["not valid TOML", "line", "age", "twice"],
    ),
    Mistake(
        "true with a capital",
        after("expected = 20000", "public = True"),
        expect=["not valid TOML", "line", "true and false are written in small letters"],
    ),
    Mistake("section missing", ("[privacy]\nepsilon = 1.0\n\n", ""), expect=["'privacy' is missing"]),
    Mistake(
        "section misspelt",
        ("[attributes.age]", "[attribute.age]"),
        expect=["attribute: there is no such key", "did you mean 'attributes'?"],
    ),
    Mistake("format missing", ("format = 1\n", ""), expect=["'format' is missing", "write format = 1 at the top"]),
    Mistake(
        "format unknown",
        ("format = 1", "format = 3"),
        expect=["format: this version reads format = 1, got 3"],
    ),
    Mistake(
        "name with spaces",
        ('name = "loan-risk"', 'name = "loan risk"'),
        expect=["name:", "letters, digits", "'loan risk'"],
    ),
    Mistake("dataset missing", ('dataset = "customers-2024"\n', ""), expect=["'dataset' is missing", "ledgers"]),
    # The misspelt key is unknown, and the right one is missing.
    Mistake(
        "epsilon misspelt",
        ("epsilon = 1.0", "epsilonn = 1.0"),
        expect=["privacy.epsilonn: there is no such key", "did you mean 'epsilon'?", "privacy: 'epsilon' is missing"],
        problems=2,
    ),
    Mistake(
        "neighbors misspelt",
        after("epsilon = 1.0", 'neighbor = "replace"'),
        expect=["privacy.neighbor: there is no such key", "did you mean 'neighbors'?"],
    ),
    Mistake(
        "epsilon missing",
        ("epsilon = 1.0", 'neighbors = "add-remove"'),
        expect=["privacy: 'epsilon' is missing", "epsilon = 1.0"],
    ),
    Mistake(
        "epsilon zero", ("epsilon = 1.0", "epsilon = 0"), expect=["privacy.epsilon:", "at least", "got 0", "usual"]
    ),
    Mistake(
        "epsilon negative", ("epsilon = 1.0", "epsilon = -0.5"), expect=["privacy.epsilon:", "at least", "got -0.5"]
    ),
    Mistake(
        "epsilon too large", ("epsilon = 1.0", "epsilon = 50"), expect=["privacy.epsilon:", "at most 10", "got 50"]
    ),
    Mistake(
        "epsilon true", ("epsilon = 1.0", "epsilon = true"), expect=["privacy.epsilon:", "a number, not true or false"]
    ),
    Mistake("epsilon infinite", ("epsilon = 1.0", "epsilon = inf"), expect=["privacy.epsilon:", "got inf"]),
    Mistake(
        "neighbors unknown",
        after("epsilon = 1.0", 'neighbors = "bounded"'),
        expect=["privacy.neighbors:", "'bounded'", "'add-remove'", "'replace'"],
    ),
    Mistake(
        "one party only",
        ('\n[parties.loans]\ndescription = "The credit bureau"\n', ""),
        expect=["parties:", "at least 2", "got 1"],
    ),
    Mistake(
        "parties as list",
        (
            '\n[parties.bank]\ndescription = "The bank"\n\n[parties.loans]\ndescription = "The credit bureau"',
            'parties = ["bank", "loans"]',
        ),
        expect=["parties:", "[parties.bank]"],
    ),
    Mistake(
        "partition unknown",
        ('partition = "vertical"', 'partition = "by-column"'),
        expect=["partition:", "'by-column'", "'horizontal'", "'vertical'", "'arbitrary'"],
    ),
    Mistake(
        "holder unknown",
        after('values = ["no", "yes"]', 'held_by = "bnak"'),
        expect=["class.held_by:", "'bnak' is not a party", "'bank', 'loans'"],
    ),
    Mistake(
        "holder missing in vertical",
        ('grid = { step = 5 }\nheld_by = "loans"', "grid = { step = 5 }"),
        expect=["attributes.age: say which party holds it", 'held_by = "bank"'],
    ),
    Mistake(
        "holder given in horizontal",
        ('partition = "vertical"', 'partition = "horizontal"'),
        ('taxonomy = "jobs.json"\nheld_by = "bank"', 'taxonomy = "jobs.json"'),
        ('grid = { step = 10000 }\nheld_by = "bank"', "grid = { step = 10000 }"),
        ('grid = { step = 5 }\nheld_by = "loans"', "grid = { step = 5 }"),
        expect=["attributes.region.held_by:", "whole rows", "Remove 'held_by'"],
    ),
    Mistake(
        "two holders in vertical",
        ('grid = { step = 5 }\nheld_by = "loans"', 'grid = { step = 5 }\nheld_by = ["bank", "loans"]'),
        expect=["attributes.age.held_by:", "one party holds the whole column", 'partition = "arbitrary"'],
    ),
    Mistake(
        "holder named twice",
        ('partition = "vertical"', 'partition = "arbitrary"'),
        ('grid = { step = 5 }\nheld_by = "loans"', 'grid = { step = 5 }\nheld_by = ["bank", "bank"]'),
        expect=["attributes.age.held_by:", "each one once"],
    ),
    Mistake(
        "no holder named",
        ('grid = { step = 5 }\nheld_by = "loans"', "grid = { step = 5 }\nheld_by = []"),
        expect=["attributes.age.held_by:", "at least one party"],
    ),
    Mistake(
        "party holds nothing",
        before("[records]", "[parties.insurer]", ""),
        expect=["parties.insurer:", "holds no attribute", "leave it out"],
    ),
    Mistake(
        "class held by some parties",
        before("[records]", "[parties.insurer]", ""),
        after('values = ["no", "yes"]', 'held_by = ["bank", "loans"]'),
        before(
            "[mechanism]",
            "[attributes.claims]",
            'kind = "numerical"',
            "bounds = [0, 50]",
            "grid = { step = 1 }",
            'held_by = "insurer"',
            "",
        ),
        expect=["class.held_by:", "one party or by all of them"],
    ),
    Mistake(
        "identifier missing",
        ('identifier = "customer"\n', ""),
        expect=["records.identifier:", "joins records by an identifier", "row-order"],
    ),
    Mistake(
        "identifier also attribute",
        ('identifier = "customer"', 'identifier = "age"'),
        expect=["attributes.age:", "identifier", "Remove it"],
    ),
    Mistake(
        "identifier also class",
        ('identifier = "customer"', 'identifier = "default"'),
        expect=["class.name:", "'default' is the identifier", "another column"],
    ),
    Mistake(
        "expected missing", ("expected = 20000\n", ""), expect=["records: 'expected' is missing", "expected = 20000"]
    ),
    Mistake("expected zero", ("expected = 20000", "expected = 0"), expect=["records.expected:", "above 0", "got 0"]),
    Mistake(
        "expected in words",
        ("expected = 20000", 'expected = "about 20000"'),
        expect=["records.expected:", "whole number", "about 20000"],
    ),
    Mistake(
        "public number with add remove",
        after("expected = 20000", "public = true"),
        expect=["records.public:", 'neighbors = "replace"', "public = false"],
    ),
    Mistake(
        "class with one value", ('values = ["no", "yes"]', 'values = ["yes"]'), expect=["class.values:", "at least 2"]
    ),
    Mistake(
        "class also attribute",
        ('name = "default"', 'name = "region"'),
        expect=["attributes.region:", "class already", "Remove it"],
    ),
    Mistake(
        "class values as numbers",
        ('values = ["no", "yes"]', 'values = [0, "1"]'),
        expect=["class.values.0:", "text in quotes", "got 0", 'Write "0"'],
    ),
    Mistake(
        "class values as true and false",
        ('values = ["no", "yes"]', 'values = [true, "false"]'),
        expect=["class.values.0:", "text in quotes", "got true", 'Write "true"'],
    ),
    Mistake(
        "class values as one text", ('values = ["no", "yes"]', 'values = "no, yes"'), expect=["class.values:", "list"]
    ),
    Mistake(
        "bounds missing",
        ("bounds = [0, 200000]\n", ""),
        expect=["attributes.income: 'bounds' is missing", "public knowledge"],
    ),
    Mistake(
        "bounds reversed",
        ("bounds = [0, 200000]", "bounds = [200000, 0]"),
        expect=["attributes.income:", "lower bound must be below", "[200000, 0]"],
    ),
    Mistake(
        "bounds with three numbers",
        ("bounds = [0, 200000]", "bounds = [0, 10, 200000]"),
        expect=["attributes.income.bounds:", "lowest and the highest"],
    ),
    Mistake(
        "bounds as text",
        ("bounds = [0, 200000]", 'bounds = ["zero", 200000]'),
        expect=["attributes.income.bounds.0:", "zero"],
    ),
    Mistake(
        "grid of too many cells",
        ("grid = { step = 10000 }", "grid = { round = 1024 }"),
        expect=["attributes.income.grid.round: must be at most 127"],
    ),
    Mistake(
        "grid given two ways",
        ("grid = { step = 10000 }", "grid = { step = 10000, count = 20 }"),
        expect=["attributes.income.grid:", "exactly one of 'step', 'edges', 'count' and 'round'"],
    ),
    Mistake(
        "grid edges outside bounds",
        ("grid = { step = 10000 }", "grid = { edges = [10000, 50000, 250000] }"),
        expect=["attributes.income", "must increase", "200000"],
    ),
    Mistake(
        "grid edges not increasing",
        ("grid = { step = 10000 }", "grid = { edges = [50000, 10000] }"),
        expect=["attributes.income", "must increase"],
    ),
    Mistake(
        "grid step too small",
        ("grid = { step = 10000 }", "grid = { step = 1000 }"),
        expect=["attributes.income", "more than 128 split points", "at least 1562.5"],
    ),
    Mistake(
        "grid step zero",
        ("grid = { step = 10000 }", "grid = { step = 0 }"),
        expect=["attributes.income.grid:", "above 0", "got 0"],
    ),
    Mistake("grid as number", ("grid = { step = 10000 }", "grid = 10000"), expect=["attributes.income.grid:", "step"]),
    Mistake(
        "grid count too large",
        ("grid = { step = 10000 }", "grid = { count = 1000 }"),
        expect=["attributes.income.grid.count:", "129", "1000"],
    ),
    Mistake(
        "neither values nor taxonomy",
        ('values = ["north", "south", "east", "west"]\n', ""),
        expect=["attributes.region:", "'values'", "'taxonomy'"],
    ),
    Mistake(
        "both values and taxonomy",
        after('taxonomy = "jobs.json"', 'values = ["cook", "clerk"]'),
        expect=["attributes.job:", "'values'", "'taxonomy'"],
    ),
    Mistake(
        "values listed twice",
        ('values = ["north", "south", "east", "west"]', 'values = ["north", "south", "north"]'),
        expect=["attributes.region", "listed twice: 'north'"],
    ),
    Mistake(
        "values as numbers",
        ('values = ["north", "south", "east", "west"]', 'values = ["1", "2", 3]'),
        expect=["attributes.region.values.2:", "text in quotes", "got 3", 'Write "3"'],
    ),
    Mistake(
        "values as decimals",
        ('values = ["north", "south", "east", "west"]', 'values = ["1.0", 1.5]'),
        expect=["attributes.region.values.1:", "text in quotes", "got 1.5", 'Write "1.5"'],
    ),
    Mistake(
        "values left empty",
        ('values = ["north", "south", "east", "west"]', "values = []"),
        expect=["attributes.region", "at least", "code book, not from private data"],
    ),
    Mistake(
        "value that means missing",
        ('values = ["north", "south", "east", "west"]', 'values = ["north", "south", "NA"]'),
        expect=["attributes.region:", "'NA'", "missing_spellings", "only one of them"],
    ),
    Mistake(
        "value reserved for missing",
        ('values = ["north", "south", "east", "west"]', 'values = ["north", "south", "(missing)"]'),
        expect=["attributes.region", "'(missing)' is reserved", 'missing = "category"'],
    ),
    Mistake(
        "taxonomy file missing",
        ('taxonomy = "jobs.json"', 'taxonomy = "job.json"'),
        expect=["attributes.job.taxonomy:", "no file 'job.json' beside the agreement"],
    ),
    Mistake(
        "taxonomy file without attribute",
        ("[attributes.job]", "[attributes.occupation]"),
        expect=["attributes.occupation.taxonomy:", "no tree under the name 'occupation'"],
    ),
    Mistake(
        "taxonomy file is not json",
        ('taxonomy = "jobs.json"', 'taxonomy = "jobs-not-json.json"'),
        expect=["attributes.job.taxonomy:", "not a JSON file", "line 3"],
    ),
    Mistake(
        "taxonomy label repeated",
        ('taxonomy = "jobs.json"', 'taxonomy = "jobs-repeated.json"'),
        expect=["attributes.job", "occur twice", "'Driver'"],
    ),
    Mistake(
        "taxonomy sibling repeated",
        ('taxonomy = "jobs.json"', 'taxonomy = "jobs-sibling-repeated.json"'),
        expect=["attributes.job", "twice", "'Worker'"],
    ),
    Mistake(
        "taxonomy with two roots",
        ('taxonomy = "jobs.json"', 'taxonomy = "jobs-two-roots.json"'),
        expect=["attributes.job", "one root"],
    ),
    Mistake(
        "taxonomy with a list",
        ('taxonomy = "jobs.json"', 'taxonomy = "jobs-list.json"'),
        expect=["attributes.job", "below 'ANY'", "mapping"],
    ),
    Mistake(
        "taxonomy as list of values",
        ('taxonomy = "jobs.json"', 'taxonomy = ["cook", "clerk"]'),
        expect=["attributes.job.taxonomy:", "tree"],
    ),
    Mistake(
        "kind unknown",
        ('[attributes.job]\nkind = "categorical"', '[attributes.job]\nkind = "category"'),
        expect=["attributes.job.kind:", "'category'", "'categorical', 'numerical'"],
    ),
    Mistake(
        "kind missing",
        ('[attributes.job]\nkind = "categorical"', "[attributes.job]"),
        expect=["attributes.job:", "'kind' is missing", 'kind = "categorical"'],
    ),
    Mistake(
        "missing unknown",
        after('values = ["north", "south", "east", "west"]', 'missing = "allow"'),
        expect=["attributes.region.missing:", "'allow'", "'category'", "a listed value"],
    ),
    Mistake(
        "key of the other kind",
        after('values = ["north", "south", "east", "west"]', "bounds = [0, 3]"),
        expect=["attributes.region.bounds:", "no such key"],
    ),
    Mistake(
        "mechanism unknown",
        ('name = "specialization"', 'name = "specialisation"'),
        expect=["mechanism.name:", "'specialisation'", "'specialization'"],
    ),
    Mistake(
        "specializations not whole",
        after('name = "specialization"', "specializations = 2.5"),
        expect=["mechanism.specializations:", "whole number", "got 2.5"],
    ),
    Mistake(
        "selection share above one",
        after('name = "specialization"', "selection_share = 1.5"),
        expect=["mechanism.selection_share:", "at most 0.99", "got 1.5"],
    ),
    Mistake(
        "value with a space",
        ('values = ["north", "south", "east", "west"]', 'values = ["north", "south "]'),
        expect=["attributes.region", "'south '", "space"],
    ),
    Mistake(
        "missing spelling with a space",
        after("expected = 20000", 'missing_spellings = ["?", "n/a "]'),
        expect=["records.missing_spellings", "'n/a '", "space"],
    ),
    Mistake(
        "attribute named count",
        ("[attributes.age]", "[attributes.count]"),
        expect=["attributes.count:", "name", "Rename"],
    ),
    Mistake(
        "names that differ in case alone",
        ("[attributes.age]", "[attributes.Region]"),
        expect=["attributes.Region:", "'region'"],
    ),
    # The party that was meant is left with nothing.
    Mistake(
        "holder unknown and only one",
        before("[records]", "[parties.insurer]", ""),
        before(
            "[mechanism]",
            "[attributes.claims]",
            'kind = "numerical"',
            "bounds = [0, 50]",
            "grid = { step = 1 }",
            'held_by = "insuror"',
            "",
        ),
        expect=["attributes.claims.held_by:", "'insuror' is not a party", "parties.insurer:", "holds no attribute"],
        problems=2,
    ),
    Mistake("class named count", ('name = "default"', 'name = "count"'), expect=["class.name:", "Rename"]),
    Mistake(
        "identifier rule unknown",
        ('identifier = "customer"', 'identifier = "customer_id"\nidentifier_rules = ["ignore-spaces", "ignore-cases"]'),
        expect=["records.identifier_rules.1: 'ignore-cases' is not one of", "'ignore-case'"],
    ),
    Mistake(
        "unknown score",
        after('name = "specialization"', 'score = "gini"'),
        expect=["mechanism.score:", "max", "'tv-gain', 'balanced-gain' or 'auto'"],
    ),
    Mistake(
        "identifier rule twice",
        ('identifier = "customer"', 'identifier = "customer_id"\nidentifier_rules = ["ignore-case", "ignore-case"]'),
        expect=["records.identifier_rules: name each rule once", "'ignore-case'"],
    ),
    Mistake(
        "identifier rules without identifier",
        ('identifier = "customer"', 'alignment = "row-order"\nidentifier_rules = ["ignore-case"]'),
        expect=["records.identifier_rules:", "names no identifier", "remove the rules"],
    ),
    Mistake(
        "identifier rule as text",
        ('identifier = "customer"', 'identifier = "customer_id"\nidentifier_rules = "ignore-case"'),
        expect=["records.identifier_rules: write a list", "'ignore-case'"],
    ),
    Mistake(
        "rule of a part that the identifier has not",
        (
            'identifier = "customer"',
            'identifier = ["surname", "born"]\nidentifier_rules = { surnam = ["ignore-case"] }',
        ),
        expect=["records.identifier_rules.surnam: this is no part of the identifier", "Did you mean 'surname'?"],
    ),
    Mistake(
        "match key that nobody gets to",
        ('identifier = "customer"', 'match_keys = [["customer"], ["customer", "born"]]'),
        expect=["records.match_keys.1:", "all of the earlier key [customer]", "Put it first"],
    ),
    Mistake(
        "identifier rules misspelt",
        ('identifier = "customer"', 'identifier = "customer_id"\nidentifer_rules = ["ignore-case"]'),
        expect=["records.identifer_rules: there is no such key", "did you mean 'identifier_rules'"],
    ),
    Mistake(
        "host without port",
        after('description = "The bank"', 'host = "bank.example"'),
        expect=["parties.bank.host", "name and port", "bank.example:7700"],
    ),
    Mistake(
        "host with a scheme",
        after('description = "The bank"', 'host = "https://bank.example:7700"'),
        expect=["parties.bank.host", "name and port"],
    ),
    Mistake(
        "port too large",
        after('description = "The bank"', 'host = "bank.example:77000"'),
        expect=["parties.bank.host", "name and port"],
    ),
    Mistake(
        "fingerprint with colons",
        after('description = "The bank"', 'certificate = "AB:CD:EF"'),
        expect=["parties.bank.certificate", "copublish identity show", "64 hexadecimal digits"],
    ),
    Mistake(
        "two pins",
        after('description = "The bank"', f'certificate = "{PINS[0]}"', f'authority = "{PINS[1]}"'),
        expect=["parties.bank", "one of them"],
    ),
    Mistake(
        "same certificate twice",
        after('description = "The bank"', f'certificate = "{PINS[0]}"'),
        after('description = "The credit bureau"', f'certificate = "{PINS[0]}"'),
        expect=["parties.loans.certificate", "the same as that of 'bank'"],
    ),
    Mistake(
        "same host twice",
        after('description = "The bank"', 'host = "localhost:7700"'),
        after('description = "The credit bureau"', 'host = "localhost:7700"'),
        expect=["parties.loans.host", "Every party has its own"],
    ),
    Mistake(
        "engine unknown",
        before("[mechanism]", "[engine]", 'name = "secure"', ""),
        expect=["engine.name:", "spu", "masked-sum", "secure"],
    ),
    Mistake(
        "engine key misspelt",
        before("[mechanism]", "[engine]", 'node = ["bank", "loans"]', ""),
        expect=["engine.node:", "did you mean 'nodes'"],
    ),
    Mistake(
        "protocol unknown",
        before("[mechanism]", "[engine]", 'protocol = "semi2k"', ""),
        expect=["engine.protocol:", "cheetah", "aby3", "semi2k"],
    ),
    Mistake(
        "node is no party",
        before("[mechanism]", "[engine]", 'nodes = ["banc", "loans"]', ""),
        expect=["engine.nodes:", "'banc' is not a party", "'bank', 'loans'"],
    ),
    Mistake(
        "one node too many",
        before("[records]", "[parties.registry]", 'description = "A registry"', ""),
        (
            'values = ["north", "south", "east", "west"]\nheld_by = "loans"',
            'values = ["north", "south", "east", "west"]\nheld_by = "registry"',
        ),
        before("[mechanism]", "[engine]", 'nodes = ["bank", "loans", "registry"]', ""),
        expect=["engine.nodes:", "name 2 different parties", "cheetah"],
    ),
    Mistake(
        "node named twice",
        before("[mechanism]", "[engine]", 'nodes = ["bank", "bank"]', ""),
        expect=["engine.nodes:", "name 2 different parties"],
    ),
    Mistake(
        "three nodes of two parties",
        before("[mechanism]", "[engine]", 'protocol = "aby3"', ""),
        expect=["engine.protocol:", "'aby3' needs 3 parties"],
    ),
    Mistake(
        "aggregator on the secure engine",
        before("[mechanism]", "[engine]", 'aggregator = "bank"', ""),
        expect=["engine.aggregator:", "means nothing to the engine 'spu'", "Remove it"],
    ),
    # Masked sums need another mechanism, too.
    Mistake(
        "nodes without a secure engine",
        before("[mechanism]", "[engine]", 'name = "masked-sum"', 'nodes = ["bank", "loans"]', ""),
        expect=["engine.nodes:", "means nothing to the engine 'masked-sum'"],
        problems=2,
    ),
    Mistake(
        "data in words",
        after('description = "The bank"', 'data = "no"'),
        expect=["parties.bank.data:", "true or false"],
    ),
    Mistake(
        "one owner of data",
        after("[parties.loans]", "data = false"),
        before("[records]", "[parties.registry]", 'description = "A registry"', "data = false", ""),
        (
            'values = ["north", "south", "east", "west"]\nheld_by = "loans"',
            'values = ["north", "south", "east", "west"]\nheld_by = "bank"',
        ),
        ('grid = { step = 5 }\nheld_by = "loans"', 'grid = { step = 5 }\nheld_by = "bank"'),
        expect=["parties:", "at least two of them hold data", "data = false"],
    ),
    Mistake(
        "column at a party without data",
        before("[records]", "[parties.registry]", 'description = "A registry"', "data = false", ""),
        (
            'values = ["north", "south", "east", "west"]\nheld_by = "loans"',
            'values = ["north", "south", "east", "west"]\nheld_by = "registry"',
        ),
        expect=["attributes.region.held_by:", "by parties.registry.data this party holds no data"],
    ),
    Mistake(
        "expected with a point",
        ("expected = 20000", "expected = 20.000"),
        expect=[
            "records.expected: write a whole number, got 20.000. It has no point: twenty thousand is written 20000"
        ],
    ),
    Mistake(
        "expected in quotes",
        ("expected = 20000", 'expected = "20.000"'),
        expect=["records.expected: write a whole number without quotes, got '20.000'"],
    ),
    Mistake("epsilon with a comma", ("epsilon = 1.0", "epsilon = 1,5"), expect=["decimals a point (1.5)"]),
]
