"""Read a shell script into its simple commands, with a real parser (tree-sitter's grammar of bash).

Values are followed as far as the text alone allows: constants, arithmetic on them, arrays. What depends on
a branch, a loop, or another program's output stays as written ("$NAME", "$(...)").
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from cudacompat.errors import TargetError, UsageError
from cudacompat.workloads.shell.words import Variables, expand_words, from_ascii, to_ascii

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MAX_DEPTH = 120
MAX_COMMANDS = 50_000
MAX_EXPORTS = 200
MAX_NESTING = 4
MAX_PIPES = 3000
# Recovery from broken syntax can take time that grows with the square of the text; sound scripts take milliseconds.
MAX_PARSE_SECONDS = 2.0
# A node asks for its text in such pieces too, so a large one is copied for every word.
_PIECE = 1 << 9
_BRANCHES = frozenset(
    {"if_statement", "elif_clause", "else_clause", "case_item", "for_statement", "while_statement"}
    | {"c_style_for_statement", "function_definition", "list"}
)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash"})


@dataclass(frozen=True, slots=True)
class Assignment:
    """A variable's assignment: value as far as known. ``certain`` is False inside branches and loops."""

    name: str
    value: str
    line: int
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Command:
    """One simple command.

    ``words`` are after expansion, the program first; ``assignments`` those written before it; ``exports``
    the exported variables at that place; ``certain`` is False inside branches, loops and functions.
    ``raw`` is the command's text as written.
    """

    words: tuple[str, ...]
    line: int
    assignments: tuple[Assignment, ...]
    exports: Mapping[str, Assignment]
    certain: bool
    raw: str


@dataclass(frozen=True, slots=True)
class Script:
    """A script's commands in the order of the text, and every exported assignment in it.

    ``quoted_lines`` are those of here-documents: text for another program.
    """

    commands: tuple[Command, ...]
    exported: tuple[Assignment, ...]
    quoted_lines: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Walk:
    path: str
    first_line: int
    variables: Variables
    exports: Mapping[str, Assignment]
    nesting: int = 0
    commands: list[Command] = field(default_factory=list)
    exported: list[Assignment] = field(default_factory=list)
    quoted: set[int] = field(default_factory=set)

    def line(self, node: Node) -> int:
        return int(node.start_point[0]) + self.first_line


def read_script(text: str, path: str, *, first_line: int = 1, known: Mapping[str, str] | None = None) -> Script:
    """Parse ``text``; ``known`` are variables with values from outside (what Slurm sets).

    Raises TargetError, naming file and line, above the bounds on depth and number of commands.
    """
    variables = Variables(dict(known or {}))
    walk = _Walk(path, first_line, variables, MappingProxyType({}))
    root = _parse(text, path)
    _visit(root, walk, certain=True, depth=0)
    return Script(tuple(walk.commands), tuple(walk.exported), frozenset(walk.quoted))


def _parse(text: str, path: str) -> Node:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError as error:
        raise UsageError(
            f"reading shell scripts needs an extra that is not installed ({error.name}): "
            "pip install 'cudacompat[workloads]'"
        ) from error
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    _check_pipes(text, path)
    source = to_ascii(text)
    reached = 0
    end = time.process_time() + MAX_PARSE_SECONDS

    def too_long(position: int, _has_error: bool) -> bool:
        nonlocal reached
        reached = position
        return time.process_time() > end

    tree: Tree | None
    try:
        tree = parser.parse(lambda start, _point: source[start : start + _PIECE], progress_callback=too_long)
    except ValueError:
        tree = None
    if tree is None:
        line = source.count(b"\n", 0, reached) + 1
        raise TargetError(f"{path}, line {line}: the script's syntax is broken here, and what follows cannot be read")
    return tree.root_node


def _check_pipes(text: str, path: str) -> None:
    """Refuse scripts with thousands of "|": the grammar's recovery from a broken pipeline is quadratic in them."""
    total = 0
    for number, line in enumerate(text.split("\n"), start=1):
        total += 0 if line.lstrip().startswith("#") else line.count("|")
        if total > MAX_PIPES:
            raise TargetError(f"{path}, line {number}: more than {MAX_PIPES} pipes; this is not a job script")


