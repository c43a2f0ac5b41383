//! Which texts say how a thing is built, and nothing of anybody: the fields that hold such, and what they look like. Anybody
//! can write a sentence or a name into any field, so the name of the field alone is no reason to keep one.

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A word of a closed list: `messages.upsert`, `DELIVERY_ACK`, `imageMessage`.
    Word,
    /// The name that an operator gave an instance.
    Name,
    /// A message's id, or an account's.
    Id,
    /// An instant.
    Time,
    /// A type of file.
    Mime,
    /// A version.
    Version,
    /// A page of a vendor's manual.
    Manual,
}

/// The fields, in lower case.
const FIELDS: [(&str, Shape); 39] = [
    ("event", Shape::Word),
    ("object", Shape::Word),
    ("field", Shape::Word),
    ("type", Shape::Word),
    ("kind", Shape::Word),
    ("status", Shape::Word),
    ("state", Shape::Word),
    ("messagetype", Shape::Word),
    ("source", Shape::Word),
    ("messaging_product", Shape::Word),
    ("pricing_model", Shape::Word),
    ("category", Shape::Word),
    ("addressingmode", Shape::Word),
    ("origin", Shape::Word),
    ("severity", Shape::Word),
    ("device", Shape::Word),
    ("reason", Shape::Word),
    ("decision", Shape::Word),
    ("code", Shape::Word),
    ("low", Shape::Word),
    ("high", Shape::Word),
    ("instance", Shape::Name),
    ("instancename", Shape::Name),
    ("instanceid", Shape::Id),
    ("owner", Shape::Name),
    ("phone_number_id", Shape::Id),
    ("id", Shape::Id),
    ("keyid", Shape::Id),
    ("messageid", Shape::Id),
    ("stanzaid", Shape::Id),
    ("mimetype", Shape::Mime),
    ("mime_type", Shape::Mime),
    ("timestamp", Shape::Time),
    ("messagetimestamp", Shape::Time),
    ("date_time", Shape::Time),
    ("datetime", Shape::Time),
    ("expiration_timestamp", Shape::Time),
    ("version", Shape::Version),
    ("href", Shape::Manual),
];

/// More fields of instants.
const TIMES: [&str; 2] = ["sendertimestamp", "timestampms"];

impl Shape {
    /// What the field of this name holds, if that is known to be harmless.
    pub(super) fn of(field: &str) -> Option<Self> {
        let known = FIELDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(field));
        let time = || TIMES.iter().any(|known| known.eq_ignore_ascii_case(field));
        known
            .map(|(_, shape)| *shape)
            .or_else(|| time().then_some(Self::Time))
    }

    /// Whether a text looks like it.
    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Self::Word => text.len() <= 40 && digits(text) < 6 && is_word(text),
            Self::Name => {
                text.len() <= 40 && digits(text) < 6 && (is_word(text) || words(text, &['-'], is_lower))
            }
            Self::Id => is_id(text),
            Self::Time => text.len() <= 40 && is_time(text),
            Self::Mime => text.len() <= 60 && is_mime(text),
            Self::Version => {
                text.len() <= 20
                    && digits(text) < 8
                    && words(text, &['.'], |part| all(part, u8::is_ascii_digit))
            }
            Self::Manual => {
                let page = text.strip_prefix("https://developers.facebook.com/docs/");
                page.is_some_and(|page| {
                    page.len() <= 100 && words(page.trim_end_matches('/'), &['/', '-', '_', '#'], is_lower)
                })
            }
        }
    }
}

/// Whether an object's key is a field's name, and not a sentence or somebody's.
pub(super) fn is_key(key: &str) -> bool {
    key.len() <= 60
        && digits(key) < 6
        && (is_word(key) || words(key, &['-', ':'], is_lower) || all(key, u8::is_ascii_alphanumeric))
}

/// `lower_case`, `UPPER_CASE`, `dotted.words` or `camelCase`.
fn is_word(text: &str) -> bool {
    let upper = |part: &str| all(part, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let camel = text.starts_with(|c: char| c.is_ascii_lowercase()) && all(text, u8::is_ascii_alphanumeric);
    words(text, &['_', '.'], is_lower) || words(text, &['_'], upper) || camel
}

fn is_lower(part: &str) -> bool {
    all(part, |b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn words(text: &str, between: &[char], fine: impl Fn(&str) -> bool) -> bool {
    text.split(between).all(fine)
}

fn all(text: &str, fine: impl Fn(&u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|b| fine(&b))
}

fn digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Capitals and digits, as phones make them; a UUID; or digits that are no phone number's.
fn is_id(text: &str) -> bool {
    let phone = (8..=13).contains(&text.len()) && all(text, u8::is_ascii_digit);
    let uuid = text.len() == 36
        && words(text, &['-'], |part| {
            all(part, |b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
        });
    let made =
        text.len() <= 64 && digits(text) > 0 && all(text, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
    !phone && (uuid || made)
}

/// Digits with what stands between them in an instant.
fn is_time(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b"-:.+TZ".contains(&b))
}

fn is_mime(text: &str) -> bool {
    let token = |part: &str| {
        all(part, |b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-._".contains(b)
        })
    };
    let mut parts = text.split(';').map(str::trim);
    let whole = parts.next().and_then(|whole| whole.split_once('/'));
    whole.is_some_and(|(kind, rest)| token(kind) && token(rest))
        && parts.all(|part| {
            part.split_once('=')
                .is_some_and(|(name, value)| token(name) && token(value))
        })
}
