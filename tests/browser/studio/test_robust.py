"""What goes wrong, and what else happens meanwhile: files, reloads, tabs, cancels, crashes, hostile cells."""

import os
import signal
from pathlib import Path

import pytest

from shoal.table.samples import write_sample

pytestmark = pytest.mark.exhaustive

EVIL = "<script>window.hacked = 1</script>"
WORSE = "<img src=x onerror='window.hacked = 1'>"


def evil_table() -> str:
    rows = [f'{20 + i % 40},"{EVIL}","{WORSE if i % 2 else "x"}"' for i in range(60)]
    return "\n".join([f'age,"{WORSE}",illness', *rows, ""])


def workers(server) -> list[int]:
    """The processes that the studio has started for its runs."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == server.process.pid and b"shoal.studio.worker" in line:
                found.append(int(entry.name))
    return found


def fresh(hand) -> None:
    """Begin without a table."""
    hand.open("open")
    hand.until(lambda: "Choose a file" in hand.text() or "Open another" in hand.text(), "the first step")
    if "Open another" in hand.text():
        hand.press("Open another", then="Close this table")
        hand.press("Close this table", then="Choose a file")


def sample_at_goal(hand) -> None:
    fresh(hand)
    hand.press("Take the sample", then="Describe the columns")
    hand.press("Describe the columns", then="Together, the 7 recognisable columns")
    hand.press("Choose a goal", then="What the table has now")


def advanced(hand) -> None:
    """Unfold every dial, unless that was done before."""
    if "Measure and release" not in hand.text():
        hand.unfold("Advanced")


def slow_run(hand) -> None:
    """A run that would take minutes."""
    advanced(hand)
    hand.choose("Algorithm", "genetic", then="generations")
    hand.type("generations", "1000000")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.until(lambda: workers(hand.server), "a process")


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("none.csv", b"age,illness\n", "none.csv has a header but no rows"),
        ("binary.csv", bytes(range(256)) * 40, "binary.csv"),
        ("not.parquet", b"PAR1 nothing of the kind", "not.parquet is damaged"),
        ("twice.csv", b"age,age\n1,2\n", "more than one column is called 'age'"),
    ],
)
def test_a_wrong_file_is_answered_with_the_library_s_words(hand, tmp_path, name, content, told):
    fresh(hand)
    (tmp_path / name).write_bytes(content)
    hand.give(tmp_path / name)
    hand.sees(told)
    assert "shoal-studio-" not in hand.text()  # the folder of uploads is not the user's
    hand.sees("Choose a file")


def test_a_table_of_one_column_goes_as_far_as_it_can(hand, tmp_path):
    fresh(hand)
    (tmp_path / "one.csv").write_text("age\n" + "".join(f"{20 + i % 7}\n" for i in range(50)))
    hand.give(tmp_path / "one.csv")
    hand.sees("50 rows, 1 columns")
    hand.press("Describe the columns")
    hand.sees("Together, the 1 recognisable columns")


def test_what_stands_in_a_cell_is_never_markup(hand, tmp_path):
    fresh(hand)
    (tmp_path / "evil.csv").write_text(evil_table())
    hand.give(tmp_path / "evil.csv")
    hand.sees(EVIL)
    hand.sees(WORSE)
    hand.press("Describe the columns")
    hand.sees("Choose a goal")
    hand.choose(f"Role of {WORSE}", "Recognisable")
    hand.choose("Role of illness", "Sensitive")
    hand.press("Choose a goal")
    hand.sees("What the table has now")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.press("Explore the result")
    hand.sees("of the detail lost")
    hand.open("release")
    hand.sees("The goal holds, but")  # a column that is kept as it is singles people out
    assert hand.driver.execute_script("return window.hacked === undefined")
    assert hand.complaints() == []


def test_a_reload_returns_to_where_one_was(hand):
    sample_at_goal(hand)
    hand.press("Strict")
    hand.until(lambda: hand.pressed("Strict"), "the goal")
    hand.driver.refresh()
    hand.until(lambda: hand.pressed("Strict"), "the goal after a reload")
    hand.open()  # the address that was printed
    hand.until(lambda: hand.pressed("Strict"), "the goal by the first address")


def test_two_tabs_see_the_same(hand):
    sample_at_goal(hand)
    first = hand.driver.current_window_handle
    hand.driver.switch_to.new_window("tab")
    try:
        hand.open("describe")
        hand.sees("Together, the 7 recognisable columns")
        hand.choose("Role of sex", "Keep as it is")
        hand.sees("Together, the 6 recognisable columns")
        hand.driver.switch_to.window(first)
        hand.sees("6 recognisable columns")
        hand.driver.switch_to.window(hand.driver.window_handles[-1])
    finally:
        hand.driver.close()
        hand.driver.switch_to.window(first)
    hand.press("On to the run", then="Start a run")
    hand.sees("6 recognisable columns")


def test_a_run_is_cancelled_in_the_middle_and_a_reload_finds_it(hand):
    sample_at_goal(hand)
    slow_run(hand)
    hand.sees("running")
    hand.driver.refresh()
    hand.sees("running")
    (process,) = workers(hand.server)
    hand.press("Cancel", then="cancelled")
    hand.until(
        lambda: not Path(f"/proc/{process}").exists() or workers(hand.server) == [], "the end of the process"
    )
    assert "Explore the result" in hand.text()
    hand.open("explore")
    hand.sees("There is no finished run yet")


def test_a_crash_is_shown_with_what_to_do_and_nothing_else_is_lost(hand):
    sample_at_goal(hand)
    slow_run(hand)
    (process,) = workers(hand.server)
    os.kill(process, signal.SIGKILL)
    hand.sees("ended from outside")
    hand.sees("run again")
    hand.open("goal")
    hand.sees("What the table has now")


def test_a_goal_out_of_reach_is_said_in_words(hand):
    sample_at_goal(hand)
    hand.type("people at least look alike in every group (k-anonymity)", "6000")
    hand.sees("k = 6000, but the table has 5,000 rows")
    hand.open("run")
    hand.sees("k = 6000, but the table has 5,000 rows")
    assert not hand.driver.find_element("xpath", "//button[contains(., 'Start a run')]").is_enabled()


def test_a_population_is_uploaded_and_taken(hand, tmp_path):
    people = tmp_path / "everybody.csv"
    write_sample("hospital", people, 8000)
    sample_at_goal(hand)
    advanced(hand)

    def none_left() -> bool:
        models = hand.driver.find_elements("xpath", "//button[contains(., 'Remove')]")
        if models:
            models[0].click()
        return not models

    hand.until(none_left, "a goal without models")
    hand.choose("Add a model", "k-map", then="Table of the population")
    hand.type("k", "5")
    hand.give(people)
    hand.until(lambda: hand.field("population").get_attribute("value") == people.name, "the name of the file")
    hand.press("On to the run", then="Start a run")
    hand.start_run()
    hand.press("Explore the result")
    hand.open("release")
    hand.sees("The goal holds, but")  # a column that is kept as it is singles people out
    assert "everybody.csv" in hand.text()  # in the command


def test_ctrl_c_ends_runs_and_removes_what_was_uploaded(hand):
    sample_at_goal(hand)
    slow_run(hand)
    (process,) = workers(hand.server)
    folder = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")[-2].decode()
    uploads = Path(folder).parents[1]
    assert uploads.name.startswith("shoal-studio-")
    code, said = hand.server.stop()
    assert (code, "Traceback" in said) == (130, False), said
    hand.until(lambda: not Path(f"/proc/{process}").exists(), "the end of the run")
    assert not uploads.exists()
