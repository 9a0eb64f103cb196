"""Shell scripts as lists of commands: words with what is known expanded, variables exported, line numbers."""

from cudacompat.workloads.shell.script import Assignment, Command, Script, read_script

__all__ = ["Assignment", "Command", "Script", "read_script"]
