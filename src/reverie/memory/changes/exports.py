"""Export all memories as files, a .zip or JSON, without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from reverie.core.foreign_text import printable_json
from reverie.memory.format import topic
from reverie.memory.format.manifest import is_index
from reverie.ports import Scrubber

EXPORT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Exported:
    """The files to export, and the kinds of secrets removed from each."""

    files: Mapping[str, bytes]
    secrets: Mapping[str, tuple[str, ...]]

    @property
    def memories(self) -> tuple[str, ...]:
        return tuple(name for name in self.files if not is_index(name))


def exported(files: Mapping[str, bytes], scrubber: Scrubber) -> Exported:
    """Copy files byte for byte, except for secrets."""
    clean: dict[str, bytes] = {}
    secrets: dict[str, tuple[str, ...]] = {}
    for name, data in sorted(files.items()):
        scrubbed = scrubber.scrub(data.decode("utf-8", "surrogateescape"))
        clean[name] = scrubbed.text.encode("utf-8", "surrogateescape") if scrubbed.kinds else data
        if scrubbed.kinds:
            secrets[name] = scrubbed.kinds
    return Exported(clean, secrets)


def as_zip(export: Exported, at: float) -> bytes:
    """A zip archive; its bytes depend only on the memories and the time."""
    made = BytesIO()
    # A .zip cannot store times before 1980, and only even seconds.
    stamp = max(datetime.fromtimestamp(at, UTC), datetime(1980, 1, 1, tzinfo=UTC)).timetuple()[:6]
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        for name, data in export.files.items():
            item = ZipInfo(name, stamp)
            item.external_attr = 0o600 << 16
            item.compress_type = ZIP_DEFLATED
            archive.writestr(item, data)
    return made.getvalue()


def as_json(export: Exported, at: float) -> str:
    """A JSON object; `text` is the whole file, so that an import loses nothing."""
    memories = []
    for name in export.memories:
        memory = topic.parse(export.files[name], name)
        about = {"file": name, "name": memory.name, "type": memory.type}
        text = export.files[name].decode("utf-8", "surrogateescape")
        memories.append({**about, "description": memory.description, "text": text})
    stamp = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
    data = {"reverie_export": EXPORT_VERSION, "exported": stamp, "memories": memories}
    return printable_json(data, indent=2) + "\n"
