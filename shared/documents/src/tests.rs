//! Documents as programs write them, and as strangers may write them.

use super::*;
use proptest::prelude::*;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn pack_parts(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn word_document(body: &str) -> Vec<u8> {
    let xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\">\
         <w:body>{body}</w:body></w:document>"
    );
    pack_parts(&[("[Content_Types].xml", "<Types/>"), ("word/document.xml", &xml)])
}

fn workbook(rows: &str, shared: &str) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"{RELATIONS}/{kind}\" Target=\"{target}\"/>")
    };
    let relations = |inside: &str| format!("<Relationships xmlns=\"{PACKAGE}\">{inside}</Relationships>");
    let of_package = relations(&relation("rId1", "officeDocument", "xl/workbook.xml"));
    let of_book = relations(&format!(
        "{}{}{}",
        relation("rId1", "worksheet", "worksheets/sheet1.xml"),
        relation("rId2", "sharedStrings", "sharedStrings.xml"),
        relation("rId3", "styles", "styles.xml"),
    ));
    pack_parts(&[
        (
            "[Content_Types].xml",
            "<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\"/>",
        ),
        ("_rels/.rels", &of_package),
        ("xl/_rels/workbook.xml.rels", &of_book),
        (
            "xl/workbook.xml",
            &format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATIONS}\"><sheets>\
                 <sheet name=\"Agenda\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/styles.xml",
            &format!(
                "<styleSheet xmlns=\"{MAIN}\"><cellXfs count=\"2\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>"
            ),
        ),
        (
            "xl/sharedStrings.xml",
            &format!("<sst xmlns=\"{MAIN}\">{shared}</sst>"),
        ),
        (
            "xl/worksheets/sheet1.xml",
            &format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>"),
        ),
    ])
}

fn read_text(bytes: &[u8], media_type: MediaType) -> String {
    extract_text(bytes, media_type, &TextLimits::default())
        .unwrap()
        .text
}

#[test]
fn a_document_of_word_is_read_paragraph_by_paragraph_and_its_tables_row_by_row() {
    let run = |text: &str| format!("<w:p><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>");
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", run(text));
    let body = format!(
        "{}{}<w:p/><w:p/><w:p/><w:tbl><w:tr>{}{}</w:tr></w:tbl><w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t>\
         </w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:instrText>PAGE</w:instrText></w:p>",
        run("Olá &amp; bem-vinda&#33;"),
        run("S\u{e3}o 2 dias"),
        cell("Data"),
        cell("Hora"),
    );
    let text = read_text(&word_document(&body), MediaType::Docx);
    assert_eq!(text, "Olá & bem-vinda!\nSão 2 dias\n\nData \tHora \t\na\tb\nc");
}

#[test]
fn slides_are_read_in_the_order_of_their_numbers() {
    let slide = |text: &str| format!("<p:sld><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>");
    let parts = [
        ("ppt/presentation.xml", "<p:presentation/>".to_owned()),
        ("ppt/slides/slide10.xml", slide("ten")),
        ("ppt/slides/slide2.xml", slide("two")),
        ("ppt/slides/_rels/slide2.xml.rels", "<Relationships/>".to_owned()),
    ];
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    assert_eq!(read_text(&pack_parts(&parts), MediaType::Pptx), "two\n\nten");
}

#[test]
fn a_spreadsheet_is_read_with_its_dates_numbers_and_gaps() {
    let rows = "<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"C1\" t=\"inlineStr\"><is><t>Hora</t></is></c></row>\
                <row r=\"3\"><c r=\"A3\" s=\"1\"><v>46000</v></c><c r=\"B3\"><v>2.5</v></c><c r=\"C3\" t=\"b\"><v>1</v></c></row>";
    let text = read_text(&workbook(rows, "<si><t>Dia</t></si>"), MediaType::Xlsx);
    assert_eq!(text, "Dia\t\tHora\n2025-12-09\t2.5\ttrue");
}

#[test]
fn a_sheet_with_cells_at_its_corners_alone_fills_no_memory() {
    let rows = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row>\
                <row r=\"1048576\"><c r=\"XFD1048576\"><v>2</v></c></row>";
    let text = read_text(&workbook(rows, ""), MediaType::Xlsx);
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["1", "2"]);
    assert!(text.len() < 100, "{text:?}");
}

