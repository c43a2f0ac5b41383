//! The lines at which blocks of code begin and end.

/// The fence that WhatsApp knows.
const CODE_FENCE: &str = "```";

/// Names behind a fence that say that its content is Markdown.
const MARKDOWN_NAMES: [&str; 2] = ["markdown", "md"];

/// The fence at which a block of code begins.
pub(super) struct CodeFence<'a> {
    sign: char,
    length: usize,
    /// The words behind it, such as the name of a language.
    info: &'a str,
}

impl<'a> CodeFence<'a> {
    /// Parses the line at which a block begins: three or more backticks or tildes. With further backticks behind them it is code within
    /// the line.
    pub(super) fn parse_fence_start(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let rest = text.trim_start_matches(sign);
        let length = text.len() - rest.len();
        (length >= CODE_FENCE.len() && !rest.contains(sign)).then_some(Self {
            sign,
            length,
            info: rest.trim(),
        })
    }

    /// Returns `true` if the content is Markdown by the name behind the fence.
    pub(super) fn holds_markdown(&self) -> bool {
        MARKDOWN_NAMES
            .iter()
            .any(|name| self.info.eq_ignore_ascii_case(name))
    }

    /// Returns `true` if the block ends at this line.
    pub(super) fn is_closed_by_line(&self, line: &str) -> bool {
        CodeFence::parse_fence_start(line).is_some_and(|other| {
            other.sign == self.sign && other.length >= self.length && other.info.is_empty()
        })
    }

    /// Returns the line at which the block begins, with the fence that WhatsApp knows.
    pub(super) fn write_first_line(&self, line: &str) -> String {
        format!("{}{CODE_FENCE}{}", line_indentation(line), self.info)
    }
}

/// Returns the line at which a block ends, with the fence that WhatsApp knows.
pub(super) fn write_fence_end(line: &str) -> String {
    format!("{}{CODE_FENCE}", line_indentation(line))
}

fn line_indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// Returns `true` if a block of code begins or ends at this line of a message. A line that holds further backticks after the three
/// is code within the line.
pub(crate) fn is_code_fence(line: &str) -> bool {
    line.trim_start()
        .strip_prefix(CODE_FENCE)
        .is_some_and(|rest| !rest.contains('`'))
}
