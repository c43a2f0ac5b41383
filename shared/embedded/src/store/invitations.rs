use super::invitation_rows::{insert_claim, upsert_guest, upsert_occasion, upsert_template};
use super::published_events::insert_published_events;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    encode_json, execute_sql, follows_stored, make_page, query_all, query_found, query_one, to_sql_integer,
    to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::ids::{GuestId, InvitationId, InvitationTemplateName, OccasionId, TenantId};
use recado_domain::invitations::{Guest, Invitation, InvitationTemplate, LogMonth, Occasion, PhoneKey};
use recado_domain::published_event::{InvitationFacts, derive_invitation_events};
use recado_ports::ports::{
    GuestOutcome, InvitationClaim, InvitationOutcome, InvitationRecords, Page, PageRequest, PortError,
    PortResult, WriteOutcome,
};
use rusqlite::{Connection, OptionalExtension, params};

/// Encodes a record, unless it is larger than a record may be.
pub(super) fn encode_record<T: serde::Serialize>(what: &'static str, record: &T) -> PortResult<String> {
    let body = encode_json(record).map_err(|fault| fault.into_port_error(what))?;
    PortError::check_record_size(what, body.len())?;
    Ok(body)
}

/// Writes a guest, if it follows the stored one and nobody else has its phone number.
fn write_guest(
    connection: &Connection,
    guest: &Guest,
    body: &str,
    now: i64,
) -> Result<GuestOutcome, DbError> {
    let (tenant, occasion, id) = (guest.tenant.as_str(), guest.occasion.as_str(), guest.id.as_str());
    let phone = guest.phone_key.as_ref().map(PhoneKey::as_str);
    let sweep = "DELETE FROM guests WHERE tenant = ?1 AND occasion = ?2 AND (id = ?3 OR phone_key = ?4) AND expires <= ?5";
    execute_sql(connection, sweep, params![tenant, occasion, id, phone, now])?;
    let rev: Option<i64> = connection
        .prepare_cached("SELECT rev FROM guests WHERE tenant = ?1 AND occasion = ?2 AND id = ?3")?
        .query_row(params![tenant, occasion, id], |row| row.get(0))
        .optional()?;
    if !follows_stored(rev, guest.rev) {
        return Ok(GuestOutcome::Conflict);
    }
    let same_phone =
        "SELECT id FROM guests WHERE tenant = ?1 AND occasion = ?2 AND phone_key = ?3 AND id <> ?4";
    let other: Option<String> = connection
        .prepare_cached(same_phone)?
        .query_row(params![tenant, occasion, phone, id], |row| row.get(0))
        .optional()?;
    if let Some(other) = other {
        let other = GuestId::parse(&other).map_err(|_| DbError::Argument("a guest's id is unreadable"))?;
        return Ok(GuestOutcome::PhoneTaken(other));
    }
    upsert_guest(connection, guest, body)?;
    Ok(GuestOutcome::Written)
}

/// Inserts or replaces an invitation, and publishes what that tells.
pub(crate) fn write_invitation(
    connection: &Connection,
    invitation: &Invitation,
    body: &str,
    now: Timestamp,
) -> Result<(), DbError> {
    let stored = "SELECT body FROM invitations WHERE tenant = ?1 AND id = ?2";
    let key = params![invitation.tenant.as_str(), invitation.id.as_str()];
    let stored: Option<Invitation> = query_one(connection, stored, key)?;
    let stored = stored.as_ref().map(InvitationFacts::from);
    let events = derive_invitation_events(stored.as_ref(), &InvitationFacts::from(invitation), now);
    insert_published_events(connection, &events)?;
    let sql = "INSERT OR REPLACE INTO invitations (tenant, id, occasion, guest, expires, due, carrier_id, rev, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let values = params![
        invitation.tenant.as_str(),
        invitation.id.as_str(),
        invitation.occasion.as_str(),
        invitation.guest.as_str(),
        invitation.keep_until.as_millisecond(),
        invitation.overdue_at().map(Timestamp::as_millisecond),
        invitation.carrier_id(),
        to_sql_integer(invitation.rev),
        body
    ];
    execute_sql(connection, sql, values)?;
    Ok(())
}

