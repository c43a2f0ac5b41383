//! Documents of Word as Word shows them.

use super::*;

fn shown(body: &str) -> String {
    read_text(&word_document(body), MediaType::Docx)
}

fn run(inside: &str) -> String {
    format!("<w:r>{inside}</w:r>")
}

fn text(words: &str) -> String {
    format!("<w:t xml:space=\"preserve\">{words}</w:t>")
}

#[test]
fn paragraphs_are_lines_and_tables_are_rows() {
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph(text));
    let body = format!(
        "{}{}<w:p/><w:p/><w:p/><w:tbl><w:tr>{}{}</w:tr><w:tr>{}<w:tc>{}{}</w:tc></w:tr></w:tbl>{}",
        paragraph("Olá &amp; bem-vinda&#33;"),
        paragraph("S\u{e3}o 2 dias"),
        cell("Data"),
        cell("Hora"),
        cell("3 de maio"),
        paragraph("9h"),
        paragraph("ou 14h"),
        paragraph("Fim"),
    );
    assert_eq!(
        shown(&body),
        "Olá & bem-vinda!\nSão 2 dias\n\nData\tHora\n3 de maio\t9h ou 14h\n\nFim"
    );
}

#[test]
fn signs_that_are_written_by_their_place_in_a_font_are_shown() {
    let sign = |font: &str, place: &str| run(&format!("<w:sym w:font=\"{font}\" w:char=\"{place}\"/>"));
    let hidden = run("<w:rPr><w:vanish/></w:rPr><w:sym w:font=\"Wingdings\" w:char=\"F0FB\"/>");
    let body = format!(
        "<w:p>{}{}{}{}{}{}{hidden}{}</w:p>",
        run(&text("Limpeza ")),
        sign("Wingdings", "F0FC"),
        sign("Wingdings 2", "0052"),
        sign("Symbol", "F0B1"),
        sign("MS Gothic", "2610"),
        sign("Wingdings", "F04A"),
        run(&text(" fim")),
    );
    assert_eq!(shown(&body), "Limpeza ✓☑±☐ fim");
}

#[test]
fn the_main_part_is_the_one_that_the_relations_of_the_package_name() {
    for (main, of_main) in [
        ("word/document2.xml", "word/_rels/document2.xml.rels"),
        ("doc/main.xml", "doc/_rels/main.xml.rels"),
    ] {
        let body = format!(
            "<w:document xmlns:r=\"{OFFICE}\"><w:body>{}<w:sectPr><w:headerReference w:type=\"default\" r:id=\"rId1\"/></w:sectPr></w:body>\
             </w:document>",
            paragraph("Texto certo")
        );
        let header = format!("<w:hdr>{}</w:hdr>", paragraph("Clínica"));
        let bytes = pack_parts(&[
            ("[Content_Types].xml", "<Types/>"),
            (
                "_rels/.rels",
                &relations(&[("rId1", "officeDocument", &format!("/{main}"))]),
            ),
            (main, &body),
            (of_main, &relations(&[("rId1", "header", "header1.xml")])),
            (
                &main.replace("document2", "header1").replace("main", "header1"),
                &header,
            ),
        ]);
        assert_eq!(
            MediaType::from_file(&bytes, Some("a.docx")),
            Some(MediaType::Docx)
        );
        assert_eq!(
            read_text(&bytes, MediaType::Docx),
            "[header] Clínica\nTexto certo",
            "{main}"
        );
    }
}

#[test]
fn breaks_tabs_and_hyphens_are_what_they_show() {
    let inside = format!(
        "{}<w:tab/>{}<w:br/>{}<w:cr/>{}<w:noBreakHyphen/>{}<w:softHyphen/>{}",
        text("a"),
        text("b"),
        text("c"),
        text("d"),
        text("e"),
        text("f\u{ad}g")
    );
    let body = format!(
        "<w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr>{}</w:p>",
        run(&inside)
    );
    assert_eq!(shown(&body), "a\tb\nc\nd-efg");
    let field = "<w:p><w:r><w:fldChar w:fldCharType=\"begin\"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>\
        <w:r><w:fldChar w:fldCharType=\"separate\"/></w:r><w:r><w:t>7</w:t></w:r></w:p>";
    assert_eq!(shown(field), "7");
}