#[test]
fn plain_text_is_decoded_as_programs_write_it() {
    let windows: Vec<u8> = "S\u{e3}o Paulo;R$ 10"
        .chars()
        .map(|c| u8::try_from(c).unwrap())
        .collect();
    let utf16: Vec<u8> = [0xfeff_u16]
        .into_iter()
        .chain("Olá".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(read_text(&windows, MediaType::Csv), "São Paulo;R$ 10");
    assert_eq!(read_text(&utf16, MediaType::Text), "Olá");
    assert_eq!(
        read_text(
            "\u{feff}a\r\n\r\n\r\n\r\nb\u{202e}c\0\u{1b}".as_bytes(),
            MediaType::Text
        ),
        "a\n\nbc"
    );
    assert_eq!(read_text(b"a\r\nb\rc\nd", MediaType::Text), "a\nb\nc\nd");
}

#[test]
fn a_web_page_is_read_without_its_programs_and_marks() {
    let page = "<!DOCTYPE html><html><head><title>Preços</title><style>p { color: red }</style>\
        <script>if (a < b) { say('</p>') }</SCRIPT ></head><body><!-- <p>no</p> --><h1>Tabela</h1>\n\
        <p title='a > b'>Limpeza &amp; clareamento:   R$&nbsp;200 &#x2014; 3 &lt; 4 & <b>hoje</b></p>\
        <table><tr><td>A</td><td>B</td></tr><tr><td>C</td></tr></table><p>1 < 2</p>";
    let text = read_text(page.as_bytes(), MediaType::Html);
    assert_eq!(
        text,
        "Preços\nTabela\nLimpeza & clareamento: R$\u{a0}200 — 3 < 4 & hoje\nA\tB\t\nC\t\n1 < 2"
    );
    for broken in [
        "<",
        "<!--",
        "<p",
        "<a href='",
        "<script>x",
        "&",
        "&#xfffffff;",
        "&#0;",
        "</",
        "<é>",
    ] {
        extract_text(broken.as_bytes(), MediaType::Html, &TextLimits::default()).unwrap();
    }
}

fn read_markdown(bytes: &[u8], media_type: MediaType) -> String {
    extract_markdown(bytes, media_type, &TextLimits::default())
        .unwrap()
        .text
}

#[test]
fn the_headings_of_a_page_are_those_of_markdown_and_its_navigation_is_left_out() {
    let page = "<html><head><title>Clinic</title><style>h1 { }</style></head><body>\
        <nav><ul><li><a href='/'>Home</a></li></ul></nav><header>Open today</header>\
        <H1 class='big'>Our\n <b>prices</b> &amp; times</H1><p># 1 in town</p><p>Two.</p>\
        <h2><span>Vaccines</span></h2><div>90 euros.</div><h3> </h3><script>var a = '<h1>no</h1>'</script>\
        <ul><li>One</li><li>Two</li></ul><h4>Never ends<p>Still here.";
    assert_eq!(
        read_markdown(page.as_bytes(), MediaType::Html),
        "Clinic\nOpen today\n\n# Our prices & times\n\n    # 1 in town\n\nTwo.\n\n## Vaccines\n\n90 euros.\n\nOne\nTwo\n\nNever ends\n\nStill here."
    );
    let long = format!("<h1>{}</h1><p>b</p>", "a ".repeat(400));
    assert!(read_markdown(long.as_bytes(), MediaType::Html).starts_with("a a"));
    assert_eq!(
        read_markdown(b"<nav>Home<h1>Prices</h1><nav>x", MediaType::Html),
        "Home\n\n# Prices\n\nx"
    );
    assert_eq!(read_markdown(b"# a\n```", MediaType::Text), "# a\n```");
}

#[test]
fn text_is_cut_at_its_limit_and_says_so() {
    let limits = TextLimits {
        chars: 5,
        ..TextLimits::default()
    };
    for (text, expected, is_cut) in [
        ("ãããão", "ãããão", false),
        ("ããããoo", "ãããão", true),
        ("", "", false),
    ] {
        let read = extract_text(text.as_bytes(), MediaType::Text, &limits).unwrap();
        assert_eq!((read.text.as_str(), read.is_cut), (expected, is_cut));
        let body = format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
        let read = extract_text(&word_document(&body), MediaType::Docx, &limits).unwrap();
        assert_eq!((read.text.as_str(), read.is_cut), (expected, is_cut));
    }
}

#[test]
fn a_small_archive_that_unpacks_to_much_is_refused() {
    let blank = " ".repeat(400_000);
    let limits = TextLimits {
        unpacked_bytes: 300_000,
        ..TextLimits::default()
    };
    let body = format!("<w:p><w:r><w:t>{blank}</w:t></w:r></w:p>");
    let bomb = word_document(&body);
    assert!(bomb.len() < 4_000);
    let read = |bytes: &[u8], media_type| extract_text(bytes, media_type, &limits).map(|read| read.text);
    assert_eq!(read(&bomb, MediaType::Docx), Err(DocumentError::TooLarge));
    let sheet = workbook("", &format!("<si><t>{blank}</t></si>"));
    assert_eq!(read(&sheet, MediaType::Xlsx), Err(DocumentError::TooLarge));
    // Many parts, each within the limit.
    let part = " ".repeat(100_000);
    let names: Vec<String> = (0..4).map(|number| format!("word/part{number}.xml")).collect();
    let parts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), part.as_str())).collect();
    assert_eq!(
        read(&pack_parts(&parts), MediaType::Docx),
        Err(DocumentError::TooLarge)
    );
    // A picture is not unpacked, so it is not counted.
    let picture = pack_parts(&[
        (
            "word/document.xml",
            "<w:document><w:p><w:r><w:t>oi</w:t></w:r></w:p></w:document>",
        ),
        ("word/media/image1.bmp", &blank),
    ]);
    assert_eq!(read(&picture, MediaType::Docx).as_deref(), Ok("oi"));
    // A sheet may lie under any name.
    let hidden = pack_parts(&[("xl/workbook.xml", "<workbook/>"), ("xl/sheet1.dat", &blank)]);
    assert_eq!(read(&hidden, MediaType::Xlsx), Err(DocumentError::TooLarge));
}

