//! Breaks texts into lines of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width of the output for people, in columns.
pub(crate) const WIDTH: usize = 80;

/// Breaks a text into lines of at most `width` columns, at blanks where it has some. Its own line ends stay. Characters that
/// move the cursor become blanks: a stranger may have written them.
pub(crate) fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let plain = paragraph.replace(char::is_control, " ");
        let mut line = String::new();
        for word in plain.split(' ').filter(|word| !word.is_empty()) {
            let joined = line.width() + usize::from(!line.is_empty()) + word.width();
            if joined > width && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            for character in word.chars() {
                if line.width() + character.width().unwrap_or(0) > width {
                    lines.push(std::mem::take(&mut line));
                }
                line.push(character);
            }
        }
        lines.push(line);
    }
    lines
}

/// Cuts a text to `width` columns and one line, without characters that move the cursor.
pub(crate) fn cut_text(text: &str, width: usize) -> String {
    let plain: String = text.replace(char::is_control, " ");
    if plain.width() <= width {
        return plain;
    }
    let mut cut = String::new();
    for character in plain.chars() {
        if cut.width() + character.width().unwrap_or(0) >= width {
            break;
        }
        cut.push(character);
    }
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_broken_at_blanks_and_a_long_word_where_it_must() {
        assert_eq!(wrap_text("um dois três", 8), ["um dois", "três"]);
        assert_eq!(wrap_text("abcdefghij k", 4), ["abcd", "efgh", "ij k"]);
        assert_eq!(wrap_text("", 4), [""]);
        assert_eq!(wrap_text("a\n\nb", 4), ["a", "", "b"]);
        // What is two columns wide counts as two.
        assert_eq!(wrap_text("日本語", 4), ["日本", "語"]);
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(wrap_text("a\u{1b}[2Jb\tc", 20), ["a [2Jb c"]);
        assert_eq!(cut_text("a\u{1b}b\nc", 20), "a b c");
    }

    #[test]
    fn a_cut_text_ends_with_an_ellipsis_within_its_width() {
        assert_eq!(cut_text("abcdef", 6), "abcdef");
        assert_eq!(cut_text("abcdefg", 6), "abcde…");
        assert_eq!(cut_text("日本語", 4), "日…");
    }
}
