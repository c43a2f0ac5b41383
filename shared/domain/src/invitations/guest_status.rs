use serde::{Deserialize, Serialize};

/// The state of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum GuestStatus {
    /// The guest has not answered.
    Pending,
    /// The guest comes.
    Confirmed,
    /// The guest does not come.
    Declined,
}

impl GuestStatus {
    /// Returns the status with this word.
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Self::Pending, Self::Confirmed, Self::Declined];
        all.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns the word for the status.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
