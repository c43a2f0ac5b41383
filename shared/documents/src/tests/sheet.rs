//! Spreadsheets as Excel shows them.

use super::*;

const STYLES: &str = "<numFmts><numFmt numFmtId=\"164\" formatCode=\"&quot;R$&quot; #,##0.00\"/>\
    <numFmt numFmtId=\"165\" formatCode=\"[h]:mm\"/><numFmt numFmtId=\"166\" formatCode=\"00000\"/></numFmts>\
    <cellStyleXfs><xf numFmtId=\"9\"/></cellStyleXfs>\
    <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"9\"/><xf numFmtId=\"164\"/><xf numFmtId=\"165\"/><xf numFmtId=\"166\"/>\
    <xf numFmtId=\"14\"/></cellXfs>";

const ONE_SHEET: &str = "<sheets><sheet name=\"Agenda\" r:id=\"rId1\"/></sheets>";

fn sheet(rows: &str) -> String {
    format!("<sheetData>{rows}</sheetData>")
}

fn inline(place: &str, words: &str) -> String {
    format!("<c r=\"{place}\" t=\"inlineStr\"><is><t>{words}</t></is></c>")
}

fn row(number: usize, cells: &str) -> String {
    format!("<row r=\"{number}\">{cells}</row>")
}

#[test]
fn values_are_written_by_their_formats() {
    let cells = "<c r=\"A1\" s=\"1\"><v>0.15</v></c><c r=\"B1\" s=\"2\"><v>1234.5</v></c><c r=\"C1\" s=\"3\"><v>1.0625</v></c>\
        <c r=\"D1\" s=\"4\"><v>42</v></c><c r=\"E1\" s=\"5\"><v>46000</v></c><c r=\"F1\" t=\"b\"><v>0</v></c>\
        <c r=\"G1\" t=\"e\"><v>#N/A</v></c><c r=\"H1\" t=\"str\"><f>A1&amp;\"x\"</f><v>feito</v></c><c r=\"I1\"><v>0.30000000000000004</v></c>";
    let book = workbook_with(ONE_SHEET, STYLES, "", &[&sheet(&row(1, cells))]);
    assert_eq!(
        read_text(&book, MediaType::Xlsx),
        "15%\tR$ 1,234.50\t25:30\t00042\t2025-12-09\tFALSE\t#N/A\tfeito\t0.3"
    );
    let old = "<workbookPr date1904=\"1\"/><sheets><sheet name=\"a\" r:id=\"rId1\"/></sheets>";
    let book = workbook_with(
        old,
        STYLES,
        "",
        &[&sheet("<row><c s=\"5\"><v>44538</v></c></row>")],
    );
    assert_eq!(read_text(&book, MediaType::Xlsx), "2025-12-09");
}

#[test]
fn a_sheet_is_read_with_its_gaps() {
    let rows = "<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"C1\" t=\"inlineStr\"><is><t>Hora</t></is></c></row>\
                <row r=\"3\"><c r=\"A3\" s=\"1\"><v>46000</v></c><c r=\"B3\"><v>2.5</v></c><c r=\"C3\" t=\"b\"><v>1</v></c></row>";
    let text = read_text(&workbook(rows, "<si><t>Dia</t></si>"), MediaType::Xlsx);
    assert_eq!(text, "Dia\t\tHora\n2025-12-09\t2.5\tTRUE");
    let corners = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"1048576\"><c r=\"XFD1048576\"><v>2</v></c></row>";
    let text = read_text(&workbook(corners, ""), MediaType::Xlsx);
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["1", "2"]);
    assert!(text.len() < 100, "{text:?}");
}

#[test]
fn runs_of_a_text_belong_together_without_their_pronunciation() {
    let shared = "<si><r><t>Lim</t></r><r><rPr><b/></rPr><t>peza</t></r><rPh sb=\"0\" eb=\"1\"><t>x</t></rPh></si><si><t>a\nb</t></si>";
    let rows = "<row><c t=\"s\"><v>0</v></c><c t=\"s\"><v>1</v></c><c t=\"s\"><v>7</v></c></row>";
    assert_eq!(
        read_text(&workbook(rows, shared), MediaType::Xlsx),
        "Limpeza\ta b"
    );
}

#[test]
fn characters_that_excel_escapes_are_shown() {
    let rows = "<row><c t=\"s\"><v>0</v></c><c t=\"inlineStr\"><is><t>a_x005F_b</t></is></c><c t=\"str\"><v>c_x000D_\nd</v></c></row>";
    assert_eq!(
        read_text(
            &workbook(rows, "<si><t>linha1_x000D_\nlinha2</t></si>"),
            MediaType::Xlsx
        ),
        "linha1 linha2\ta_b\tc d"
    );
}

#[test]
fn what_is_hidden_is_left_out() {
    let book = "<sheets><sheet name=\"Preços\" r:id=\"rId1\"/><sheet name=\"Custos\" state=\"hidden\" r:id=\"rId2\"/>\
        <sheet name=\"Senhas\" state=\"veryHidden\" r:id=\"rId3\"/></sheets>";
    let shown = format!(
        "<cols><col min=\"2\" max=\"3\" hidden=\"1\"/></cols>{}",
        sheet(&format!(
            "{}<row r=\"2\" hidden=\"1\">{}</row>",
            row(
                1,
                &[inline("A1", "a"), inline("B1", "b"), inline("D1", "d")].concat()
            ),
            inline("A2", "x")
        ))
    );
    let secret = sheet(&row(1, &inline("A1", "y")));
    let book = workbook_with(book, "", "", &[&shown, &secret, &secret]);
    assert_eq!(read_text(&book, MediaType::Xlsx), "a\t\t\td");
}

