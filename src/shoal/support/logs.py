"""What a run tells the standard ``logging``, under the name ``shoal``: one record for each event.

A record has the attribute ``event`` and, in ``fields``, what the event is about. Nobody hears of it who does
not listen.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from shoal.support.warning_codes import find_warning_code

LOGGER = logging.getLogger("shoal")
LOGGER.addHandler(logging.NullHandler())


def log_event(event: str, message: str, level: int = logging.INFO, **fields: Any) -> None:
    """Log an event with its fields."""
    LOGGER.log(level, message, extra={"event": event, "fields": fields})


def log_warning(text: str) -> None:
    """Log a warning of a report, with its code if it has one."""
    log_event("warning", text, logging.WARNING, code=find_warning_code(text))


class JsonFormatter(logging.Formatter):
    """Writes each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object: time, level, event, message and the fields of the event."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", "message"),
            "message": record.getMessage(),
        }
        return json.dumps(told | getattr(record, "fields", {}), default=str, ensure_ascii=False)


def log_to_stderr(as_json: bool) -> None:
    """Write events to standard error from here on, as JSON or as lines of text."""
    handler = logging.StreamHandler(sys.stderr)
    text = logging.Formatter("%(asctime)s %(levelname)s %(event)s: %(message)s")
    handler.setFormatter(JsonFormatter() if as_json else text)
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
