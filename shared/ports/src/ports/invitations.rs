use super::{Page, PageRequest, PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::ids::{GuestId, InvitationId, OccasionId, TenantId};
use recado_domain::invitations::{Invitation, LogMonth};
use std::future::Future;

/// A key that an invitation claims for a time, so that no other invitation goes out under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationClaim {
    /// The key, which holds nothing of a person.
    pub key: String,
    /// Time until which the key is claimed.
    pub until: Timestamp,
    /// The invitation whose claim may be replaced, since it was never sent.
    pub replaces: Option<InvitationId>,
}

/// The result of beginning an invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an invitation that was not begun must not be sent"]
pub enum InvitationOutcome {
    /// The invitation and its claims are stored.
    Begun,
    /// Nothing was stored: another invitation has claimed a key.
    Claimed {
        /// Place of the claim in the list.
        claim: usize,
        /// The other invitation.
        by: InvitationId,
    },
}

/// A store of invitations. Those that expired count as absent.
pub trait InvitationRecords: Send + Sync {
    /// Stores a new invitation and its claims in one transaction. A key can be claimed that nobody claims at `now`, or whose
    /// claim is of the invitation that [`InvitationClaim::replaces`] names.
    fn begin_invitation(
        &self,
        invitation: &Invitation,
        claims: &[InvitationClaim],
        now: Timestamp,
    ) -> impl Future<Output = PortResult<InvitationOutcome>> + Send;

    /// Writes an invitation if its `rev` is the stored one plus one.
    fn save_invitation(
        &self,
        invitation: &Invitation,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Returns an invitation by a strong read.
    fn find_invitation(
        &self,
        tenant: &TenantId,
        id: &InvitationId,
    ) -> impl Future<Output = PortResult<Option<Invitation>>> + Send;

    /// Lists the invitations of a tenant that were made in a month, by time. They are read by tenant and month.
    fn list_invitations_of_month(
        &self,
        tenant: &TenantId,
        month: LogMonth,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Invitation>>> + Send;

    /// Returns the invitation whose e-mail the carrier knows by this id.
    fn find_emailed_invitation(
        &self,
        tenant: &TenantId,
        carrier_id: &str,
    ) -> impl Future<Output = PortResult<Option<Invitation>>> + Send;

    /// Lists the invitations of an occasion, of all guests or of one, by guest and then by time.
    fn list_invitations(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        guest: Option<&GuestId>,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Invitation>>> + Send;
}
