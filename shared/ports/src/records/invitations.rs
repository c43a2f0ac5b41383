//! Invitations. One becomes a message of a conversation in the transaction that stores it, or holds its e-mail itself.

use super::claims::{
    HeldClaim, InvitationClaim, expect_free_claims, read_free_claims, save_with_claims, write_claims,
};
use super::{list_due_ids, prefix_of_occasion};
use crate::ports::{CommitOutcome, Page, PageRequest, PortError, PortResult, Store};
use crate::retry_write::{WriteAttempt, retry_lost_write};
use crate::table::{
    Change, IndexEntry, Key, Kind, Partition, Query, Record, Table, Versioned, Write, find_by_index,
    find_versions, find_with_version, list_records, write_always,
};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{GuestId, InvitationId, OccasionId, TenantId, hash_parts};
use recado_domain::invitations::{Guest, Invitation, InvitationState, LogMonth};
use recado_domain::message::Message;
use recado_domain::moving::MovedClaim;
use recado_domain::published_event::{InvitationFacts, PublishedEvent, derive_invitation_events};

/// The partition in which the invitations of an occasion are listed, sorted by guest and then by time.
const BY_GUEST: &str = "invitations.by-guest";
/// The partition in which an invitation is found by the id that the carrier of its e-mail gave.
const BY_CARRIER: &str = "invitations.by-carrier";

/// The number of a guest's invitations that are deleted with one read of what leads to them.
const DELETED_AT_ONCE: usize = 99;

/// An id tells when the invitation was made: the records of a tenant are sorted by time.
impl Record for Invitation {
    const KIND: &'static str = "invitations";
    const INDEXES: &'static [&'static str] = &[BY_GUEST, BY_CARRIER];
    const IS_PUBLISHED: bool = true;
    const HAS_TIMES: bool = true;
    const HAS_TIMES_WHILE_DUE: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        self.id.to_string()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.keep_until)
    }

    fn compute_due_time(&self) -> Option<Timestamp> {
        self.overdue_at()
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let place = format!("{}{}", prefix_of_guest(&self.occasion, &self.guest), self.id);
        let by_guest = Key::new(BY_GUEST, self.owner(), place);
        let by_carrier = self.carrier_id().map(|id| build_carrier_key(&self.tenant, id));
        let keys = std::iter::once(by_guest).chain(by_carrier);
        keys.map(|key| IndexEntry::new(key).shared()).collect()
    }

    fn derive_published_events(old: Option<&Self>, new: &Self, at: Timestamp) -> Vec<PublishedEvent> {
        let old = old.map(InvitationFacts::from);
        derive_invitation_events(old.as_ref(), &InvitationFacts::from(new), at)
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_invitation(self)
    }

    fn free_held(&mut self, now: Timestamp) -> bool {
        let InvitationState::Email { outbox } = &mut self.state else {
            return false;
        };
        let was_held = outbox.free_attempt(now);
        if was_held {
            self.raise_revision();
        }
        was_held
    }
}

/// Returns the beginning of the places of a guest's invitations.
fn prefix_of_guest(occasion: &OccasionId, guest: &GuestId) -> String {
    format!("{}{guest}#", prefix_of_occasion(occasion))
}

/// Returns the key by which the carrier's id of an e-mail leads to its invitation. It has a hash: such an id is a text of any length.
fn build_carrier_key(tenant: &TenantId, carrier_id: &str) -> Key {
    Key::new(BY_CARRIER, Some(tenant), hash_parts(&["carrier", carrier_id], 16))
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

/// An invitation with the message that it becomes.
#[derive(Debug)]
pub struct CommittedInvitation<'a> {
    /// The invitation, which names its message.
    pub invitation: &'a Invitation,
    /// Its claims.
    pub claims: &'a [InvitationClaim],
    /// The conversation of the message.
    pub conversation: &'a Conversation,
    /// The message.
    pub message: &'a Message,
}

/// The result of committing an invitation with its message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an invitation that was not committed must not be sent"]
pub enum InvitationCommit {
    /// Invitation, claims, conversation and message are stored.
    Committed,
    /// Nothing was stored: another invitation has claimed the key.
    Claimed(InvitationId),
    /// Nothing was stored: another writer changed the conversation, or stored an invitation with this id.
    Conflict,
}

fn parse_claimant(held: &HeldClaim) -> PortResult<InvitationId> {
    InvitationId::parse(&held.by).map_err(|error| PortError::invalid(MovedClaim::KIND, error))
}

/// Stores a new invitation and its claims in one transaction. A key can be claimed that nobody claims at `now`, or whose claim is of the
/// invitation that [`InvitationClaim::replaces`] names. An invitation of the same id is an error. Afterwards `invitation` may be changed
/// and saved again.
pub async fn begin_invitation(
    table: &dyn Table,
    invitation: &mut Versioned<Invitation>,
    claims: &[InvitationClaim],
    now: Timestamp,
) -> PortResult<InvitationOutcome> {
    let (tenant, id) = (invitation.record.tenant.clone(), invitation.record.id.clone());
    let held = save_with_claims(table, invitation, (&tenant, id.as_str()), claims, now).await?;
    let Some(held) = held else {
        return Ok(InvitationOutcome::Begun);
    };
    Ok(InvitationOutcome::Claimed {
        claim: held.claim,
        by: parse_claimant(&held)?,
    })
}

