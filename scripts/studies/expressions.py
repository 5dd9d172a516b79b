"""Conditions on the values of a case: `mesh.block == 8 and ranks > 1`.

A small part of Python's expressions, read with ast and evaluated here: names of values with dots, numbers, strings,
lists, comparisons, `in`, `and`, `or`, `not`, and + - * / // % on numbers. Nothing is called.
"""
import ast
import difflib
import operator
from collections.abc import Callable, Iterable
from typing import Any

COMPARISONS = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
               ast.Gt: operator.gt, ast.GtE: operator.ge,
               ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b}
ARITHMETIC = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
              ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}


class ExpressionError(ValueError):
    """One line that says what is wrong with an expression."""


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean X?`, or the names there are."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else f"there are {', '.join(names) if names else 'none'}"


def compile_condition(text: str, names: Iterable[str]) -> Callable[[dict[str, Any]], bool]:
    """The condition as a function of a case's values. ExpressionError where it is none or has other names."""
    known = list(names)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ExpressionError(f'"{text}" is no condition such as mesh.block == 8 and ranks > 1') from None
    check(tree, text, known)

    def holds(values: dict[str, Any]) -> bool:
        try:
            return bool(evaluate(tree, values))
        except (TypeError, ZeroDivisionError, OverflowError) as error:
            raise ExpressionError(f'"{text}": {error}') from None

    return holds


def dotted(node: ast.expr) -> str | None:
    """The name of a value, `mesh.block`; None where the node is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else None
    return None


def check(node: ast.expr, text: str, known: list[str]) -> None:
    name = dotted(node)
    if name is not None:
        if name not in known:
            raise ExpressionError(f'"{text}": {name} is no value of a case; {nearest(name, known)}')
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
        return
    if isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        parts = [node.operand]
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare) and all(type(op) in COMPARISONS for op in node.ops):
        parts = [node.left, *node.comparators]
    elif isinstance(node, (ast.List, ast.Tuple)):
        parts = node.elts
    else:
        raise ExpressionError(f'"{text}": {ast.unparse(node)} is not allowed; compare values, with and, or, not')
    for part in parts:
        check(part, text, known)


def evaluate(node: ast.expr, values: dict[str, Any]) -> Any:
    name = dotted(node)
    if name is not None:
        return values[name]
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BoolOp):
        # As in Python, what is decided already is not looked at.
        pick = all if isinstance(node.op, ast.And) else any
        return pick(bool(evaluate(part, values)) for part in node.values)
    if isinstance(node, ast.UnaryOp):
        value = evaluate(node.operand, values)
        return not value if isinstance(node.op, ast.Not) else -value
    if isinstance(node, ast.BinOp):
        left, right = evaluate(node.left, values), evaluate(node.right, values)
        if not all(isinstance(side, (int, float)) for side in (left, right)):
            raise TypeError(f"{ast.unparse(node)} needs numbers")
        return ARITHMETIC[type(node.op)](left, right)
    if isinstance(node, ast.Compare):
        left = evaluate(node.left, values)
        for op, right_node in zip(node.ops, node.comparators):
            right = evaluate(right_node, values)
            if not COMPARISONS[type(op)](left, right):
                return False
            left = right
        return True
    return [evaluate(part, values) for part in node.elts]
