//! Reads the text of web pages. It goes over the page once and builds no tree, so that no page takes longer than its length.

use crate::text::TextBuilder;
use quick_xml::escape::resolve_html5_entity;

/// Elements whose content is no text of the page.
const NO_TEXT: [&str; 5] = ["script", "style", "template", "noscript", "svg"];

/// Elements that begin a line.
const LINES: [&str; 25] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "ol",
    "p",
    "table",
    "tr",
    "ul",
];

/// Longest name of a character, such as `CounterClockwiseContourIntegral`.
const ENTITY_MAX: usize = 32;

/// Reads the text of a page.
pub(crate) fn read_page_text(page: &str, text: &mut TextBuilder) {
    let (mut rest, mut has_space) = (page, true);
    while !rest.is_empty() && !text.is_limit_reached() {
        let Some(first) = rest.chars().next() else { break };
        match first {
            '<' => {
                rest = skip_page_markup(rest, text, &mut has_space);
                continue;
            }
            '&' => {
                let (characters, after) = resolve_entity(rest);
                text.append_text_run(&characters);
                has_space = false;
                rest = after;
                continue;
            }
            space if space.is_whitespace() => {
                if !has_space {
                    text.append_character(' ');
                }
                has_space = true;
            }
            character => {
                text.append_character(character);
                has_space = false;
            }
        }
        rest = &rest[first.len_utf8()..];
    }
}

/// Skips what begins with `<`: a comment, or a tag, with the content of an element that is no text. Ends the line where the
/// element does.
fn skip_page_markup<'a>(rest: &'a str, text: &mut TextBuilder, has_space: &mut bool) -> &'a str {
    if let Some(comment) = rest.strip_prefix("<!--") {
        return comment.split_once("-->").map_or("", |(_, after)| after);
    }
    let inside = &rest[1..];
    let is_tag = inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
    if !is_tag {
        text.append_character('<');
        *has_space = false;
        return inside;
    }
    let is_end = inside.starts_with('/');
    let name = inside.trim_start_matches('/');
    let name_end = name
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(name.len());
    let name = name[..name_end].to_ascii_lowercase();
    let after = skip_tag_content(inside);
    if LINES.contains(&name.as_str()) {
        text.end_current_line();
        *has_space = true;
    } else if matches!(name.as_str(), "td" | "th") && is_end {
        text.append_character('\t');
        *has_space = true;
    }
    if !is_end && NO_TEXT.contains(&name.as_str()) {
        return skip_element_text(after, &name);
    }
    after
}

/// Returns what follows a tag. A `>` within quotes does not end it.
fn skip_tag_content(inside: &str) -> &str {
    let mut quote = None;
    for (place, character) in inside.char_indices() {
        match (quote, character) {
            (None, '>') => return &inside[place + 1..],
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    ""
}

/// Returns what follows the end of the element `name`.
fn skip_element_text<'a>(mut rest: &'a str, name: &str) -> &'a str {
    while let Some((_, after)) = rest.split_once("</") {
        let is_end = after
            .get(..name.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(name));
        if is_end {
            return skip_tag_content(after);
        }
        rest = after;
    }
    ""
}

/// Resolves the character that begins with `&`, and returns what follows it.
fn resolve_entity(rest: &str) -> (String, &str) {
    let inside = &rest[1..];
    let resolved = inside
        .char_indices()
        .take(ENTITY_MAX)
        .find(|(_, character)| *character == ';')
        .and_then(|(end, _)| {
            let characters = resolve_entity_name(&inside[..end])?;
            Some((characters, &inside[end + 1..]))
        });
    resolved.unwrap_or_else(|| ("&".to_owned(), inside))
}

fn resolve_entity_name(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        return resolve_html5_entity(name).map(str::to_owned);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).map(String::from)
}