#[test]
fn a_list_keeps_its_text() {
    let item = |text: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"0\"/><w:numId w:val=\"1\"/></w:numPr></w:pPr>{}</w:p>",
            run(&self::text(text))
        )
    };
    assert_eq!(
        shown(&format!("{}{}", item("Traga um documento"), item("Chegue cedo"))),
        "Traga um documento\nChegue cedo"
    );
}

#[test]
fn tracked_changes_are_accepted() {
    let deleted = |words: &str| format!("<w:r><w:delText>{words}</w:delText></w:r>");
    let body = format!(
        "<w:p>{}<w:del>{}</w:del><w:ins>{}</w:ins><w:moveFrom>{}</w:moveFrom><w:moveTo>{}</w:moveTo></w:p>",
        run(&text("Custa ")),
        deleted("80"),
        run(&text("90")),
        run(&text(" antes")),
        run(&text(" agora")),
    );
    assert_eq!(shown(&body), "Custa 90 agora");
    let joined = format!(
        "<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{}</w:p>{}",
        run(&text("uma ")),
        paragraph("linha")
    );
    assert_eq!(shown(&joined), "uma linha");
    let row = |properties: &str, text: &str| {
        format!(
            "<w:tr><w:trPr>{properties}</w:trPr><w:tc>{}</w:tc></w:tr>",
            paragraph(text)
        )
    };
    let table = format!(
        "<w:tbl>{}{}</w:tbl>",
        row("<w:del/>", "velha"),
        row("<w:ins/>", "nova")
    );
    assert_eq!(shown(&table), "nova");
}

#[test]
fn hidden_text_is_left_out() {
    let hidden = "<w:rPr><w:vanish/></w:rPr>";
    let body = format!(
        "<w:p>{}{}{}{}</w:p>",
        run(&text("a")),
        run(&format!("{hidden}{}<w:tab/>", text("x"))),
        run(&format!("<w:rPr><w:vanish w:val=\"0\"/></w:rPr>{}", text("b"))),
        run(&format!(
            "<w:rPr><w:rStyle w:val=\"Secret\"/></w:rPr>{}",
            text("y")
        )),
    );
    let styles = "<w:styles><w:style w:styleId=\"Secret\"><w:rPr><w:vanish/></w:rPr></w:style></w:styles>";
    let document = word_document_with(
        &body,
        &[("rId5", "styles", "styles.xml")],
        &[("word/styles.xml", styles)],
    );
    assert_eq!(read_text(&document, MediaType::Docx), "ab");
}

#[test]
fn a_text_box_is_read_once_and_after_its_paragraph() {
    let content = |words: &str| {
        format!(
            "<w:txbxContent>{}{}</w:txbxContent>",
            paragraph(words),
            paragraph("à vista")
        )
    };
    let body = format!(
        "<w:p>{}<w:r><mc:AlternateContent><mc:Choice Requires=\"wps\"><w:drawing>{}</w:drawing></mc:Choice>\
         <mc:Fallback><w:pict>{}</w:pict></mc:Fallback></mc:AlternateContent></w:r>{}</w:p>{}",
        run(&text("Antes ")),
        content("Limpeza: 90"),
        content("Limpeza: 90"),
        run(&text("e depois")),
        paragraph("Fim"),
    );
    assert_eq!(shown(&body), "Antes e depois\nLimpeza: 90\nà vista\nFim");
    let old = format!(
        "<w:p><mc:AlternateContent><mc:Fallback>{}</mc:Fallback></mc:AlternateContent></w:p>",
        run(&text("só isto"))
    );
    assert_eq!(shown(&old), "só isto");
}

