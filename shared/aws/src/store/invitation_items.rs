//! The items of invitations and their claims, and the conditions under which they are written.

use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use super::transaction::{FailedConditions, TransactionAction};
use jiff::Timestamp;
use recado_domain::ids::{InvitationId, TenantId};
use recado_domain::invitations::Invitation;
use recado_domain::revision::is_first_write;
use recado_ports::ports::{InvitationClaim, InvitationOutcome, Page, PortError, PortResult};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns the condition that a record is absent, or expired at `now`.
pub(super) fn is_absent(now: Timestamp) -> Expression {
    Expression::new("attribute_not_exists(#pk) OR #ttl < :now").with_number(":now", now.as_second())
}

/// Returns the condition that the stored record has the revision before `rev`; for the first, that there is none.
pub(super) fn follows(rev: u64, now: Timestamp) -> Expression {
    if is_first_write(rev) {
        is_absent(now)
    } else {
        Expression::follows_revision("rev", rev)
    }
}

/// Encodes a record under its key; it expires at `until`.
pub(super) fn encode<T: Serialize>(
    what: &'static str,
    record: &T,
    key: TableKey,
    until: Option<Timestamp>,
) -> PortResult<Item> {
    let size = serde_json::to_vec(record).map_err(|error| PortError::invalid(what, error))?;
    PortError::check_record_size(what, size.len())?;
    let mut item = key.into_item(item::encode_record(what, record)?);
    if let Some(until) = until {
        item.insert("ttl".to_owned(), number_attribute(until.as_second()));
    }
    Ok(item)
}

pub(super) fn encode_invitation(what: &'static str, invitation: &Invitation) -> PortResult<Item> {
    let key = TableKey::for_invitation(&invitation.tenant, &invitation.id)
        .ok_or_else(|| PortError::invalid(what, "the id of an invitation is malformed"))?;
    let mut item = encode(what, invitation, key, Some(invitation.keep_until))?;
    if let Some(key) = TableKey::for_invitation(&invitation.tenant, &invitation.id) {
        keys::index_open(&mut item, &key, invitation.overdue_at());
    }
    Ok(item)
}

/// Makes the record that leads from the carrier's id of an e-mail to its invitation.
pub(super) fn encode_carrier_lead(invitation: &Invitation, carrier_id: &str) -> TransactionAction {
    let mut item = TableKey::for_emailed_invitation(&invitation.tenant, carrier_id).into_item(Item::new());
    item.insert("invitation".to_owned(), text_attribute(invitation.id.as_str()));
    let until = number_attribute(invitation.keep_until.as_second());
    item.insert("ttl".to_owned(), until);
    TransactionAction::Put(item, None)
}

/// Makes the claim of a key by an invitation or a batch.
pub(super) fn encode_claim(
    (tenant, claimant): (&TenantId, &str),
    claim: &InvitationClaim,
    now: Timestamp,
) -> TransactionAction {
    let key = TableKey::for_invitation_claim(tenant, &claim.key);
    let mut item = key.into_item(Item::new());
    item.insert("invitation".to_owned(), text_attribute(claimant));
    item.insert("until".to_owned(), number_attribute(claim.until.as_millisecond()));
    // A second more, since the claim ends within its last one.
    item.insert("ttl".to_owned(), number_attribute(claim.until.as_second() + 1));
    let mut free = Expression::new("attribute_not_exists(#pk) OR #until <= :now")
        .with_number(":now", now.as_millisecond());
    if let Some(replaced) = &claim.replaces {
        free.text.push_str(" OR #invitation = :replaced");
        free = free.with_text(":replaced", replaced.as_str());
    }
    TransactionAction::Put(item, Some(free))
}

/// Returns the actions that store a new invitation and its claims. The claims are the first of them.
pub(super) fn begin_actions(
    what: &'static str,
    invitation: &Invitation,
    claims: &[InvitationClaim],
    now: Timestamp,
) -> PortResult<Vec<TransactionAction>> {
    let claimant = (&invitation.tenant, invitation.id.as_str());
    let claim = |claim| encode_claim(claimant, claim, now);
    let mut actions: Vec<TransactionAction> = claims.iter().map(claim).collect();
    actions.push(TransactionAction::Put(
        encode_invitation(what, invitation)?,
        Some(Expression::record_absent()),
    ));
    let mut lead = TableKey::for_guest_invitation(invitation).into_item(Item::new());
    let until = number_attribute(invitation.keep_until.as_second());
    lead.insert("ttl".to_owned(), until);
    actions.push(TransactionAction::Put(lead, None));
    Ok(actions)
}

/// Returns which claim of a refused transaction is another invitation's. The claims are its first actions.
pub(super) fn find_claimant(failed: &FailedConditions, claims: usize) -> Option<InvitationOutcome> {
    (0..claims).find_map(|claim| {
        let found = failed.for_action(claim)?.0.as_ref()?;
        let by = InvitationId::parse(item::get_string(found, "invitation")?).ok()?;
        Some(InvitationOutcome::Claimed { claim, by })
    })
}

pub(super) fn decode_page<T: DeserializeOwned>(what: &'static str, page: Page<Item>) -> Page<T> {
    Page {
        items: item::decode_readable(what, &page.items),
        next_cursor: page.next_cursor,
    }
}
