//! The kind of a text by the MIME type that somebody named.

use super::MediaType;

impl MediaType {
    /// Returns the kind of text that a MIME type names, for a text without a kind of its own. Any other type stays, since its bytes
    /// told it.
    #[must_use]
    pub fn with_named_type(self, mime_type: Option<&str>) -> Self {
        let named = mime_type.and_then(|named| named.split(';').next());
        let named = named.map(|named| named.trim().to_ascii_lowercase());
        match (self, named.as_deref()) {
            (Self::Text, Some("text/html" | "application/xhtml+xml")) => Self::Html,
            (Self::Text, Some("text/csv" | "text/tab-separated-values")) => Self::Csv,
            _ => self,
        }
    }
}

/// Returns the charset that a MIME type names.
pub fn find_charset(mime_type: &str) -> Option<String> {
    mime_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let is_charset = name.trim().eq_ignore_ascii_case("charset") && (1..=40).contains(&value.len());
        is_charset.then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_charset_is_found() {
        let named = find_charset("text/html; q=1; Charset=\"Windows-1251\"");
        assert_eq!(named.as_deref(), Some("Windows-1251"));
        assert_eq!(find_charset("text/html"), None);
        assert_eq!(
            find_charset(&format!("text/html; charset={}", "x".repeat(41))),
            None
        );
    }

    #[test]
    fn a_named_type_tells_what_kind_of_text_a_text_is() {
        let text = MediaType::Text;
        assert_eq!(
            text.with_named_type(Some("Text/HTML; charset=utf-8")),
            MediaType::Html
        );
        assert_eq!(text.with_named_type(Some("text/csv")), MediaType::Csv);
        assert_eq!(text.with_named_type(Some("application/pdf")), text);
        assert_eq!(text.with_named_type(None), text);
        assert_eq!(
            MediaType::Jpeg.with_named_type(Some("text/html")),
            MediaType::Jpeg
        );
    }
}
