//! What strangers write to take time or memory.

use super::*;

#[test]
fn a_small_archive_that_unpacks_to_much_is_refused() {
    let blank = " ".repeat(400_000);
    let limits = TextLimits {
        unpacked_bytes: 300_000,
        ..TextLimits::default()
    };
    let read = |bytes: &[u8], media_type| extract_text(bytes, media_type, &limits).map(|read| read.text);
    let bomb = word_document(&paragraph(&blank));
    assert!(bomb.len() < 4_000);
    assert_eq!(read(&bomb, MediaType::Docx), Err(DocumentError::TooLarge));
    let sheet = workbook("", &format!("<si><t>{blank}</t></si>"));
    assert_eq!(read(&sheet, MediaType::Xlsx), Err(DocumentError::TooLarge));
    // Many parts, each within the limit.
    let slide = format!("<p:sld>{}</p:sld>", &blank[..100_000]);
    let slides: Vec<(u32, &str)> = (1..=4).map(|number| (number, slide.as_str())).collect();
    assert_eq!(
        read(&presentation(&slides, &[]), MediaType::Pptx),
        Err(DocumentError::TooLarge)
    );
    // What nothing refers to is not unpacked, so it is not counted.
    let picture = word_document_with(&paragraph("oi"), &[], &[("word/media/image1.bmp", &blank)]);
    assert_eq!(read(&picture, MediaType::Docx).as_deref(), Ok("oi"));
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

/// Very many sheets that all lead to one part are read as one sheet. The limit of what may be unpacked allows the part once, not twice, so
/// that this is counted and not timed.
#[test]
fn a_part_is_read_once_however_many_sheets_lead_to_it() {
    let listed = "<sheet name=\"a\" r:id=\"rId1\"/>".repeat(20_000);
    let sheet = format!(
        "<cols>{}</cols><sheetData><row><c><v>7</v></c></row></sheetData>",
        "<col/>".repeat(100_000)
    );
    let bomb = workbook_with(&format!("<sheets>{listed}</sheets>"), "", "", &[&sheet]);
    let limits = TextLimits {
        unpacked_bytes: (sheet.len() + listed.len() + 10_000) as u64,
        ..TextLimits::default()
    };
    let read = extract_text(&bomb, MediaType::Xlsx, &limits).unwrap();
    assert_eq!(read.text, "# a\n7");
    let slide = "<p:sld><a:p><a:t>oi</a:t></a:p></p:sld>";
    let listed = "<p:sldId r:id=\"rId1\"/>".repeat(900);
    let again = pack_parts(&[
        (
            "ppt/presentation.xml",
            &format!("<p:presentation>{listed}</p:presentation>"),
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            &relations(&[("rId1", "slide", "slide1.xml")]),
        ),
        ("ppt/slide1.xml", slide),
    ]);
    assert_eq!(read_text(&again, MediaType::Pptx), "oi");
}

#[test]
fn no_more_than_two_hundred_sheets_are_read() {
    let listed: Vec<String> = (1..=230)
        .map(|number| format!("<sheet name=\"s{number}\" r:id=\"rId{number}\"/>"))
        .collect();
    let listed = listed.concat();
    let sheets = vec!["<sheetData><row><c><v>7</v></c></row></sheetData>"; 230];
    let book = workbook_with(&format!("<sheets>{listed}</sheets>"), "", "", &sheets);
    let text = read_text(&book, MediaType::Xlsx);
    assert!(text.contains("# s200\n") && !text.contains("# s201\n"), "{text}");
}

#[test]
fn characters_that_nobody_sees_count_as_looked_at() {
    let limits = TextLimits {
        looks: 1_000,
        ..TextLimits::default()
    };
    let hidden = format!("{}end", "\u{200b}".repeat(2_000));
    let read = extract_text(hidden.as_bytes(), MediaType::Text, &limits).unwrap();
    assert_eq!((read.text.as_str(), read.is_cut), ("", true));
    // A text that many cells share is looked at again for each.
    let cells = "<c t=\"s\"><v>0</v></c>".repeat(100);
    let shared = format!("<si><t>{}</t></si>", "a".repeat(100));
    let book = workbook(&format!("<row>{cells}</row>"), &shared);
    let read = extract_text(&book, MediaType::Xlsx, &limits).unwrap();
    assert!(read.is_cut && read.text.len() <= 1_000, "{}", read.text.len());
}

/// Each row of a table would repeat the name of its column.
#[test]
fn a_long_name_of_a_column_is_not_repeated_for_each_row() {
    let limits = TextLimits {
        looks: 200_000,
        chars: 200_000,
        ..TextLimits::default()
    };
    for filler in ["\u{200b}", "\u{e0041}", "\u{3164}"] {
        let table = format!("a{},b\n{}", filler.repeat(50_000), "x,y\n".repeat(1_000));
        let read = extract_markdown(table.as_bytes(), MediaType::Csv, &limits).unwrap();
        assert!(
            !read.is_cut && read.text.starts_with("a: x; b: y\n\na: x; b: y"),
            "{filler:?}"
        );
        assert_eq!(read.text.matches("a: x").count(), 1_000);
    }
    let rows = "<row><c t=\"s\"><v>0</v></c><c t=\"s\"><v>1</v></c></row>";
    let body = "<row><c t=\"s\"><v>1</v></c><c t=\"s\"><v>1</v></c></row>".repeat(100);
    let shared = format!("<si><t>{}</t></si><si><t>x</t></si>", "n".repeat(30_000));
    let read = extract_markdown(
        &workbook(&format!("{rows}{body}"), &shared),
        MediaType::Xlsx,
        &limits,
    )
    .unwrap();
    assert!(!read.is_cut, "{}", read.text.len());
}

#[test]
fn elements_within_elements_and_attributes_beside_attributes_end() {
    let deep = format!("{}{}", "<w:sdt>".repeat(200_000), "</w:sdt>".repeat(200_000));
    assert_eq!(
        read_text(
            &word_document(&format!("{deep}{}", paragraph("oi"))),
            MediaType::Docx
        ),
        "oi"
    );
    let boxes = format!(
        "{}x{}",
        "<w:p><w:txbxContent>".repeat(5_000),
        "</w:txbxContent></w:p>".repeat(5_000)
    );
    assert_eq!(read_text(&word_document(&boxes), MediaType::Docx), "");
    // Each box and each table would hand its lines on to the one around it.
    let box_in_box = format!(
        "{}{}",
        "<w:p><w:txbxContent>".repeat(2_000),
        paragraph("oi").repeat(2_000)
    );
    let box_in_box = format!("{box_in_box}{}", "</w:txbxContent></w:p>".repeat(2_000));
    assert_eq!(
        read_text(&word_document(&box_in_box), MediaType::Docx)
            .matches("oi")
            .count(),
        2_000
    );
    let table_in_table = format!(
        "{}{}{}",
        "<w:tbl><w:tr><w:tc>".repeat(2_000),
        paragraph("oi"),
        "</w:tc></w:tr></w:tbl>".repeat(2_000)
    );
    assert_eq!(read_text(&word_document(&table_in_table), MediaType::Docx), "oi");
    let attributes: Vec<String> = (0..200_000).map(|number| format!(" a{number}=\"\"")).collect();
    let attributes = attributes.concat();
    let body = format!("<w:footnoteReference{attributes}/>{}", paragraph("oi"));
    assert_eq!(read_text(&word_document(&body), MediaType::Docx), "oi");
    let headings = "<h1>".repeat(200_000);
    extract_markdown(headings.as_bytes(), MediaType::Html, &TextLimits::default()).unwrap();
}

#[test]
fn repeated_cells_and_rows_of_an_open_document_are_bounded() {
    let cell = "<table:table-cell table:number-columns-repeated=\"1000000000\"><text:p>a</text:p></table:table-cell>";
    let row = format!("<table:table-row table:number-rows-repeated=\"1000000000\">{cell}</table:table-row>");
    let content = format!(
        "<office:body><office:spreadsheet><table:table>{row}</table:table></office:spreadsheet></office:body>"
    );
    let content = format!("<office:document-content>{content}</office:document-content>");
    let read = extract_text(
        &pack_parts(&[("content.xml", &content)]),
        MediaType::Ods,
        &TextLimits::default(),
    )
    .unwrap();
    assert_eq!(read.text.matches('a').count(), 10_000);
}
