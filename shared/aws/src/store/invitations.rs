//! Occasions, guests, templates and invitations. A guest is found by its phone number, and an invitation by its guest, through
//! small records of their own, which are written in the same transaction.

use super::DynamoStore;
use super::expression::Expression;
use super::invitation_items::{
    begin_actions, decode_page, encode, encode_carrier_lead, encode_guest, encode_invitation, encode_phone,
    find_claimant, follows,
};
use super::item::{self, Item, number_attribute};
use super::keys::{self, TableKey, invitations as invitation_keys};
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use jiff::Timestamp;
use recado_domain::ids::{GuestId, InvitationId, InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{Guest, Invitation, InvitationTemplate, LogMonth, Occasion, PhoneKey};
use recado_ports::ports::{
    GuestOutcome, InvitationClaim, InvitationOutcome, InvitationRecords, Page, PageRequest, PortError,
    PortResult, System, WriteOutcome,
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
    async fn put_occasion(&self, occasion: &Occasion) -> PortResult<()> {
        const WHAT: &str = "writing an occasion";
        let key = TableKey::for_occasion(&occasion.tenant, &occasion.id);
        let record = encode(WHAT, occasion, key, None)?;
        let _always = self.table.put_record(WHAT, record, None).await?;
        Ok(())
    }

    async fn find_occasion(&self, tenant: &TenantId, id: &OccasionId) -> PortResult<Option<Occasion>> {
        self.read_unexpired("reading an occasion", TableKey::for_occasion(tenant, id))
            .await
    }

    async fn list_occasions(&self, tenant: &TenantId, page: &PageRequest) -> PortResult<Page<Occasion>> {
        const WHAT: &str = "listing occasions";
        let found = self.read_sk_page(WHAT, keys::invitations_pk(tenant), ("O#", "O#"), page);
        Ok(decode_page(WHAT, found.await?))
    }

    async fn put_invitation_template(&self, template: &InvitationTemplate) -> PortResult<()> {
        const WHAT: &str = "writing a template";
        let record = encode(WHAT, template, TableKey::for_invitation_template(template), None)?;
        let _always = self.table.put_record(WHAT, record, None).await?;
        Ok(())
    }

    async fn list_invitation_templates(
        &self,
        tenant: &TenantId,
        name: Option<&InvitationTemplateName>,
    ) -> PortResult<Vec<InvitationTemplate>> {
        const WHAT: &str = "listing templates";
        let prefix = invitation_keys::template_prefix(name);
        let found = self
            .table
            .query_partition(WHAT, keys::invitations_pk(tenant), Some(&prefix))
            .await?;
        Ok(item::decode_readable(WHAT, &found))
    }

    async fn save_guest(&self, guest: &Guest) -> PortResult<GuestOutcome> {
        const WHAT: &str = "writing a guest";
        let now = self.table.system.now();
        let mut actions = vec![TransactionAction::Put(
            encode_guest(WHAT, guest)?,
            Some(follows(guest.rev, now)),
        )];
        if let Some(key) = invitation_keys::phone_key_of(guest) {
            actions.push(encode_phone(guest, key, now));
        }
        let Err(failed) = self.table.run_transaction(WHAT, actions).await? else {
            return Ok(GuestOutcome::Written);
        };
        let other = failed.for_action(1).and_then(|other| other.0.as_ref());
        let other = other.and_then(|other| GuestId::parse(item::get_string(other, "guest")?).ok());
        Ok(match (failed.for_action(0), other) {
            (None, Some(other)) => GuestOutcome::PhoneTaken(other),
            _ => GuestOutcome::Conflict,
        })
    }

    async fn find_guest(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        id: &GuestId,
    ) -> PortResult<Option<Guest>> {
        self.read_unexpired("reading a guest", TableKey::for_guest(tenant, occasion, id))
            .await
    }

    async fn list_guests(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        page: &PageRequest,
    ) -> PortResult<Page<Guest>> {
        const WHAT: &str = "listing guests";
        let prefix = format!("G#{occasion}#");
        let found = self.read_sk_page(WHAT, keys::invitations_pk(tenant), (&prefix, &prefix), page);
        Ok(decode_page(WHAT, found.await?))
    }

    async fn list_guests_of_phone(
        &self,
        tenant: &TenantId,
        phone: &PhoneKey,
        occasion: Option<&OccasionId>,
    ) -> PortResult<Vec<Guest>> {
        const WHAT: &str = "finding a guest by phone";
        let found = if let Some(occasion) = occasion {
            let key = TableKey::for_guest_phone(tenant, phone, occasion);
            self.table.get_record(WHAT, key).await?.into_iter().collect()
        } else {
            let prefix = invitation_keys::guest_phone_prefix(phone);
            self.table
                .query_partition(WHAT, keys::invitations_pk(tenant), Some(&prefix))
                .await?
        };
        let keys = found.iter().filter_map(invitation_keys::parse_guest_phone);
        let keys = keys.map(|(occasion, guest)| TableKey::for_guest(tenant, &occasion, &guest));
        let mut guests: Vec<Guest> = self.read_many(WHAT, keys.collect()).await?;
        guests.sort_by(|a, b| a.occasion.cmp(&b.occasion));
        Ok(guests)
    }

    async fn delete_guest(&self, guest: &Guest) -> PortResult<()> {
        const WHAT: &str = "deleting a guest";
        let prefix = invitation_keys::guest_invitation_prefix(&guest.occasion, Some(&guest.id));
        let pk = keys::invitations_pk(&guest.tenant);
        for found in self.table.query_partition(WHAT, pk, Some(&prefix)).await? {
            let invitation = invitation_keys::parse_guest_invitation(&found);
            let invitation = invitation.and_then(|(_, id)| TableKey::for_invitation(&guest.tenant, &id));
            for key in invitation.into_iter().chain(TableKey::from_item(&found)) {
                self.delete_any(WHAT, key).await?;
            }
        }
        // Last: after a crash before it, the guest still leads to the rest.
        let key = TableKey::for_guest(&guest.tenant, &guest.occasion, &guest.id);
        if let Some(phone) = invitation_keys::phone_key_of(guest) {
            // Both at once: the guest is found by its number, or by its id. Whoever is found by one of them alone would stay.
            let own = Expression::new("attribute_not_exists(#pk) OR #guest = :guest");
            let own = own.with_text(":guest", guest.id.as_str());
            let both = vec![
                TransactionAction::Delete(phone, Some(own)),
                TransactionAction::Delete(key.clone(), None),
            ];
            if self.table.run_transaction(WHAT, both).await?.is_ok() {
                return Ok(());
            }
            // Another guest has the number by now.
        }
        self.delete_any(WHAT, key).await
    }

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

    async fn mark_pages_changed(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        at: Timestamp,
        keep_until: Timestamp,
    ) -> PortResult<()> {
        let mut item = TableKey::for_page_change(tenant, occasion).into_item(Item::new());
        item.insert("at".to_owned(), number_attribute(at.as_millisecond()));
        item.insert("ttl".to_owned(), number_attribute(keep_until.as_second()));
        let newer =
            Expression::new("attribute_not_exists(#pk) OR #at < :at").with_number(":at", at.as_millisecond());
        let what = "noting that pages must be made anew";
        let _newest = self.table.put_record(what, item, Some(newer)).await?;
        Ok(())
    }

    async fn list_page_changes(
        &self,
        tenant: &TenantId,
        occasions: &[OccasionId],
    ) -> PortResult<Vec<(OccasionId, Timestamp)>> {
        const WHAT: &str = "reading when pages must be made anew";
        let keys = occasions
            .iter()
            .map(|occasion| TableKey::for_page_change(tenant, occasion));
        let (found, now) = (
            self.table.get_records(WHAT, keys.collect(), true).await?,
            self.table.system.now(),
        );
        let found = found.into_iter().filter_map(|found| item::unexpired(found, now));
        let changes = found.filter_map(|found| invitation_keys::parse_page_change(&found));
        Ok(changes.collect())
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
