//! The option of a question that a message names.

use recado_domain::choice::ChosenOption;
use serde::Serialize;

/// An option of a question.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(in crate::api) struct ChosenView {
    /// The id that the sender of the question gave to the option; absent for an option of a poll.
    id: Option<String>,
    title: String,
}

impl From<&ChosenOption> for ChosenView {
    fn from(option: &ChosenOption) -> Self {
        Self {
            id: option.id.clone(),
            title: option.title.clone(),
        }
    }
}
