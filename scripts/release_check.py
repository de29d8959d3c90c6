"""Check that Reverie can be released: build it, install it in fresh environments, use it there.

For each Python from 3.11 to 3.14 on this machine, the wheel is installed without extras into a new
environment, and a person's first commands are run in a scratch home. The sdist must build the same
wheel. A bill of materials (CycloneDX) and the licences of what is installed by default are written
to dist/. Exit code 0: all is well; what is not there to try is said.

    python scripts/release_check.py [--output dist]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
# What an Apache-2.0 program may be installed with.
FREE = ("apache", "mit", "bsd", "isc", "python software", "psf", "mpl", "zlib", "0bsd", "unlicense")
# GPL-2.0 with an exception for linking: a program that uses the library may have any licence.
LINKABLE = {"pygit2": "GPL-2.0 with linking exception"}

FIRST_COMMANDS = (
    (["--version"], "reverie "),
    (["remember", "Staging listens on port 8443"], "Remembered (project)"),
    (["recall", "which port does staging use?"], "8443"),
    (["chat", "-p", "which port does staging use?"], "8443"),
    (["list"], "1 memory"),
    (["undo"], "Undid"),
    (["models"], "anthropic"),
    (["doctor"], "✓"),
    (["completion", "bash"], "_REVERIE_COMPLETE"),
    (["completion", "zsh"], "_REVERIE_COMPLETE"),
    (["completion", "fish"], "_REVERIE_COMPLETE"),
)

# Data files that a wheel must carry: without them a feature would fall back in silence.
DATA = (
    "py.typed",
    "memory/format/kinds.json",
    "recall/calibration.json",
    "models/embeddings/potion/vectors.npy",
    "models/embeddings/potion/tokenizer.json",
    "models/embeddings/potion/LICENSE",
    "models/embeddings/notes/vectors.npy",
    "models/embeddings/notes/scales.npy",
    "text/forms/english.toml",
    "cli/demo/script/morning.toml",
    "web/static/htmx.min.js",
    "web/static/LICENSES.txt",
    "memory/postgres/migrations/0001_tenants.sql",
)


class CheckFailed(Exception):
    """Something that a release must not have."""


def run(*command: str | Path, cwd: Path = ROOT, **env: str) -> str:
    """Run a command and return what it prints; a failure shows it."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = " ".join(str(word) for word in command)
        raise CheckFailed(f"{shown}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def find_python(version: str) -> str | None:
    """A Python of this version that runs: on the path, or installed by pyenv."""
    installed = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for python in filter(None, (shutil.which(f"python{version}"), *map(str, installed))):
        if subprocess.run([python, "-V"], capture_output=True, check=False).returncode == 0:
            return python
    return None


def environment(folder: Path, python: str) -> Path:
    """A new virtual environment; return its Python."""
    run(python, "-m", "venv", folder)
    return folder / "bin" / "python"


def build(output: Path, scratch: Path) -> tuple[Path, Path]:
    """Build sdist and wheel, the wheel also from the sdist."""
    builder = environment(scratch / "builder", sys.executable)
    run(builder, "-m", "pip", "install", "-q", "build")
    shutil.rmtree(output, ignore_errors=True)
    # Without options, `build` makes the sdist and builds the wheel from it.
    run(builder, "-m", "build", "--outdir", output, ROOT)
    (wheel,) = output.glob("*.whl")
    (sdist,) = output.glob("*.tar.gz")
    return wheel, sdist


def check_wheel(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in DATA:
        if f"reverie/{needed}" not in names:
            raise CheckFailed(f"{wheel.name} has no reverie/{needed}")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        raise CheckFailed(f"{wheel.name} has no licence")
    foreign = [name for name in names if not name.startswith(("reverie/", "reverie-"))]
    if foreign:
        raise CheckFailed(f"{wheel.name} holds more than the package: {foreign[:3]}")


def check_install(python: str, wheel: Path, scratch: Path) -> Path:
    """Install the wheel without extras and use it as a new user does; return the environment."""
    folder = scratch / f"env-{Path(python).name}"
    ours = environment(folder, python)
    run(ours, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
    home, project = scratch / f"home-{Path(python).name}", scratch / f"shop-{Path(python).name}"
    home.mkdir()
    project.mkdir()
    for arguments, expected in FIRST_COMMANDS:
        printed = run(
            folder / "bin" / "reverie", *arguments, cwd=project, HOME=str(home), REVERIE_HOME=""
        )
        if expected not in printed:
            raise CheckFailed(f"reverie {' '.join(arguments)} printed:\n{printed}")
    run(ours, "-c", "import reverie; reverie.Memory, reverie.Context, reverie.Agent", cwd=project)
    return folder


def write_materials(folder: Path, output: Path, scratch: Path) -> list[dict[str, str]]:
    """Write the bill of materials and the licences; return the licences."""
    tools = environment(scratch / "tools", sys.executable)
    run(tools, "-m", "pip", "install", "-q", "cyclonedx-bom", "pip-licenses")
    python = folder / "bin" / "python"
    bill = run(tools.parent / "cyclonedx-py", "environment", "--output-reproducible", python)
    (output / "sbom.cdx.json").write_text(bill)
    listed = run(
        tools.parent / "pip-licenses", "--python", python, "--format", "json", "--from", "mixed"
    )
    licences: list[dict[str, str]] = json.loads(listed)
    (output / "licences.json").write_text(json.dumps(licences, indent=2) + "\n")
    return licences


def check_licences(licences: list[dict[str, str]]) -> None:
    unclear = [
        f"{row['Name']}: {row['License']}"
        for row in licences
        if row["Name"].lower() not in {"pip", "setuptools", *LINKABLE}
        and not any(word in row["License"].lower() for word in FREE)
    ]
    if unclear:
        raise CheckFailed("licences to look at: " + "; ".join(unclear))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    output = parser.parse_args().output
    found = {version: find_python(version) for version in VERSIONS}
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        try:
            wheel, sdist = build(output, scratch)
            check_wheel(wheel)
            print(f"built {wheel.name} ({wheel.stat().st_size / 1e6:.1f} MB) and {sdist.name}")
            folder = None
            for version, python in found.items():
                if python is None:
                    print(f"Python {version}: not on this machine, not tried")
                    continue
                folder = check_install(python, wheel, scratch)
                print(f"Python {version}: installs without extras and works")
            if folder is None:
                raise CheckFailed("no Python from 3.11 to 3.14 was found")
            licences = write_materials(folder, output, scratch)
            check_licences(licences)
            print(f"{len(licences)} packages by default, licences are compatible; see {output}")
        except CheckFailed as failed:
            print(failed, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
