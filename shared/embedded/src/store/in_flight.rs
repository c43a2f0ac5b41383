//! The notes of in-flight sends.

use crate::db_error::DbResult;
use crate::sql_records::{encode_json, execute_sql, run_sql_statement};
use recado_domain::ids::InstanceId;
use recado_domain::instance::{Echo, InFlightSend};
use recado_domain::message::Message;
use rusqlite::{Connection, params};

/// The note of an in-flight send, with its instance.
#[derive(Debug)]
pub(super) struct InFlightRow {
    instance: InstanceId,
    pub(super) flight: InFlightSend,
}

impl InFlightRow {
    pub(super) fn for_instance(instance: &InstanceId, flight: &InFlightSend) -> Self {
        Self {
            instance: instance.clone(),
            flight: flight.clone(),
        }
    }

    /// Returns the note of a message that is stored for the first time and is in its first attempt.
    pub(super) fn for_new_message(message: &Message) -> Option<Self> {
        let flight = InFlightSend::of_new_message(message)?;
        Some(Self::for_instance(&message.instance, &flight))
    }

    /// Returns the columns that name the row.
    fn key(&self) -> (&str, &str, &str) {
        let InFlightSend { message, nonce, .. } = &self.flight;
        (self.instance.as_str(), message.as_str(), nonce.as_str())
    }

    pub(super) fn write_row(&self, db: &Connection) -> DbResult<()> {
        let sql = "INSERT OR REPLACE INTO in_flight (instance, message, nonce, body) VALUES (?1, ?2, ?3, ?4)";
        let (instance, message, nonce) = self.key();
        let values = params![instance, message, nonce, encode_json(&self.flight)?];
        run_sql_statement(db, sql, values)
    }

    pub(super) fn record_echo(&self, db: &Connection, id: &str, echo: Echo) -> DbResult<bool> {
        let field = match echo {
            Echo::Sure => "$.echo",
            Echo::Maybe => "$.maybe_echo",
        };
        let sql = "UPDATE in_flight SET body = json_set(body, ?5, ?4)
            WHERE instance = ?1 AND message = ?2 AND nonce = ?3
                AND (json_extract(body, ?5) IS NULL OR json_extract(body, ?5) = ?4)";
        let (instance, message, nonce) = self.key();
        Ok(execute_sql(db, sql, params![instance, message, nonce, id, field])? > 0)
    }

    pub(super) fn replace_row(&self, db: &Connection) -> DbResult<bool> {
        let sql = "UPDATE in_flight SET body = ?4 WHERE instance = ?1 AND message = ?2 AND nonce = ?3";
        let ((instance, message, nonce), body) = (self.key(), encode_json(&self.flight)?);
        Ok(execute_sql(db, sql, params![instance, message, nonce, body])? > 0)
    }

    pub(super) fn delete_row(&self, db: &Connection) -> DbResult<()> {
        let sql = "DELETE FROM in_flight WHERE instance = ?1 AND message = ?2 AND nonce = ?3";
        let (instance, message, nonce) = self.key();
        run_sql_statement(db, sql, params![instance, message, nonce])
    }
}
