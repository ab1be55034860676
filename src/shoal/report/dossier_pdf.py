"""The dossier as PDF: contents with page numbers, heads of tables on every page, the JSON inside.

Decision: written with fpdf2, which is pure Python and needs no browser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from shoal.report.dossier import (
    Block,
    Bullets,
    Code,
    Dossier,
    DossierTable,
    Heading,
    PageBreak,
    Paragraph,
    Signatures,
    cut_cell,
)
from shoal.support.language import translate as _
from shoal.table.formats import import_optional

_INK, _SOFT, _WARN, _LINE, _PANEL = (
    (27, 39, 51),
    (83, 99, 111),
    (154, 74, 7),
    (195, 204, 213),
    (245, 248, 250),
)
_ROOM = {1: 52, 2: 34}  # millimetres that must be left below a heading, by its level
# The built-in fonts of PDF know western letters only; others are taken from where systems have fonts.
_FOLDERS = (
    "/usr/share/fonts/truetype/dejavu/DejaVuSans{}.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans{}.ttf",
    "/usr/share/fonts/TTF/DejaVuSans{}.ttf",
    "/Library/Fonts/Arial Unicode{}.ttf",
    "/System/Library/Fonts/Supplemental/Arial{}.ttf",
    "C:/Windows/Fonts/arial{}.ttf",
)
_BOLD = ("-Bold", " Bold", "bd")


def print_dossier(dossier: Dossier) -> bytes:
    """The bytes of the PDF."""
    blocks = list(dossier.list_blocks())
    texts = "".join(_list_texts(blocks)) + dossier.name
    pdf = _start_document(dossier, _choose_fonts(texts))
    for block in blocks:
        _print_block(pdf, block)
    record = json.dumps(dossier.to_dict(), ensure_ascii=True).encode()
    # Not compressed, so that 'shoal verify --report' reads it without a reader of PDF.
    pdf.embed_file(bytes=record, basename="dossier.json", mime_type="application/json", compress=False)
    return bytes(pdf.output())


def _list_texts(blocks: list[Block]) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Heading | Paragraph | Code):
            yield block.text
        elif isinstance(block, Bullets):
            yield from block.items
        elif isinstance(block, DossierTable):
            yield from (cell for row in block.rows for cell in row)
        elif isinstance(block, Signatures):
            yield from block.roles


def _choose_fonts(texts: str) -> tuple[Path, Path] | None:
    """A font of the system and its bold one, where the built-in ones do not have all letters."""
    try:
        texts.encode("cp1252")
    except UnicodeEncodeError:
        return _find_fonts()
    return None


@cache
def _find_fonts() -> tuple[Path, Path] | None:
    for pattern in _FOLDERS:
        plain = Path(pattern.format(""))
        if plain.is_file():
            bold = (Path(pattern.format(end)) for end in _BOLD)
            return plain, next((path for path in bold if path.is_file()), plain)
    return None


def _start_document(dossier: Dossier, fonts: tuple[Path, Path] | None) -> Any:
    """A document with its title and room for the contents."""
    document: Any = import_optional("fpdf", "'shoal[pdf]'").FPDF

    class Paper(document):  # type: ignore[misc]
        """A4, with a foot on every page."""

        family = "helvetica" if fonts is None else "system"

        def footer(self) -> None:
            self.set_y(-14)
            self.set_font(self.family, size=8)
            self.set_text_color(*_SOFT)
            self.cell(0, 6, f"{dossier.name}; {dossier.made}"[:100])
            self.set_x(self.l_margin)
            self.cell(0, 6, f"{self.page_no()} / {{nb}}", align="R")

        def normalize_text(self, text: str) -> str:
            # Where no font has a letter it is shown as such, not left out.
            if fonts is None:
                text = text.encode("cp1252", "replace").decode("cp1252")
            return str(super().normalize_text(text))

    pdf = Paper(format="A4")
    pdf.core_fonts_encoding = "cp1252"
    if fonts is not None:
        pdf.add_font("system", fname=fonts[0])
        pdf.add_font("system", style="B", fname=fonts[1])
    pdf.set_margins(20, 18, 20)
    pdf.set_auto_page_break(True, margin=22)
    pdf.set_title(_("Anonymization dossier: {name}", name=dossier.name))
    pdf.set_creator(f"Shoal {dossier.record['shoal']}")
    pdf.set_creation_date(_read_time(dossier.made))
    pdf.add_page()
    _write(pdf, _("Anonymization dossier"), 22, bold=True)
    _write(pdf, f"{dossier.name}; {dossier.made}", 11, _SOFT)
    pdf.ln(6)
    _write(pdf, _("Contents"), 14, bold=True)
    pdf.insert_toc_placeholder(_print_contents, pages=1)
    return pdf


def _read_time(made: str) -> datetime:
    try:
        return datetime.strptime(made, "%Y-%m-%d %H:%M UTC").replace(tzinfo=UTC)
    except ValueError:
        return datetime.now(UTC)


def _print_contents(pdf: Any, outline: list[Any]) -> None:
    for each in outline:
        if each.level:
            continue
        pdf.set_font(pdf.family, size=11)
        pdf.set_text_color(*_INK)
        pdf.set_x(pdf.l_margin)
        link = pdf.add_link(page=each.page_number)
        pdf.cell(pdf.epw - 14, 7, each.name, link=link)
        pdf.cell(14, 7, str(each.page_number), align="R", link=link, new_x="LMARGIN", new_y="NEXT")


def _write(pdf: Any, text: str, size: float, color: tuple[int, int, int] = _INK, bold: bool = False) -> None:
    pdf.set_font(pdf.family, style="B" if bold else "", size=size)
    pdf.set_text_color(*color)
    pdf.multi_cell(0, size * 0.5, text, align="L", new_x="LMARGIN", new_y="NEXT")


def _print_block(pdf: Any, block: Block) -> None:
    if isinstance(block, PageBreak):
        pdf.add_page()
    elif isinstance(block, Heading):
        _print_heading(pdf, block)
    elif isinstance(block, Paragraph):
        _write(
            pdf, block.text, 10, {"soft": _SOFT, "warn": _WARN}.get(block.kind, _INK), block.kind == "warn"
        )
        pdf.ln(2)
    elif isinstance(block, Bullets):
        _print_bullets(pdf, block)
    elif isinstance(block, DossierTable):
        _print_grid(pdf, block)
    elif isinstance(block, Signatures):
        _print_signatures(pdf, block)
    else:
        _print_code(pdf, block)


def _print_heading(pdf: Any, block: Heading) -> None:
    if pdf.will_page_break(_ROOM[block.level]):  # it stays with what it is the head of
        pdf.add_page()
    if block.level == 1:
        pdf.ln(5)
        pdf.start_section(block.text, level=0)
    else:
        pdf.ln(1)
    _write(pdf, block.text, 14 if block.level == 1 else 11, bold=True)
    pdf.ln(1.5)


def _print_bullets(pdf: Any, block: Bullets) -> None:
    for item in block.items:
        pdf.set_font(pdf.family, size=10)
        pdf.set_text_color(*_INK)
        pdf.cell(5, 5, "-")
        pdf.multi_cell(pdf.epw - 5, 5, item, align="L", new_x="LMARGIN", new_y="NEXT")
        pdf.ln(0.8)
    pdf.ln(1)


def _print_grid(pdf: Any, block: DossierTable) -> None:
    fonts = import_optional("fpdf.fonts", "'shoal[pdf]'")
    pdf.set_font(pdf.family, size=9)
    pdf.set_text_color(*_INK)
    pdf.set_draw_color(*_LINE)
    head = fonts.FontFace(emphasis="BOLD", color=_SOFT, fill_color=_PANEL)
    with pdf.table(
        borders_layout="HORIZONTAL_LINES",
        col_widths=block.widths,
        headings_style=head,
        line_height=4.6,
        padding=(1.2, 1.5),
        text_align="LEFT",
    ) as table:
        for row in (block.heads, *block.rows):
            table.row([cut_cell(cell) for cell in row])
    pdf.ln(3)


def _print_signatures(pdf: Any, block: Signatures) -> None:
    for role in block.roles:
        if pdf.will_page_break(26):
            pdf.add_page()
        pdf.ln(16)
        pdf.set_draw_color(*_INK)
        width = (pdf.epw - 16) / 3
        pdf.set_font(pdf.family, size=9)
        pdf.set_text_color(*_SOFT)
        for place, text in enumerate((role, _("Date"), _("Signature"))):
            left = pdf.l_margin + place * (width + 8)
            pdf.line(left, pdf.y, left + width, pdf.y)
            pdf.set_x(left)
            pdf.cell(width, 5, text)
        pdf.set_x(pdf.l_margin)
        pdf.ln(5)


def _print_code(pdf: Any, block: Code) -> None:
    pdf.set_font("courier" if pdf.family == "helvetica" else pdf.family, size=8)
    pdf.set_text_color(*_INK)
    for line in block.text.splitlines():
        pdf.multi_cell(0, 3.8, line or " ", align="L", new_x="LMARGIN", new_y="NEXT", wrapmode="CHAR")
