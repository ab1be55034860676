import json
import os
import tomllib
from dataclasses import MISSING, fields, replace
from pathlib import Path

import pytest

from shoal.algorithms.mingen import MinGen
from shoal.algorithms.mondrian import Mondrian
from shoal.errors import InputError, RecipeError
from shoal.privacy import DistinctL, KAnonymity
from shoal.recipes.equivalent import command_line
from shoal.recipes.recipe import Recipe, hierarchy_files
from shoal.table import ReadOptions
from shoal.table.hierarchies import Hierarchy

JOBS = Hierarchy.from_tree({"manual": ["mason", "smith"], "office": {"law": ["judge"], "desk": ["clerk"]}})
AGES = Hierarchy.from_tree({"young": [1, 2], "old": [80]}, root="anyone")
SIMPLE = Recipe(quasi=("age",), models=(KAnonymity(2),))


@pytest.fixture
def full(tmp_path):
    """A recipe in which nothing is left as it is by default."""
    (tmp_path / "trees").mkdir()
    (tmp_path / "trees" / "sex.csv").write_text("F;*\nM;*\n")
    return Recipe(
        others="keep",
        quasi=("age", "job", "sex", "a, b"),
        models=(KAnonymity(5), DistinctL(3), DistinctL(2, 'ill "ness", really')),
        sensitive=("illness", 'ill "ness", really'),
        identifier=("name",),
        plain=("cost", "größe", "lab tests.cost"),
        events={"lab tests": str(tmp_path / "data" / "labs.csv")},
        input=str(tmp_path / "data" / "people.csv"),
        output=str(tmp_path / "release.csv"),
        reading=ReadOptions(";", "latin-1", False, ("?", "n/a")),
        missing="drop",
        types={"age": "integer", "sex": "string"},
        orders={"a, b": ("low", "mid", "high")},
        hierarchies=(str(tmp_path / "trees"), f"sex={tmp_path / 'trees' / 'sex.csv'}"),
        trees={"job": JOBS, "age": AGES},
        algorithm=Mondrian("relaxed", "nearest"),
        loss="entropy",
        weights={"age": 2.5, "job": 3, "sex": 0},
        category_order="appearance",
        suppress=0.05,
        render="interval",
        delimiter="|",
        safe_csv=True,
        row_order="released",
        language="de",
        keep_index=True,
        keep_metadata=True,
        fold=("illness",),
        strict=True,
        accept={"unique-rows": "the recipients signed a contract"},
        seed=7,
        threads=3,
        engine="spark",
        master="spark://head:7077",
        driver_rows=5000,
        person="patient, number",
        pseudonym=True,
        key_file=str(tmp_path / "secret.key"),
        knows="2",
        align="visit",
        relative="visit",
        group="house hold",
        top={"age": "90"},
        bottom={"age": "5%"},
        mean=("sex",),
        keyed=("name",),
        weight_column="weight of row",
    )


def settled(recipe):
    """A recipe with its paths written the shortest way."""
    paths = {name: os.path.normpath(getattr(recipe, name)) for name in ("input", "output", "key_file")}
    paths["events"] = {name: os.path.normpath(path) for name, path in recipe.events.items()}
    sources = [source.rpartition("=") for source in recipe.hierarchies]
    return replace(recipe, **paths, hierarchies=tuple(f"{c}{e}{os.path.normpath(p)}" for c, e, p in sources))


def test_nothing_in_the_full_recipe_is_a_default(full):
    for field in fields(Recipe):
        # For one machine, where the engine is for many; of files; for one algorithm; not with a pseudonym.
        if field.name in ("memory", "edition", "all_solutions", "sets", "bound"):
            continue
        default = field.default if field.default_factory is MISSING else field.default_factory()
        assert getattr(full, field.name) != default, field.name


def test_settings_of_exact_search_survive_a_file_and_are_refused_elsewhere():
    reading = ReadOptions(quasi_line=2)
    recipe = Recipe(("a",), (KAnonymity(2),), algorithm=MinGen(), all_solutions=True, reading=reading)
    assert Recipe.from_text(recipe.to_toml(), Path("recipe.toml")) == recipe
    assert "--quasi line:2" in command_line(recipe)
    assert "--all-solutions" in command_line(recipe)
    with pytest.raises(RecipeError, match="only an exact search"):
        Recipe(("a",), (KAnonymity(2),), all_solutions=True)
    with pytest.raises(RecipeError, match="read whole, in memory"):
        Recipe(("a",), (KAnonymity(2),), reading=reading, engine="spark")


