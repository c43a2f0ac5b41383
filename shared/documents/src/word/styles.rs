//! Reads which styles of Word are headings, and which hide their text.

use crate::DocumentError;
use crate::xml::{XmlReader, XmlToken};
use std::collections::HashMap;

/// Longest line of styles of which each is based on the next.
const BASES_MAX: usize = 20;

/// Words for a heading, without accents and spaces, as programs write them in their own language.
const HEADING_WORDS: [&str; 14] = [
    "heading",
    "titulo",
    "ttulo",
    "titre",
    "titolo",
    "uberschrift",
    "berschrift",
    "kop",
    "rubrik",
    "overskrift",
    "otsikko",
    "naglowek",
    "заголовок",
    "標題",
];

/// The properties that a style gives its text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// The level, from 1, of a heading.
    pub(super) level: Option<usize>,
    /// The text is not shown.
    pub(super) is_hidden: bool,
}

#[derive(Debug, Default)]
struct StoredStyle {
    name: String,
    based_on: Option<String>,
    outline: Option<u32>,
    vanish: Option<bool>,
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct WordStyles {
    styles: HashMap<String, StoredStyle>,
}

impl WordStyles {
    /// Reads the part with the styles.
    pub(super) fn parse_styles(part: &str) -> Result<Self, DocumentError> {
        let mut reader = XmlReader::new(part);
        let mut styles = HashMap::new();
        let mut open: Option<(String, StoredStyle)> = None;
        while let Some(token) = reader.read_next_token()? {
            match (token, &mut open) {
                (XmlToken::Open(element), None) if element.name() == "style" => {
                    let id = element.find_attribute("styleId").unwrap_or_default();
                    open = Some((id, StoredStyle::default()));
                }
                (XmlToken::Open(element), Some((_, style))) => match element.name() {
                    "name" => style.name = element.find_attribute("val").unwrap_or_default(),
                    "basedOn" => style.based_on = element.find_attribute("val"),
                    "outlineLvl" => style.outline = element.find_number("val"),
                    "vanish" => style.vanish = Some(element.is_property_on()),
                    _ => {}
                },
                (XmlToken::Close(end), Some(_)) if end.name() == "style" => styles.extend(open.take()),
                _ => {}
            }
        }
        Ok(Self { styles })
    }

    /// Returns what a style says, with what it has from those on which it is based.
    pub(super) fn find_word_style(&self, id: &str) -> Style {
        let mut found = Style {
            level: find_level_by_name(id),
            is_hidden: false,
        };
        let (mut outline, mut vanish) = (None, None);
        let mut next = Some(id);
        for _ in 0..BASES_MAX {
            let Some(style) = next.and_then(|id| self.styles.get(id)) else {
                break;
            };
            outline = outline.or(style.outline);
            vanish = vanish.or(style.vanish);
            found.level = found.level.or_else(|| find_level_by_name(&style.name));
            next = style.based_on.as_deref();
        }
        if let Some(outline) = outline {
            found.level = level_of_outline(outline);
        }
        found.is_hidden = vanish.unwrap_or(false);
        found
    }
}

/// Returns the level of a heading for a level of the outline; `None` for the level of text.
pub(super) fn level_of_outline(outline: u32) -> Option<usize> {
    (outline < 9).then_some(outline as usize + 1)
}

/// Returns the level of a style that is called a heading, such as `Heading 2` or `Título 2`.
fn find_level_by_name(name: &str) -> Option<usize> {
    let plain: String = name
        .chars()
        .take(40)
        .flat_map(char::to_lowercase)
        .filter(|character| character.is_alphanumeric())
        .map(|character| match character {
            'í' => 'i',
            'ü' => 'u',
            'ł' => 'l',
            'ó' => 'o',
            other => other,
        })
        .collect();
    if plain == "title" {
        return Some(1);
    }
    let word = plain.trim_end_matches(|character: char| character.is_ascii_digit());
    let level = plain[word.len()..].parse().ok()?;
    (HEADING_WORDS.contains(&word) && (1..=9).contains(&level)).then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_known_by_their_names_in_many_languages() {
        for (name, level) in [
            ("Heading1", Some(1)),
            ("heading 3", Some(3)),
            ("Título 2", Some(2)),
            ("Ttulo1", Some(1)),
            ("Überschrift 4", Some(4)),
            ("Title", Some(1)),
            ("Heading", None),
            ("Normal", None),
            ("List 2", None),
            ("Heading 10", None),
        ] {
            assert_eq!(find_level_by_name(name), level, "{name}");
        }
    }
}
