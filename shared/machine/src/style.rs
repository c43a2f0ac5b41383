//! The colours of the command line. Where the output is no terminal, or `NO_COLOR` is set, the macros of [`crate::output`]
//! take them out again.

use anstyle::{AnsiColor, Style};

/// The meaning of a part of the output, from which its colour follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// As it should be.
    Good,
    /// Worth a look.
    Warning,
    /// Something that a person has to do.
    Bad,
    /// A heading or a name.
    Title,
    /// Beside what is asked for.
    Quiet,
}

impl Paint {
    fn to_style(self) -> Style {
        let style = Style::new();
        match self {
            Self::Good => style.fg_color(Some(AnsiColor::Green.into())),
            Self::Warning => style.fg_color(Some(AnsiColor::Yellow.into())),
            Self::Bad => style.fg_color(Some(AnsiColor::Red.into())).bold(),
            Self::Title => style.bold(),
            Self::Quiet => style.dimmed(),
        }
    }
}

/// Puts the codes of a colour around a text.
pub fn paint_text(paint: Paint, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let style = paint.to_style();
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_painted_text_is_the_text_between_codes_which_end_with_it() {
        assert_eq!(paint_text(Paint::Good, "open"), "\u{1b}[32mopen\u{1b}[0m");
        assert_eq!(paint_text(Paint::Bad, ""), "");
        let stripped = anstream::adapter::strip_str(&paint_text(Paint::Bad, "closed")).to_string();
        assert_eq!(stripped, "closed");
    }
}
