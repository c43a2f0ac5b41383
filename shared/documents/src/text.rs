//! Collects the text of a document, up to a number of characters.

use crate::DocumentText;

/// Maximum number of line ends in a row.
const LINE_ENDS_MAX: usize = 2;

/// A text that grows up to its limit. Characters that are not seen are left out, and so are empty lines in a row.
#[derive(Debug)]
pub(crate) struct TextBuilder {
    text: String,
    room: usize,
    line_ends: usize,
    is_cut: bool,
    is_unmarked: bool,
}

impl TextBuilder {
    /// Begins a text of at most `chars` characters.
    pub(crate) fn with_char_limit(chars: usize) -> Self {
        Self {
            text: String::new(),
            room: chars,
            line_ends: LINE_ENDS_MAX,
            is_cut: false,
            is_unmarked: false,
        }
    }

    /// From now on no line begins as a mark of Markdown does, but those of [`Self::append_heading`]: four spaces stand before it.
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

    /// Returns `true` if there is no text yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
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
        let character = match character {
            '\r' | '\u{b}' | '\u{c}' => '\n',
            other => other,
        };
        if character == '\n' {
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

    /// Ends the line, if it has begun.
    pub(crate) fn end_current_line(&mut self) {
        if self.line_ends == 0 {
            self.append_character('\n');
        }
    }

    /// Returns the text, without white space around it.
    pub(crate) fn into_document_text(self) -> DocumentText {
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
    matches!(character, '\u{feff}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
}