def test_every_field_survives_being_written(full, tmp_path):
    folder = tmp_path / "recipes"
    folder.mkdir()
    path = folder / "full.toml"
    path.write_text(full.to_toml(folder), encoding="utf-8")
    assert settled(Recipe.from_toml(path)) == full
    local = replace(full, engine="local", master=None, memory="2GB")
    path.write_text(local.to_toml(folder), encoding="utf-8")
    assert settled(Recipe.from_toml(path)) == local


def test_paths_are_relative_to_the_folder_of_the_recipe(full, tmp_path):
    content = tomllib.loads(full.to_toml(tmp_path / "recipes"))
    assert content["table"]["input"] == str(Path("..", "data", "people.csv"))
    assert content["release"]["output"] == str(Path("..", "release.csv"))
    assert content["columns"]["hierarchies"] == [
        str(Path("..", "trees")),
        f"sex={Path('..', 'trees', 'sex.csv')}",
    ]


def test_paths_without_a_folder_stay_as_they_are(full):
    content = tomllib.loads(full.to_toml())
    assert content["table"]["input"] == full.input
    assert content["columns"]["hierarchies"] == list(full.hierarchies)


def test_a_recipe_can_be_moved_with_its_files(full, tmp_path, monkeypatch):
    path = tmp_path / "full.toml"
    path.write_text(full.to_toml(tmp_path), encoding="utf-8")
    monkeypatch.chdir(tmp_path.parent)
    assert settled(Recipe.from_toml(path.relative_to(tmp_path.parent))).input == str(
        Path(tmp_path.name, "data", "people.csv")
    )


def test_defaults_are_left_out():
    text = SIMPLE.to_toml()
    assert tomllib.loads(text) == {
        "shoal": {"recipe": 2},
        "columns": {"quasi": ["age"]},
        "goal": {"models": ["k(k=2)"]},
        "search": {"algorithm": "auto", "loss": "ncp", "seed": 0},
    }


