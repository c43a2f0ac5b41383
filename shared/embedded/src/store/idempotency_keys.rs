//! Clients' idempotency keys.

use crate::db_error::DbError;
use crate::sql_records::execute_sql;
use jiff::Timestamp;
use recado_domain::ids::MessageId;
use recado_ports::ports::{IdempotencyClaim, IdempotencyRecord};
use rusqlite::{Connection, OptionalExtension, params};

/// Returns the record of an idempotency key, if the key was used before and has not expired.
pub(super) fn select_key(
    connection: &Connection,
    scope: &str,
    key: &str,
    now: Timestamp,
) -> Result<Option<IdempotencyRecord>, DbError> {
    let sql = "SELECT request_hash, message FROM keys WHERE scope = ?1 AND key = ?2 AND expires > ?3";
    let found: Option<(String, String)> = connection
        .prepare_cached(sql)?
        .query_row(params![scope, key, now.as_millisecond()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let record = |(request_hash, message): (String, String)| {
        let message = MessageId::parse(&message).map_err(|_| DbError::Argument("a key names no message"))?;
        Ok(IdempotencyRecord {
            request_hash,
            message,
        })
    };
    found.map(record).transpose()
}

/// Returns the record of the claimed idempotency key, if the key was used before.
pub(super) fn select_used_key(
    connection: &Connection,
    claim: Option<&IdempotencyClaim>,
    now: Timestamp,
) -> Result<Option<IdempotencyRecord>, DbError> {
    match claim {
        Some(claim) => select_key(connection, &claim.scope, claim.key.as_str(), now),
        None => Ok(None),
    }
}

/// Stores for which message the claimed idempotency key was used.
pub(super) fn insert_key(
    connection: &Connection,
    claim: Option<&IdempotencyClaim>,
    message: &MessageId,
) -> Result<(), DbError> {
    let Some(claim) = claim else { return Ok(()) };
    let sql = "INSERT OR REPLACE INTO keys (scope, key, request_hash, message, expires) VALUES (?1, ?2, ?3, ?4, ?5)";
    let expires = claim.expires.as_millisecond();
    let values = params![
        claim.scope,
        claim.key.as_str(),
        claim.request_hash,
        message.as_str(),
        expires
    ];
    execute_sql(connection, sql, values)?;
    Ok(())
}
