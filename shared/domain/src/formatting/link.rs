//! The addresses of links.

/// Longest address with its title, in characters.
pub(super) const TARGET_MAX: usize = 2_048;

/// Schemes of addresses that a reader can open, each with whether it is shown.
const SCHEMES: [(&str, bool); 5] = [
    ("https://", true),
    ("http://", true),
    ("www.", true),
    ("mailto:", false),
    ("tel:", false),
];

/// The address of a link, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LinkTarget(String);

impl LinkTarget {
    /// Returns the address as it is shown.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns `true` if a link's own words say nothing but the address.
    pub(super) fn is_said_by_words(&self, words: &str) -> bool {
        let words = words.trim();
        let bare = |text: &str| {
            let text = text.trim_start_matches("https://").trim_start_matches("http://");
            text.trim_end_matches('/').to_owned()
        };
        words.is_empty() || words == self.0 || bare(words) == bare(&self.0)
    }
}

/// Parses the address of a link, with a title behind it, which is left out. `None`: a reader cannot open it.
pub(super) fn parse_link_target(text: &str) -> Option<LinkTarget> {
    let text = text.trim();
    let (address, rest) = match text.strip_prefix('<') {
        Some(inner) => inner.split_once('>')?,
        None => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
    };
    let (scheme, is_shown) = SCHEMES.iter().find(|(scheme, _)| address.starts_with(scheme))?;
    if address.chars().any(char::is_whitespace) || !is_quoted_title(rest.trim()) {
        return None;
    }
    let shown = if *is_shown {
        address
    } else {
        &address[scheme.len()..]
    };
    Some(LinkTarget(shown.to_owned()))
}

fn is_quoted_title(text: &str) -> bool {
    let quoted = [('"', '"'), ('\'', '\''), ('(', ')')];
    text.is_empty()
        || quoted
            .iter()
            .any(|(open, close)| text.len() > 1 && text.starts_with(*open) && text.ends_with(*close))
}

/// Returns `true` for an e-mail address.
pub(super) fn is_mail_address(text: &str) -> bool {
    let is_part = |part: &str| {
        let allowed = |c: char| c.is_alphanumeric() || ".!#$%&'*+/=?^_`{|}~-".contains(c);
        !part.is_empty() && part.chars().all(allowed)
    };
    text.split_once('@')
        .is_some_and(|(name, host)| is_part(name) && is_part(host) && host.contains('.'))
}
