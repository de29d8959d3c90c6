"""Repositories as an archive can hold them: every way their configuration could start a program.

`{run}` is a shell command that leaves a mark. Each entry is what stands in `.git/config`, or a function
that changes a scratch repository.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tests.place import git

# Attributes that send every file through the driver `x`.
_ATTRIBUTES = "* filter=x diff=x merge=x\n"

Change: TypeAlias = Callable[[Path, str], None]


def repository(root: Path) -> Path:
    """Two commits, a change that is staged and one that is not, a stash, a tag, and a branch."""
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    for text in ("hello\n", "hello\nworld\n"):
        (root / "a.txt").write_text(text)
        (root / "b.txt").write_text(text.upper())
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", text.split()[-1])
    git(root, "tag", "v1")
    (root / "a.txt").write_text("stashed\n")
    git(root, "stash", "-q")
    (root / ".gitattributes").write_text(_ATTRIBUTES)
    (root / "b.txt").write_text("staged\n")
    git(root, "add", ".")
    (root / "a.txt").write_text("changed\n")
    (root / "sub").mkdir()
    return root


def _script(root: Path, name: str, run: str) -> Path:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{run}\ncat\n")
    path.chmod(0o755)
    return path


def _add(config: Path, text: str) -> None:
    with config.open("a") as file:
        file.write(text)


def _included(head: str) -> Change:
    def change(root: Path, run: str) -> None:
        (root / ".git" / "more").write_text(f'[filter "x"]\nclean = "{run}; cat"\n')
        _add(root / ".git" / "config", f"{head}\npath = more\n")

    return change


def _hooks(root: Path, run: str) -> None:
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-commit"):
        _script(root, f"hooks/{name}", run)
    _add(root / ".git" / "config", f"[core]\nhooksPath = {root}/hooks\n")


def _worktree_config(root: Path, run: str) -> None:
    _add(root / ".git" / "config", "[extensions]\nworktreeConfig = true\n")
    (root / ".git" / "config.worktree").write_text(f'[filter "x"]\nclean = "{run}; cat"\n')


def _pointer(root: Path, run: str) -> None:
    """`.git` is a file, and the repository lies in a folder of the archive."""
    (root / ".git").rename(root / "elsewhere")
    (root / ".git").write_text("gitdir: elsewhere\n")
    _add(root / "elsewhere" / "config", f'[filter "x"]\nclean = "{run}; cat"\n')


def _common(root: Path, run: str) -> None:
    """The configuration is that of another git directory."""
    shutil.copytree(root / ".git", root / "common")
    (root / ".git" / "commondir").write_text("../common\n")
    _add(root / "common" / "config", f'[filter "x"]\nclean = "{run}; cat"\n')


def _inside(more: str) -> Change:
    """A submodule whose own configuration is hostile; `more` stands in the one around it."""

    def change(root: Path, run: str) -> None:
        inner = root / "sub"
        inner.rmdir()
        repository(inner)
        commit = (inner / ".git" / "refs" / "heads" / "main").read_text().strip()
        git(root, "update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
        git(root, "commit", "-q", "-m", "a submodule")
        _add(inner / ".git" / "config", f'[filter "x"]\nclean = "{run}; cat"\n')
        _add(inner / ".git" / "config", f'[core]\nfsmonitor = "{run}; false"\n')
        _add(root / ".git" / "config", more)

    return change


def _two_deep(root: Path, run: str) -> None:
    _inside("")(root, "true")
    config = root / "sub" / ".git" / "config"
    config.write_text(config.read_text().partition("[filter")[0])
    _inside("")(root / "sub", run)


HOSTILE: dict[str, str | Change] = {
    "filter clean": '[filter "x"]\nclean = "{run}; cat"\n',
    "filter smudge": '[filter "x"]\nsmudge = "{run}; cat"\n',
    "filter process": '[filter "x"]\nprocess = "{run}; cat"\n',
    "filter required": '[filter "x"]\nclean = "{run}; cat"\nrequired\n',
    "filter in capitals": '[FILTER "x"]\nCLEAN = "{run}; cat"\n',
    "filter in one line": '[filter "x"] clean = "{run}; cat"\n',
    "diff.external": '[diff]\nexternal = "{run}; true"\n',
    "diff command": '[diff "x"]\ncommand = "{run}; true"\n',
    "diff textconv": '[diff "x"]\ntextconv = "{run}; cat <"\n',
    "diff textconv, cached": '[diff "x"]\ntextconv = "{run}; cat <"\ncachetextconv = true\n',
    "include": _included("[include]"),
    "include if by folder": _included('[includeIf "gitdir:**"]'),
    "include if by branch": _included('[includeIf "onbranch:main"]'),
    "include if by remote": _included(
        '[remote "o"]\nurl = https://x.invalid/a\n[includeIf "hasconfig:remote.*.url:https://**"]'
    ),
    "fsmonitor": '[core]\nfsmonitor = "{run}; false"\n',
    "hooks path": _hooks,
    "pager": '[core]\npager = "{run}; cat"\n',
    "pager of log": '[pager]\nlog = "{run}; cat"\n',
    "pager of status and diff": '[pager]\nstatus = "{run}; cat"\ndiff = "{run}; cat"\n',
    "ssh command": '[core]\nsshCommand = "{run}"\n',
    "editor": '[core]\neditor = "{run}"\n',
    "sequence editor": '[sequence]\neditor = "{run}"\n',
    "ask pass": '[core]\naskPass = "{run}"\n',
    "git proxy": '[core]\ngitProxy = "{run}"\n',
    "alternate refs": '[core]\nalternateRefsCommand = "{run}"\n',
    "attributes file": "[core]\nattributesFile = /dev/null\n",
    "alias of a command": '[alias]\nstatus = "!{run}"\nwhatchanged = "!{run}"\n',
    "alias": '[alias]\nx = "!{run}"\n',
    "gpg": '[gpg]\nprogram = "{run}"\n[log]\nshowSignature = true\n',
    "gpg by ssh": '[gpg]\nformat = ssh\n[gpg "ssh"]\nprogram = "{run}"\n',
    "signature in the format": '[gpg]\nprogram = "{run}"\n[format]\npretty = "%H %GG"\n',
    "named format": '[pretty]\nmine = "%GG"\n',
    "credential helper": '[credential]\nhelper = "!{run}"\n',
    "submodule update": '[submodule "sub"]\nurl = https://x.invalid/a\nupdate = "!{run}"\n',
    "ext remote": '[remote "o"]\nurl = "ext::sh -c {run}"\n[protocol "ext"]\nallow = always\n',
    "ext remote that promises": '[remote "o"]\nurl = "ext::sh -c {run}"\npromisor = true\n'
    '[extensions]\npartialClone = o\n[protocol "ext"]\nallow = always\n',
    "upload pack": '[remote "o"]\nurl = .\nuploadpack = "{run}"\npromisor = true\n',
    "remote vcs": '[remote "o"]\nvcs = x\nurl = .\n',
    "merge driver": '[merge "x"]\ndriver = "{run}"\n',
    "merge tool": '[merge]\ntool = x\n[mergetool "x"]\ncmd = "{run}"\n',
    "diff tool": '[diff]\ntool = x\n[difftool "x"]\ncmd = "{run}"\n',
    "diff filter": '[interactive]\ndiffFilter = "{run}; cat"\n',
    "trailer": '[trailer "x"]\ncommand = "{run}"\n',
    "tar": '[tar "x"]\ncommand = "{run}"\n',
    "pack objects hook": '[uploadpack]\npackObjectsHook = "{run}"\n',
    "browser": '[browser "x"]\ncmd = "{run}"\n[web]\nbrowser = x\n',
    "a worktree's configuration": _worktree_config,
    "a pointer": _pointer,
    "a common folder": _common,
    "a submodule": _inside(""),
    "a submodule's patch": _inside("[diff]\nsubmodule = diff\n"),
    "a submodule's summary": _inside("[status]\nsubmoduleSummary = true\n"),
    "a submodule that is not ignored": _inside('[submodule "sub"]\nignore = none\n'),
    "a submodule in a submodule": _two_deep,
}


def made_hostile(root: Path, name: str, run: str) -> None:
    """Change a scratch repository as the table says."""
    match HOSTILE[name]:
        case str(text):
            _add(root / ".git" / "config", text.replace("{run}", run))
        case change:
            change(root, run)


READS = (
    *("git status", "git status --short", "git status -uall", "timeout 9 git status"),
    *("git diff", "git diff HEAD", "git diff --cached", "git diff --stat", "git diff v1 HEAD"),
    *("git diff --submodule=log", "git diff --no-index a.txt b.txt", "git diff-files -p"),
    *("git diff-index -p HEAD", "git diff-tree -p HEAD", "git log", "git log -p", "git log --stat"),
    *("git log -1 --format=%H", "git log -p --all", "git show", "git show HEAD~1", "git show v1"),
    *("git show HEAD:a.txt", "git blame a.txt", "git grep hello", "git grep -n changed"),
    *("git ls-files", "git ls-files -m", "git ls-files -o", "git ls-tree HEAD"),
    *("git describe --tags --dirty", "git describe --always --dirty", "git stash list"),
    *("git stash show -p", "git branch -a", "git branch -vv", "git tag -l", "git tag -n"),
    *("git rev-parse HEAD", "git rev-list --all", "git cat-file -p HEAD", "git whatchanged -p"),
    *("git shortlog -s HEAD", "git remote -v", "git worktree list", "git check-attr -a a.txt"),
    *("git reflog", "git for-each-ref", "git config --list", "git merge-base HEAD HEAD~1"),
    *("git -C . status", "git -C sub status", "cd sub && git status", "(cd sub; git diff)"),
    *("cd .. && git -C {name} diff", "cd sub/.. && git status", "ls | xargs git ls-files -m"),
    *("git status | head -5", "git diff; git log -p", "cd . && git -C sub -C .. diff"),
)
