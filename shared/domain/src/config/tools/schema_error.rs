//! Errors of JSON schemas of arguments.

/// The reasons why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The schema does not describe an object.
    #[error("arguments must be a JSON schema of type `object`")]
    NoObject,
    /// The schema is longer than it may be.
    #[error("the schema of the arguments is longer than 16,000 characters")]
    TooLong,
    /// The schema breaks the rules of JSON Schema, or refers to another document.
    #[error("arguments is no JSON schema that is complete in itself: {0}")]
    Invalid(String),
    /// The schema is nested too deeply, or has too many parts with its `$ref` followed.
    #[error(
        "the schema of the arguments is too large: with each `$ref` followed it has at most 10,000 parts, at most 32 within each other"
    )]
    TooLarge,
    /// A reference leads to no place of the schema, or to another than it spells.
    #[error(
        "arguments is no JSON schema that is complete in itself: `{0}`. A `$ref` is `#` or `#/…` and leads to a place of the schema; `$id` within it, `$dynamicRef` and `$recursiveRef` are not possible"
    )]
    Reference(String),
    /// References lead back to themselves.
    #[error(
        "a `$ref` of the schema of the arguments leads back to itself, with no property or item on the way"
    )]
    EndlessReference,
    /// A pattern is too large, or all of them are.
    #[error(
        "a pattern of the schema of the arguments is too large: at most 500 characters, and at most 4,000 with repetitions written out (10,000 all together)"
    )]
    Pattern,
}