/// Stores a new invitation with its message in one transaction: the invitation and its claims as [`begin_invitation`] does, and
/// conversation and message as [`Conversations::commit_messages`] does.
pub async fn commit_invitation(
    store: &dyn Store,
    committed: &CommittedInvitation<'_>,
    now: Timestamp,
) -> PortResult<InvitationCommit> {
    let CommittedInvitation {
        invitation, claims, ..
    } = committed;
    let claimant = (&invitation.tenant, invitation.id.as_str());
    let new = Change::save(&Versioned::new((*invitation).clone()))?;
    let new = &new;
    let wanted = expect_free_claims(claimant, claims);
    retry_lost_write(
        PortError::contended(MovedClaim::KIND),
        wanted,
        |wanted| async move {
            let beside = [write_claims(&wanted)?, new.writes.clone()].concat();
            let messages = std::slice::from_ref(committed.message);
            let made = store.commit_messages(committed.conversation, messages, &beside);
            let refused = match made.await? {
                CommitOutcome::Committed => return Ok(WriteAttempt::Done(InvitationCommit::Committed)),
                CommitOutcome::Conflict => return Ok(WriteAttempt::Done(InvitationCommit::Conflict)),
                CommitOutcome::Refused(refused) => refused,
            };
            if refused.iter().all(|place| *place >= claims.len()) {
                return Ok(WriteAttempt::Done(InvitationCommit::Conflict));
            }
            Ok(match read_free_claims(store, claimant, claims, now).await? {
                Ok(free) => WriteAttempt::Lost(free),
                Err(held) => WriteAttempt::Done(InvitationCommit::Claimed(parse_claimant(&held)?)),
            })
        },
    )
    .await
}

/// Returns an invitation; `None` if it does not exist.
pub async fn find_invitation(
    table: &dyn Table,
    tenant: &TenantId,
    id: &InvitationId,
) -> PortResult<Option<Versioned<Invitation>>> {
    find_with_version(table, Some(tenant), id.as_str()).await
}

/// Returns those of these invitations that exist and can be read, in few requests. One that cannot be read still keeps another one of its
/// id from being stored.
pub async fn read_invitations(
    table: &dyn Table,
    tenant: &TenantId,
    ids: &[InvitationId],
) -> PortResult<Vec<Versioned<Invitation>>> {
    let keys = ids
        .iter()
        .map(|id| Key::new(Invitation::KIND, Some(tenant), id.as_str()));
    find_versions(table, &keys.collect::<Vec<Key>>()).await
}

/// Returns the invitation whose e-mail the carrier knows by this id.
pub async fn find_emailed_invitation(
    table: &dyn Table,
    tenant: &TenantId,
    carrier_id: &str,
) -> PortResult<Option<Invitation>> {
    let found = find_by_index::<Invitation>(table, &build_carrier_key(tenant, carrier_id)).await?;
    Ok(found.map(|found| found.record))
}

/// Lists the invitations of a tenant that were made in a month, by time.
pub async fn list_invitations_of_month(
    table: &dyn Table,
    tenant: &TenantId,
    month: LogMonth,
    page: &PageRequest,
) -> PortResult<Page<Invitation>> {
    let (first, behind) = month.id_range();
    let query = Query {
        from: Some(first.to_string()),
        to: Some(behind.to_string()),
        ..Query::new(Partition::new(Invitation::KIND, Some(tenant)), page.limit)
    };
    list_records(table, query, page, |one: &Invitation| one.id < behind).await
}

/// Lists the invitations of an occasion, of all guests or of one, by guest and then by time.
pub async fn list_invitations(
    table: &dyn Table,
    tenant: &TenantId,
    occasion: &OccasionId,
    guest: Option<&GuestId>,
    page: &PageRequest,
) -> PortResult<Page<Invitation>> {
    let prefix = guest.map_or_else(
        || prefix_of_occasion(occasion),
        |guest| prefix_of_guest(occasion, guest),
    );
    let query = Query::new(Partition::new(BY_GUEST, Some(tenant)), page.limit).with_prefix(&prefix);
    list_records(table, query, page, |_| true).await
}

/// Lists the invitations whose e-mails are due at `now`, at most `limit`, the longest due first. The list may be some seconds old.
pub async fn list_due_emails(
    table: &dyn Table,
    now: Timestamp,
    limit: usize,
) -> PortResult<Vec<(TenantId, InvitationId)>> {
    list_due_ids::<Invitation, _, _>(table, now, limit, InvitationId::parse).await
}

/// Deletes all invitations of a guest, with what leads to them.
pub async fn delete_invitations_of_guest(table: &dyn Table, guest: &Guest) -> PortResult<()> {
    let (kind, tenant) = (Kind::of::<Invitation>(), Some(&guest.tenant));
    let prefix = prefix_of_guest(&guest.occasion, &guest.id);
    let mut query = Query::new(Partition::new(BY_GUEST, tenant), DELETED_AT_ONCE).with_prefix(&prefix);
    loop {
        let entries = table.page(&query).await?;
        let key_of = |entry: &Key| {
            let id = entry.sort.strip_prefix(prefix.as_str()).unwrap_or_default();
            Key::new(Invitation::KIND, tenant, id)
        };
        let keys: Vec<Key> = entries.items.iter().map(|entry| key_of(&entry.key)).collect();
        let found = if keys.is_empty() {
            Vec::new()
        } else {
            table.get_many(&keys).await?
        };
        for (entry, own) in entries.items.into_iter().zip(keys) {
            let stored = found.iter().find(|item| item.key == own);
            let mut writes = kind.delete_writes(own, stored.map_or("", |item| item.body.as_str()));
            // What leads to a record that cannot be read is not known from the record.
            if writes.iter().all(|write| *write.key() != entry.key) {
                writes.push(Write::delete_any(entry.key));
            }
            write_always(table, Invitation::KIND, &writes).await?;
        }
        match entries.next {
            Some(next) => query.after = Some(next),
            None => return Ok(()),
        }
    }
}
