//! Writes text with WhatsApp's marks, of which none may span lines or stand beside white space.

/// Text with the marks that are open in it.
#[derive(Debug, Default)]
pub(super) struct MarkWriter {
    out: String,
    /// The signs of the open marks, the outermost first.
    open: Vec<char>,
    /// Number of them that are written in the present line. A mark is written when text follows.
    written: usize,
    /// Number of breaks of the line that are to be written before the next text.
    wanted_breaks: usize,
    /// The text before the lines that these breaks begin.
    break_prefix: String,
}

impl MarkWriter {
    /// Begins a text with what stands before its first line.
    pub(super) fn begin_with_prefix(prefix: &str) -> Self {
        Self {
            out: prefix.to_owned(),
            ..Self::default()
        }
    }

    pub(super) fn open_format_mark(&mut self, sign: char) {
        self.open.push(sign);
    }

    /// Closes the mark that was opened last. One without text is not written.
    pub(super) fn close_last_mark(&mut self) {
        if self.written == self.open.len() {
            self.close_written_marks(self.written.saturating_sub(1));
        }
        self.open.pop();
    }

    /// Adds a character. One that ends the line must come by [`Self::begin_next_line`].
    pub(super) fn push_character(&mut self, c: char) {
        if self.wanted_breaks > 0 {
            if c.is_whitespace() {
                return;
            }
            let prefix = std::mem::take(&mut self.break_prefix);
            for _ in 0..std::mem::take(&mut self.wanted_breaks) {
                self.end_current_line(&prefix);
            }
        }
        if self.written < self.open.len() && !c.is_whitespace() {
            self.out.extend(&self.open[self.written..]);
            self.written = self.open.len();
        }
        self.out.push(c);
    }

    pub(super) fn push_plain_text(&mut self, text: &str) {
        text.chars().for_each(|c| self.push_character(c));
    }

    /// Breaks the line before the next text, if more text comes. An empty line is not made, unless one more break is asked for.
    pub(super) fn request_line_break(&mut self, one_more: bool, prefix: &str) {
        let is_begun = !self.out.is_empty() && !self.out.ends_with('\n');
        if one_more || is_begun {
            self.wanted_breaks = if one_more {
                self.wanted_breaks + 1
            } else {
                self.wanted_breaks.max(1)
            };
            prefix.clone_into(&mut self.break_prefix);
        }
    }

    /// Ends the line, and begins the next with `prefix`. A break that was wanted before it is this one.
    pub(super) fn begin_next_line(&mut self, prefix: &str) {
        for _ in 1..std::mem::take(&mut self.wanted_breaks) {
            self.end_current_line("");
        }
        self.end_current_line(prefix);
    }

    /// Ends the line, with what is open in it, and begins the next. What is open goes on there.
    fn end_current_line(&mut self, prefix: &str) {
        self.close_written_marks(0);
        self.out.push('\n');
        self.out.push_str(prefix);
    }

    /// Writes the ends of marks, until `left` of them are open, before the white space at the end.
    fn close_written_marks(&mut self, left: usize) {
        if left >= self.written {
            return;
        }
        let text_end = self.out.trim_end().len();
        let space = self.out.split_off(text_end);
        self.out.extend(self.open[left..self.written].iter().rev());
        self.out.push_str(&space);
        self.written = left;
    }

    pub(super) fn into_marked_text(mut self) -> String {
        self.close_written_marks(0);
        self.out
    }
}