#[test]
fn headers_footers_notes_and_comments_are_told_apart() {
    let body = format!(
        "<w:p>{}<w:r><w:footnoteReference w:id=\"2\"/></w:r>{}<w:r><w:endnoteReference w:id=\"1\"/></w:r>\
         <w:r><w:commentReference w:id=\"0\"/></w:r></w:p>{}\
         <w:sectPr><w:headerReference w:type=\"default\" r:id=\"rId1\"/><w:headerReference w:type=\"first\" r:id=\"rId6\"/>\
         <w:footerReference w:type=\"default\" r:id=\"rId2\"/></w:sectPr>",
        run(&text("Preço")),
        run(&text(" final")),
        paragraph("Fim"),
    );
    let entries = [
        ("rId1", "header", "header1.xml"),
        ("rId2", "footer", "footer1.xml"),
        ("rId3", "footnotes", "footnotes.xml"),
        ("rId4", "endnotes", "endnotes.xml"),
        ("rId5", "comments", "comments.xml"),
        ("rId6", "header", "header2.xml"),
    ];
    let note =
        |name: &str, id: u32, words: &str| format!("<w:{name} w:id=\"{id}\">{}</w:{name}>", paragraph(words));
    let header = format!(
        "<w:hdr>{}{}</w:hdr>",
        paragraph("Clínica Aurora"),
        paragraph("Rua 7")
    );
    let first = format!("<w:hdr>{}</w:hdr>", paragraph("Capa"));
    let footer = format!("<w:ftr>{}</w:ftr>", paragraph("Página 1"));
    let footnotes = format!(
        "<w:footnotes><w:footnote w:type=\"separator\" w:id=\"0\">{}</w:footnote>{}{}</w:footnotes>",
        paragraph("---"),
        note("footnote", 2, "sem material"),
        note("footnote", 3, "nunca citada"),
    );
    let endnotes = format!("<w:endnotes>{}</w:endnotes>", note("endnote", 1, "até maio"));
    let comments = format!("<w:comments>{}</w:comments>", note("comment", 0, "confirmar"));
    let parts = [
        ("word/header1.xml", header.as_str()),
        ("word/header2.xml", &first),
        ("word/footer1.xml", &footer),
        ("word/footnotes.xml", &footnotes),
        ("word/endnotes.xml", &endnotes),
        ("word/comments.xml", &comments),
    ];
    assert_eq!(
        read_text(&word_document_with(&body, &entries, &parts), MediaType::Docx),
        "[header] Clínica Aurora / Rua 7\nPreço final\n[note] sem material\n[note] até maio\n[comment] confirmar\nFim\n\
         [footer] Página 1"
    );
}

#[test]
fn headings_are_known_by_their_style_their_base_and_their_level() {
    let heading = |style: &str, words: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr>{}</w:p>",
            run(&text(words))
        )
    };
    let styles = "<w:styles><w:style w:styleId=\"a3\"><w:name w:val=\"heading 2\"/></w:style>\
        <w:style w:styleId=\"Mine\"><w:name w:val=\"Minha\"/><w:basedOn w:val=\"a3\"/></w:style>\
        <w:style w:styleId=\"Deep\"><w:name w:val=\"Outro\"/><w:pPr><w:outlineLvl w:val=\"2\"/></w:pPr></w:style></w:styles>";
    let body = format!(
        "{}{}{}{}<w:p><w:pPr><w:outlineLvl w:val=\"0\"/></w:pPr>{}</w:p>{}{}",
        heading("Ttulo1", "Preços"),
        heading("a3", "Limpeza"),
        heading("Mine", "Extração"),
        heading("Deep", "Com anestesia"),
        run(&text("Horários")),
        heading("Normal", "# 90"),
        heading("Título 1", " "),
    );
    let document = word_document_with(
        &body,
        &[("rId1", "styles", "styles.xml")],
        &[("word/styles.xml", styles)],
    );
    assert_eq!(
        read_markdown(&document, MediaType::Docx),
        "# Preços\n\n## Limpeza\n\n## Extração\n\n### Com anestesia\n\n# Horários\n\n    # 90"
    );
    assert!(read_text(&document, MediaType::Docx).starts_with("Preços\nLimpeza\n"));
}

#[test]
fn a_cell_merged_over_rows_is_repeated_in_rows_that_have_other_text() {
    let cell = |properties: &str, words: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr>{}</w:tc>", paragraph(words))
    };
    let (begins, goes_on) = ("<w:vMerge w:val=\"restart\"/>", "<w:vMerge/>");
    let body = format!(
        "<w:tbl><w:tr>{}{}{}</w:tr><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
        cell("", "Limpeza"),
        cell("", "Adulto"),
        cell(begins, "à vista"),
        // It reaches over two columns.
        cell("<w:gridSpan w:val=\"2\"/>", "R$ 200"),
        cell(goes_on, ""),
        cell("<w:gridSpan w:val=\"2\"/>", ""),
        cell(goes_on, ""),
        cell("<w:gridSpan w:val=\"2\"/>", "R$ 300"),
        cell("", ""),
    );
    assert_eq!(
        shown(&body),
        "Limpeza\tAdulto\tà vista\nR$ 200\tà vista\n\nR$ 300"
    );
}
