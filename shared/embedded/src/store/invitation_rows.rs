//! The rows of guests, occasions, templates and claims.

use crate::db_error::DbError;
use crate::sql_records::{execute_sql, to_sql_integer};
use recado_domain::ids::TenantId;
use recado_domain::invitations::{Guest, InvitationTemplate, Occasion, PhoneKey};
use recado_ports::ports::InvitationClaim;
use rusqlite::{Connection, params};

pub(super) fn upsert_guest(connection: &Connection, guest: &Guest, body: &str) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO guests (tenant, occasion, id, phone_key, expires, rev, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = params![
        guest.tenant.as_str(),
        guest.occasion.as_str(),
        guest.id.as_str(),
        guest.phone_key.as_ref().map(PhoneKey::as_str),
        guest.keep_until.as_millisecond(),
        to_sql_integer(guest.rev),
        body
    ];
    execute_sql(connection, sql, values).map(drop)
}

/// Writes the claim of a key by an invitation or a batch.
pub(super) fn insert_claim(
    connection: &Connection,
    (tenant, claimant): (&TenantId, &str),
    claim: &InvitationClaim,
) -> Result<(), DbError> {
    let sql =
        "INSERT OR REPLACE INTO invitation_claims (tenant, key, invitation, until) VALUES (?1, ?2, ?3, ?4)";
    let values = params![tenant.as_str(), claim.key, claimant, claim.until.as_millisecond()];
    execute_sql(connection, sql, values).map(drop)
}

pub(super) fn upsert_occasion(
    connection: &Connection,
    occasion: &Occasion,
    body: &str,
) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO occasions (tenant, id, body) VALUES (?1, ?2, ?3)";
    let values = params![occasion.tenant.as_str(), occasion.id.as_str(), body];
    execute_sql(connection, sql, values).map(drop)
}

pub(super) fn upsert_template(
    connection: &Connection,
    template: &InvitationTemplate,
    body: &str,
) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO invitation_templates (tenant, name, channel, language, body)
        VALUES (?1, ?2, ?3, ?4, ?5)";
    let (tenant, name) = (template.tenant.as_str(), template.name.as_str());
    let language = template.language.as_deref().unwrap_or_default();
    let values = params![tenant, name, template.channel.as_str(), language, body];
    execute_sql(connection, sql, values).map(drop)
}