#[test]
fn an_archive_of_very_many_parts_and_a_file_that_is_too_large_are_refused() {
    let names: Vec<String> = (0..5_001).map(|number| format!("{number}.xml")).collect();
    let parts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let read = |bytes: &[u8], media_type| extract_text(bytes, media_type, &TextLimits::default());
    assert_eq!(
        read(&pack_parts(&parts), MediaType::Docx),
        Err(DocumentError::TooLarge)
    );
    let large = vec![b'a'; TextLimits::default().bytes + 1];
    assert_eq!(read(&large, MediaType::Text), Err(DocumentError::TooLarge));
}

#[test]
fn what_is_damaged_or_has_no_text_is_told_apart() {
    let read = |bytes: &[u8], media_type| extract_text(bytes, media_type, &TextLimits::default());
    assert_eq!(read(b"OggS", MediaType::Ogg), Err(DocumentError::NoText));
    assert_eq!(read(b"%PDF", MediaType::Pdf), Err(DocumentError::NoText));
    let other = pack_parts(&[("notes.xml", "<a/>")]);
    for media_type in [MediaType::Docx, MediaType::Xlsx, MediaType::Pptx] {
        assert_eq!(read(b"PK\x03\x04", media_type), Err(DocumentError::Unreadable));
        assert_eq!(read(&other, media_type), Err(DocumentError::Unreadable));
    }
    let broken = pack_parts(&[("word/document.xml", "<w:t>a</w:p>")]);
    assert_eq!(read(&broken, MediaType::Docx), Err(DocumentError::Unreadable));
}

#[test]
fn a_document_expands_no_entities_of_its_own() {
    let xml = "<!DOCTYPE a [<!ENTITY b \"bbbbbbbbbb\"><!ENTITY c \"&b;&b;&b;&b;\">]><w:document><w:t>x&c;y</w:t></w:document>";
    let text = read_text(&pack_parts(&[("word/document.xml", xml)]), MediaType::Docx);
    assert_eq!(text, "xy");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_damage_breaks_it(place in 0_usize..4_000, byte in any::<u8>(), kind in 0_usize..3) {
        let (mut bytes, media_type) = match kind {
            0 => (word_document("<w:p><w:r><w:t>oi</w:t></w:r></w:p>"), MediaType::Docx),
            1 => (workbook("<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c></row>", "<si><t>Dia</t></si>"), MediaType::Xlsx),
            _ => (pack_parts(&[("ppt/slides/slide1.xml", "<a:t>a</a:t>")]), MediaType::Pptx),
        };
        let place = place % bytes.len();
        bytes[place] = byte;
        let _ = extract_text(&bytes, media_type, &TextLimits::default());
        bytes.truncate(place);
        let _ = extract_text(&bytes, media_type, &TextLimits::default());
    }

    #[test]
    fn any_page_is_read(page in ".*", chars in 0_usize..50) {
        let limits = TextLimits { chars, ..TextLimits::default() };
        let read = extract_text(page.as_bytes(), MediaType::Html, &limits).unwrap();
        prop_assert!(read.text.chars().count() <= chars);
        for media_type in [MediaType::Html, MediaType::Csv] {
            let read = extract_markdown(page.as_bytes(), media_type, &limits).unwrap();
            prop_assert!(read.text.chars().count() <= chars);
        }
    }
}
