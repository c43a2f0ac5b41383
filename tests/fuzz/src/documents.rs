//! Reads documents as those of contacts and of tenants are read. Which reader is meant `RECADO_FUZZ_DOCUMENT` says: `docx`, `xlsx`, `pptx`,
//! `odt`, `ods`, `html`, `csv` or `text`. What lies in an archive is packed by the target, so that the fuzzer writes XML and not zip; with
//! `zip` in front (`zip-docx`) the archive itself is written. PDF documents are left out: their library panics, and is read in a process of
//! its own for that. What must not happen: a panic, a hang (libFuzzer's own limit), or a text that is longer than its limit.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recado_documents::{TextLimits, extract_markdown, extract_text};
use recado_domain::media_type::MediaType;
use std::io::{Cursor, Write};
use std::sync::LazyLock;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// A smaller document than in earnest, so that its limits are reached.
const LIMITS: TextLimits = TextLimits {
    bytes: 1_000_000,
    unpacked_bytes: 1_000_000,
    looks: 200_000,
    chars: 20_000,
};

/// The parts of each kind of document. What the fuzzer writes stands for those with an empty content, split at its zero bytes.
const WORD: &[(&str, &str)] = &[
    (
        "_rels/.rels",
        "<Relationships><Relationship Id=\"r\" Type=\"x/officeDocument\" Target=\"word/document.xml\"/></Relationships>",
    ),
    (
        "word/_rels/document.xml.rels",
        "<Relationships><Relationship Id=\"r1\" Type=\"x/styles\" Target=\"styles.xml\"/><Relationship Id=\"r2\" Type=\"x/header\" Target=\"header1.xml\"/>\
         <Relationship Id=\"r3\" Type=\"x/footnotes\" Target=\"footnotes.xml\"/></Relationships>",
    ),
    ("word/document.xml", ""),
    ("word/styles.xml", ""),
    ("word/header1.xml", ""),
    ("word/footnotes.xml", ""),
];

const SHEET: &[(&str, &str)] = &[
    (
        "xl/workbook.xml",
        "<workbook><sheets><sheet name=\"a\" r:id=\"r1\"/></sheets></workbook>",
    ),
    (
        "xl/_rels/workbook.xml.rels",
        "<Relationships><Relationship Id=\"r1\" Type=\"x/worksheet\" Target=\"sheet.xml\"/><Relationship Id=\"r2\" Type=\"x/styles\" Target=\"styles.xml\"/>\
         <Relationship Id=\"r3\" Type=\"x/sharedStrings\" Target=\"texts.xml\"/></Relationships>",
    ),
    ("xl/sheet.xml", ""),
    ("xl/styles.xml", ""),
    ("xl/texts.xml", ""),
];

const SLIDES: &[(&str, &str)] = &[
    (
        "ppt/presentation.xml",
        "<presentation><sldId r:id=\"r1\"/></presentation>",
    ),
    (
        "ppt/_rels/presentation.xml.rels",
        "<Relationships><Relationship Id=\"r1\" Type=\"x/slide\" Target=\"slide.xml\"/></Relationships>",
    ),
    (
        "ppt/_rels/slide.xml.rels",
        "<Relationships><Relationship Id=\"r1\" Type=\"x/notesSlide\" Target=\"notes.xml\"/></Relationships>",
    ),
    ("ppt/slide.xml", ""),
    ("ppt/notes.xml", ""),
];

const OPEN: &[(&str, &str)] = &[("content.xml", ""), ("styles.xml", "")];

/// A reader: the type of its documents, and the parts in which what the fuzzer writes is packed, if it is.
struct Reader {
    media_type: MediaType,
    parts: Option<&'static [(&'static str, &'static str)]>,
}

static READER: LazyLock<Reader> = LazyLock::new(|| {
    let name = std::env::var("RECADO_FUZZ_DOCUMENT").unwrap_or_else(|_| "html".to_owned());
    let (kind, is_packed) = match name.strip_prefix("zip-") {
        Some(kind) => (kind, false),
        None => (name.as_str(), true),
    };
    let (media_type, parts) = match kind {
        "docx" => (MediaType::Docx, Some(WORD)),
        "xlsx" => (MediaType::Xlsx, Some(SHEET)),
        "pptx" => (MediaType::Pptx, Some(SLIDES)),
        "odt" => (MediaType::Odt, Some(OPEN)),
        "ods" => (MediaType::Ods, Some(OPEN)),
        "html" => (MediaType::Html, None),
        "csv" => (MediaType::Csv, None),
        "text" => (MediaType::Text, None),
        _ => panic!("RECADO_FUZZ_DOCUMENT is a kind of document"),
    };
    Reader {
        media_type,
        parts: parts.filter(|_| is_packed),
    }
});

fuzz_target!(|written: &[u8]| {
    let packed;
    let bytes = match READER.parts {
        Some(parts) => {
            packed = pack_parts(parts, written);
            packed.as_slice()
        }
        None => written,
    };
    for extract in [extract_text, extract_markdown] {
        if let Ok(read) = extract(bytes, READER.media_type, &LIMITS) {
            assert!(
                read.text.chars().count() <= LIMITS.chars,
                "a text above its limit"
            );
        }
    }
});

fn pack_parts(parts: &[(&str, &str)], written: &[u8]) -> Vec<u8> {
    let mut pieces = written.split(|byte| *byte == 0);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, content) in parts {
        let content = match content.as_bytes() {
            b"" => pieces.next().unwrap_or_default(),
            content => content,
        };
        archive.start_file(*name, stored).expect("a name");
        archive.write_all(content).expect("memory");
    }
    archive.finish().expect("memory").into_inner()
}
