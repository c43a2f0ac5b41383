//! Converts the marks within the lines of a paragraph.

mod scan;

use super::entity::parse_html_entity;
use super::link::{LinkTarget, TARGET_MAX, is_mail_address, parse_link_target};
use super::reference::{LABEL_MAX, References};
use super::tag::{HtmlTag, TagKind};
use super::writer::MarkWriter;
use crate::config::ReplyFormat;
use scan::{MarkScan, parse_bare_url};
use std::ops::Range;

/// Greatest depth of marks within marks. Deeper marks stay as they are.
const DEPTH_MAX: u8 = 6;

/// Longest text between `<` and `>` that is read as an address.
const AUTOLINK_MAX: usize = 2_048;

/// The form in which a break of the line is written that a tag makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineBreaks {
    /// A new line.
    Lines,
    /// A space, because the text must be one line.
    Spaces,
}

/// The text of lines that belong together, and what stands before each.
pub(super) struct InlineText<'a> {
    chars: Vec<char>,
    prefixes: &'a [String],
}

/// The marks that are already open around a part of a text.
#[derive(Debug, Clone, Copy, Default)]
struct OpenMarks {
    bold: bool,
    italic: bool,
    struck: bool,
    depth: u8,
}

impl OpenMarks {
    /// Returns the open marks within a mark with this sign, and `true` if the mark must be written (`false`: it is open already).
    fn enter_inner_mark(self, sign: char) -> (Self, bool) {
        let mut inner = self.one_level_deeper();
        let held = match sign {
            '*' => std::mem::replace(&mut inner.bold, true),
            '_' => std::mem::replace(&mut inner.italic, true),
            _ => std::mem::replace(&mut inner.struck, true),
        };
        (inner, !held)
    }

    fn one_level_deeper(self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self
        }
    }
}

impl<'a> InlineText<'a> {
    /// Makes the text of lines. `prefixes` has what stands before each; none has something if it is empty.
    pub(super) fn from_joined_lines(lines: &[&str], prefixes: &'a [String]) -> Self {
        Self {
            chars: lines.join("\n").chars().collect(),
            prefixes,
        }
    }

    /// Writes the text with WhatsApp's marks.
    pub(super) fn write_with_marks(
        &self,
        breaks: LineBreaks,
        references: &mut References,
        format: ReplyFormat,
    ) -> String {
        self.convert_all_text(breaks, references, format, OpenMarks::default())
    }

    /// Does the same with a text that is bold as a whole.
    pub(super) fn write_all_in_bold(
        &self,
        breaks: LineBreaks,
        references: &mut References,
        format: ReplyFormat,
    ) -> String {
        let bold = OpenMarks {
            bold: true,
            ..OpenMarks::default()
        };
        self.convert_all_text(breaks, references, format, bold)
    }

    fn convert_all_text(
        &self,
        breaks: LineBreaks,
        references: &mut References,
        format: ReplyFormat,
        within: OpenMarks,
    ) -> String {
        let mut converter = Converter {
            scan: MarkScan::from_characters(&self.chars),
            text: &self.chars,
            prefixes: self.prefixes,
            line: 0,
            writer: MarkWriter::begin_with_prefix(self.prefixes.first().map_or("", String::as_str)),
            breaks,
            references,
            format,
        };
        if within.bold {
            converter.writer.open_format_mark('*');
        }
        converter.convert_text_range(0..self.chars.len(), within);
        converter.writer.into_marked_text()
    }
}

struct Converter<'a> {
    scan: MarkScan<'a>,
    text: &'a [char],
    prefixes: &'a [String],
    /// Number of the present line.
    line: usize,
    writer: MarkWriter,
    breaks: LineBreaks,
    references: &'a mut References,
    format: ReplyFormat,
}

