//! Reads documents of Word and slides of `PowerPoint`: the text of their XML, in its order.

use crate::DocumentError;
use crate::package::Package;
use crate::text::TextBuilder;
use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::Event;
use std::io::{BufRead, BufReader};

/// Reads the text of a document of Word.
pub(crate) fn read_word_document(
    package: &mut Package<'_>,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    read_package_part(package, "word/document.xml", text)
}

/// Reads the text of the slides of a presentation, in their order.
pub(crate) fn read_presentation(
    package: &mut Package<'_>,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let mut numbers: Vec<u32> = package
        .file_names()
        .filter_map(|name| parse_slide_number(&name.ok()?))
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.is_empty() {
        return Err(DocumentError::Unreadable);
    }
    for number in numbers {
        read_package_part(package, &format!("ppt/slides/slide{number}.xml"), text)?;
        text.append_character('\n');
    }
    Ok(())
}

fn parse_slide_number(name: &str) -> Option<u32> {
    name.strip_prefix("ppt/slides/slide")?
        .strip_suffix(".xml")?
        .parse()
        .ok()
}

fn read_package_part(
    package: &mut Package<'_>,
    name: &str,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let part = package.by_name(name).map_err(|_| DocumentError::Unreadable)?;
    read_text_elements(Reader::from_reader(BufReader::new(part)), text)
}

/// Reads the text of the elements `t`. Paragraphs become lines, and the cells of a row of a table stand side by side.
fn read_text_elements<R: BufRead>(
    mut reader: Reader<R>,
    text: &mut TextBuilder,
) -> Result<(), DocumentError> {
    let (mut buffer, mut is_text, mut cells) = (Vec::new(), false, 0_u32);
    while !text.is_limit_reached() {
        buffer.clear();
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|_| DocumentError::Unreadable)?;
        match event {
            Event::Start(start) => match start.local_name().into_inner() {
                "t" => is_text = true,
                "tc" => cells += 1,
                _ => {}
            },
            Event::End(end) => match end.local_name().into_inner() {
                "t" => is_text = false,
                "p" if cells > 0 => text.append_character(' '),
                "p" | "tr" => text.append_character('\n'),
                "tc" => {
                    cells = cells.saturating_sub(1);
                    text.append_character('\t');
                }
                _ => {}
            },
            Event::Empty(empty) => match empty.local_name().into_inner() {
                "tab" => text.append_character('\t'),
                "br" | "cr" => text.append_character('\n'),
                "p" if cells == 0 => text.append_character('\n'),
                _ => {}
            },
            Event::Text(words) if is_text => text.append_text_run(&words),
            Event::CData(words) if is_text => text.append_text_run(&words),
            Event::GeneralRef(name) if is_text => {
                if let Ok(Some(character)) = name.resolve_char_ref() {
                    text.append_character(character);
                } else if let Some(character) = resolve_xml_entity(&name) {
                    text.append_text_run(character);
                }
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
    Ok(())
}
