//! What a client keeps with a message that it sends: a JSON object that means nothing to us.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most that is kept, in bytes of JSON.
pub const METADATA_BYTES_MAX: usize = 4096;

/// A client's JSON object. It is kept as one text: so it comes back exactly, however deep it is and whatever its keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Metadata(String);

/// Why something cannot be kept as metadata.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// Larger than [`METADATA_BYTES_MAX`].
    #[error("metadata must not be larger than {METADATA_BYTES_MAX} bytes")]
    TooLarge,
    /// Not a JSON object.
    #[error("metadata must be a JSON object")]
    NotAnObject,
}

impl Metadata {
    /// Takes an object of at most [`METADATA_BYTES_MAX`] bytes, written without spaces.
    pub fn from_object(object: &Map<String, Value>) -> Result<Self, MetadataError> {
        let text = serde_json::to_string(object).map_err(|_| MetadataError::NotAnObject)?;
        if text.len() > METADATA_BYTES_MAX {
            return Err(MetadataError::TooLarge);
        }
        Ok(Self(text))
    }

    /// The object as JSON.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The object.
    pub fn to_object(&self) -> Map<String, Value> {
        // What the constructor wrote can be read.
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
