//! The changes of a message after it was written.

use recado_domain::Timestamp;
use recado_domain::ids::TokenName;
use recado_domain::message::{Message, Role};
use serde::Serialize;

/// A reaction to a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct ReactionView {
    emoji: String,
    /// The side that reacted.
    role: Role,
    /// Name of the token with which the reaction was ordered; `phone` if somebody reacted on the phone. Absent for a
    /// reaction of the contact.
    by: Option<TokenName>,
    at: Timestamp,
}

/// An earlier version of a message.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct VersionView {
    r#type: String,
    content: String,
    /// Time at which this version was written.
    at: Timestamp,
}

pub(super) fn list_reactions(message: &Message) -> Vec<ReactionView> {
    let reactions = message.changes.present_reactions();
    reactions
        .map(|(reaction, emoji)| ReactionView {
            emoji: emoji.to_owned(),
            role: reaction.role,
            by: reaction.by.clone(),
            at: reaction.at(),
        })
        .collect()
}

pub(super) fn list_versions(message: &Message) -> Vec<VersionView> {
    let versions = message.earlier_versions();
    versions
        .iter()
        .map(|version| VersionView {
            r#type: version.content.kind_name().to_owned(),
            content: version.content.render_text(),
            at: version.at,
        })
        .collect()
}
