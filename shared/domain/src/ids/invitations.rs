use super::{IdError, checked, checked_in_path};
use serde::{Deserialize, Serialize};
use std::fmt;

id!(
    /// The id of an occasion to which guests are invited, its own within the tenant.
    OccasionId,
    "occasion id",
    checked_in_path
);
id!(
    /// The id of a guest, its own within the occasion.
    GuestId,
    "guest id",
    checked_in_path
);

impl GuestId {
    /// Returns the word that stands where the id of a guest was removed.
    pub fn removed() -> Self {
        Self("removed".to_owned())
    }
}

id!(
    /// The name of a template of invitations.
    InvitationTemplateName,
    "template name",
    checked_in_path
);
id!(
    /// The id of an invitation, see [`crate::invitations`].
    InvitationId,
    "invitation id"
);
id!(
    /// The id of a batch of invitations, see [`crate::invitations::Batch`].
    BatchId,
    "batch id"
);