def test_a_recipe_by_hand(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(
        """
[table]
input = "people.csv"
na = ["?"]
[columns]
quasi = ["age", "size", "job"]
sensitive = ["illness"]
orders = { size = [1, 2, 3] }
[goal]
models = ["k(k=5)", "distinct-l(l=2)"]
[search]
algorithm = "mondrian"
parameters = { cut = "nearest" }
weights = { age = 2 }
[trees.job]
manual = ["mason", "smith"]
office = ["clerk"]
"""
    )
    recipe = Recipe.from_toml(str(path))
    assert recipe.input == str(tmp_path / "people.csv")
    assert recipe.reading == ReadOptions(na=("?",))
    assert recipe.models == (KAnonymity(5), DistinctL(2))
    assert recipe.algorithm == Mondrian(cut="nearest")
    assert recipe.orders == {"size": ("1", "2", "3")}
    assert recipe.trees["job"].names[1] == ("manual", "office")


BASE = '[columns]\nquasi = ["age"]\n[goal]\nmodels = ["k(k=5)"]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[colums]\n", "unknown section 'colums': did you mean 'columns'?"),
        ("table = 3\n", "'table' must be a section, written [table]"),
        ("trees = 3\n", "'trees' must be a section, written [trees]"),
        ('[columns]\nquasy = ["age"]\n', "unknown setting in [columns] 'quasy': did you mean 'quasi'?"),
        ('[columns]\nquasi = "age"\n', "quasi in [columns] must be a list of texts, not 'age'"),
        ("[columns]\nquasi = [1]\n", "quasi in [columns] must be a list of texts, not [1]"),
        ('[goal]\nmodels = "k(k=5)"\n', "models in [goal] must be a list of texts, not 'k(k=5)'"),
        ("[table]\ninput = 3\n", "input in [table] must be text, not 3"),
        ('[table]\nheader = "no"\n', "header in [table] must be true or false, not 'no'"),
        ('[table]\ndelimiter_in = "::"\n', "the delimiter must be one ASCII character"),
        ('[search]\nparameters = "cut"\n', "parameters in [search] must be a table, not 'cut'"),
        (
            BASE + '[search]\nalgorithm = "mondrain"\n',
            "unknown algorithm 'mondrain': did you mean 'mondrian'?",
        ),
        (
            BASE + '[search]\nalgorithm = "mondrian"\nparameters = { cut = "newest" }\n',
            "unknown cut of algorithm mondrian 'newest': did you mean 'nearest'?",
        ),
        (BASE + '[search]\nloss = "entrophy"\n', "unknown loss 'entrophy': did you mean 'entropy'?"),
        (BASE + '[search]\nseed = "x"\n', "seed must be a whole number, not 'x'"),
        (BASE + "[search]\nseed = -1\n", "seed must be 0 or more, not -1"),
        (BASE + '[release]\ndelimiter = "::"\n', "the delimiter must be one ASCII character"),
        (BASE + "[search]\nweights = { sex = 2 }\n", "a weight is given for 'sex': not among 'age'"),
        (
            BASE + '[search]\nweights = { age = "x" }\n',
            "the weight of 'age' must be a finite number, not 'x'",
        ),
        (
            BASE + "[search]\nweights = { age = nan }\n",
            "the weight of 'age' must be a finite number, not nan",
        ),
        (BASE + '[search]\ncategory_order = "size"\n', "unknown category_order 'size'"),
        (
            BASE + '[table]\nmissing = "keep"\n',
            "unknown missing 'keep': there are 'category', 'drop', 'error'",
        ),
        (BASE + '[release]\nrender = "labels"\n', "unknown render 'labels': did you mean 'label'?"),
        (BASE + '[release]\nsafe_csv = "yes"\n', "safe_csv must be true or false, not 'yes'"),
        (BASE.replace('"age"', '"age", "age"'), "column 'age' is named twice: give each column one role"),
        (
            BASE.replace("[goal]", 'sensitive = ["age"]\n[goal]'),
            "column 'age' is named both quasi and sensitive: give each column one role",
        ),
        (
            BASE.replace("[goal]", 'types = { age = "int" }\n[goal]'),
            "column 'age': unknown type 'int': did you mean 'integer'?",
        ),
        (BASE.replace("k(k=5)", "k(k=0)"), "k must be at least 1, not 0"),
        (
            BASE.replace("[goal]", "[goal]\nsuppress = 1.5"),
            "suppress is a share of the rows, from 0 to 1, not 1.5",
        ),
        (BASE.replace("[goal]", "[goal]\nsuppress = nan"), "suppress is a share of the rows"),
        ('[goal]\nmodels = ["k(k=5)"]\n', "no quasi-identifiers"),
        ('[columns]\nquasi = ["age"]\n', "no privacy goal"),
        (BASE + '[trees]\nage = ["1", ""]\n', "trees.age, under '*': an empty label"),
        (BASE + '[trees]\nsex = ["F", "M"]\n', "a hierarchy is given for 'sex': not among 'age'"),
        ("quasi = [", "not a recipe: "),
    ],
)
def test_what_is_wrong_is_named_with_the_file(tmp_path, text, says):
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(RecipeError) as error:
        Recipe.from_toml(path)
    assert str(error.value).startswith(f"{path}: ")
    assert says in str(error.value)


def test_a_recipe_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot read the recipe: No such file"):
        Recipe.from_toml(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'input = "gr\xf6\xdfe"')
    with pytest.raises(RecipeError, match=r"not a recipe: '.*latin\.toml', line 1"):
        Recipe.from_toml(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"quasi": "age"}, "quasi must be a list of texts, not 'age'"),
        ({"quasi": ()}, "no quasi-identifiers"),
        ({"models": ()}, "no privacy goal"),
        ({"render": "Set"}, "unknown render 'Set': did you mean 'set'?"),
        ({"trees": {"job": JOBS}}, "a hierarchy is given for 'job': not among 'age'"),
        ({"threads": 1.5}, "threads must be a whole number, not 1.5"),
    ],
)
def test_a_recipe_checks_itself_when_it_is_made(settings, says):
    with pytest.raises(RecipeError) as error:
        replace(SIMPLE, **settings)
    assert says in str(error.value)


def test_the_files_of_a_hierarchy_source(full, tmp_path):
    folder, single = full.hierarchies
    assert hierarchy_files(folder) == [tmp_path / "trees" / "sex.csv"]
    assert hierarchy_files(single) == [tmp_path / "trees" / "sex.csv"]
    assert hierarchy_files(str(tmp_path / "trees" / "sex.csv")) == [tmp_path / "trees" / "sex.csv"]
    assert hierarchy_files("country=@countries") == []


def test_a_ready_made_hierarchy_is_no_path(full, tmp_path):
    named = replace(full, hierarchies=("sex=@marital-status",))
    (tmp_path / "deep").mkdir()
    text = named.to_toml(tmp_path / "deep")
    assert '"sex=@marital-status"' in text
    (tmp_path / "deep" / "r.toml").write_text(text)
    assert Recipe.from_toml(tmp_path / "deep" / "r.toml").hierarchies == ("sex=@marital-status",)


