"""Rows of labels read level by level, beside the reader that takes them line by line."""

import pytest

from shoal.errors import InputError
from shoal.table.hierarchies.arx import list_rows, read_hierarchy, split_records
from shoal.table.hierarchies.assembly import align_levels, number_labels, number_levels
from shoal.table.hierarchies.labels import LabelTable, read_label_table

PLAIN = {
    "one root": "1;low;*\n2;low;*\n3;high;*\n",
    "no last line break": "1;low;*\n2;low;*",
    "of Windows": "1;low;*\r\n2;low;*\r\n",
    "groups without a root": "1;low\n2;low\n3;high\n",
    "values alone": "a\nb\n",
    "blanks around labels": " 1;low ;*\n2; low;*\n",
    "labels again": "1;low;*\n2;low;*\n1;low;*\n",
    "a header": "n;group;all\n1;low;*\n2;high;*\n",
}
OTHER = {
    "quotes": '"1";low;*\n2;low;*\n',
    "short lines": "1;low;*\n2;*\n",
    "a blank line": "1;low;*\n\n2;low;*\n",
    "filled up": "1;low;*\n2;*;\n3;*; \n",
    "some end in the root": "1;low\n2;*\n",
    "line breaks of old": "1;low;*\r2;low;*\r",
}


@pytest.mark.parametrize("text", [*PLAIN.values(), *OTHER.values()], ids=[*PLAIN, *OTHER])
def test_both_readers_agree(tmp_path, text):
    path = tmp_path / "n.csv"
    path.write_bytes(text.encode())
    rows, origin = list_rows(path)
    records = list(split_records(text, ";", "n"))
    records = records[1:] if records[0][1][0] == "n" else records
    assert [list(row) for row in rows] == [cells for _, cells in records]
    assert [origin.place(at) for at in range(len(rows))] == [f"line {line}" for line, _ in records]
    plain = [number_labels(column) for column in align_levels([tuple(cells) for _, cells in records])]
    found = number_levels(rows)
    assert [(ids.tolist(), labels) for ids, labels in found] == [
        (ids.tolist(), labels) for ids, labels in plain
    ]
    assert isinstance(rows, LabelTable) == (text in PLAIN.values() or text == OTHER["some end in the root"])


@pytest.mark.parametrize("text", OTHER.values(), ids=OTHER)
def test_what_is_not_a_table_of_labels_is_left_to_the_other_reader(text):
    if text != OTHER["some end in the root"]:
        assert read_label_table(text, ";") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1;low;*\n2; ;*\n", "line 2: an empty label at level 1"),
        ("1;low;*\n2;;*\n", "line 2: an empty label at level 1"),
        ("n;g\n1;low\n2;low\n1;high\n", "line 4: the value '1' is in 'high'"),
        ("1;low\n2;low;*\n", "line 2: 3 cells, but the first line has 2"),
    ],
)
def test_errors_name_the_line_whichever_reader_it_was(tmp_path, text, message):
    path = tmp_path / "n.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_hierarchy(path)
