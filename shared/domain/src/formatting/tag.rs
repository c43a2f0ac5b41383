//! Tags of HTML that models write in texts. What is in none of these lists stays as it is: `<your name>` is text.

/// Longest tag that is read.
const LENGTH_MAX: usize = 2_000;

/// The effect of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    /// Marks text with this sign of WhatsApp's.
    Mark(char),
    /// Is a link.
    Link,
    /// Is a heading: a bold line.
    Heading,
    /// Breaks the line.
    LineBreak,
    /// Ends a line, if text follows.
    Block,
    /// Is an item of a list.
    Item,
    /// Changes nothing that WhatsApp knows.
    Plain,
}

const KINDS: [(&[&str], TagKind); 9] = [
    (&["b", "strong"], TagKind::Mark('*')),
    (&["i", "em"], TagKind::Mark('_')),
    (&["s", "del", "strike"], TagKind::Mark('~')),
    (&["a"], TagKind::Link),
    (&["h1", "h2", "h3", "h4", "h5", "h6"], TagKind::Heading),
    (&["br"], TagKind::LineBreak),
    (&["p", "div", "ul", "ol", "hr"], TagKind::Block),
    (&["li"], TagKind::Item),
    (
        &["u", "span", "small", "mark", "sub", "sup", "font", "center"],
        TagKind::Plain,
    ),
];

/// A tag.
#[derive(Debug)]
pub(super) struct HtmlTag {
    pub(super) kind: TagKind,
    /// `true` for `</b>`.
    pub(super) is_end: bool,
    /// Number of characters of the tag.
    pub(super) length: usize,
    /// All that stands behind the name, such as the address of a link.
    attributes: String,
}

impl HtmlTag {
    /// Parses the tag at `at`, of which the first character is `<`.
    pub(super) fn parse_html_tag(text: &[char], at: usize) -> Option<Self> {
        let inner = text.get(at + 1..)?.iter().take(LENGTH_MAX);
        let inner: String = inner.take_while(|c| !matches!(c, '<' | '>' | '\n')).collect();
        let length = inner.chars().count() + 2;
        if text.get(at + length - 1) != Some(&'>') {
            return None;
        }
        let body = inner.strip_prefix('/').unwrap_or(&inner);
        let body = body.strip_suffix('/').unwrap_or(body);
        let (name, attributes) = body.split_once(' ').unwrap_or((body, ""));
        let is_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let (_, kind) = KINDS.iter().find(|(names, _)| is_of(names))?;
        // `<b or not>` is text.
        (attributes.trim().is_empty() || attributes.contains('=')).then(|| Self {
            kind: *kind,
            is_end: inner.starts_with('/'),
            length,
            attributes: attributes.to_owned(),
        })
    }

    /// Returns the address of a link.
    pub(super) fn find_link_address(&self) -> Option<&str> {
        let (_, value) = self.attributes.split_once("href=")?;
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        match quote {
            Some(quote) => value[1..].split(quote).next(),
            None => value.split_whitespace().next(),
        }
    }
}
