use super::{Page, PageRequest, PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::ids::{GuestId, InvitationId, InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{Guest, Invitation, InvitationTemplate, LogMonth, Occasion, PhoneKey};
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

/// The result of writing a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a write that lost must not be taken for one that won"]
pub enum GuestOutcome {
    /// The guest was written.
    Written,
    /// Another writer changed the guest since it was read: nothing was written.
    Conflict,
    /// Another guest of the occasion has the phone number: nothing was written.
    PhoneTaken(GuestId),
}

/// A store of occasions, their guests and templates, and of invitations. Guests and invitations that expired count as absent.
pub trait InvitationRecords: Send + Sync {
    /// Writes an occasion, in place of one with its id.
    fn put_occasion(&self, occasion: &Occasion) -> impl Future<Output = PortResult<()>> + Send;

    /// Returns an occasion by a strong read.
    fn find_occasion(
        &self,
        tenant: &TenantId,
        id: &OccasionId,
    ) -> impl Future<Output = PortResult<Option<Occasion>>> + Send;

    /// Lists the occasions of a tenant by their ids.
    fn list_occasions(
        &self,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Occasion>>> + Send;

    /// Writes a template, in place of one with its name, channel and language.
    fn put_invitation_template(
        &self,
        template: &InvitationTemplate,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists the templates of a tenant, all or those with a name, by name, channel and language.
    fn list_invitation_templates(
        &self,
        tenant: &TenantId,
        name: Option<&InvitationTemplateName>,
    ) -> impl Future<Output = PortResult<Vec<InvitationTemplate>>> + Send;

    /// Writes a guest if its `rev` is the stored one plus one (1 for the first). No other guest of the occasion may have its
    /// phone number. The phone number of a stored guest never changes.
    fn save_guest(&self, guest: &Guest) -> impl Future<Output = PortResult<GuestOutcome>> + Send;

    /// Returns a guest by a strong read.
    fn find_guest(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        id: &GuestId,
    ) -> impl Future<Output = PortResult<Option<Guest>>> + Send;

    /// Lists the guests of an occasion by their ids.
    fn list_guests(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Guest>>> + Send;

    /// Lists the guests of a tenant with a phone number: of one occasion, or of all.
    fn list_guests_of_phone(
        &self,
        tenant: &TenantId,
        phone: &PhoneKey,
        occasion: Option<&OccasionId>,
    ) -> impl Future<Output = PortResult<Vec<Guest>>> + Send;

    /// Deletes a guest with its invitations. A guest that does not exist counts as deleted.
    fn delete_guest(&self, guest: &Guest) -> impl Future<Output = PortResult<()>> + Send;

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

    /// Notes that pages about an occasion must be made anew. The newest time counts; it is kept until `keep_until`.
    fn mark_pages_changed(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        at: Timestamp,
        keep_until: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Returns those of the occasions whose pages must have been made since a time, with the time.
    fn list_page_changes(
        &self,
        tenant: &TenantId,
        occasions: &[OccasionId],
    ) -> impl Future<Output = PortResult<Vec<(OccasionId, Timestamp)>>> + Send;

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
