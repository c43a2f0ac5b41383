//! Metadata: a JSON object that a client attaches to a message that it sends. Recado stores it and does not read it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Largest size of a metadata object, in bytes of JSON.
pub const METADATA_BYTES_MAX: usize = 4096;

/// A client's JSON object, stored as text, so that it comes back exactly, whatever its depth and keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metadata(String);

/// The reason why a value cannot be stored as metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// The object is larger than [`METADATA_BYTES_MAX`].
    #[error("metadata must not be larger than {METADATA_BYTES_MAX} bytes")]
    TooLarge,
    /// The value is not a JSON object.
    #[error("metadata must be a JSON object")]
    NotAnObject,
}

impl Metadata {
    /// Writes `object` as JSON without spaces. Fails with [`MetadataError::TooLarge`] above [`METADATA_BYTES_MAX`] bytes.
    pub fn from_object(object: &Map<String, Value>) -> Result<Self, MetadataError> {
        let text = serde_json::to_string(object).map_err(|_| MetadataError::NotAnObject)?;
        if text.len() > METADATA_BYTES_MAX {
            return Err(MetadataError::TooLarge);
        }
        Ok(Self(text))
    }

    /// Returns the object as JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the object from its JSON text.
    pub fn to_object(&self) -> Map<String, Value> {
        // The constructor wrote this text as a JSON object, so it can be parsed.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

impl TryFrom<String> for Metadata {
    type Error = MetadataError;

    fn try_from(text: String) -> Result<Self, MetadataError> {
        let object: Map<String, Value> =
            serde_json::from_str(&text).map_err(|_| MetadataError::NotAnObject)?;
        Self::from_object(&object)
    }
}

impl From<Metadata> for String {
    fn from(metadata: Metadata) -> Self {
        metadata.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_object_comes_back_as_it_was_and_one_too_large_is_refused() {
        let object = |value: Value| value.as_object().unwrap().clone();
        let small = object(json!({"order": 7, "": null, "deep": {"er": [1.5, "ç"]}}));
        assert_eq!(Metadata::from_object(&small).unwrap().to_object(), small);
        let large = object(json!({"text": "x".repeat(METADATA_BYTES_MAX)}));
        assert_eq!(Metadata::from_object(&large), Err(MetadataError::TooLarge));
        assert!(serde_json::from_str::<Metadata>(r#""[1]""#).is_err());
    }
}
