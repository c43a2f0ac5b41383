//! Resolves the names of characters.

use quick_xml::escape::resolve_html5_entity;

/// Longest name of a character, such as `CounterClockwiseContourIntegral`.
const ENTITY_MAX: usize = 32;

/// Resolves the character that begins with `&`, and returns what follows it.
pub(super) fn resolve_entity(rest: &str) -> (String, &str) {
    let inside = &rest[1..];
    let resolved = inside
        .char_indices()
        .take(ENTITY_MAX)
        .find(|(_, character)| *character == ';')
        .and_then(|(end, _)| {
            let characters = resolve_entity_name(&inside[..end])?;
            Some((characters, &inside[end + 1..]))
        });
    resolved.unwrap_or_else(|| ("&".to_owned(), inside))
}

fn resolve_entity_name(name: &str) -> Option<String> {
    let Some(number) = name.strip_prefix('#') else {
        return resolve_html5_entity(name).map(str::to_owned);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code).map(String::from)
}
