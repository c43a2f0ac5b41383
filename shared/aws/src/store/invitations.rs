//! Invitations. One is found by its guest through a small record of its own, which is written in the same transaction.

use super::DynamoStore;
use super::expression::Expression;
use super::invitation_items::{
    begin_actions, decode_page, encode_carrier_lead, encode_invitation, find_claimant,
};
use super::item::{self, Item};
use super::keys::{self, TableKey, invitations as invitation_keys};
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use jiff::Timestamp;
use recado_domain::ids::{GuestId, InvitationId, OccasionId, TenantId};
use recado_domain::invitations::{Invitation, LogMonth};
use recado_ports::ports::{
    InvitationClaim, InvitationOutcome, InvitationRecords, Page, PageRequest, PortError, PortResult, System,
    WriteOutcome,
};
use serde::de::DeserializeOwned;

impl<A: System> DynamoStore<A> {
    /// Reads the page of records whose `sk` begin with `prefix`. `list` is the part of it that cursors leave out.
    async fn read_sk_page(
        &self,
        what: &'static str,
        pk: String,
        (prefix, list): (&str, &str),
        page: &PageRequest,
    ) -> PortResult<Page<Item>> {
        let (from, to) = invitation_keys::sk_range(prefix, list, page.cursor.as_deref());
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk AND #sk BETWEEN :from AND :to")
                .with_text(":pk", pk)
                .with_text(":from", from)
                .with_text(":to", to),
            filter: None,
            reverse: false,
            limit: Some(page.limit + 1),
        };
        let mut items = self.table.query_records(what, &query).await?;
        let has_more = items.len() > page.limit;
        items.truncate(page.limit);
        let cursor_of = |item: &Item| Some(item::get_string(item, "sk")?.strip_prefix(list)?.to_owned());
        let next_cursor = items.last().filter(|_| has_more).and_then(cursor_of);
        let now = self.table.system.now();
        items.retain(|found| item::unexpired(found.clone(), now).is_some());
        Ok(Page { items, next_cursor })
    }

    pub(super) async fn read_unexpired<T: DeserializeOwned>(
        &self,
        what: &'static str,
        key: TableKey,
    ) -> PortResult<Option<T>> {
        let found = self.table.get_record(what, key).await?;
        let found = found.and_then(|found| item::unexpired(found, self.table.system.now()));
        found.map(|found| item::decode_record(what, &found)).transpose()
    }

    pub(super) async fn read_many<T: DeserializeOwned>(
        &self,
        what: &'static str,
        keys: Vec<TableKey>,
    ) -> PortResult<Vec<T>> {
        let now = self.table.system.now();
        let found = self.table.get_records(what, keys, true).await?;
        let found = found.into_iter().filter_map(|found| item::unexpired(found, now));
        Ok(item::decode_readable(what, found))
    }
}

impl<A: System> InvitationRecords for DynamoStore<A> {
    async fn begin_invitation(
        &self,
        invitation: &Invitation,
        claims: &[InvitationClaim],
        now: Timestamp,
    ) -> PortResult<InvitationOutcome> {
        const WHAT: &str = "beginning an invitation";
        let actions = begin_actions(WHAT, invitation, claims, now)?;
        match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => Ok(InvitationOutcome::Begun),
            Err(failed) => find_claimant(&failed, claims.len())
                .ok_or_else(|| PortError::contended("an invitation of the same id")),
        }
    }

    async fn save_invitation(&self, invitation: &Invitation) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing an invitation";
        let record = encode_invitation(WHAT, invitation)?;
        let before = invitation.rev.saturating_sub(1);
        let as_read = Expression::new("#rev = :before").with_number(":before", before);
        let is_written = if let Some(carrier_id) = invitation.carrier_id() {
            let actions = vec![
                TransactionAction::Put(record, Some(as_read)),
                encode_carrier_lead(invitation, carrier_id),
            ];
            self.table.run_transaction(WHAT, actions).await?.is_ok()
        } else {
            self.table.put_record(WHAT, record, Some(as_read)).await?.is_ok()
        };
        Ok(if is_written {
            WriteOutcome::Written
        } else {
            WriteOutcome::Conflict
        })
    }

    async fn find_emailed_invitation(
        &self,
        tenant: &TenantId,
        carrier_id: &str,
    ) -> PortResult<Option<Invitation>> {
        const WHAT: &str = "reading what a carrier's id leads to";
        let key = TableKey::for_emailed_invitation(tenant, carrier_id);
        let lead = self.table.get_record(WHAT, key).await?;
        let id = lead
            .as_ref()
            .and_then(|lead| item::get_string(lead, "invitation"))
            .and_then(|id| InvitationId::parse(id).ok());
        match id {
            Some(id) => self.find_invitation(tenant, &id).await,
            None => Ok(None),
        }
    }

    async fn find_invitation(&self, tenant: &TenantId, id: &InvitationId) -> PortResult<Option<Invitation>> {
        match TableKey::for_invitation(tenant, id) {
            Some(key) => self.read_unexpired("reading an invitation", key).await,
            None => Ok(None),
        }
    }

    async fn list_invitations_of_month(
        &self,
        tenant: &TenantId,
        month: LogMonth,
        page: &PageRequest,
    ) -> PortResult<Page<Invitation>> {
        const WHAT: &str = "listing the invitations of a month";
        let month = invitation_keys::month_pk(tenant, month.as_pair());
        let found = self.read_sk_page(WHAT, month, (invitation_keys::INVITATION_PREFIX, ""), page);
        Ok(decode_page(WHAT, found.await?))
    }

    async fn list_invitations(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        guest: Option<&GuestId>,
        page: &PageRequest,
    ) -> PortResult<Page<Invitation>> {
        const WHAT: &str = "listing invitations";
        let list = invitation_keys::guest_invitation_prefix(occasion, None);
        let prefix = invitation_keys::guest_invitation_prefix(occasion, guest);
        let found = self
            .read_sk_page(WHAT, keys::invitations_pk(tenant), (&prefix, &list), page)
            .await?;
        let leads = found
            .items
            .iter()
            .filter_map(invitation_keys::parse_guest_invitation);
        let keys = leads.filter_map(|(_, id)| TableKey::for_invitation(tenant, &id));
        let mut items: Vec<Invitation> = self.read_many(WHAT, keys.collect()).await?;
        items.sort_by(|a, b| (&a.guest, &a.id).cmp(&(&b.guest, &b.id)));
        Ok(Page {
            items,
            next_cursor: found.next_cursor,
        })
    }
}
