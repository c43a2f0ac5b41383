//! Converts what models write to WhatsApp's own marks: `*bold*`, `_italic_`, `~struck~`, lists with `-`, code unchanged.
//!
//! WhatsApp formats only within a line, so a mark that spans lines is written in each of them. Where the meaning of a mark is in doubt,
//! the text stays as it was written: a superfluous mark is ugly, a changed word is wrong. All of it takes a time in proportion to the
//! text.

mod entity;
mod fence;
mod inline;
mod link;
mod reference;
mod table;
mod tag;
mod writer;

pub(crate) use fence::is_code_fence;

use crate::config::ReplyFormat;
use fence::{CodeFence, write_fence_end};
use inline::{InlineText, LineBreaks};
use reference::References;

/// Returns the text with WhatsApp's marks in the place of those that a model wrote. It must not be applied twice:
/// WhatsApp's `*bold*` is Markdown's italic.
pub fn format_for_whatsapp(text: &str, format: ReplyFormat) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let mut blocks = MarkdownBlocks::from_text_lines(&lines, format);
    let mut number = 0;
    while number < lines.len() {
        number += blocks.take_next_lines(&lines[number..]).max(1);
    }
    blocks.finish_text_block();
    let formatted = blocks.join_all_pieces();
    // A text of nothing but marks says what it says: an empty message could not be sent.
    if formatted.trim().is_empty() {
        text.to_owned()
    } else {
        formatted
    }
}

/// A piece of the text that is made.
enum TextPiece {
    /// One or more lines.
    Lines(String),
    /// A line without text.
    Blank(String),
    /// A horizontal rule, which WhatsApp does not know: an empty line takes its place.
    Rule,
    /// The line that defines what a link refers to. It is left out if a link shows the address.
    Definition(String),
}

/// The lines of a paragraph or of an item of a list, each with what stands before its text.
#[derive(Default)]
struct TextBlock<'a> {
    prefixes: Vec<String>,
    texts: Vec<&'a str>,
    /// `true` if the block is no item of a list, so that a line below may make it a heading.
    is_paragraph: bool,
}

struct MarkdownBlocks<'a> {
    format: ReplyFormat,
    references: References,
    pieces: Vec<TextPiece>,
    text_block: TextBlock<'a>,
    /// The fence of the code that the present line is in.
    code: Option<CodeFence<'a>>,
    /// The fence around a whole answer, which says that it is Markdown.
    document: Option<CodeFence<'a>>,
}

