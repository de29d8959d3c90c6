"""Whose results may be cleared: what can be looked up again, by the names agents give such tools."""

from __future__ import annotations

COMPACTABLE = frozenset(
    [
        # reading files
        *("Read", "NotebookRead", "read", "read_file", "view", "view_file", "open_file", "cat"),
        # running commands
        *("Bash", "BashOutput", "PowerShell", "bash", "shell", "exec_command", "execute_bash"),
        *("run_shell_command", "run_terminal_cmd", "run_command", "terminal", "local_shell"),
        # searching
        *("Grep", "Glob", "LS", "grep", "glob", "ls", "find", "find_by_name", "list_dir"),
        *("list_directory", "search_files", "search_file_content", "grep_search", "file_search"),
        # the web
        *("WebFetch", "WebSearch", "web_fetch", "web_search", "fetch", "google_web_search"),
        # changing files
        *("Edit", "MultiEdit", "NotebookEdit", "Write", "edit", "edit_file", "write", "write_file"),
        *("create_file", "replace", "search_replace", "apply_patch", "str_replace_editor"),
        "str_replace_based_edit_tool",
    ]
)
_FOREIGN = "mcp__"


def compactable(tool: str, declared: frozenset[str] = frozenset()) -> bool:
    """Known tools and those that say so of themselves; never those of MCP servers."""
    return not tool.startswith(_FOREIGN) and (tool in COMPACTABLE or tool in declared)
