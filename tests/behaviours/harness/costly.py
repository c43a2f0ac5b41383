"""Inputs that are small to send and would be costly to read: nested JSON, documents, tables and schemas."""
import io
import json
import zipfile

OFFICE = "http://schemas.openxmlformats.org"
SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
WORD_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def nest(levels):
    """A list within a list, so many levels deep, as text."""
    return "[" * levels + "]" * levels


def with_nested(body, place, levels):
    """The bytes of a JSON body whose string `place` is replaced by what makes the whole so many levels deep."""
    text = json.dumps(body)
    before, _, after = text.partition(f'"{place}"')
    assert after, f"{place} is not in the body"
    above = sum({"{": 1, "[": 1, "}": -1, "]": -1}.get(sign, 0) for sign in before)
    return (before + nest(levels - above) + after).encode()


def zipped(parts):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def workbook(sheet, sheets=1):
    """A workbook: so many sheets that all lead to one part with this XML."""
    entries = "".join(f'<sheet name="s{place}" sheetId="{place + 1}" r:id="rId1"/>' for place in range(sheets))
    relation = f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>'
    main = f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>'
    kinds = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' \
        '<Default Extension="xml" ContentType="application/xml"/>' \
        f'<Override PartName="/xl/workbook.xml" ContentType="{SHEET_TYPE}.main+xml"/>'
    return zipped({
        "[Content_Types].xml": f'<Types xmlns="{OFFICE}/package/2006/content-types">{kinds}</Types>',
        "_rels/.rels": f'<Relationships xmlns="{OFFICE}/package/2006/relationships">{main}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{OFFICE}/spreadsheetml/2006/main" '
                           f'xmlns:r="{OFFICE}/officeDocument/2006/relationships"><sheets>{entries}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{OFFICE}/package/2006/relationships">{relation}</Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{OFFICE}/spreadsheetml/2006/main">{sheet}</worksheet>',
    })


def rows_of(*texts):
    """The rows of a sheet, with one cell each."""
    cells = "".join(f'<row r="{place}"><c r="A{place}" t="inlineStr"><is><t>{text}</t></is></c></row>'
                    for place, text in enumerate(texts, 1))
    return f"<sheetData>{cells}</sheetData>"


def costly_documents():
    """Name, type and bytes of documents that would each keep a reader busy for minutes, or end it."""
    word = zipped({"word/document.xml": f'<w:document xmlns:w="{OFFICE}/wordprocessingml/2006/main"><w:body>' + "<w:p>" * 400_000})
    return [
        ("lista.xlsx", SHEET_TYPE, workbook("<col/>" * 3_300_000 + "<sheetData/>", sheets=200_000)),
        ("lista.docx", WORD_TYPE, word),
        ("lista.csv", "text/csv", ("\u200b" * 600_000 + "\n" + "a\n" * 1_000_000).encode()),
        ("lista.html", "text/html", ("<div>" * 400_000).encode()),
        ("lista.pdf", "application/pdf", b"%PDF-1.7\n" + b"1 0 obj\n<</Kids[1 0 R]>>\nendobj\n" * 60_000),
    ]


def doubling_schema(levels):
    """A schema of some KB whose check would take 2 to the power of `levels` steps."""
    definitions = {f"a{place}": {"allOf": [{"$ref": f"#/$defs/a{place + 1}"}] * 2} for place in range(levels)}
    return {"type": "object", "$ref": "#/$defs/a0", "$defs": {**definitions, f"a{levels}": {"type": "object"}}}


def recursive_schema():
    """A small schema that looks twice at each part of a value, and so 2 to the power of its depth times at the innermost."""
    return {"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}},
            "$defs": {"node": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 1, "minItems": 1},
                                         {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 2, "minItems": 1}]}}}