impl<'a> MarkdownBlocks<'a> {
    fn from_text_lines(lines: &[&'a str], format: ReplyFormat) -> Self {
        Self {
            format,
            references: References::from_definitions(lines),
            pieces: Vec::new(),
            text_block: TextBlock::default(),
            code: None,
            document: None,
        }
    }

    /// Takes the first line, with those that belong to it. Returns how many it took.
    fn take_next_lines(&mut self, lines: &[&'a str]) -> usize {
        let line = lines[0];
        if let Some(code) = &self.code {
            if code.is_closed_by_line(line) {
                self.pieces.push(TextPiece::Lines(write_fence_end(line)));
                self.code = None;
            } else {
                self.pieces.push(TextPiece::Lines(line.to_owned()));
            }
            return 1;
        }
        if let Some(fence) = CodeFence::parse_fence_start(line) {
            self.finish_text_block();
            self.enter_code_fence(fence, line);
            return 1;
        }
        if line.trim().is_empty() {
            self.finish_text_block();
            self.pieces.push(TextPiece::Blank(line.to_owned()));
            return 1;
        }
        let (prefix, text) = split_off_prefix(line);
        if let Some(table) = table::parse_table_rows(text, lines) {
            self.finish_text_block();
            let written = table.write_row_lines(prefix, &mut self.references, self.format);
            self.pieces.push(TextPiece::Lines(written));
            return table.count_table_lines();
        }
        self.take_line_of_text(line, prefix, text);
        1
    }

    fn enter_code_fence(&mut self, fence: CodeFence<'a>, line: &str) {
        if self
            .document
            .as_ref()
            .is_some_and(|document| document.is_closed_by_line(line))
        {
            self.document = None;
        } else if self.document.is_none() && fence.holds_markdown() {
            self.document = Some(fence);
        } else {
            self.pieces.push(TextPiece::Lines(fence.write_first_line(line)));
            self.code = Some(fence);
        }
    }

    fn take_line_of_text(&mut self, line: &'a str, prefix: &str, text: &'a str) {
        if self.is_underlined_by(text) {
            self.make_line_heading();
        } else if is_horizontal_rule(text) {
            self.finish_text_block();
            self.pieces.push(TextPiece::Rule);
        } else if let Some(title) = parse_heading(text) {
            self.finish_text_block();
            self.push_bold_heading(prefix, title);
        } else if reference::parse_definition(line).is_some() {
            self.finish_text_block();
            self.pieces.push(TextPiece::Definition(line.to_owned()));
        } else if let Some((marker, item)) = parse_list_marker(text) {
            self.finish_text_block();
            self.text_block.prefixes.push(format!("{prefix}{marker}"));
            self.text_block.texts.push(item);
        } else {
            self.add_to_paragraph(prefix, text);
        }
    }

    fn add_to_paragraph(&mut self, prefix: &str, text: &'a str) {
        let is_quoted = |prefix: &str| prefix.contains('>');
        let above = self.text_block.prefixes.last();
        if above.is_some_and(|above| is_quoted(above) != is_quoted(prefix)) {
            self.finish_text_block();
        }
        self.text_block.is_paragraph |= self.text_block.texts.is_empty();
        self.text_block.prefixes.push(prefix.to_owned());
        self.text_block.texts.push(text);
    }

    /// Returns `true` if `text` makes a heading of the single line above it. Dashes below a sentence are a horizontal rule.
    fn is_underlined_by(&self, text: &str) -> bool {
        let [above] = self.text_block.texts.as_slice() else {
            return false;
        };
        let line = text.trim_end();
        let is_of = |sign: char| line.len() >= 2 && line.chars().all(|c| c == sign);
        let is_sentence = above.trim_end().ends_with(['.', '!', '?', ':', ';', ',']);
        self.text_block.is_paragraph && (is_of('=') || (is_of('-') && !is_sentence))
    }

    fn make_line_heading(&mut self) {
        let block = std::mem::take(&mut self.text_block);
        if let (Some(prefix), Some(title)) = (block.prefixes.first(), block.texts.first()) {
            self.push_bold_heading(prefix, title.trim_end());
        }
    }

    fn push_bold_heading(&mut self, prefix: &str, title: &str) {
        let text = InlineText::from_joined_lines(&[title], &[]);
        let title = text.write_all_in_bold(LineBreaks::Lines, &mut self.references, self.format);
        self.pieces.push(TextPiece::Lines(format!("{prefix}{title}")));
    }

    fn finish_text_block(&mut self) {
        let block = std::mem::take(&mut self.text_block);
        if block.texts.is_empty() {
            return;
        }
        let text = InlineText::from_joined_lines(&block.texts, &block.prefixes);
        let written = text.write_with_marks(LineBreaks::Lines, &mut self.references, self.format);
        self.pieces.push(TextPiece::Lines(written));
    }

    fn join_all_pieces(self) -> String {
        let mut lines: Vec<String> = Vec::new();
        let (mut after_rule, mut left_out) = (false, false);
        for piece in self.pieces {
            match piece {
                TextPiece::Rule => {
                    if lines.last().is_some_and(|line| !line.trim().is_empty()) {
                        lines.push(String::new());
                    }
                    (after_rule, left_out) = (true, true);
                }
                TextPiece::Blank(_) if after_rule => {}
                TextPiece::Blank(line) => lines.push(line),
                TextPiece::Definition(line) if self.references.is_shown_by_link(&line) => left_out = true,
                TextPiece::Lines(text) | TextPiece::Definition(text) => {
                    lines.push(text);
                    after_rule = false;
                }
            }
        }
        while left_out && lines.last().is_some_and(|line| line.trim().is_empty()) {
            lines.pop();
        }
        lines.join("\n")
    }
}

/// Splits a line into its indentation with the signs of a quotation, and its text.
fn split_off_prefix(line: &str) -> (&str, &str) {
    let text = line.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    if text.is_empty() {
        // Nothing is quoted: the signs are the text.
        let text = line.trim_start();
        return line.split_at(line.len() - text.len());
    }
    line.split_at(line.len() - text.len())
}

/// Returns `true` for a horizontal rule: three or more of a single mark and nothing else.
fn is_horizontal_rule(text: &str) -> bool {
    let mut marks = text.chars().filter(|c| !c.is_whitespace());
    let Some(mark) = marks.next().filter(|c| matches!(c, '*' | '-' | '_')) else {
        return false;
    };
    let mut others = 0;
    marks.all(|c| {
        others += 1;
        c == mark
    }) && others >= 2
}

/// Returns the title of a heading: the text after one to six `#`. `None`: the line is no heading.
fn parse_heading(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=6).contains(&level) || !rest.starts_with(' ') {
        return None;
    }
    let title = rest.trim().trim_end_matches('#').trim_end();
    (!title.is_empty()).then_some(title)
}

/// Splits an item of a list into its marker, as WhatsApp knows it, and its text.
fn parse_list_marker(text: &str) -> Option<(&str, &str)> {
    if let Some(item) = ["* ", "+ ", "- "]
        .iter()
        .find_map(|marker| text.strip_prefix(marker))
    {
        return Some(("- ", item));
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - rest.len();
    let is_number = (1..=9).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") "));
    is_number.then(|| text.split_at(digits + 2))
}

#[cfg(test)]
mod tests;
