//! Signatures: a name that goes out with a text and stands beside it in the record, so that neither people nor the
//! model read it in the history.

use serde::{Deserialize, Serialize};

/// Largest length of a signature, in characters.
pub const SIGNATURE_CHARS_MAX: usize = 200;

/// A text that is added to each reply when it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// The signature: 1 to 200 characters.
    #[cfg_attr(feature = "schema", schema(example = "*Ana*"))]
    pub text: String,
    /// Where it stands.
    #[serde(default)]
    pub position: SignaturePosition,
}

/// The place of a signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SignaturePosition {
    /// Before the text, in its first line.
    #[serde(alias = "StartSameLine")]
    StartSameLine,
    /// In a line of its own before the text.
    #[default]
    #[serde(alias = "StartNewLine")]
    StartNewLine,
    /// After the text, in its last line.
    #[serde(alias = "EndSameLine")]
    EndSameLine,
    /// In a line of its own after the text.
    #[serde(alias = "EndNewLine")]
    EndNewLine,
}

impl SignaturePosition {
    /// Returns `true` if the signature stands before the text.
    pub fn is_at_start(self) -> bool {
        matches!(self, Self::StartSameLine | Self::StartNewLine)
    }

    fn separator_char(self) -> char {
        match self {
            Self::StartSameLine | Self::EndSameLine => ' ',
            Self::StartNewLine | Self::EndNewLine => '\n',
        }
    }
}

impl Signature {
    /// Returns `true` if the signature has words, and not too many.
    pub fn is_valid_signature(&self) -> bool {
        let length = self.text.trim().chars().count();
        (1..=SIGNATURE_CHARS_MAX).contains(&length)
    }

    /// Returns `text` with the signature.
    pub fn sign_text(&self, text: &str) -> String {
        let (own, between) = (self.text.trim(), self.position.separator_char());
        if self.position.is_at_start() {
            format!("{own}{between}{text}")
        } else {
            format!("{text}{between}{own}")
        }
    }

    /// Returns the length that the signature adds to a text, in UTF-16 code units.
    pub fn added_length(&self) -> usize {
        self.text.trim().encode_utf16().count() + 1
    }

    /// Returns `text` without the signature, if it has it. So a quotation of a signed message shows what was written.
    pub fn remove_signature<'a>(&self, text: &'a str) -> &'a str {
        let (own, whole) = (self.text.trim(), text.trim());
        let rest = if self.position.is_at_start() {
            whole.strip_prefix(own)
        } else {
            whole.strip_suffix(own)
        };
        let is_apart = |rest: &&str| {
            let mut edge = rest.chars();
            let next = if self.position.is_at_start() {
                edge.next()
            } else {
                edge.next_back()
            };
            next == Some(self.position.separator_char())
        };
        rest.filter(is_apart).map_or(text, str::trim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POSITIONS: [(SignaturePosition, &str, &str); 4] = [
        (SignaturePosition::StartSameLine, "StartSameLine", "*Ana*: Olá!"),
        (SignaturePosition::StartNewLine, "StartNewLine", "*Ana*:\nOlá!"),
        (SignaturePosition::EndSameLine, "EndSameLine", "Olá! *Ana*:"),
        (SignaturePosition::EndNewLine, "EndNewLine", "Olá!\n*Ana*:"),
    ];

    fn signature(position: SignaturePosition) -> Signature {
        Signature {
            text: " *Ana*: ".to_owned(),
            position,
        }
    }

    #[test]
    fn a_signature_stands_at_each_of_its_four_places() {
        for (position, _, signed) in POSITIONS {
            assert_eq!(signature(position).sign_text("Olá!"), signed);
        }
    }

    #[test]
    fn a_position_is_read_in_both_writings() {
        for (position, name, _) in POSITIONS {
            let read: SignaturePosition = serde_json::from_value(name.into()).unwrap();
            assert_eq!(read, position);
            let written = serde_json::to_value(position).unwrap();
            assert_eq!(
                serde_json::from_value::<SignaturePosition>(written).unwrap(),
                position
            );
        }
        let short: Signature = serde_json::from_str(r#"{"text": "Ana"}"#).unwrap();
        assert_eq!(short.position, SignaturePosition::StartNewLine);
    }

    #[test]
    fn what_is_no_signature_stays_in_a_quotation() {
        for (position, _, signed) in POSITIONS {
            let signature = signature(position);
            assert_eq!(signature.remove_signature(signed), "Olá!");
            for other in ["Olá!", "*Ana*:Olá!", "Olá!*Ana*:", "*Ana*:", ""] {
                assert_eq!(signature.remove_signature(other), other, "{position:?}");
            }
        }
    }

    #[test]
    fn a_signature_has_words_and_not_too_many() {
        let valid = |text: &str| {
            let text = text.to_owned();
            Signature {
                text,
                position: SignaturePosition::default(),
            }
            .is_valid_signature()
        };
        assert!(valid("Ana"));
        assert!(valid(&"a".repeat(SIGNATURE_CHARS_MAX)));
        assert!(!valid(" \n"));
        assert!(!valid(&"a".repeat(SIGNATURE_CHARS_MAX + 1)));
    }

    proptest! {
        #[test]
        fn a_signed_text_is_as_much_longer_as_is_said_and_loses_nothing(text in "[a-z]{1,9}([a-z🎉 \n]{0,30}[a-z])?", own in "[a-z*🎉]{1,9}", place in 0usize..4) {
            let signature = Signature { text: own, position: POSITIONS[place].0 };
            let signed = signature.sign_text(&text);
            prop_assert_eq!(signed.encode_utf16().count(), text.encode_utf16().count() + signature.added_length());
            prop_assert_eq!(signature.remove_signature(&signed), text.trim());
        }
    }
}