/// Returns the invitation that claims a key at `now`, unless the claim may be replaced.
pub(super) fn find_claimant(
    connection: &Connection,
    tenant: &TenantId,
    claim: &InvitationClaim,
    now: i64,
) -> Result<Option<InvitationId>, DbError> {
    let sql = "SELECT invitation FROM invitation_claims WHERE tenant = ?1 AND key = ?2 AND until > ?3";
    let found: Option<String> = connection
        .prepare_cached(sql)?
        .query_row(params![tenant.as_str(), claim.key, now], |row| row.get(0))
        .optional()?;
    let parse = |id: String| {
        InvitationId::parse(&id).map_err(|_| DbError::Argument("an invitation's id is unreadable"))
    };
    let found = found.map(parse).transpose()?;
    Ok(found.filter(|by| claim.replaces.as_ref() != Some(by)))
}

/// Stores a new invitation with its claims, unless another invitation has one of them.
pub(super) fn write_claimed_invitation(
    connection: &Connection,
    (invitation, body): (&Invitation, &str),
    claims: &[InvitationClaim],
    now: Timestamp,
) -> Result<InvitationOutcome, DbError> {
    for (claim, wanted) in claims.iter().enumerate() {
        if let Some(by) = find_claimant(connection, &invitation.tenant, wanted, now.as_millisecond())? {
            return Ok(InvitationOutcome::Claimed { claim, by });
        }
    }
    for claim in claims {
        insert_claim(connection, (&invitation.tenant, invitation.id.as_str()), claim)?;
    }
    write_invitation(connection, invitation, body, now)?;
    Ok(InvitationOutcome::Begun)
}

impl InvitationRecords for Embedded {
    async fn put_occasion(&self, occasion: &Occasion) -> PortResult<()> {
        const WHAT: &str = "put_occasion";
        let (occasion, body) = (occasion.clone(), encode_record(WHAT, occasion)?);
        let work = move |c: &Connection| upsert_occasion(c, &occasion, &body);
        self.run_write(WHAT, work).await
    }

    async fn find_occasion(&self, tenant: &TenantId, id: &OccasionId) -> PortResult<Option<Occasion>> {
        let (tenant, id) = (tenant.clone(), id.clone());
        let sql = "SELECT body FROM occasions WHERE tenant = ?1 AND id = ?2";
        self.run_read("find_occasion", move |c| {
            query_one(c, sql, params![tenant.as_str(), id.as_str()])
        })
        .await
    }

