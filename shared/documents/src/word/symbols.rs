//! Reads the signs that Word writes by their place in a font, such as the ticks of a table.

use crate::xml::Element;

/// Signs by their font and the last byte of their place in it: ticks, crosses, boxes, arrows, and marks of arithmetic. Other signs of these
/// fonts are ornaments.
const SIGNS: [(&str, u32, char); 22] = [
    ("Wingdings", 0x6f, '☐'),
    ("Wingdings", 0x78, '☒'),
    ("Wingdings", 0xa8, '☐'),
    ("Wingdings", 0xe0, '→'),
    ("Wingdings", 0xfb, '✗'),
    ("Wingdings", 0xfc, '✓'),
    ("Wingdings", 0xfd, '☒'),
    ("Wingdings", 0xfe, '☑'),
    ("Wingdings 2", 0x4f, '✗'),
    ("Wingdings 2", 0x50, '✓'),
    ("Wingdings 2", 0x51, '☒'),
    ("Wingdings 2", 0x52, '☑'),
    ("Wingdings 2", 0x53, '☒'),
    ("Wingdings 2", 0xa3, '☐'),
    ("Symbol", 0x6d, 'µ'),
    ("Symbol", 0xa3, '≤'),
    ("Symbol", 0xae, '→'),
    ("Symbol", 0xb0, '°'),
    ("Symbol", 0xb1, '±'),
    ("Symbol", 0xb3, '≥'),
    ("Symbol", 0xb4, '×'),
    ("Symbol", 0xb8, '÷'),
];

/// Returns the sign of an element `sym`; `None` for an ornament.
pub(super) fn read_symbol(element: &Element<'_>) -> Option<char> {
    let place = u32::from_str_radix(&element.find_attribute("char")?, 16).ok()?;
    let font = element.find_attribute("font").unwrap_or_default();
    let mut of_font = SIGNS.iter().filter(|(own, _, _)| *own == font).peekable();
    if of_font.peek().is_some() {
        return of_font
            .find(|(_, own, _)| *own == place & 0xff)
            .map(|(_, _, sign)| *sign);
    }
    // In other fonts the place is the character itself, unless the font uses places of its own.
    let is_own_place = |sign: &char| ('\u{e000}'..='\u{f8ff}').contains(sign);
    char::from_u32(place).filter(|sign| !sign.is_control() && !is_own_place(sign))
}