#[test]
fn rows_name_their_columns_and_sheets_are_places() {
    let merged = format!(
        "{}<mergeCells count=\"2\"><mergeCell ref=\"A1:C1\"/><mergeCell ref=\"A3:A4\"/></mergeCells>",
        sheet(
            &[
                // What a merged cell covers is not shown.
                row(
                    1,
                    &[inline("A1", "Tabela de preços"), inline("B1", "coberta")].concat()
                ),
                row(
                    2,
                    &[
                        inline("A2", "Serviço"),
                        inline("B2", "Adulto"),
                        inline("C2", "Criança")
                    ]
                    .concat()
                ),
                row(
                    3,
                    &[inline("A3", "Limpeza"), inline("B3", "90"), inline("C3", "60")].concat()
                ),
                row(4, &[inline("A4", "coberta"), inline("C4", "50")].concat()),
            ]
            .concat()
        )
    );
    let times = sheet(
        &[
            row(1, &[inline("A1", "Dia"), inline("B1", "Hora")].concat()),
            row(2, &[inline("A2", "seg"), inline("B2", "9h")].concat()),
        ]
        .concat(),
    );
    let book =
        "<sheets><sheet name=\"Preços\" r:id=\"rId1\"/><sheet name=\"Horários\" r:id=\"rId2\"/></sheets>";
    let book = workbook_with(book, "", "", &[&merged, &times]);
    assert_eq!(
        read_markdown(&book, MediaType::Xlsx),
        "# Preços\n\nTabela de preços\n\nServiço: Limpeza; Adulto: 90; Criança: 60\n\nServiço: Limpeza; Criança: 50\n\n# Horários\n\nDia: seg; Hora: 9h"
    );
    assert!(read_text(&book, MediaType::Xlsx).starts_with("# Preços\nTabela de preços\nServiço\tAdulto"));
}

#[test]
fn a_cell_merged_over_rows_is_repeated_in_rows_that_show_something_else() {
    let book = |words: &str, range: &str| {
        let rows = [
            row(1, &[inline("A1", "Serviço"), inline("B1", "Preço")].concat()),
            row(2, &[inline("A2", words), inline("B2", "3000")].concat()),
            row(3, "<c r=\"A3\" s=\"1\"/>"),
            row(4, &inline("B4", "3500")),
            row(5, &inline("B5", "90")),
        ];
        let merged = format!(
            "{}<mergeCells><mergeCell ref=\"{range}\"/></mergeCells>",
            sheet(&rows.concat())
        );
        workbook_with(ONE_SHEET, "", "", &[&merged])
    };
    let implant = book("Implante", "A2:A4");
    assert_eq!(
        read_markdown(&implant, MediaType::Xlsx),
        "# Agenda\n\nServiço: Implante; Preço: 3000\n\nServiço: Implante; Preço: 3500\n\nPreço: 90"
    );
    assert_eq!(
        read_text(&implant, MediaType::Xlsx),
        "Serviço\tPreço\nImplante\t3000\nImplante\t3500\n\t90"
    );
    // Rows that show nothing else are not told, however many the range has, and a long text is told once.
    let all = read_text(&book("Implante", "A2:A1048576"), MediaType::Xlsx);
    assert_eq!(all.matches("Implante").count(), 3);
    let long = read_text(&book(&"longo ".repeat(40), "A2:A4"), MediaType::Xlsx);
    assert_eq!(long.matches("longo").count(), 40);
}

#[test]
fn comments_follow_the_row_of_their_cell() {
    let rows = [
        row(1, &[inline("A1", "Serviço"), inline("B1", "Preço")].concat()),
        row(2, &[inline("A2", "Limpeza"), inline("B2", "90")].concat()),
    ];
    let part = format!("<worksheet>{}</worksheet>", sheet(&rows.concat()));
    let notes = "<comments><authors><author>Ana</author></authors><commentList><comment ref=\"A1\" authorId=\"0\"><text><r><t>sem </t></r>\
        <r><t>imposto</t></r></text></comment><comment ref=\"B2\"><text><t>[Threaded comment] Get a newer version.</t></text></comment>\
        </commentList></comments>";
    let discussed = "<ThreadedComments><threadedComment ref=\"B2\"><text>só à vista</text></threadedComment>\
        <threadedComment ref=\"B2\"><text>ou pix</text></threadedComment></ThreadedComments>";
    let book = pack_parts(&[
        (
            "xl/workbook.xml",
            &format!("<workbook xmlns:r=\"{OFFICE}\">{ONE_SHEET}</workbook>"),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            &relations(&[("rId1", "worksheet", "worksheets/sheet1.xml")]),
        ),
        ("xl/worksheets/sheet1.xml", &part),
        (
            "xl/worksheets/_rels/sheet1.xml.rels",
            &relations(&[
                ("rId1", "comments", "../comments1.xml"),
                ("rId2", "threadedComment", "../threadedComments/t1.xml"),
            ]),
        ),
        ("xl/comments1.xml", notes),
        ("xl/threadedComments/t1.xml", discussed),
    ]);
    assert_eq!(
        read_text(&book, MediaType::Xlsx),
        "Serviço\tPreço\n[comment] sem imposto\nLimpeza\t90\n[comment] só à vista\n[comment] ou pix"
    );
    assert_eq!(
        read_markdown(&book, MediaType::Xlsx),
        "# Agenda\n\n[comment] sem imposto\n\nServiço: Limpeza; Preço: 90\n[comment] só à vista\n[comment] ou pix"
    );
}
