"""A fit on blocks that continues after its client or scheduler died, to the same bits.

The client of a fit is a deterministic function of the results that it gathers from tasks. A checkpoint is the journal of these
results. To continue a fit, it is run again from its beginning with the results in the journal, and without their tasks; where
the journal ends, the tasks that the next result depends on are started. So every algorithm has checkpoints, and none has code
for them.

File     the bytes MAGIC, then records: their length and CRC-32, a JSON text, a line feed, and the arrays of which the text has
         types and shapes. The first record describes the fit. A record that was cut off is dropped with all that follows.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from .engine import Engine, Handle, Traffic

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MAGIC = b"rosenblatt checkpoint 1\n"
FRAME = struct.Struct("<QI")
PACKAGE = __name__.partition(".")[0]


class CheckpointError(ValueError):
    """A file that is not a checkpoint, or not one of this fit."""


# --- values as records -----------------------------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """A value as the bytes of a record.

    >>> decode(encode({"sums": (np.arange(3.0), None, "text")}))
    {'sums': (array([0., 1., 2.]), None, 'text')}
    """
    arrays: list[bytes] = []
    text = json.dumps(_plain(value, arrays))
    return b"".join([text.encode(), b"\n", *arrays])


def _plain(value: Any, arrays: list[bytes]) -> Any:
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "biufUS":
            raise TypeError(f"an array of {array.dtype} cannot be in a checkpoint")
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        arrays.append(array.tobytes(order))
        return {"array": [array.dtype.str, list(array.shape), order, isinstance(value, np.generic)]}
    if isinstance(value, list):
        return [_plain(each, arrays) for each in value]
    if isinstance(value, dict):
        return {"dict": [[_plain(key, arrays), _plain(each, arrays)] for key, each in value.items()]}
    kind = type(value)
    if isinstance(value, tuple) and kind is tuple:
        return {"tuple": [_plain(each, arrays) for each in value]}
    name = f"{kind.__module__}:{kind.__qualname__}"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"class": name, "values": [_plain(each, arrays) for each in value]}
    if is_dataclass(value):
        values = [_plain(getattr(value, each.name), arrays) for each in fields(value) if each.init]
        return {"class": name, "values": values}
    raise TypeError(f"a {kind.__name__} cannot be in a checkpoint")


def decode(record: bytes) -> Any:
    """The value of a record."""
    text, _, rest = record.partition(b"\n")
    return _value(json.loads(text), _Arrays(rest))


class _Arrays:
    """The arrays of a record, in their order."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def next(self, dtype: str, shape: list[int], order: Any, scalar: bool) -> Any:
        kind = np.dtype(dtype)
        size = kind.itemsize * int(np.prod(shape, dtype=np.int64))
        part = self._data[self._at : self._at + size]
        self._at += size
        array = np.frombuffer(part, kind).reshape(shape, order=order).copy(order=order)
        return array[()] if scalar else array


