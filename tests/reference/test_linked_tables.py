"""People and their laboratory tests: k people for what is known, counted by plain Python over the files."""

import csv
import gzip
from collections import Counter, defaultdict
from itertools import combinations

import polars as pl
import pytest

import shoal

QUASI = ["age", "male", "labs.days", "labs.test"]


def read(path):
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.DictReader(text.splitlines()))


def join(folder, labs):
    """By person, the static cells and the events with how often each occurs."""
    static = {row["id"]: (row["age"], row["male"]) for row in read(folder / "nafld_people.csv")}
    events = defaultdict(Counter)
    for row in read(folder / labs):
        events[row["id"]][(row["days"], row["test"])] += 1
    assert set(events) <= set(static)
    return static, events


def anonymize(people, labs, folder, **more):
    return shoal.anonymize(
        people,
        events={"labs": labs},
        person="id",
        quasi=QUASI,
        others="drop",
        k=5,
        pseudonym=True,
        key_file=folder / "key",
        output=folder / "release",
        **more,
    )


@pytest.mark.exhaustive
def test_one_known_event(shared_data, tmp_path):
    folder = shared_data / "people"
    report = anonymize(folder / "nafld_people.csv", folder / "nafld_labs.csv.gz", tmp_path).report
    static, events = join(tmp_path / "release", "labs.csv.gz")
    assert (len(static), sum(own.total() for own in events.values())) == (17_549, 400_123)
    people = Counter(static.values())
    people.update((static[person], event) for person, own in events.items() for event in own)
    assert min(people.values()) == report.smallest_class >= 5
    assert report.tables["nafld_people"].ncp + report.tables["labs"].ncp <= 0.0070
    assert (report.suppressed_rows, report.people_left_out) == (0, 0)


@pytest.mark.slow
def test_two_known_events_of_some_people(shared_data, tmp_path):
    folder = shared_data / "people"
    people = pl.read_csv(folder / "nafld_people.csv", infer_schema=False).head(800)
    labs = pl.read_csv(folder / "nafld_labs.csv.gz", infer_schema=False)
    people.write_csv(tmp_path / "nafld_people.csv")
    labs.filter(pl.col("id").is_in(people["id"].implode())).write_csv(tmp_path / "labs.csv")
    report = anonymize(
        tmp_path / "nafld_people.csv", tmp_path / "labs.csv", tmp_path, knows=2, suppress=0.01
    ).report
    static, events = join(tmp_path / "release", "labs.csv")
    found = Counter(static.values())
    for person, own in events.items():
        twice = [event for event, times in own.items() if times > 1]
        found.update((static[person], event) for event in own)
        found.update((static[person], event, event) for event in twice)
        found.update((static[person], *pair) for pair in combinations(sorted(own), 2))
    assert min(found.values()) == report.smallest_class >= 5
    assert report.tables["labs"].left_out <= 0.01 * report.tables["labs"].rows