impl Converter<'_> {
    fn convert_text_range(&mut self, range: Range<usize>, within: OpenMarks) {
        let mut at = range.start;
        while at < range.end {
            at += self.convert_piece_at(at, range.end, within).max(1);
        }
    }

    /// Converts the piece of text at `at`. Returns the number of characters that it had.
    fn convert_piece_at(&mut self, at: usize, end: usize, within: OpenMarks) -> usize {
        let taken = match self.text[at] {
            '\\' => self.take_escaped_sign(at, end),
            '`' => Some(self.copy_unchanged(at, self.scan.find_end_of_code(at).min(end))),
            '<' => self
                .take_tag_of_html(at, end, within)
                .or_else(|| self.take_bracketed_url(at, end)),
            '&' => self.take_html_entity(at, end),
            'h' => parse_bare_url(self.text, at, end).map(|length| self.copy_unchanged(at, at + length)),
            '!' if self.text.get(at + 1) == Some(&'[') => self
                .take_markdown_link(at + 1, end, within)
                .map(|taken| taken + 1),
            '[' => self.take_markdown_link(at, end, within),
            '*' | '_' | '~' => Some(self.take_marked_text(at, end, within)),
            _ => None,
        };
        taken.unwrap_or_else(|| self.copy_unchanged(at, at + 1))
    }

    /// Copies the text as it is, and returns its length. Its lines keep what stands before them.
    fn copy_unchanged(&mut self, at: usize, end: usize) -> usize {
        for c in &self.text[at..end] {
            if *c == '\n' {
                self.line += 1;
                let prefix = self.prefixes.get(self.line).map_or("", String::as_str);
                self.writer.begin_next_line(prefix);
            } else {
                self.writer.push_character(*c);
            }
        }
        end - at
    }

    /// Takes an escaped character, such as `\*`, without its backslash. A backslash at the end of a line breaks it.
    fn take_escaped_sign(&mut self, at: usize, end: usize) -> Option<usize> {
        let next = self.text[..end].get(at + 1)?;
        if *next == '\n' {
            return Some(1);
        }
        next.is_ascii_punctuation().then(|| {
            self.writer.push_character(*next);
            2
        })
    }

    fn take_html_entity(&mut self, at: usize, end: usize) -> Option<usize> {
        let (found, length) = parse_html_entity(&self.text[..end], at)?;
        self.writer.push_character(found);
        Some(length)
    }

    /// Takes a tag of HTML. One that has no end marks nothing.
    fn take_tag_of_html(&mut self, at: usize, end: usize, within: OpenMarks) -> Option<usize> {
        let tag = HtmlTag::parse_html_tag(&self.text[..end], at)?;
        let after = at + tag.length;
        match tag.kind {
            TagKind::LineBreak => self.want_line_break(true),
            TagKind::Block => self.want_line_break(false),
            TagKind::Item => {
                self.want_line_break(false);
                if !tag.is_end && self.breaks == LineBreaks::Lines {
                    self.writer.push_plain_text("- ");
                }
            }
            TagKind::Mark(_) | TagKind::Link | TagKind::Heading
                if !tag.is_end && within.depth < DEPTH_MAX =>
            {
                if let Some((inner_end, next)) = self.scan.find_closing_tag(after, end, tag.kind) {
                    self.write_tagged_text(&tag, after..inner_end, within);
                    return Some(next - at);
                }
            }
            TagKind::Mark(_) | TagKind::Link | TagKind::Heading | TagKind::Plain => {}
        }
        Some(tag.length)
    }

    fn write_tagged_text(&mut self, tag: &HtmlTag, inner: Range<usize>, within: OpenMarks) {
        if let TagKind::Mark(sign) = tag.kind {
            return self.write_marked_text(&[sign], inner, within);
        }
        if tag.kind == TagKind::Heading {
            self.want_line_break(false);
            self.write_marked_text(&['*'], inner, within);
            return self.want_line_break(false);
        }
        match tag.find_link_address().and_then(parse_link_target) {
            Some(target) => self.write_link_text(&target, inner, within),
            None => self.convert_text_range(inner, within.one_level_deeper()),
        }
    }

    /// Breaks the line, as a tag says, if text follows in it.
    fn want_line_break(&mut self, one_more: bool) {
        match self.breaks {
            LineBreaks::Lines => {
                let prefix = self.prefixes.get(self.line).map_or("", String::as_str);
                let is_quoted = prefix.contains('>');
                self.writer
                    .request_line_break(one_more, if is_quoted { prefix } else { "" });
            }
            LineBreaks::Spaces => self.writer.push_character(' '),
        }
    }

    /// Takes `<https://…>` or `<name@example.org>`, and shows the address without its brackets.
    fn take_bracketed_url(&mut self, at: usize, end: usize) -> Option<usize> {
        let inner = self.text[at + 1..end].iter().take(AUTOLINK_MAX);
        let inner: String = inner
            .take_while(|c| !matches!(c, '<' | '>') && !c.is_whitespace())
            .collect();
        let length = inner.chars().count() + 2;
        let is_closed = at + length <= end && self.text[at + length - 1] == '>';
        let shown = if is_mail_address(&inner) {
            inner
        } else {
            parse_link_target(&inner)?.as_str().to_owned()
        };
        is_closed.then(|| {
            self.writer.push_plain_text(&shown);
            length
        })
    }

    /// Takes `[text](address)`, or a link that names its address by a label.
    fn take_markdown_link(&mut self, at: usize, end: usize, within: OpenMarks) -> Option<usize> {
        let label_end = self.scan.find_closing_bracket(at).filter(|place| *place < end)?;
        if within.depth >= DEPTH_MAX {
            return None;
        }
        let (label, behind) = (at + 1..label_end, label_end + 1);
        let closing = self
            .scan
            .find_closing_bracket(behind)
            .filter(|place| *place < end);
        let (target, next) = match (self.text.get(behind), closing) {
            (Some('('), Some(closing)) if closing - behind <= TARGET_MAX => (
                parse_link_target(&self.read_characters(behind + 1..closing))?,
                closing + 1,
            ),
            (Some('['), Some(closing)) => {
                let named = if closing == behind + 1 {
                    label.clone()
                } else {
                    behind + 1..closing
                };
                (self.find_reference(named)?, closing + 1)
            }
            _ => (self.find_reference(label.clone())?, behind),
        };
        self.write_link_text(&target, label, within);
        Some(next - at)
    }

    fn find_reference(&mut self, label: Range<usize>) -> Option<LinkTarget> {
        if label.len() > LABEL_MAX {
            return None;
        }
        let label = self.read_characters(label);
        self.references.take_link_target(&label)
    }

    /// Writes a link as its words with the address behind them. If the words say the same, the address stands alone.
    fn write_link_text(&mut self, target: &LinkTarget, label: Range<usize>, within: OpenMarks) {
        if label.len() <= TARGET_MAX && target.is_said_by_words(&self.read_characters(label.clone())) {
            return self.writer.push_plain_text(target.as_str());
        }
        self.convert_text_range(self.trim_white_space(label), within.one_level_deeper());
        self.writer.push_plain_text(" (");
        self.writer.push_plain_text(target.as_str());
        self.writer.push_character(')');
    }

    /// Takes text between marks, or the marks alone where they mark nothing. Returns the number of characters.
    fn take_marked_text(&mut self, at: usize, end: usize, within: OpenMarks) -> usize {
        let (sign, length) = (self.text[at], self.scan.count_same_signs(at, end));
        let marks: &[char] = match (sign, length) {
            ('*' | '_', 3) => &['*', '_'],
            ('*' | '_', 2) => &['*'],
            ('*', 1) if self.format == ReplyFormat::Whatsapp => &['*'],
            ('*' | '_', 1) => &['_'],
            ('~', 2) => &['~'],
            // The run is either a mark of WhatsApp's own or too long to be a mark: it stays as it is.
            _ => return self.copy_unchanged(at, at + length),
        };
        if within.depth >= DEPTH_MAX || !self.scan.can_open_marked(at, length, end) {
            return self.copy_unchanged(at, at + length);
        }
        let Some(closing) = self.scan.find_closing_mark(at + length, end, sign, length) else {
            return self.copy_unchanged(at, at + length);
        };
        let (inner, next) = (at + length..closing, closing + length);
        if sign != '~' && self.is_part_of_word(at, next) {
            self.convert_text_range(inner, within.one_level_deeper());
        } else {
            self.write_marked_text(marks, inner, within);
        }
        next - at
    }

    /// Returns `true` if a word goes on before `at` or from `next` on: WhatsApp shows the marks of such a part as signs.
    fn is_part_of_word(&self, at: usize, next: usize) -> bool {
        let before = at.checked_sub(1).and_then(|place| self.text.get(place));
        let beside = [before, self.text.get(next)];
        beside.into_iter().flatten().any(|c| c.is_alphanumeric())
    }

    fn write_marked_text(&mut self, signs: &[char], inner: Range<usize>, within: OpenMarks) {
        let (mut marks, mut opened) = (within, 0);
        for sign in signs {
            let (next, is_needed) = marks.enter_inner_mark(*sign);
            marks = next;
            if is_needed {
                self.writer.open_format_mark(*sign);
                opened += 1;
            }
        }
        self.convert_text_range(inner, marks);
        for _ in 0..opened {
            self.writer.close_last_mark();
        }
    }

    fn read_characters(&self, range: Range<usize>) -> String {
        self.text[range].iter().collect()
    }

    fn trim_white_space(&self, mut range: Range<usize>) -> Range<usize> {
        while range.end > range.start && self.text[range.end - 1].is_whitespace() {
            range.end -= 1;
        }
        while range.start < range.end && self.text[range.start].is_whitespace() {
            range.start += 1;
        }
        range
    }
}
