//! Documents as programs write them, and as strangers may write them. What the programs show of each construct stands in the modules.

mod limits;
mod open_document;
mod page;
mod pdf;
mod sheet;
mod slides;
mod word;

use super::*;
use proptest::prelude::*;
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn pack_parts(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// The part that says to which others a part refers: ids, kinds and targets.
fn relations(entries: &[(&str, &str, &str)]) -> String {
    let entries = entries.iter().map(|(id, kind, target)| {
        format!("<Relationship Id=\"{id}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>")
    });
    format!(
        "<Relationships xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\">{}</Relationships>",
        entries.collect::<String>()
    )
}

/// A document of Word with this body, and further parts with their relations.
fn word_document_with(body: &str, entries: &[(&str, &str, &str)], parts: &[(&str, &str)]) -> Vec<u8> {
    let document = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\" \
         xmlns:r=\"{OFFICE}\"><w:body>{body}</w:body></w:document>"
    );
    let (of_package, of_document) = (
        relations(&[("rId1", "officeDocument", "word/document.xml")]),
        relations(entries),
    );
    let own = [
        ("[Content_Types].xml", "<Types/>"),
        ("_rels/.rels", of_package.as_str()),
        ("word/document.xml", document.as_str()),
        ("word/_rels/document.xml.rels", of_document.as_str()),
    ];
    pack_parts(&[&own[..], parts].concat())
}

fn word_document(body: &str) -> Vec<u8> {
    word_document_with(body, &[], &[])
}

fn paragraph(text: &str) -> String {
    format!("<w:p><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>")
}

/// A workbook: what stands within `workbook`, its styles and shared texts, and the parts of its sheets, of which each has the relation
/// `rId1`, `rId2` and so on.
fn workbook_with(book: &str, styles: &str, shared: &str, sheets: &[&str]) -> Vec<u8> {
    let names: Vec<(String, String)> = (1..=sheets.len())
        .map(|number| (format!("rId{number}"), format!("worksheets/sheet{number}.xml")))
        .collect();
    let mut entries: Vec<(&str, &str, &str)> = names
        .iter()
        .map(|(id, target)| (id.as_str(), "worksheet", target.as_str()))
        .collect();
    entries.push(("rId900", "sharedStrings", "sharedStrings.xml"));
    entries.push(("rId901", "styles", "styles.xml"));
    let mut parts = vec![
        (
            "_rels/.rels".to_owned(),
            relations(&[("rId1", "officeDocument", "xl/workbook.xml")]),
        ),
        ("xl/_rels/workbook.xml.rels".to_owned(), relations(&entries)),
        (
            "xl/workbook.xml".to_owned(),
            format!("<workbook xmlns:r=\"{OFFICE}\">{book}</workbook>"),
        ),
        (
            "xl/styles.xml".to_owned(),
            format!("<styleSheet>{styles}</styleSheet>"),
        ),
        ("xl/sharedStrings.xml".to_owned(), format!("<sst>{shared}</sst>")),
    ];
    for ((_, target), sheet) in names.iter().zip(sheets) {
        parts.push((format!("xl/{target}"), format!("<worksheet>{sheet}</worksheet>")));
    }
    let parts: Vec<(&str, &str)> = parts
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_str()))
        .collect();
    pack_parts(&parts)
}

fn workbook(rows: &str, shared: &str) -> Vec<u8> {
    let styles = "<cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs>";
    let book = "<sheets><sheet name=\"Agenda\" sheetId=\"1\" r:id=\"rId1\"/></sheets>";
    workbook_with(book, styles, shared, &[&format!("<sheetData>{rows}</sheetData>")])
}

/// A presentation whose slides are listed in this order: each with its number and what stands within `sld`.
fn presentation(slides: &[(u32, &str)], parts: &[(&str, &str)]) -> Vec<u8> {
    let entries: Vec<(String, String)> = slides
        .iter()
        .map(|(number, _)| (format!("rId{number}"), format!("slides/slide{number}.xml")))
        .collect();
    let of_document: Vec<(&str, &str, &str)> = entries
        .iter()
        .map(|(id, target)| (id.as_str(), "slide", target.as_str()))
        .collect();
    let listed: Vec<String> = entries
        .iter()
        .zip(256..)
        .map(|((id, _), number)| format!("<p:sldId id=\"{number}\" r:id=\"{id}\"/>"))
        .collect();
    let listed = listed.concat();
    let mut own = vec![
        (
            "ppt/presentation.xml".to_owned(),
            format!(
                "<p:presentation xmlns:r=\"{OFFICE}\"><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>"
            ),
        ),
        (
            "ppt/_rels/presentation.xml.rels".to_owned(),
            relations(&of_document),
        ),
    ];
    for ((_, target), (_, slide)) in entries.iter().zip(slides) {
        own.push((format!("ppt/{target}"), (*slide).to_owned()));
    }
    let own: Vec<(&str, &str)> = own
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_str()))
        .collect();
    pack_parts(&[&own[..], parts].concat())
}

fn read_text(bytes: &[u8], media_type: MediaType) -> String {
    extract_text(bytes, media_type, &TextLimits::default())
        .unwrap()
        .text
}

fn read_markdown(bytes: &[u8], media_type: MediaType) -> String {
    extract_markdown(bytes, media_type, &TextLimits::default())
        .unwrap()
        .text
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
    let with_separator = "\u{feff}\"sep=;\"\r\nDia;Hora\r\nseg;9h".as_bytes();
    assert_eq!(read_text(with_separator, MediaType::Csv), "Dia;Hora\nseg;9h");
    assert_eq!(
        read_markdown(with_separator, MediaType::Csv),
        "Dia: seg; Hora: 9h"
    );
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
fn what_is_damaged_or_has_no_text_is_told_apart() {
    let read = |bytes: &[u8], media_type| extract_text(bytes, media_type, &TextLimits::default());
    assert_eq!(read(b"OggS", MediaType::Ogg), Err(DocumentError::NoText));
    assert_eq!(read(b"%PDF", MediaType::Pdf), Err(DocumentError::NoText));
    let other = pack_parts(&[("notes.xml", "<a/>")]);
    for media_type in [
        MediaType::Docx,
        MediaType::Xlsx,
        MediaType::Pptx,
        MediaType::Odt,
        MediaType::Ods,
    ] {
        assert_eq!(read(b"PK\x03\x04", media_type), Err(DocumentError::Unreadable));
        assert_eq!(read(&other, media_type), Err(DocumentError::Unreadable));
    }
    let broken = pack_parts(&[("word/document.xml", "<w:t>a</w:p>")]);
    assert_eq!(read(&broken, MediaType::Docx), Err(DocumentError::Unreadable));
}

#[test]
fn a_document_expands_no_entities_of_its_own() {
    let xml = "<!DOCTYPE a [<!ENTITY b \"bbbbbbbbbb\"><!ENTITY c \"&b;&b;&b;&b;\">]><w:document><w:p><w:t>x&c;y</w:t></w:p></w:document>";
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
            _ => (presentation(&[(1, "<p:sld><a:p><a:t>a</a:t></a:p></p:sld>")], &[]), MediaType::Pptx),
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
