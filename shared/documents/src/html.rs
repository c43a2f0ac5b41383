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

/// Elements that are paragraphs of their own, where the structure is kept.
const PARAGRAPHS: [&str; 8] = ["article", "blockquote", "dl", "ol", "p", "section", "table", "ul"];

/// Number of bytes within which a heading ends. One that does not is text.
const HEADING_BYTES: usize = 2_000;

/// Longest title of a heading, in characters. A longer one is text.
const TITLE_MAX: usize = 300;

/// Reads the text of a page.
pub(crate) fn read_page_text(page: &str, text: &mut TextBuilder) {
    PageReader::new(text, false).read_whole_page(page);
}

/// Reads the text of a page as Markdown: with its headings and paragraphs, and without its navigation.
pub(crate) fn read_page_sections(page: &str, text: &mut TextBuilder) {
    PageReader::new(text, true).read_whole_page(page);
}

struct PageReader<'t> {
    text: &'t mut TextBuilder,
    has_space: bool,
    keeps_structure: bool,
    /// A navigation does not end: none is looked for any more.
    has_open_navigation: bool,
}

impl<'t> PageReader<'t> {
    fn new(text: &'t mut TextBuilder, keeps_structure: bool) -> Self {
        Self {
            text,
            has_space: true,
            keeps_structure,
            has_open_navigation: false,
        }
    }

    fn read_whole_page(mut self, page: &str) {
        let mut rest = page;
        while !rest.is_empty() && !self.text.is_limit_reached() {
            let Some(first) = rest.chars().next() else { break };
            match first {
                '<' => {
                    rest = self.skip_page_markup(rest);
                    continue;
                }
                '&' => {
                    let (characters, after) = resolve_entity(rest);
                    self.text.append_text_run(&characters);
                    self.has_space = false;
                    rest = after;
                    continue;
                }
                space if space.is_whitespace() => {
                    if !self.has_space {
                        self.text.append_character(' ');
                    }
                    self.has_space = true;
                }
                character => {
                    self.text.append_character(character);
                    self.has_space = false;
                }
            }
            rest = &rest[first.len_utf8()..];
        }
    }

    /// Skips what begins with `<`: a comment, or a tag, with the content of an element that is no text. Ends the line where the
    /// element does.
    fn skip_page_markup<'a>(&mut self, rest: &'a str) -> &'a str {
        if let Some(comment) = rest.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, after)| after);
        }
        let inside = &rest[1..];
        let is_tag = inside.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '?'));
        if !is_tag {
            self.text.append_character('<');
            self.has_space = false;
            return inside;
        }
        let is_end = inside.starts_with('/');
        let name = inside.trim_start_matches('/');
        let name_end = name
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(name.len());
        let name = name[..name_end].to_ascii_lowercase();
        let after = skip_tag_content(inside);
        if self.keeps_structure
            && !is_end
            && let Some(after) = self.read_structure(&name, after)
        {
            return after;
        }
        if LINES.contains(&name.as_str()) {
            self.text.end_current_line();
            if self.keeps_structure && PARAGRAPHS.contains(&name.as_str()) {
                self.text.begin_paragraph();
            }
            self.has_space = true;
        } else if matches!(name.as_str(), "td" | "th") && is_end {
            self.text.append_character('\t');
            self.has_space = true;
        }
        if !is_end && NO_TEXT.contains(&name.as_str()) {
            return skip_element_text(after, &name).unwrap_or("");
        }
        after
    }

    /// Reads a heading, or skips a navigation, and returns what follows it; `None` for any other element.
    fn read_structure<'a>(&mut self, name: &str, after: &'a str) -> Option<&'a str> {
        if name == "nav" && !self.has_open_navigation {
            let end = skip_element_text(after, name);
            self.has_open_navigation = end.is_none();
            self.has_space = true;
            return end;
        }
        let level = name.strip_prefix('h')?.parse().ok()?;
        if !(1..=6).contains(&level) {
            return None;
        }
        let window = &after[..after.floor_char_boundary(HEADING_BYTES)];
        let end = find_element_end(window, name)?;
        let mut title = TextBuilder::with_char_limit(TITLE_MAX);
        read_page_text(&window[..end], &mut title);
        let title = title.into_document_text();
        if title.is_cut {
            return None;
        }
        let title: Vec<&str> = title.text.split_whitespace().collect();
        if !title.is_empty() {
            self.text.append_heading(level, &title.join(" "));
        }
        self.has_space = true;
        Some(skip_tag_content(&after[end + 2..]))
    }
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

/// Returns what follows the end of the element `name`; `None` if it does not end.
fn skip_element_text<'a>(rest: &'a str, name: &str) -> Option<&'a str> {
    let end = find_element_end(rest, name)?;
    Some(skip_tag_content(&rest[end + 2..]))
}

/// Returns the place of the `</` that ends the element `name`.
fn find_element_end(rest: &str, name: &str) -> Option<usize> {
    let is_end = |place: &usize| {
        let own = rest.get(place + 2..place + 2 + name.len());
        own.is_some_and(|own| own.eq_ignore_ascii_case(name))
    };
    rest.match_indices("</").map(|(place, _)| place).find(is_end)
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
