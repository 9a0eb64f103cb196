"""Expand a shell word as far as the script's text alone decides it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_VALUE = 20_000
_PLAIN = re.compile(r"\$([A-Za-z_]\w*)")
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_STRING_ESCAPE = re.compile(r"\\([\"\\$`\n])")
_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|\*\*|[-+*/%()]|\$\{?[A-Za-z_]\w*\}?)")


_FOREIGN = re.compile(r"[^\x00-\x7f]")
_SPELT = re.compile(r"zUz([0-9A-F]{2,6})zUz")


def to_ascii(text: str) -> bytes:
    """The text with every character beyond ASCII spelt as a word: the grammar's scanner crashes on some of them."""
    return _FOREIGN.sub(lambda match: f"zUz{ord(match[0]):02X}zUz", text).encode("ascii")


def from_ascii(raw: bytes) -> str:
    """The text that to_ascii was given."""
    return _SPELT.sub(_character, raw.decode("ascii", "replace"))


def _character(match: re.Match[str]) -> str:
    code = int(match[1], 16)
    return chr(code) if code < 0x110000 else match[0]


@dataclass(slots=True)
class Variables:
    """Values that are certain at this place of the script."""

    scalars: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def scalar(self, name: str) -> str | None:
        """The variable's value, None when not certain."""
        if name in self.arrays:
            return self.arrays[name][0] if self.arrays[name] else ""
        return self.scalars.get(name)

    def set_scalar(self, name: str, value: str) -> None:
        """Note a value; very long ones are not followed."""
        self.forget(name)
        if len(value) <= MAX_VALUE:
            self.scalars[name] = value

    def set_array(self, name: str, values: tuple[str, ...]) -> None:
        """Note an array's values."""
        self.forget(name)
        if sum(map(len, values)) <= MAX_VALUE:
            self.arrays[name] = values

    def forget(self, name: str) -> None:
        """From here on the value is not certain."""
        self.scalars.pop(name, None)
        self.arrays.pop(name, None)


def expand_words(node: Node, variables: Variables, *, split: bool = True) -> list[str]:
    """The words that ``node`` becomes. Unknown expansions stay as written.

    ``split`` is the shell's word splitting of unquoted expansions; values of assignments are not split.
    """
    array = _whole_array(node, variables)
    if array is not None:
        return list(array)
    text = _expand(node, variables)
    if split and node.type in ("simple_expansion", "expansion") and not text.startswith("$"):
        return text.split()
    return [text]


def _whole_array(node: Node, variables: Variables) -> tuple[str, ...] | None:
    inner = node
    if node.type == "string" and len(node.children) == 3:
        inner = node.children[1]
    text = _raw(inner)
    match = re.fullmatch(r"\$\{(\w+)\[[@*]\]\}", text)
    return variables.arrays.get(match[1]) if match else None


def _expand(node: Node, variables: Variables) -> str:
    expand = _EXPANSIONS.get(node.type)
    return _raw(node) if expand is None else expand(node, variables)


def _raw_string(node: Node, _variables: Variables) -> str:
    return _raw(node)[2:-1] if node.type == "ansi_c_string" else _raw(node)[1:-1]


def _joined(node: Node, variables: Variables) -> str:
    return "".join(_expand(child, variables) for child in node.children)


def _word(node: Node, _variables: Variables) -> str:
    return _ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1], _raw(node))


def _expand_string(node: Node, variables: Variables) -> str:
    # Blanks between the parts of a string are no nodes of their own: take them from the text.
    source = node.text or b""
    out: list[str] = []
    position = node.start_byte + 1
    for child in node.children:
        if child.type == '"':
            continue
        out.append(_unescape(source[position - node.start_byte : child.start_byte - node.start_byte]))
        out.append(_unescape(child.text or b"") if child.type == "string_content" else _expand(child, variables))
        position = child.end_byte
    end = len(source) - (1 if source.endswith(b'"') else 0)
    out.append(_unescape(source[position - node.start_byte : end]))
    return "".join(out)


def _unescape(raw: bytes) -> str:
    return _STRING_ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1], from_ascii(raw))


def _expand_variable(node: Node, variables: Variables) -> str:
    raw = _raw(node)
    plain = re.fullmatch(r"\$(?:(\w+)|\{(\w+)\})", raw)
    if plain:
        value = variables.scalar(plain[1] or plain[2])
        return raw if value is None else value
    default = re.fullmatch(r"\$\{(\w+):?([-=])([^{}`]*)\}", raw)
    if default is None:
        return raw
    value = variables.scalar(default[1])
    if value is None:
        # A variable nobody set may come from the caller's environment: the default is only its likely value.
        value = _PLAIN.sub(
            lambda m: m[0] if variables.scalar(m[1]) is None else variables.scalar(m[1]) or "", default[3]
        )
        if default[2] == "=":
            variables.set_scalar(default[1], value)
    return value


def _arithmetic(node: Node, variables: Variables) -> str:
    """The value of ``$(( ... ))`` over known whole numbers, or the text as written."""
    raw = _raw(node)
    body = raw[3:-2]
    tokens: list[str] = []
    position = 0
    while position < len(body.rstrip()):
        match = _TOKEN.match(body, position)
        if match is None or len(tokens) > 60:
            return raw
        token = match[1].strip("${}")
        if not token.isdigit() and (token[0].isalpha() or token[0] == "_"):
            value = variables.scalar(token)
            if value is None or not value.isdigit():
                return raw
            token = value
        tokens.append(token)
        position = match.end()
    result = _Sum(tokens).value()
    return raw if result is None else str(result)


class _Sum:
    """A sum of products with brackets, by recursive descent; None when it is not one."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._next = 0

    def value(self) -> int | None:
        result = self._sum()
        return result if self._next == len(self._tokens) else None

    def _take(self, *wanted: str) -> str | None:
        if self._next < len(self._tokens) and self._tokens[self._next] in wanted:
            self._next += 1
            return self._tokens[self._next - 1]
        return None

    def _sum(self) -> int | None:
        left = self._product()
        while left is not None and (sign := self._take("+", "-")):
            right = self._product()
            if right is None:
                return None
            left = left + right if sign == "+" else left - right
        return left

    def _product(self) -> int | None:
        left = self._atom()
        while left is not None and (sign := self._take("*", "/", "%")):
            right = self._atom()
            if right is None or (sign != "*" and right == 0):
                return None
            left = left * right if sign == "*" else left // right if sign == "/" else left % right
        return left if left is None or abs(left) < 10**12 else None

    def _atom(self) -> int | None:
        if self._take("("):
            inner = self._sum()
            return inner if self._take(")") else None
        if self._next < len(self._tokens) and self._tokens[self._next].isdigit():
            self._next += 1
            token = self._tokens[self._next - 1]
            return int(token) if len(token) < 12 else None
        return None


def _raw(node: Node) -> str:
    return from_ascii(node.text or b"")


_EXPANSIONS: Mapping[str, Callable[[Node, Variables], str]] = {
    "raw_string": _raw_string,
    "ansi_c_string": _raw_string,
    "string": _expand_string,
    "translated_string": _expand_string,
    "concatenation": _joined,
    "simple_expansion": _expand_variable,
    "expansion": _expand_variable,
    "arithmetic_expansion": _arithmetic,
    "word": _word,
}
