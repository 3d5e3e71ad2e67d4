"""The files of a package as a tree."""
from __future__ import annotations

__all__ = ["Directory"]


class Directory:
    """A folder with `children`, or a file; prints as a tree."""

    def __init__(self, name, is_dir):
        self.name, self.is_dir, self.children = name, is_dir, {}

    def _get_dir(self, dirs):
        here = self
        for name in dirs:
            here = here.children.setdefault(name, Directory(name, True))
        return here

    def _add_file(self, file_path):
        *dirs, file = file_path.split("/")
        self._get_dir(dirs).children[file] = Directory(file, False)

    def has_file(self, filename):
        """Whether a file is there, by its path from here."""
        first, _, rest = filename.partition("/")
        child = self.children.get(first)
        return child is not None and (not rest or child.has_file(rest))

    def __str__(self):
        lines = []
        self._draw(lines, "\u2500\u2500\u2500 ", "    ")
        return "".join(lines)

    def _draw(self, lines, mark, indent, more="\u2502   "):
        lines.append(f"{mark}{self.name}\n")
        files = sorted([c for c in self.children.values() if not c.is_dir], key=lambda c: c.name)
        folders = sorted([c for c in self.children.values() if c.is_dir], key=lambda c: c.name)
        below = [*folders, *files]
        for k, child in enumerate(below):
            last = k == len(below) - 1
            child._draw(lines, indent + ("\u2514\u2500\u2500 " if last else "\u251c\u2500\u2500 "), indent + ("    " if last else more))