def test_a_recipe_is_a_hashable_value_that_nobody_can_change(full):
    given = {"age": 2.0}
    recipe = replace(SIMPLE, weights=given)
    given["age"] = 5.0
    assert recipe.weights == {"age": 2.0}
    assert {full: 1}[replace(full)] == 1
    assert hash(replace(SIMPLE, weights={"age": 3.0})) != hash(recipe)
    with pytest.raises(TypeError, match="cannot be changed"):
        recipe.weights["age"] = 1.0


def test_its_dictionary_makes_the_same_recipe_again(full):
    assert Recipe.from_dict(full.to_dict()) == full
    # Plain values only, as JSON and TOML have them.
    assert json.loads(json.dumps(full.to_dict())) == full.to_dict()


def test_a_saved_recipe_is_loaded_from_its_own_folder(full, tmp_path):
    full.save(tmp_path / "recipe.toml")
    assert Recipe.load(tmp_path / "recipe.toml") == full
    assert str(tmp_path) not in (tmp_path / "recipe.toml").read_text()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"models": [{"k": 5}]}, "a model is one such as KAnonymity"),
        ({"models": [KAnonymity]}, "a model is one such as KAnonymity"),
        ({"models": "k(k=5)"}, "models is a list of models"),
        ({"models": 5}, "models is a list of models"),
        ({"algorithm": Mondrian}, r"write Mondrian\(\)"),
        ({"algorithm": 7}, "the algorithm is a name"),
        ({"algorithm": "mondrain"}, "did you mean 'mondrian'"),
        ({"weights": [1, 2]}, "weights must be a mapping by column"),
        ({"sets": "|"}, "sets must be a mapping by column"),
    ],
)
def test_what_is_no_entry_is_refused_by_name(settings, message):
    with pytest.raises(RecipeError, match=message):
        Recipe(**{"quasi": ("age",), "models": [KAnonymity(2)], **settings})


def test_models_and_algorithms_may_be_texts():
    recipe = Recipe(quasi=("age",), models=["k(k=2)"], algorithm="mondrian(cut=nearest)")
    assert recipe == Recipe(quasi=("age",), models=(KAnonymity(2),), algorithm=Mondrian(cut="nearest"))


class TestExtends:
    BASE = """
        [shoal]
        recipe = 2
        [columns]
        identifier = ["name"]
        others = "drop"
        hierarchies = ["trees/sex.csv"]
        [goal]
        models = ["k(k=5)"]
        [search]
        algorithm = "mondrian"
        parameters = { cut = "nearest" }
        weights = { age = 2.0, sex = 1.0 }
    """

    def load(self, folder, text, base=BASE):
        (folder / "all").mkdir()
        (folder / "all" / "base.toml").write_text(base)
        (folder / "night.toml").write_text(f'extends = "all/base.toml"\n{text}')
        return Recipe.load(folder / "night.toml")

    def test_what_it_says_itself_comes_first(self, tmp_path):
        own = '[table]\ninput="day.csv"\n[columns]\nquasi=["age","sex"]\n[search]\nweights={ age = 3.0 }\n'
        recipe = self.load(tmp_path, own)
        assert (recipe.quasi, recipe.identifier, recipe.models) == (
            ("age", "sex"),
            ("name",),
            (KAnonymity(5),),
        )
        assert recipe.weights == {"age": 3.0, "sex": 1.0}
        assert recipe.algorithm == Mondrian(cut="nearest")
        # Paths start from the folder of the file that they stand in.
        assert recipe.input == str(tmp_path / "day.csv")
        assert recipe.hierarchies == (str(tmp_path / "all" / "trees" / "sex.csv"),)
        assert recipe.edition == 2

    def test_parameters_of_another_algorithm_are_not_taken_over(self, tmp_path):
        recipe = self.load(tmp_path, '[columns]\nquasi=["age", "sex"]\n[search]\nalgorithm="mingen"\n')
        assert recipe.algorithm == MinGen()

    def test_a_recipe_that_extends_itself_is_refused(self, tmp_path):
        with pytest.raises(RecipeError, match="extends itself"):
            self.load(tmp_path, "", base='extends = "../night.toml"')

    @pytest.mark.parametrize(
        "text, message",
        [('extends = "no.toml"', "cannot read the recipe"), ("extends = 5", "extends is the path")],
    )
    def test_a_file_that_is_not_there_is_named(self, tmp_path, text, message):
        (tmp_path / "night.toml").write_text(text)
        with pytest.raises(RecipeError, match=message):
            Recipe.load(tmp_path / "night.toml")
