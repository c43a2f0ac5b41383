//! The list of harmless fields, with the shape of their texts. Anybody can write a sentence or a name into any field,
//! so a text is kept only if both its field is listed and its shape fits.

/// The shape of the texts in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldShape {
    /// A word of a closed list: `messages.upsert`, `DELIVERY_ACK`, `imageMessage`.
    Word,
    /// The name that an operator gave an instance.
    Name,
    /// The id of a message or of an account.
    Id,
    /// An instant.
    Time,
    /// A MIME type.
    Mime,
    /// A version number.
    Version,
    /// The URL of a page in Meta's developer documentation.
    Manual,
}

/// The harmless fields, in lower case.
const FIELDS: [(&str, FieldShape); 39] = [
    ("event", FieldShape::Word),
    ("object", FieldShape::Word),
    ("field", FieldShape::Word),
    ("type", FieldShape::Word),
    ("kind", FieldShape::Word),
    ("status", FieldShape::Word),
    ("state", FieldShape::Word),
    ("messagetype", FieldShape::Word),
    ("source", FieldShape::Word),
    ("messaging_product", FieldShape::Word),
    ("pricing_model", FieldShape::Word),
    ("category", FieldShape::Word),
    ("addressingmode", FieldShape::Word),
    ("origin", FieldShape::Word),
    ("severity", FieldShape::Word),
    ("device", FieldShape::Word),
    ("reason", FieldShape::Word),
    ("decision", FieldShape::Word),
    ("code", FieldShape::Word),
    ("low", FieldShape::Word),
    ("high", FieldShape::Word),
    ("instance", FieldShape::Name),
    ("instancename", FieldShape::Name),
    ("instanceid", FieldShape::Id),
    ("owner", FieldShape::Name),
    ("phone_number_id", FieldShape::Id),
    ("id", FieldShape::Id),
    ("keyid", FieldShape::Id),
    ("messageid", FieldShape::Id),
    ("stanzaid", FieldShape::Id),
    ("mimetype", FieldShape::Mime),
    ("mime_type", FieldShape::Mime),
    ("timestamp", FieldShape::Time),
    ("messagetimestamp", FieldShape::Time),
    ("date_time", FieldShape::Time),
    ("datetime", FieldShape::Time),
    ("expiration_timestamp", FieldShape::Time),
    ("version", FieldShape::Version),
    ("href", FieldShape::Manual),
];

/// More fields that hold instants.
const TIMES: [&str; 2] = ["sendertimestamp", "timestampms"];

impl FieldShape {
    /// Returns the shape of the field with this name. `None` if the field is not known to be harmless.
    pub(super) fn for_field(field: &str) -> Option<Self> {
        let known = FIELDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(field));
        let time = || TIMES.iter().any(|known| known.eq_ignore_ascii_case(field));
        known
            .map(|(_, shape)| *shape)
            .or_else(|| time().then_some(Self::Time))
    }

    /// Returns whether a text has this shape.
    pub(super) fn matches_text(self, text: &str) -> bool {
        match self {
            Self::Word => text.len() <= 40 && count_digits(text) < 6 && is_plain_word(text),
            Self::Name => {
                text.len() <= 40
                    && count_digits(text) < 6
                    && (is_plain_word(text) || all_parts_match(text, &['-'], is_lowercase))
            }
            Self::Id => is_opaque_id(text),
            Self::Time => text.len() <= 40 && is_timestamp(text),
            Self::Mime => text.len() <= 60 && is_mime_type(text),
            Self::Version => {
                text.len() <= 20
                    && count_digits(text) < 8
                    && all_parts_match(text, &['.'], |part| all_bytes_match(part, u8::is_ascii_digit))
            }
            Self::Manual => {
                let page = text.strip_prefix("https://developers.facebook.com/docs/");
                page.is_some_and(|page| {
                    page.len() <= 100
                        && all_parts_match(page.trim_end_matches('/'), &['/', '-', '_', '#'], is_lowercase)
                })
            }
        }
    }
}

/// Returns whether an object's key is the name of a field, and not a sentence or a person's name.
pub(super) fn is_field_name(key: &str) -> bool {
    key.len() <= 60
        && count_digits(key) < 6
        && (is_plain_word(key)
            || all_parts_match(key, &['-', ':'], is_lowercase)
            || all_bytes_match(key, u8::is_ascii_alphanumeric))
}

/// Returns whether a text is `lower_case`, `UPPER_CASE`, `dotted.words` or `camelCase`.
fn is_plain_word(text: &str) -> bool {
    let upper = |part: &str| all_bytes_match(part, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let camel = text.starts_with(|c: char| c.is_ascii_lowercase())
        && all_bytes_match(text, u8::is_ascii_alphanumeric);
    all_parts_match(text, &['_', '.'], is_lowercase) || all_parts_match(text, &['_'], upper) || camel
}

fn is_lowercase(part: &str) -> bool {
    all_bytes_match(part, |b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn all_parts_match(text: &str, between: &[char], fine: impl Fn(&str) -> bool) -> bool {
    text.split(between).all(fine)
}

fn all_bytes_match(text: &str, fine: impl Fn(&u8) -> bool) -> bool {
    !text.is_empty() && text.bytes().all(|b| fine(&b))
}

fn count_digits(text: &str) -> usize {
    text.bytes().filter(u8::is_ascii_digit).count()
}

/// Returns whether a text is an id: capitals and digits, as phones generate them; a UUID; or digits that are no phone
/// number.
fn is_opaque_id(text: &str) -> bool {
    let phone = (8..=13).contains(&text.len()) && all_bytes_match(text, u8::is_ascii_digit);
    let uuid = text.len() == 36
        && all_parts_match(text, &['-'], |part| {
            all_bytes_match(part, |b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
        });
    let made = text.len() <= 64
        && count_digits(text) > 0
        && all_bytes_match(text, |b| b.is_ascii_uppercase() || b.is_ascii_digit());
    !phone && (uuid || made)
}

/// Returns whether a text consists of digits and the signs of an instant.
fn is_timestamp(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b"-:.+TZ".contains(&b))
}

fn is_mime_type(text: &str) -> bool {
    let token = |part: &str| {
        all_bytes_match(part, |b| {
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
