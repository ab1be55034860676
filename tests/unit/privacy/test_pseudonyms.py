"""Keyed pseudonyms: one for each person, and none without the key."""

import hashlib
import hmac
import stat
from base64 import b32encode

import polars as pl
import pytest

from shoal.errors import InputError, OutputError, RecipeError
from shoal.privacy.people import number_people
from shoal.privacy.pseudonyms import is_readable_by_others, make_pseudonyms, read_key

KEY = b"0123456789abcdef"


def test_a_pseudonym_is_a_keyed_hash_of_the_id_in_one_spelling():
    made = make_pseudonyms(pl.Series("id", ["P1", "p1 ", "P2"]), KEY)
    whole = b32encode(hmac.new(KEY, b"id:p1", hashlib.sha256).digest()).decode().lower()
    assert made.to_list()[:2] == [f"p{whole[:26]}"] * 2
    assert made[2] != made[0]
    assert made.name == "id"


@pytest.mark.parametrize(
    "ids", [["a", None, "", "A ", "b"], [1, 1, None, 2, 3], [None, None, None, None, None]]
)
def test_pseudonyms_tell_people_apart_as_ids_do(ids):
    column = pl.Series("id", ids)
    made = make_pseudonyms(column, KEY)
    assert not made.has_nulls()
    number, missing = number_people(column)
    again, still = number_people(made)
    assert still == 0
    assert len(set(zip(number.tolist(), again.tolist(), strict=True))) == len(set(number.tolist()))
    assert missing == sum(each in (None, "") for each in ids)


def test_another_key_gives_other_pseudonyms():
    column = pl.Series("id", ["a", None])
    first, second = make_pseudonyms(column, KEY), make_pseudonyms(column, KEY[::-1])
    assert not set(first) & set(second)


def test_a_key_file_is_made_once_for_its_owner_only(tmp_path):
    path = tmp_path / "key"
    key = read_key(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_key(str(path)) == key == path.read_bytes().strip()
    assert len(key) == 64
    assert read_key(str(tmp_path / "other")) != key
    assert not is_readable_by_others(str(path))
    path.chmod(0o640)
    assert is_readable_by_others(str(path))
    assert not is_readable_by_others(None)


def test_the_key_can_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", f"{KEY.decode()}\n")
    assert read_key(None) == KEY
    monkeypatch.delenv("SHOAL_KEY")
    with pytest.raises(RecipeError, match=r"needs a secret key: .*--key-file FILE.*SHOAL_KEY"):
        read_key(None)


@pytest.mark.parametrize("content", [b"", b"short\n", b"x" * 70_000])
def test_a_key_that_is_none_is_refused(content, tmp_path):
    (tmp_path / "key").write_bytes(content)
    with pytest.raises(InputError, match=r"the key has \d+ bytes; it must have 16 at least"):
        read_key(str(tmp_path / "key"))


def test_a_key_file_that_cannot_be_made_or_read(tmp_path):
    with pytest.raises(OutputError, match="cannot make the key file"):
        read_key(str(tmp_path / "nowhere" / "key"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot read the key file"):
        read_key(str(tmp_path / "folder"))