def _value(plain: Any, arrays: _Arrays) -> Any:
    if isinstance(plain, list):
        return [_value(each, arrays) for each in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        return arrays.next(*plain["array"])
    if "dict" in plain:
        return {_value(key, arrays): _value(each, arrays) for key, each in plain["dict"]}
    if "tuple" in plain:
        return tuple(_value(each, arrays) for each in plain["tuple"])
    module, _, name = plain["class"].partition(":")
    if module.partition(".")[0] != PACKAGE:
        raise CheckpointError(f"the checkpoint names a class of {module}")
    kind = getattr(sys.modules.get(module), name, None)  # whatever a fit gathers is of a module that it has imported
    values = [_value(each, arrays) for each in plain["values"]]
    if is_dataclass(kind) and isinstance(kind, type):
        names = [each.name for each in fields(kind) if each.init]
        return kind(**dict(zip(names, values, strict=True)))
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise CheckpointError(f"the checkpoint names {name}, which is no record")
    return kind(*values)


# --- the file ------------------------------------------------------------------------------------------------------------


class Journal:
    """The records of a checkpoint: those that were there are read once, new ones are appended and written to disk."""

    def __init__(self, path: str | Path, file: BinaryIO) -> None:
        self.path, self._file, self._end = path, file, len(MAGIC)
        self.records = 0  # read or written so far

    def __iter__(self) -> Iterator[Any]:
        """Read the records in the file; whatever follows the last complete one is cut off."""
        while True:
            self._file.seek(self._end)
            head = self._file.read(FRAME.size)
            length, check = FRAME.unpack(head) if len(head) == FRAME.size else (0, 0)
            record = self._file.read(length)
            if not length or len(record) < length or zlib.crc32(record) != check:
                self._file.truncate(self._end)
                return
            self._end += FRAME.size + length
            self.records += 1
            yield decode(record)

    def append(self, value: Any) -> None:
        """Write a record to disk."""
        record = encode(value)
        self._file.seek(self._end)
        self._file.write(FRAME.pack(len(record), zlib.crc32(record)) + record)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._end += FRAME.size + len(record)
        self.records += 1


@contextmanager
def open_journal(
    path: str | Path, describe: Callable[[dict[str, Any] | None], dict[str, Any]]
) -> Iterator[tuple[Journal, Any]]:
    """Open or create a checkpoint; the file is removed when the fit is complete.

    describe : returns the description of the fit, given that in the file or None.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CheckpointError(f"the checkpoint {path} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "r+b") as file:
        _lock(path, file)
        start = file.read(len(MAGIC))
        if start and not MAGIC.startswith(start):
            raise CheckpointError(f"{path} is not a checkpoint of rosenblatt: name another file")
        if len(start) < len(MAGIC):
            file.seek(0)
            file.write(MAGIC)
        journal = Journal(path, file)
        records = iter(journal)
        found = next(records, None)
        wanted = describe(found)
        if found is None:
            journal.append(wanted)
        else:
            _check_same(path, found, wanted)
        yield journal, records
        os.unlink(path)


def _lock(path: str | Path, file: BinaryIO) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise CheckpointError(f"another process uses the checkpoint {path}") from None


def _check_same(path: str | Path, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in {**wanted, **found}:
        if found.get(name) != wanted.get(name):
            raise CheckpointError(
                f"the checkpoint {path} is of another fit ({name} {found.get(name)!r}, here {wanted.get(name)!r}): remove it, "
                "or name another file"
            )


# --- the engine ------------------------------------------------------------------------------------------------------------


class _Task:
    """The handle of a task that is started when a result depends on it."""

    __slots__ = ("arguments", "handle", "submit")

    def __init__(self, submit: Callable[..., Handle], arguments: tuple[Any, ...]) -> None:
        self.submit: Callable[..., Handle] | None = submit
        self.arguments, self.handle = arguments, None

    def pending(self) -> list[_Task]:
        """The tasks among the arguments that were not started."""
        flat = [each for part in self.arguments for each in (part if isinstance(part, list) else [part])]
        return [each for each in flat if isinstance(each, _Task) and each.submit is not None]

    def start(self) -> None:
        """Start the task, whose arguments were started before."""
        assert self.submit is not None
        values = [[_handle(each) for each in part] if isinstance(part, list) else _handle(part) for part in self.arguments]
        self.handle, self.submit, self.arguments = self.submit(*values), None, ()


def _handle(argument: Any) -> Any:
    return argument.handle if isinstance(argument, _Task) else argument


class JournaledEngine:
    """An engine whose gathered results are in a journal."""

    def __init__(self, engine: Engine, journal: Journal, records: Iterator[Any]) -> None:
        self.engine, self.journal, self._records = engine, journal, records
        self.replays = True  # the journal has further results
        self._ahead = next(records, None)
        if self._ahead is None:
            self.replays = False

    @property
    def slots(self) -> int:
        return self.engine.slots

    @property
    def memory(self) -> int:
        return self.engine.memory

    @property
    def traffic(self) -> Traffic:
        return self.engine.traffic

    def put(self, value: Any) -> Handle:
        return self._task(self.engine.put, value)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Handle:
        return self._task(self.engine.submit, function, *arguments)

    def compute(self, collections: Sequence[Any]) -> list[Handle]:
        return [self._task(self._compute, (each,)) for each in collections]

    def _compute(self, collection: tuple[Any]) -> Handle:
        return self.engine.compute([collection[0]])[0]

    def gather(self, handles: Sequence[Handle]) -> list[Any]:
        if self.replays:
            found, self._ahead = self._ahead, next(self._records, None)
            self.replays = self._ahead is not None
            return list(found or ())
        for handle in handles:
            _start(handle)
        results = self.engine.gather([handle.handle for handle in handles])
        self.journal.append(results)
        return results

    def _task(self, submit: Callable[..., Handle], *arguments: Any) -> _Task:
        task = _Task(submit, arguments)
        if not self.replays:
            _start(task)
        return task


def _start(task: _Task) -> None:
    """Start a task after those that it depends on, which may be a long chain."""
    waiting = [task]
    while waiting:
        last = waiting[-1]
        before = last.pending()
        if before:
            waiting.extend(before)
            continue
        waiting.pop()
        if last.submit is not None:
            last.start()
