//! Converts Markdown, as models write it, to WhatsApp's own marks: `*bold*`, `_italic_`, `~struck~`, lists with `-`,
//! code unchanged.
//!
//! WhatsApp formats only within a line, so the conversion looks at a single line at a time. Where the meaning of a mark
//! is in doubt, the text stays as it was written: a superfluous mark is ugly, a changed word is wrong.

mod inline;

/// The longest line that is converted, in characters. Longer lines are not formatted text.
const LINE_MAX: usize = 20_000;

const CODE_FENCE: &str = "```";

/// Returns the text with WhatsApp's marks in the place of Markdown's. Code and tables stay as they are. The function
/// must not be applied twice: WhatsApp's `*bold*` is Markdown's italic.
pub fn markdown_to_whatsapp(markdown: &str) -> String {
    let mut in_code = false;
    let lines: Vec<String> = markdown
        .split('\n')
        .map(|line| {
            if is_code_fence(line) {
                in_code = !in_code;
                line.to_owned()
            } else if in_code {
                line.to_owned()
            } else {
                convert_line(line)
            }
        })
        .collect();
    lines.join("\n")
}

/// Returns `true` if a block of code begins or ends at this line. A line that holds further backticks after the three
/// is code within the line.
pub(crate) fn is_code_fence(line: &str) -> bool {
    line.trim_start()
        .strip_prefix(CODE_FENCE)
        .is_some_and(|rest| !rest.contains('`'))
}

fn convert_line(line: &str) -> String {
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    if text.starts_with('|') || is_horizontal_rule(text) || line.chars().count() > LINE_MAX {
        return line.to_owned();
    }
    if let Some(title) = parse_heading(text) {
        return format!("*{}*", inline::format_bold_line(title));
    }
    match text.strip_prefix("* ").or_else(|| text.strip_prefix("+ ")) {
        Some(item) => format!("{indent}- {}", inline::format_line(item)),
        None => format!("{indent}{}", inline::format_line(text)),
    }
}

/// Returns `true` for a horizontal rule: three or more of a single mark and nothing else.
fn is_horizontal_rule(text: &str) -> bool {
    let marks: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    marks.len() >= 3 && ['*', '-', '_'].iter().any(|mark| marks.iter().all(|c| c == mark))
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

#[cfg(test)]
mod tests;
