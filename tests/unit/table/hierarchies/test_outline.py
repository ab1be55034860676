import pytest

from shoal.errors import InputError
from shoal.table.hierarchies import Hierarchy, from_outline, read_hierarchies, render_outline

JOBS = """
# what people do
manual
  building
    mason
    plumber
  mechanic

office
\tclerk
none
"""


def test_indentation_makes_the_tree():
    tree = {"manual": {"building": ["mason", "plumber"], "mechanic": []}, "office": ["clerk"], "none": []}
    assert from_outline(JOBS) == Hierarchy.from_tree(tree)


def test_a_single_line_at_the_margin_is_the_root():
    assert from_outline("anyone\n  a\n  b\n").root == "anyone"
    assert from_outline("a\nb\n").to_rows() == [("a", "*"), ("b", "*")]
    assert from_outline("a").to_rows() == [("a", "*")]


def test_a_text_that_is_indented_as_a_whole():
    assert from_outline("    x\n      a\n    b\n").to_rows() == [("a", "x", "*"), ("b", "b", "*")]


def test_labels_that_would_be_misread_are_strings_of_json():
    tree = Hierarchy.from_rows([[" a", "#1", "*"], ['say "no"', "line\nbreak", "*"], ['"', "x", "*"]])
    assert '" a"' in render_outline(tree)
    assert from_outline(render_outline(tree)) == tree


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a\n    b\n  c\n",
            "outline, line 3: 'c' is indented by 2, but the lines that it may stand under by 0 or 4",
        ),
        ("  a\nb\n", "outline, line 2: 'b' is indented by 0, but the lines that it may stand under by 2"),
        ('a\n  "b\n', 'outline, line 2: "b is not a string of JSON'),
        (
            "x\n  a\ny\n  a\n",
            "outline, line 4: the value 'a' is in 'y' (level 1) here, but in 'x' before (line 2)",
        ),
        ("# nothing\n", "outline: there are no values"),
    ],
)
def test_bad_outlines(text, message):
    with pytest.raises(InputError) as caught:
        from_outline(text)
    assert str(caught.value).startswith(message)


def test_a_file_is_named_after_its_column(tmp_path):
    (tmp_path / "job.tree").write_text(JOBS)
    assert read_hierarchies(tmp_path / "job.tree", ["job"]) == {"job": from_outline(JOBS)}
    assert read_hierarchies(f"work={tmp_path / 'job.tree'}", ["work"]) == {"work": from_outline(JOBS)}
    with pytest.raises(InputError, match="which column is"):
        read_hierarchies(tmp_path / "job.tree", ["age"])
