//! Collects the text of a document, up to a number of characters. Those that are looked at and left out are counted, too.

use crate::DocumentText;

/// Maximum number of line ends in a row.
const LINE_ENDS_MAX: usize = 2;

/// A text that grows up to its limit. Characters that are not seen are left out, and so are empty lines in a row.
#[derive(Debug)]
pub(crate) struct TextBuilder {
    text: String,
    room: usize,
    /// Number of characters that may still be looked at, whether they are kept or not.
    looks: usize,
    line_ends: usize,
    is_cut: bool,
    is_unmarked: bool,
}

#[cfg(feature = "archives")]
impl TextBuilder {
    /// Adds a text that was read by another builder, as it is.
    pub(crate) fn append_document_text(&mut self, read: &DocumentText) {
        let is_unmarked = std::mem::replace(&mut self.is_unmarked, false);
        self.append_text_run(&read.text);
        self.is_unmarked = is_unmarked;
        self.is_cut |= read.is_cut;
    }

    /// Begins a text with the same limits as are left here.
    pub(crate) fn begin_part_text(&self) -> Self {
        Self {
            is_unmarked: self.is_unmarked,
            ..Self::with_limits(self.room, self.looks)
        }
    }

    /// Takes what another builder looked at from what may still be looked at.
    pub(crate) fn count_looks_of(&mut self, part: &Self) {
        self.looks = self.looks.min(part.looks);
    }
}

impl TextBuilder {
    /// Begins a text of at most `chars` characters, for which at most `looks` are looked at.
    pub(crate) fn with_limits(chars: usize, looks: usize) -> Self {
        Self {
            text: String::new(),
            room: chars,
            looks,
            line_ends: LINE_ENDS_MAX,
            is_cut: false,
            is_unmarked: false,
        }
    }

    /// From now on no line is a mark of Markdown, but those of [`Self::append_heading`]: four spaces stand before it.
    pub(crate) fn keep_lines_unmarked(&mut self) {
        self.is_unmarked = true;
    }

    /// Adds a heading of Markdown, on a line of its own.
    pub(crate) fn append_heading(&mut self, level: usize, title: &str) {
        self.begin_paragraph();
        self.is_unmarked = false;
        self.append_text_run(&format!("{} {title}", "#".repeat(level)));
        self.is_unmarked = true;
        self.begin_paragraph();
    }

    /// Ends the line and adds an empty one, if text stands before.
    pub(crate) fn begin_paragraph(&mut self) {
        while self.line_ends < LINE_ENDS_MAX && !self.is_cut {
            self.append_character('\n');
        }
    }

    /// Counts characters as looked at that were looked at elsewhere.
    pub(crate) fn count_looks(&mut self, characters: usize) {
        self.is_cut |= characters > self.looks;
        self.looks = self.looks.saturating_sub(characters);
    }

    /// Returns `true` if no more text is taken.
    pub(crate) fn is_limit_reached(&self) -> bool {
        self.is_cut
    }

    /// Adds a text.
    pub(crate) fn append_text_run(&mut self, text: &str) {
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            if self.is_cut {
                return;
            }
            // Both together end one line.
            if character == '\r' && rest.peek() == Some(&'\n') {
                continue;
            }
            self.append_character(character);
        }
    }

    /// Adds a character.
    pub(crate) fn append_character(&mut self, character: char) {
        let Some(looks) = self.looks.checked_sub(1) else {
            self.is_cut = true;
            return;
        };
        self.looks = looks;
        let character = match character {
            '\r' | '\u{b}' | '\u{c}' => '\n',
            other => other,
        };
        if character == '\n' {
            self.unmark_underline();
            self.line_ends += 1;
            if self.line_ends > LINE_ENDS_MAX {
                return;
            }
        } else if (character.is_control() && character != '\t') || is_invisible(character) {
            return;
        } else {
            let is_mark = self.is_unmarked && self.line_ends > 0 && matches!(character, '#' | '`');
            self.line_ends = 0;
            if is_mark {
                self.append_text_run("    ");
            }
        }
        if self.room == 0 {
            self.is_cut |= !character.is_whitespace();
            return;
        }
        self.room -= 1;
        self.text.push(character);
    }

    /// Puts four spaces before the line that ends, if it would make a heading of the line above.
    fn unmark_underline(&mut self) {
        if !self.is_unmarked || self.line_ends > 0 || self.room < 4 {
            return;
        }
        let begin = self.text.rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[begin..];
        let marks = line.trim();
        let is_underline = !line.starts_with("    ")
            && marks.len() > 1
            && ['=', '-']
                .iter()
                .any(|mark| marks.chars().all(|character| character == *mark));
        if is_underline {
            self.text.insert_str(begin, "    ");
            self.room -= 4;
        }
    }

    /// Returns `true` if the line has not begun.
    pub(crate) fn is_at_line_start(&self) -> bool {
        self.line_ends > 0
    }

    /// Ends the line, if it has begun.
    pub(crate) fn end_current_line(&mut self) {
        if self.line_ends == 0 {
            self.append_character('\n');
        }
    }

    /// Returns the text, without white space around it.
    pub(crate) fn into_document_text(mut self) -> DocumentText {
        self.unmark_underline();
        DocumentText {
            // White space before a mark of Markdown makes it text.
            text: self
                .text
                .trim_end()
                .trim_start_matches(|c: char| c.is_whitespace() && (c != ' ' || !self.is_unmarked))
                .to_owned(),
            is_cut: self.is_cut,
        }
    }
}

/// Returns `true` for characters without a shape: marks of the byte order, of the direction, and of where words may break.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns a text in one line, without characters that are not seen, and of `chars` characters at most.
pub(crate) fn clean_text_line(text: &str, chars: usize) -> String {
    let mut line = String::new();
    let (mut room, mut has_gap) = (chars, false);
    for character in text.chars() {
        if room == 0 {
            break;
        }
        if character.is_whitespace() {
            has_gap = !line.is_empty();
        } else if !character.is_control() && !is_invisible(character) {
            if std::mem::take(&mut has_gap) {
                line.push(' ');
                room -= 1;
            }
            if room > 0 {
                line.push(character);
                room -= 1;
            }
        }
    }
    line
}
