//! Conversions between a text and a type that checks it.

/// Implements the conversions of a type that has `parse`, with this error, and `Display`. With `(String)` behind the type's name, which
/// says that the type is the checked text itself, `Display` is implemented, too.
macro_rules! text_conversions {
    ($name:ident(String), $error:ty) => {
        text_conversions!(@parsed $name, $error);

        impl From<$name> for String {
            fn from(checked: $name) -> Self {
                checked.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
    ($name:ident, $error:ty) => {
        text_conversions!(@parsed $name, $error);

        impl From<$name> for String {
            fn from(checked: $name) -> Self {
                checked.to_string()
            }
        }
    };
    (@parsed $name:ident, $error:ty) => {
        $crate::text_conversions::describe_as!($name, String);
        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                Self::parse(&text)
            }
        }
    };
}

/// Describes a type of the API by the type as which it is written.
macro_rules! describe_as {
    ($name:ident, $written:ty) => {
        #[cfg(feature = "schema")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                <$written as utoipa::PartialSchema>::schema()
            }
        }
        #[cfg(feature = "schema")]
        impl utoipa::ToSchema for $name {
            fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
                <$written as utoipa::ToSchema>::schemas(schemas);
            }
        }
    };
}

pub(crate) use {describe_as, text_conversions};