    async fn list_occasions(&self, tenant: &TenantId, page: &PageRequest) -> PortResult<Page<Occasion>> {
        let (tenant, after, limit) = (
            tenant.clone(),
            page.cursor.clone().unwrap_or_default(),
            page.limit,
        );
        let sql = "SELECT body FROM occasions WHERE tenant = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        let work = move |c: &Connection| {
            let found = query_found(c, sql, params![tenant.as_str(), after, to_sql_limit(limit + 1)])?;
            Ok(make_page(found, limit, |one: &Occasion| one.id.to_string()))
        };
        self.run_read("list_occasions", work).await
    }

    async fn put_invitation_template(&self, template: &InvitationTemplate) -> PortResult<()> {
        const WHAT: &str = "put_invitation_template";
        let (template, body) = (template.clone(), encode_record(WHAT, template)?);
        let work = move |c: &Connection| upsert_template(c, &template, &body);
        self.run_write(WHAT, work).await
    }

    async fn list_invitation_templates(
        &self,
        tenant: &TenantId,
        name: Option<&InvitationTemplateName>,
    ) -> PortResult<Vec<InvitationTemplate>> {
        let (tenant, name) = (tenant.clone(), name.cloned());
        let sql = "SELECT body FROM invitation_templates WHERE tenant = ?1 AND (?2 IS NULL OR name = ?2)
            ORDER BY name, channel, language";
        let work = move |c: &Connection| {
            let name = name.as_ref().map(InvitationTemplateName::as_str);
            query_all(c, sql, params![tenant.as_str(), name])
        };
        self.run_read("list_invitation_templates", work).await
    }

    async fn save_guest(&self, guest: &Guest) -> PortResult<GuestOutcome> {
        const WHAT: &str = "save_guest";
        let (guest, body) = (guest.clone(), encode_record(WHAT, guest)?);
        let now = self.current_time().as_millisecond();
        self.run_write(WHAT, move |c| write_guest(c, &guest, &body, now))
            .await
    }

    async fn find_guest(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        id: &GuestId,
    ) -> PortResult<Option<Guest>> {
        let (tenant, occasion, id) = (tenant.clone(), occasion.clone(), id.clone());
        let now = self.current_time().as_millisecond();
        let sql = "SELECT body FROM guests WHERE tenant = ?1 AND occasion = ?2 AND id = ?3 AND expires > ?4";
        let work = move |c: &Connection| {
            let values = params![tenant.as_str(), occasion.as_str(), id.as_str(), now];
            query_one(c, sql, values)
        };
        self.run_read("find_guest", work).await
    }

    async fn list_guests(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        page: &PageRequest,
    ) -> PortResult<Page<Guest>> {
        let (tenant, occasion, limit) = (tenant.clone(), occasion.clone(), page.limit);
        let (after, now) = (page.cursor.clone().unwrap_or_default(), self.current_time());
        let sql = "SELECT body FROM guests WHERE tenant = ?1 AND occasion = ?2 AND id > ?3 AND expires > ?4
            ORDER BY id LIMIT ?5";
        let work = move |c: &Connection| {
            let most = to_sql_limit(limit + 1);
            let values = params![
                tenant.as_str(),
                occasion.as_str(),
                after,
                now.as_millisecond(),
                most
            ];
            Ok(make_page(query_found(c, sql, values)?, limit, |one: &Guest| {
                one.id.to_string()
            }))
        };
        self.run_read("list_guests", work).await
    }

    async fn list_guests_of_phone(
        &self,
        tenant: &TenantId,
        phone: &PhoneKey,
        occasion: Option<&OccasionId>,
    ) -> PortResult<Vec<Guest>> {
        let (tenant, phone, occasion) = (tenant.clone(), phone.clone(), occasion.cloned());
        let now = self.current_time().as_millisecond();
        let sql =
            "SELECT body FROM guests WHERE tenant = ?1 AND phone_key = ?2 AND (?3 IS NULL OR occasion = ?3)
            AND expires > ?4 ORDER BY occasion";
        let work = move |c: &Connection| {
            let occasion = occasion.as_ref().map(OccasionId::as_str);
            query_all(c, sql, params![tenant.as_str(), phone.as_str(), occasion, now])
        };
        self.run_read("list_guests_of_phone", work).await
    }

    async fn delete_guest(&self, guest: &Guest) -> PortResult<()> {
        let guest = guest.clone();
        let work = move |c: &Connection| {
            let values = params![guest.tenant.as_str(), guest.occasion.as_str(), guest.id.as_str()];
            let invitations = "DELETE FROM invitations WHERE tenant = ?1 AND occasion = ?2 AND guest = ?3";
            execute_sql(c, invitations, values)?;
            let itself = "DELETE FROM guests WHERE tenant = ?1 AND occasion = ?2 AND id = ?3";
            execute_sql(c, itself, values).map(drop)
        };
        self.run_write("delete_guest", work).await
    }

    async fn begin_invitation(
        &self,
        invitation: &Invitation,
        claims: &[InvitationClaim],
        now: Timestamp,
    ) -> PortResult<InvitationOutcome> {
        const WHAT: &str = "begin_invitation";
        let body = encode_record(WHAT, invitation)?;
        let (invitation, claims) = (invitation.clone(), claims.to_vec());
        let work = move |c: &Connection| write_claimed_invitation(c, (&invitation, &body), &claims, now);
        self.run_write(WHAT, work).await
    }

    async fn save_invitation(&self, invitation: &Invitation) -> PortResult<WriteOutcome> {
        const WHAT: &str = "save_invitation";
        let (invitation, body) = (invitation.clone(), encode_record(WHAT, invitation)?);
        let now = self.current_time();
        let work = move |c: &Connection| {
            let stored: Option<i64> = c
                .prepare_cached("SELECT rev FROM invitations WHERE tenant = ?1 AND id = ?2")?
                .query_row(
                    params![invitation.tenant.as_str(), invitation.id.as_str()],
                    |row| row.get(0),
                )
                .optional()?;
            if stored.is_none_or(|rev| rev + 1 != to_sql_integer(invitation.rev)) {
                return Ok(WriteOutcome::Conflict);
            }
            write_invitation(c, &invitation, &body, now)?;
            Ok(WriteOutcome::Written)
        };
        self.run_write(WHAT, work).await
    }

    async fn find_invitation(&self, tenant: &TenantId, id: &InvitationId) -> PortResult<Option<Invitation>> {
        let (tenant, id, now) = (tenant.clone(), id.clone(), self.current_time().as_millisecond());
        let sql = "SELECT body FROM invitations WHERE tenant = ?1 AND id = ?2 AND expires > ?3";
        let work = move |c: &Connection| query_one(c, sql, params![tenant.as_str(), id.as_str(), now]);
        self.run_read("find_invitation", work).await
    }

    async fn list_invitations_of_month(
        &self,
        tenant: &TenantId,
        month: LogMonth,
        page: &PageRequest,
    ) -> PortResult<Page<Invitation>> {
        super::invitation_log::list_invitations_of_month(self, tenant, month, page).await
    }

    async fn mark_pages_changed(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        at: Timestamp,
        keep_until: Timestamp,
    ) -> PortResult<()> {
        super::invitation_log::mark_pages_changed(self, tenant, occasion, (at, keep_until)).await
    }

    async fn list_page_changes(
        &self,
        tenant: &TenantId,
        occasions: &[OccasionId],
    ) -> PortResult<Vec<(OccasionId, Timestamp)>> {
        super::invitation_log::list_page_changes(self, tenant, occasions).await
    }

    async fn find_emailed_invitation(
        &self,
        tenant: &TenantId,
        carrier_id: &str,
    ) -> PortResult<Option<Invitation>> {
        let (tenant, id, now) = (
            tenant.clone(),
            carrier_id.to_owned(),
            self.current_time().as_millisecond(),
        );
        let sql =
            "SELECT body FROM invitations WHERE tenant = ?1 AND carrier_id = ?2 AND expires > ?3 LIMIT 1";
        let work = move |c: &Connection| query_one(c, sql, params![tenant.as_str(), id, now]);
        self.run_read("find_emailed_invitation", work).await
    }

    async fn list_invitations(
        &self,
        tenant: &TenantId,
        occasion: &OccasionId,
        guest: Option<&GuestId>,
        page: &PageRequest,
    ) -> PortResult<Page<Invitation>> {
        let (tenant, occasion, guest, limit) = (tenant.clone(), occasion.clone(), guest.cloned(), page.limit);
        let cursor = page.cursor.clone().unwrap_or_default();
        let now = self.current_time().as_millisecond();
        let sql =
            "SELECT body FROM invitations WHERE tenant = ?1 AND occasion = ?2 AND (?3 IS NULL OR guest = ?3)
            AND (guest, id) > (?4, ?5) AND expires > ?6 ORDER BY guest, id LIMIT ?7";
        let work = move |c: &Connection| {
            let (after, id) = cursor.split_once('#').unwrap_or_default();
            let guest = guest.as_ref().map(GuestId::as_str);
            let most = to_sql_limit(limit + 1);
            let values = params![tenant.as_str(), occasion.as_str(), guest, after, id, now, most];
            let cursor_of = |one: &Invitation| format!("{}#{}", one.guest, one.id);
            Ok(make_page(query_found(c, sql, values)?, limit, cursor_of))
        };
        self.run_read("list_invitations", work).await
    }
}
