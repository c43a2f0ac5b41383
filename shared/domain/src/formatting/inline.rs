//! Converts the Markdown marks within a line.

/// Greatest depth of marks within marks. Deeper marks stay as they are.
const DEPTH_MAX: u8 = 6;

/// The marks that are already open around a part of a line.
#[derive(Debug, Clone, Copy, Default)]
struct OpenMarks {
    bold: bool,
    italic: bool,
    struck: bool,
    depth: u8,
}

/// A kind of Markdown mark.
#[derive(Debug, Clone, Copy)]
enum FormatMark {
    Bold,
    Italic,
    Struck,
}

impl FormatMark {
    fn whatsapp_sign(self) -> char {
        match self {
            Self::Bold => '*',
            Self::Italic => '_',
            Self::Struck => '~',
        }
    }

    /// Returns the open marks within this mark, and `true` if the mark must be written (`false`: it is open already).
    fn enter_mark(self, within: OpenMarks) -> (OpenMarks, bool) {
        let mut inner = OpenMarks {
            depth: within.depth + 1,
            ..within
        };
        let held = match self {
            Self::Bold => std::mem::replace(&mut inner.bold, true),
            Self::Italic => std::mem::replace(&mut inner.italic, true),
            Self::Struck => std::mem::replace(&mut inner.struck, true),
        };
        (inner, !held)
    }
}

/// Converts the text of a line.
pub(super) fn format_line(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    convert_text(&chars, OpenMarks::default())
}

/// Converts text that is made bold as a whole.
pub(super) fn format_bold_line(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let bold = OpenMarks {
        bold: true,
        ..OpenMarks::default()
    };
    convert_text(&chars, bold)
}

fn convert_text(text: &[char], within: OpenMarks) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let (piece, taken) = convert_piece(text, at, within);
        out.push_str(&piece);
        at += taken.max(1);
    }
    out
}

/// Converts the piece of text at `at`. Returns the result, and the number of characters that the piece had.
fn convert_piece(text: &[char], at: usize, within: OpenMarks) -> (String, usize) {
    let found = match text[at] {
        '\\' => parse_escape(text, at),
        '`' => Some(copy_code_span(text, at)),
        '<' => convert_autolink(text, at),
        'h' => parse_bare_url(text, at),
        '!' if text.get(at + 1) == Some(&'[') => {
            convert_link(text, at + 1, within).map(|(piece, taken)| (piece, taken + 1))
        }
        '[' => convert_link(text, at, within),
        '*' | '_' | '~' => convert_marked(text, at, within),
        _ => None,
    };
    found.unwrap_or_else(|| (text[at].to_string(), 1))
}

/// Reads an escaped character, such as `\*`, and returns it without its backslash.
fn parse_escape(text: &[char], at: usize) -> Option<(String, usize)> {
    let next = text.get(at + 1)?;
    next.is_ascii_punctuation().then(|| (next.to_string(), 2))
}

/// Counts how many times in a row the character at `at` stands there.
fn run_length(text: &[char], at: usize) -> usize {
    text[at..].iter().take_while(|c| **c == text[at]).count()
}

fn copy_code_span(text: &[char], at: usize) -> (String, usize) {
    let end = find_code_end(text, at);
    (text[at..end].iter().collect(), end - at)
}

/// Returns the end of the code that begins with the backticks at `at`. If nothing closes the code, the end is after
/// these backticks.
fn find_code_end(text: &[char], at: usize) -> usize {
    let ticks = run_length(text, at);
    let mut next = at + ticks;
    while next < text.len() {
        if text[next] == '`' {
            let closing = run_length(text, next);
            next += closing;
            if closing == ticks {
                return next;
            }
        } else {
            next += 1;
        }
    }
    at + ticks
}

fn text_starts_with(text: &[char], at: usize, what: &str) -> bool {
    what.chars()
        .enumerate()
        .all(|(offset, c)| text.get(at + offset) == Some(&c))
}

fn is_url_start(text: &[char], at: usize) -> bool {
    text_starts_with(text, at, "https://") || text_starts_with(text, at, "http://")
}

/// Converts `<https://…>` to the address without its brackets.
fn convert_autolink(text: &[char], at: usize) -> Option<(String, usize)> {
    if !is_url_start(text, at + 1) {
        return None;
    }
    let inner: Vec<char> = text[at + 1..].iter().copied().take_while(|c| *c != '>').collect();
    let whole = at + 1 + inner.len() < text.len() && !inner.iter().any(|c| c.is_whitespace());
    whole.then(|| (inner.iter().collect(), inner.len() + 2))
}

/// Copies a web address unchanged, since its underscores are no marks.
fn parse_bare_url(text: &[char], at: usize) -> Option<(String, usize)> {
    if !is_url_start(text, at) {
        return None;
    }
    let ends = |c: &char| c.is_whitespace() || "<>()[]*`\\".contains(*c);
    let mut length = text[at..].iter().take_while(|c| !ends(c)).count();
    // Marks at the end of the address belong to the text around it.
    while length > 0 && matches!(text[at + length - 1], '_' | '~') {
        length -= 1;
    }
    Some((text[at..at + length].iter().collect(), length))
}

