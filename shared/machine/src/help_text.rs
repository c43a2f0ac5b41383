//! Wraps the help of commands at the width of a terminal.

use anstream::adapter::strip_str;

/// The width of the help, in columns.
const WIDTH: usize = 80;

/// The greatest column at which the text beside an option or a command goes on.
const COLUMN_MAX: usize = 40;

/// Wraps lines at 80 columns, at blanks. A line goes on below its own text, beside the option or the command.
pub fn wrap_help(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(wrap_line).collect();
    lines.join("\n")
}

fn wrap_line(line: &str) -> String {
    let plain = strip_str(line).to_string();
    if plain.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let indent = find_text_column(&plain);
    let (mut wrapped, mut column) = (String::new(), 0);
    for (number, word) in line.split(' ').enumerate() {
        let width = strip_str(word).to_string().chars().count();
        if number > 0 && column > indent && column + 1 + width > WIDTH {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            column = indent;
        } else if number > 0 {
            wrapped.push(' ');
            column += 1;
        }
        wrapped.push_str(word);
        column += width;
    }
    wrapped
}

/// Returns the column at which the text of a line begins, behind an option or a command.
fn find_text_column(line: &str) -> usize {
    let rest = line.trim_start_matches(' ');
    let start = line.len() - rest.len();
    if rest.starts_with("Usage:") {
        return start + "Usage: ".len();
    }
    let Some((_, text)) = rest.split_once("  ") else {
        return start;
    };
    let column = line.chars().count() - text.trim_start_matches(' ').chars().count();
    if column <= COLUMN_MAX { column } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_below_its_own_text() {
        let words = "word ".repeat(30);
        for (line, indent) in [
            (format!("  status            {words}"), 20),
            (format!("          {words}"), 10),
            (format!("Usage: recado {words}"), 7),
            (words.clone(), 0),
        ] {
            let wrapped = wrap_help(line.trim_end());
            let lines: Vec<&str> = wrapped.lines().collect();
            assert!(lines.len() > 1, "{wrapped}");
            assert!(
                lines.iter().all(|line| line.chars().count() <= WIDTH),
                "{wrapped}"
            );
            let below = " ".repeat(indent) + "word";
            assert!(
                lines[1..].iter().all(|line| line.starts_with(&below)),
                "{wrapped}"
            );
            let joined: Vec<&str> = wrapped.split_whitespace().collect();
            assert_eq!(joined, line.split_whitespace().collect::<Vec<_>>());
        }
        assert_eq!(wrap_help("short\n\nlines"), "short\n\nlines");
    }

    #[test]
    fn colours_take_no_room() {
        let painted = format!("\u{1b}[1m{}\u{1b}[0m", "w".repeat(WIDTH));
        assert_eq!(wrap_help(&painted), painted);
    }
}
