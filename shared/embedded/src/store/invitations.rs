use super::invitation_rows::insert_claim;
use super::published_events::insert_published_events;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    encode_json, execute_sql, make_page, query_found, query_one, to_sql_integer, to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::ids::{GuestId, InvitationId, OccasionId, TenantId};
use recado_domain::invitations::{Invitation, LogMonth};
use recado_domain::published_event::{InvitationFacts, derive_invitation_events};
use recado_ports::ports::{
    InvitationClaim, InvitationOutcome, InvitationRecords, Page, PageRequest, PortError, PortResult,
    WriteOutcome,
};
use rusqlite::{Connection, OptionalExtension, params};

/// Encodes a record, unless it is larger than a record may be.
pub(super) fn encode_record<T: serde::Serialize>(what: &'static str, record: &T) -> PortResult<String> {
    let body = encode_json(record).map_err(|fault| fault.into_port_error(what))?;
    PortError::check_record_size(what, body.len())?;
    Ok(body)
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
