"""A document of sections, tables and pictures, written as Markdown and as one HTML file."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Document", "Picture", "Section", "Table"]


@dataclass(frozen=True)
class Table:
    """Rows of cells that may hold ``code`` and **bold**; columns after the first `left` are figures."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


@dataclass(frozen=True)
class Picture:
    """An SVG drawing, the name of its file, and what it shows."""

    name: str
    svg: str
    caption: str


@dataclass
class Section:
    """A heading and what is below it: paragraphs (text), tables and pictures."""

    title: str
    blocks: list[str | Table | Picture] = field(default_factory=list)


@dataclass
class Document:
    """Sections under a title, after an introduction; `facts` are what programs should read of it."""

    title: str
    introduction: str
    sections: list[Section] = field(default_factory=list)
    facts: list[dict[str, str]] = field(default_factory=list)

    @property
    def pictures(self) -> list[Picture]:
        """All pictures, in order."""
        return [b for section in self.sections for b in section.blocks if isinstance(b, Picture)]

    def markdown(self, folder: str) -> str:
        """The document as Markdown; pictures are files in `folder`, a relative path."""
        parts = [f"# {self.title}", _wrapped(self.introduction)]
        for section in self.sections:
            parts.append(f"## {section.title}")
            for block in section.blocks:
                if isinstance(block, Table):
                    parts.append(_markdown_table(block))
                elif isinstance(block, Picture):
                    alt = block.caption.partition(".")[0]
                    parts.append(f"![{alt}]({folder}/{block.name}.svg)\n\n*{block.caption}*")
                else:
                    parts.append(_wrapped(block))
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        """The document as one HTML file that needs nothing else."""
        links = "".join(
            f'<li><a href="#s{i}">{html.escape(s.title)}</a></li>' for i, s in enumerate(self.sections)
        )
        parts = [f"<h1>{_inline(self.title)}</h1>", f"<p>{_inline(self.introduction)}</p>"]
        parts.append(f"<nav><ol>{links}</ol></nav>")
        for i, section in enumerate(self.sections):
            parts.append(f'<h2 id="s{i}">{_inline(section.title)}</h2>')
            for block in section.blocks:
                if isinstance(block, Table):
                    parts.append(_html_table(block))
                elif isinstance(block, Picture):
                    caption = _inline(block.caption)
                    label = html.escape(block.caption.partition(".")[0])
                    parts.append(
                        f'<figure role="img" aria-label="{label}">{_embedded(block)}'
                        f"<figcaption>{caption}</figcaption></figure>"
                    )
                else:
                    parts.append(f"<p>{_inline(block)}</p>")
        body = "\n".join(parts)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(self.title)}</title>\n<style>{_CSS}</style>\n</head>\n"
            f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
        )


_CSS = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
div.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #8884; text-align: left; vertical-align: top; }
td.figure, th.figure { text-align: right; font-variant-numeric: tabular-nums; }
code { font-size: 0.9em; }
figure { margin: 1.5rem 0; background: #fff; color: #222; padding: 0.75rem; border-radius: 4px; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: 0.9rem; }
"""


def _wrapped(text: str, width: int = 118) -> str:
    """A paragraph in lines of at most `width`, as people write Markdown."""

    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def _markdown_table(table: Table) -> str:
    rules = ["---" if i < table.left else "---:" for i in range(len(table.header))]
    rows = [table.header, rules, *table.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def _html_table(table: Table) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        made = [
            f"<{tag}{'' if i < table.left else ' class=figure'}>{_inline(cell)}</{tag}>"
            for i, cell in enumerate(cells)
        ]
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in table.rows)
    head = row(table.header, "th")
    return f'<div class="table"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=False)
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)


def _embedded(picture: Picture) -> str:
    """The drawing without its XML heading, its ids made its own: several share one page."""
    svg = picture.svg[picture.svg.index("<svg") :]
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{picture.name}-\1"', svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{picture.name}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{picture.name}-\1)", svg)
