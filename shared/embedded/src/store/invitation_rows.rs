//! The rows of claims.

use crate::db_error::DbError;
use crate::sql_records::execute_sql;
use recado_domain::ids::TenantId;
use recado_ports::ports::InvitationClaim;
use rusqlite::{Connection, params};

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
