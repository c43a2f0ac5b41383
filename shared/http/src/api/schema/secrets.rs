//! The schema of what makes webhook secrets.

use serde::Serialize;
use utoipa::ToSchema;

/// What makes an instance's webhook secrets others than those of everyone who had its name before.
#[derive(Serialize, ToSchema)]
#[schema(as = SecretSalt)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretSaltSchema {
    /// 32 random hexadecimal digits.
    value: String,
    /// The first version that is made with the salt.
    #[schema(required = false, minimum = 1, maximum = 9, default = 1)]
    since: u8,
}
