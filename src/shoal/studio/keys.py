"""The secret key of pseudonyms: made here or brought by the user, in a file that only its owner can read.

A recipe names the file and never holds the key. The key leaves the studio by a download of its own, beside
which the page says that it is a secret, and by nothing else.
"""

from __future__ import annotations

from pathlib import Path

from shoal.errors import ShoalError
from shoal.privacy.pseudonyms import read_key
from shoal.studio.private import make_folder, open_private

KEY = "pseudonyms.key"
"""What a recipe, a command and the download call the file."""


class SecretKeys:
    """The key that the next run takes; keys of earlier runs stay until the table is closed."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number = folder, 0
        make_folder(folder)
        self.path: Path | None = None
        self.is_given = False
        """Whether the user brought the key."""

    def make_key(self) -> Path:
        """The key, which is made if there is none."""
        if self.path is None:
            self._use_path(self._reserve_path(), given=False)
        assert self.path is not None
        return self.path

    def take_key(self, uploaded: Path) -> None:
        """Use the key in a file that was uploaded.

        Raises
        ------
        InputError
            When it is too short or too long for a key.
        """
        path = self._reserve_path()
        with open(path, "wb", opener=open_private) as stream:
            stream.write(uploaded.read_bytes())
        self._use_path(path, given=True)

    def forget_key(self) -> None:
        """Let the next run have another key; the files stay for the runs that were made with them."""
        self.path, self.is_given = None, False

    def _reserve_path(self) -> Path:
        self._number += 1
        make_folder(self._folder / str(self._number))
        return self._folder / str(self._number) / KEY

    def _use_path(self, path: Path, given: bool) -> None:
        try:
            read_key(str(path))  # made if there is none, and refused if it is none
        except ShoalError as error:
            path.unlink(missing_ok=True)
            raise type(error)(str(error).replace(str(path), "the file")) from error
        self.path, self.is_given = path, given
