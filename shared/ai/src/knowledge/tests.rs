//! Each word of a document is found, whatever reader its text comes from.

use crate::pdf::join_page_texts;
use recado_documents::{TextLimits, extract_markdown};
use recado_domain::media_type::MediaType;
use recado_knowledge_search::{BlockLanguage, LexicalIndex, SplitSettings, analyze_document};
use std::io::{Cursor, Write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Rows of a list with letters beyond ASCII, so that each line begins and ends with a word that is asked for.
const ROWS: [(&str, &str); 4] = [
    ("Manutenção da bicicleta", "setenta reais no crédito"),
    ("Câmbio regulado", "quarenta reais no balcão"),
    ("Pneus remendados", "cinquenta reais em espécie"),
    ("Revisão completa", "duzentos reais no cartão"),
];

const ASKED: [&str; 16] = [
    "manutenção",
    "bicicleta",
    "setenta",
    "crédito",
    "câmbio",
    "regulado",
    "quarenta",
    "balcão",
    "pneus",
    "remendados",
    "cinquenta",
    "espécie",
    "revisão",
    "completa",
    "duzentos",
    "cartão",
];

fn write_rows(write: impl Fn(&str, &str) -> String) -> String {
    ROWS.iter().map(|(what, price)| write(what, price)).collect()
}

fn pack_parts(parts: &[(&str, String)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(*name, SimpleFileOptions::default()).unwrap();
        archive.write_all(content.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn word_document() -> Vec<u8> {
    let paragraph = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    let body = write_rows(|what, price| paragraph(what) + &paragraph(price));
    let xml = format!(
        "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>{body}</w:body></w:document>"
    );
    pack_parts(&[
        ("[Content_Types].xml", "<Types/>".to_owned()),
        ("word/document.xml", xml),
    ])
}

fn index_document(title: &str, bytes: &[u8], media_type: MediaType) -> LexicalIndex {
    let read = extract_markdown(bytes, media_type, &TextLimits::default()).unwrap();
    let split = analyze_document(title, &read.text, SplitSettings::default());
    let blocks = split.blocks.iter();
    let blocks = blocks.map(|block| (BlockLanguage::from_name(&block.language), block.stems.as_str()));
    LexicalIndex::of_analyzed(blocks, split.words.iter().map(String::as_str))
}

#[test]
fn words_at_the_ends_of_lines_are_found_in_the_text_of_each_reader() {
    let lines = write_rows(|what, price| format!("{what}\n{price}\n"));
    let pages = join_page_texts(&[Some(format!("\n\n{lines}"))]).unwrap().markdown;
    let html = write_rows(|what, price| format!("<li>{what}<br>{price}</li>"));
    let csv = write_rows(|what, price| format!("{what};{price}\n"));
    let documents = [
        (
            "lista.txt",
            lines.replace('\n', "\r\n").into_bytes(),
            MediaType::Text,
        ),
        (
            "lista.md",
            format!("# Lista\n\n{lines}").into_bytes(),
            MediaType::Text,
        ),
        ("lista.pdf", pages.into_bytes(), MediaType::Text),
        (
            "lista.html",
            format!("<body><ul>{html}</ul></body>").into_bytes(),
            MediaType::Html,
        ),
        (
            "lista.csv",
            format!("Serviço;Preço\n{csv}").into_bytes(),
            MediaType::Csv,
        ),
        ("lista.docx", word_document(), MediaType::Docx),
    ];
    for (title, bytes, media_type) in documents {
        let index = index_document(title, &bytes, media_type);
        for word in ASKED {
            assert!(!index.search(word, 5).is_empty(), "{title}: {word}");
        }
    }
}
