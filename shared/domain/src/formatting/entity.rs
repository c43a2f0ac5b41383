//! Character references of HTML, such as `&amp;`.

/// The named references that models write in texts.
const NAMED: [(&str, char); 14] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("hellip", '…'),
    ("bull", '•'),
    ("middot", '·'),
    ("deg", '°'),
    ("euro", '€'),
    ("times", '×'),
];

/// Longest reference that is read, without `&` and `;`.
const LENGTH_MAX: usize = 8;

/// Parses the reference at `at`. Returns its character, and the number of characters that it had.
pub(super) fn parse_html_entity(text: &[char], at: usize) -> Option<(char, usize)> {
    let name: String = text
        .get(at + 1..)?
        .iter()
        .take(LENGTH_MAX + 1)
        .take_while(|c| **c == '#' || c.is_ascii_alphanumeric())
        .collect();
    if text.get(at + 1 + name.len()) != Some(&';') {
        return None;
    }
    let found = match name.strip_prefix('#') {
        Some(number) => parse_code_point(number).filter(|c| !c.is_control())?,
        None => NAMED.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((found, name.len() + 2))
}

fn parse_code_point(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}