/// Returns the place of the bracket that closes the bracket at `at`.
fn find_closing_bracket(text: &[char], at: usize, close: char) -> Option<usize> {
    let open = text[at];
    let mut depth = 0_usize;
    for (offset, c) in text[at..].iter().enumerate() {
        if *c == open {
            depth += 1;
        } else if *c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at + offset);
            }
        }
    }
    None
}

/// Converts `[text](address)` to `text (address)`, or to the address alone if the text says the same.
fn convert_link(text: &[char], at: usize, within: OpenMarks) -> Option<(String, usize)> {
    let label_end = find_closing_bracket(text, at, ']')?;
    if text.get(label_end + 1) != Some(&'(') || within.depth >= DEPTH_MAX {
        return None;
    }
    let end = find_closing_bracket(text, label_end + 1, ')')?;
    let target: String = text[label_end + 2..end].iter().collect();
    let known = ["https://", "http://", "mailto:", "tel:"]
        .iter()
        .any(|scheme| target.starts_with(scheme));
    if !known || target.chars().any(char::is_whitespace) {
        return None;
    }
    let shown = ["mailto:", "tel:"]
        .iter()
        .find_map(|scheme| target.strip_prefix(scheme))
        .unwrap_or(&target);
    let label = &text[at + 1..label_end];
    let says: String = label.iter().collect();
    let says = says.trim();
    let bare = shown.trim_start_matches("https://").trim_start_matches("http://");
    let same = |says: &str| says == shown || says.trim_end_matches('/') == bare.trim_end_matches('/');
    let piece = if says.is_empty() || same(says) {
        shown.to_owned()
    } else {
        let inner = OpenMarks {
            depth: within.depth + 1,
            ..within
        };
        format!("{} ({shown})", convert_text(label, inner).trim())
    };
    Some((piece, end + 1 - at))
}

/// Converts text between marks.
fn convert_marked(text: &[char], at: usize, within: OpenMarks) -> Option<(String, usize)> {
    let (sign, length) = (text[at], run_length(text, at));
    let marks: &[FormatMark] = match (sign, length) {
        ('*' | '_', 3) => &[FormatMark::Bold, FormatMark::Italic],
        ('*' | '_', 2) => &[FormatMark::Bold],
        ('*' | '_', 1) => &[FormatMark::Italic],
        ('~', 2) => &[FormatMark::Struck],
        // The run is either a mark of WhatsApp's own or too long to be a mark: it stays as it is.
        _ => return Some((text[at..at + length].iter().collect(), length)),
    };
    let as_they_are = || Some((text[at..at + length].iter().collect(), length));
    if within.depth >= DEPTH_MAX || !can_open_mark(text, at, length) {
        return as_they_are();
    }
    let Some(end) = find_closing_mark(text, at + length, sign, length) else {
        return as_they_are();
    };
    let (mut inner, mut around) = (within, String::new());
    for mark in marks {
        let (next, needed) = mark.enter_mark(inner);
        inner = next;
        if needed {
            around.push(mark.whatsapp_sign());
        }
    }
    let back: String = around.chars().rev().collect();
    let piece = format!("{around}{}{back}", convert_text(&text[at + length..end], inner));
    Some((piece, end + length - at))
}

/// Returns `true` if the marks at `at` can open a marked text. Text must follow the marks. An underscore or single
/// asterisk must not stand within a word (`2*3*4`, `snake_case`).
fn can_open_mark(text: &[char], at: usize, length: usize) -> bool {
    let followed = text.get(at + length).is_some_and(|c| !c.is_whitespace());
    let in_word = at > 0 && text[at - 1].is_alphanumeric();
    followed && !(in_word && needs_word_edge(text[at], length))
}

fn needs_word_edge(sign: char, length: usize) -> bool {
    sign == '_' || length == 1
}

/// Returns the place of the marks that close the marks before `from`. Code and web addresses are skipped.
fn find_closing_mark(text: &[char], from: usize, sign: char, length: usize) -> Option<usize> {
    let mut at = from;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '`' => at = find_code_end(text, at),
            'h' => at += parse_bare_url(text, at).map_or(1, |(_, length)| length.max(1)),
            c if c == sign => {
                let here = run_length(text, at);
                let after = text.get(at + here).is_some_and(|c| c.is_alphanumeric());
                let closes = at > from && !text[at - 1].is_whitespace();
                // In `**a *b***`, the last three asterisks close both marks, the inner one first.
                let fits = here == length || (here == 3 && length < 3);
                if closes && fits && !(after && needs_word_edge(sign, length)) {
                    return Some(at + here - length);
                }
                at += here;
            }
            _ => at += 1,
        }
    }
    None
}
