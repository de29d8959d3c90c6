"""Small changes to a module's source: which there are, and the module compiled with one of them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import cast

ROOT = Path(__file__).parents[1]

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


def mutations(node: ast.AST) -> Iterator[ast.AST]:
    """What a node may become; words are left alone, for most of them are messages."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in _COMPARISONS:
            yield ast.Compare(left, [_COMPARISONS[type(op)]()], [right])
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC and not _is_text(left, right):
            yield ast.BinOp(left, _ARITHMETIC[type(op)](), right)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case _:
            yield from _statement_mutations(node)


def _statement_mutations(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If(test, body, orelse) if not isinstance(test, ast.UnaryOp | ast.Compare):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Continue():
            yield ast.Break()
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield ast.Pass()


def _is_text(*sides: ast.expr) -> bool:
    return any(
        isinstance(side, ast.JoinedStr | ast.Constant) and not _is_number(side) for side in sides
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the how-manieth of its module, and how it reads."""

    module: str
    number: int
    before: str
    after: str
    line: int
    # The statement around it, without the statements inside that; False: it runs at import.
    span: tuple[int, int]
    in_function: bool


def mutants_of(module: str) -> list[Mutant]:
    found = []
    for number, site in enumerate(_sites(ast.parse(source_of(module).read_text("utf-8")))):
        before, after = (
            _short(ast.unparse(ast.fix_missing_locations(one))) for one in (site.node, site.fresh)
        )
        line = getattr(site.node, "lineno", 0)
        found.append(Mutant(module, number, before, after, line, site.span, site.in_function))
    return found


def compiled(mutant: Mutant) -> CodeType:
    """The module with its change."""
    path = source_of(mutant.module)
    tree = ast.parse(path.read_text("utf-8"))
    site = next(islice(_sites(tree), mutant.number, None))
    changed = cast("ast.Module", _Exchange(site.node, site.fresh).visit(tree))
    return compile(ast.fix_missing_locations(changed), str(path), "exec")


def source_of(module: str) -> Path:
    path = ROOT / "src" / Path(*module.split("."))
    package = path / "__init__.py"
    return package if package.exists() else path.with_suffix(".py")


class _Exchange(ast.NodeTransformer):
    def __init__(self, node: ast.AST, fresh: ast.AST) -> None:
        self._node, self._fresh = node, fresh

    def visit(self, node: ast.AST) -> ast.AST:
        return self._fresh if node is self._node else cast("ast.AST", super().visit(node))


@dataclass(frozen=True, slots=True)
class _Place:
    span: tuple[int, int]
    in_function: bool


@dataclass(frozen=True, slots=True)
class _Site(_Place):
    node: ast.AST
    fresh: ast.AST


def _sites(tree: ast.AST) -> Iterator[_Site]:
    """Each node that runs, beside what it may become, in one order for one source."""
    for node, place in _running(tree, _Place((0, 0), in_function=False)):
        for fresh in mutations(node):
            fresh = ast.copy_location(copy.deepcopy(fresh), node)
            yield _Site(place.span, place.in_function, node, fresh)


def _running(node: ast.AST, place: _Place) -> Iterator[tuple[ast.AST, _Place]]:
    """The nodes below that decide something: neither annotations nor what only a type checker reads."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases", "type_comment"}:
            continue
        called = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        inside = place.in_function or (called and name == "body")
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_for_types(child):
                span = _span(child) if isinstance(child, ast.stmt) else place.span
                here = _Place(span, inside)
                yield child, here
                yield from _running(child, here)


def _span(statement: ast.stmt) -> tuple[int, int]:
    body = getattr(statement, "body", None)
    if body:
        return statement.lineno, max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, statement.end_lineno or statement.lineno


def _is_for_types(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and ast.unparse(node).startswith("assert_never("):
        return True
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else line[:69] + "…"
