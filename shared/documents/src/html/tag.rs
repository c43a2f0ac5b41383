//! Reads tags.

/// Maximum number of bytes of a style that are looked at.
const STYLE_BYTES: usize = 2_000;

/// Elements that have no content.
const VOID: &str = "area base br col embed hr img input link meta source track wbr";

/// Elements that may end without a tag that says so.
const ENDS_BY_ITSELF: [&str; 10] = [
    "p", "li", "dt", "dd", "td", "th", "tr", "option", "optgroup", "rt",
];

/// Elements whose text stands in for them where a browser cannot show them.
const STAND_INS: [&str; 3] = ["audio", "canvas", "video"];

/// A tag.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    /// The name, in small letters.
    pub(super) name: String,
    /// The tag ends its element.
    pub(super) is_end: bool,
    attributes: &'a str,
}

impl<'a> Tag<'a> {
    /// Reads what follows a `<`. Returns as well what follows the tag.
    pub(super) fn read_page_tag(inside: &'a str) -> (Self, &'a str) {
        let is_end = inside.starts_with('/');
        let named = inside.trim_start_matches('/');
        let name_end = named
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(named.len());
        let after = skip_tag_content(inside);
        let attributes = &named[name_end..];
        let length = attributes.len().saturating_sub(after.len());
        let tag = Self {
            name: named[..name_end].to_ascii_lowercase(),
            is_end,
            attributes: attributes[..length].trim_end_matches('>'),
        };
        (tag, after)
    }

    /// Returns `true` if the element has no content.
    pub(super) fn is_void(&self) -> bool {
        VOID.split(' ').any(|name| name == self.name)
    }

    /// Returns `true` if the tag ends as elements of XML do that have no content.
    pub(super) fn closes_itself(&self) -> bool {
        self.attributes.ends_with('/')
    }

    /// Returns `true` if the element may end without a tag that says so.
    pub(super) fn ends_by_itself(&self) -> bool {
        ENDS_BY_ITSELF.contains(&self.name.as_str())
    }

    /// Returns `true` if readers do not see the text of the element, as the tag itself says.
    pub(super) fn is_hidden(&self) -> bool {
        if STAND_INS.contains(&self.name.as_str()) {
            return true;
        }
        self.list_attributes()
            .any(|(name, value)| match name.to_ascii_lowercase().as_str() {
                "hidden" => true,
                "style" => {
                    let value = &value[..value.floor_char_boundary(STYLE_BYTES)];
                    let style: String = value.chars().filter(|c| !c.is_whitespace()).collect();
                    let style = style.to_ascii_lowercase();
                    ["display:none", "visibility:hidden", "visibility:collapse"]
                        .iter()
                        .any(|hides| style.contains(hides))
                }
                _ => false,
            })
    }

    /// Returns over how many columns or rows a cell reaches, as the attribute `name` says: 1 if it says no number. 0 rows are all that
    /// follow.
    pub(super) fn read_span(&self, name: &str) -> usize {
        let mut attributes = self.list_attributes();
        let found = attributes.find(|(own, _)| own.eq_ignore_ascii_case(name));
        found
            .and_then(|(_, value)| value.trim().parse().ok())
            .unwrap_or(1)
    }

    fn list_attributes(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut rest = self.attributes;
        std::iter::from_fn(move || {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '/');
            let end = rest
                .find(|c: char| c.is_whitespace() || c == '=')
                .unwrap_or(rest.len());
            let name = &rest[..end];
            rest = rest[end..].trim_start();
            let Some(value) = rest.strip_prefix('=') else {
                return (!name.is_empty()).then_some((name, ""));
            };
            let value = value.trim_start();
            let quoted = ['"', '\'']
                .into_iter()
                .find_map(|quote| value.strip_prefix(quote).map(|rest| (quote, rest)));
            let (value, after) = match quoted {
                Some((quote, inside)) => inside.split_once(quote).unwrap_or((inside, "")),
                None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            };
            rest = after;
            Some((name, value))
        })
    }
}

/// Returns what follows a tag. A `>` within quotes does not end it.
pub(super) fn skip_tag_content(inside: &str) -> &str {
    let mut quote = None;
    for (place, character) in inside.char_indices() {
        match (quote, character) {
            (None, '>') => return &inside[place + 1..],
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    ""
}

/// An element that is not shown.
#[derive(Debug)]
pub(super) struct HiddenElement {
    name: String,
    ends_by_itself: bool,
    /// Number of elements of its own name that are open within it.
    same: u32,
    /// Number of other elements that are open within it, as far as they end by a tag.
    others: u32,
}

impl HiddenElement {
    pub(super) fn begin(tag: &Tag<'_>) -> Self {
        Self {
            name: tag.name.clone(),
            ends_by_itself: tag.ends_by_itself(),
            same: 0,
            others: 0,
        }
    }

    /// Looks at the next tag. Returns `true` if the element is over. Then [`Self::takes_last_tag`] says whether that tag belongs to it.
    pub(super) fn is_over_at(&mut self, tag: &Tag<'_>) -> bool {
        if tag.is_void() || tag.closes_itself() {
            return false;
        }
        let is_same = tag.name == self.name;
        if self.ends_by_itself {
            if self.others == 0 && (is_same || (tag.is_end && !tag.ends_by_itself())) {
                return true;
            }
            if !tag.ends_by_itself() {
                self.others = if tag.is_end {
                    self.others.saturating_sub(1)
                } else {
                    self.others + 1
                };
            }
            return false;
        }
        match (is_same, tag.is_end) {
            (true, true) if self.same == 0 => return true,
            (true, true) => self.same -= 1,
            (true, false) => self.same += 1,
            _ => {}
        }
        false
    }

    /// Returns `true` if the tag at which the element is over is its own end.
    pub(super) fn takes_last_tag(&self, tag: &Tag<'_>) -> bool {
        tag.is_end && tag.name == self.name
    }
}
