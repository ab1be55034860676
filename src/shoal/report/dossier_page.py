"""The dossier as one HTML file: no script, nothing from elsewhere, fit for paper."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from shoal.report.audit import embed_json
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
)
from shoal.report.page import POLICY, read_style_sheet
from shoal.support.language import current_language
from shoal.support.language import translate as _

_OWN_STYLE = """
.dossier .contents a { color: inherit; } .dossier .alert p { margin: 0; }
.dossier .sign { display: grid; grid-template-columns: 1fr 1fr 1fr; gap: 4px 24px; margin: 44px 0 0;
  break-inside: avoid; }
.dossier .sign span { border-top: 1px solid var(--ink); padding-top: 4px; font-size: 13px; }
.dossier td { overflow-wrap: anywhere; }
@media print {
  .dossier h2, .dossier h3 { break-after: avoid; } .dossier .appendix { break-before: page; }
  .dossier thead { display: table-header-group; }
  @page { @bottom-right { content: counter(page); } }
}
"""


def draw_dossier(dossier: Dossier) -> str:
    """The page as text."""
    blocks = list(dossier.list_blocks())
    titles = [each.text for each in blocks if isinstance(each, Heading) and each.level == 1]
    contents = "".join(f'<li><a href="#part-{i}">{escape(title)}</a></li>' for i, title in enumerate(titles))
    body = "\n".join(_draw_blocks(blocks))
    name = escape(dossier.name)
    return (
        '<!doctype html>\n<html lang="' + current_language() + '">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_('Dossier')}: {name}</title>\n<style>\n{read_style_sheet()}{_OWN_STYLE}</style>\n</head>\n"
        f'<body class="shoal shoal-page dossier">\n<main>\n<header><h1>{_("Anonymization dossier")}</h1>'
        f"<p class=soft>{name}; {escape(dossier.made)}</p></header>\n"
        f'<nav aria-label="{_("Contents")}"><h2>{_("Contents")}</h2>'
        f"<ol class=contents>{contents}</ol></nav>\n"
        f"{body}\n</main>\n{embed_json(dossier.to_dict())}\n</body>\n</html>\n"
    )


def _draw_blocks(blocks: list[Block]) -> Iterator[str]:
    part, classes = 0, ""
    for block in blocks:
        if isinstance(block, PageBreak):
            classes = ' class="appendix"'
        elif isinstance(block, Heading) and block.level == 1:
            yield f'<h2 id="part-{part}"{classes}>{escape(block.text)}</h2>'
            part, classes = part + 1, ""
        else:
            yield _draw_block(block)


def _draw_block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h3>{escape(block.text)}</h3>"
    if isinstance(block, Paragraph):
        text = f"<p{' class=soft' if block.kind == 'soft' else ''}>{escape(block.text)}</p>"
        return f'<div class="alert warn">{text}</div>' if block.kind == "warn" else text
    if isinstance(block, Bullets):
        return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in block.items)}</ul>"
    if isinstance(block, DossierTable):
        return _draw_grid(block)
    if isinstance(block, Signatures):
        return "".join(
            f"<div class=sign><span>{escape(role)}</span><span>{_('Date')}</span>"
            f"<span>{_('Signature')}</span></div>"
            for role in block.roles
        )
    return (
        f'<pre id="shoal-recipe" tabindex="0">{escape(block.text)}</pre>' if isinstance(block, Code) else ""
    )


def _draw_grid(block: DossierTable) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in block.heads)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in block.rows)
    return f"<div class=scroll><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