def _visit(node: Node, walk: _Walk, *, certain: bool, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TargetError(f"{walk.path}, line {walk.line(node)}: the script nests deeper than {MAX_DEPTH} levels")
    if node.type == "heredoc_body":
        walk.quoted.update(range(walk.line(node), int(node.end_point[0]) + walk.first_line + 1))
        return
    if node.type == "declaration_command":
        _declare(node, walk, certain)
    elif node.type == "variable_assignment":
        _assign(node, walk, certain, exported=False)
    elif node.type == "unset_command":
        _unset(node, walk)
    elif node.type == "command":
        _command(node, walk, certain)
    inner = certain and node.type not in _BRANCHES
    for child in node.children:
        if child.is_named and not (node.type == "command" and child.type == "variable_assignment"):
            if node.type == "declaration_command" and child.type == "variable_assignment":
                continue
            _visit(child, walk, certain=inner, depth=depth + 1)


def _declare(node: Node, walk: _Walk, certain: bool) -> None:
    keyword = _text(node.children[0])
    flags = [_text(child) for child in node.children[1:] if child.type == "word"]
    exported = keyword == "export" or any(flag.startswith("-") and "x" in flag for flag in flags)
    for child in node.children[1:]:
        if child.type == "variable_assignment":
            _assign(child, walk, certain, exported=exported)
        elif child.type == "variable_name" and exported:
            _export_existing(_text(child), walk, walk.line(child), certain)


def _export_existing(name: str, walk: _Walk, line: int, certain: bool) -> None:
    value = walk.variables.scalar(name)
    _export(Assignment(name, f"${name}" if value is None else value, line, certain), walk)


def _assign(node: Node, walk: _Walk, certain: bool, *, exported: bool) -> None:
    assignment = _assignment(node, walk, certain)
    if assignment is None:
        return
    value_node = node.child_by_field_name("value")
    appends = any(child.type == "+=" for child in node.children)
    if not certain or appends:
        walk.variables.forget(assignment.name)
    elif value_node is not None and value_node.type == "array":
        walk.variables.set_array(assignment.name, _array(value_node, walk))
    else:
        walk.variables.set_scalar(assignment.name, assignment.value)
    if exported or assignment.name in walk.exports:
        _export(assignment, walk)


def _assignment(node: Node, walk: _Walk, certain: bool) -> Assignment | None:
    name_node = node.child_by_field_name("name")
    if name_node is None or name_node.type != "variable_name":
        return None
    value_node = node.child_by_field_name("value")
    value = "" if value_node is None else " ".join(expand_words(value_node, walk.variables, split=False))
    return Assignment(_text(name_node), value, walk.line(node), certain)


def _array(node: Node, walk: _Walk) -> tuple[str, ...]:
    return tuple(word for child in node.children if child.is_named for word in expand_words(child, walk.variables))


def _export(assignment: Assignment, walk: _Walk) -> None:
    walk.exported.append(assignment)
    if len(walk.exports) < MAX_EXPORTS or assignment.name in walk.exports:
        walk.exports = MappingProxyType({**walk.exports, assignment.name: assignment})


def _unset(node: Node, walk: _Walk) -> None:
    _forget([_text(child) for child in node.children if child.type in ("variable_name", "word")], walk)


def _forget(names: list[str], walk: _Walk) -> None:
    for name in names:
        walk.variables.forget(name)
    walk.exports = MappingProxyType({k: v for k, v in walk.exports.items() if k not in names})


def _command(node: Node, walk: _Walk, certain: bool) -> None:
    if len(walk.commands) >= MAX_COMMANDS:
        raise TargetError(
            f"{walk.path}, line {walk.line(node)}: more than {MAX_COMMANDS} commands; this is not a job script"
        )
    assignments: list[Assignment] = []
    words: list[str] = []
    for child in node.children:
        if child.type == "variable_assignment":
            found = _assignment(child, walk, certain)
            if found is not None:
                assignments.append(found)
        elif child.type == "command_name":
            words.extend(word for part in child.children for word in expand_words(part, walk.variables))
        elif child.is_named and not child.type.endswith("_redirect"):
            words.extend(expand_words(child, walk.variables))
    if words:
        command = Command(tuple(words), walk.line(node), tuple(assignments), walk.exports, certain, _text(node))
        walk.commands.append(command)
        _set_in_csh(command, walk)


def _set_in_csh(command: Command, walk: _Walk) -> None:
    """What csh and tcsh write for export and unset."""
    verb, *names = command.words
    if verb == "unsetenv":
        _forget(names, walk)
    elif verb == "setenv" and names:
        assignment = Assignment(names[0], " ".join(names[1:2]), command.line, command.certain)
        walk.variables.forget(assignment.name)
        if command.certain:
            walk.variables.set_scalar(assignment.name, assignment.value)
        _export(assignment, walk)


def _text(node: Node) -> str:
    return from_ascii(node.text or b"")


def nested_script(command: Command, words: tuple[str, ...], path: str) -> Script | None:
    """The script inside ``bash -c '...'``, or None when ``words`` is not of that form.

    Line numbers are those of the outer file.
    """
    if not words or words[0].rsplit("/", 1)[-1] not in _SHELLS:
        return None
    for index, word in enumerate(words[1:], start=1):
        if not word.startswith("-") or word == "--":
            return None
        if not word.startswith("--") and word.endswith("c"):
            if index + 1 >= len(words):
                return None
            return read_script(words[index + 1], path, first_line=_line_of(command, words[index + 1]))
    return None


def _line_of(command: Command, text: str) -> int:
    start = command.raw.find(text.split("\n", 1)[0]) if text else -1
    return command.line + (command.raw.count("\n", 0, start) if start > 0 else 0)


def flatten(script: Script, path: str, nesting: int = 0) -> Iterator[Command]:
    """Every command of the script, with the commands inside ``bash -c`` after the one that starts them."""
    for command in script.commands:
        yield command
        inner = nested_script(command, command.words, path) if nesting < MAX_NESTING else None
        if inner is not None:
            yield from flatten(inner, path, nesting + 1)
