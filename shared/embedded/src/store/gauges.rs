use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{query_all, to_sql_limit};
use recado_domain::event::EventRecord;
use recado_domain::instance::ParkedConversation;
use recado_domain::message::Message;
use recado_pipeline::ports::{Gauges, OpenEvent, OpenMessage, OpenWork, PortResult};
use rusqlite::Connection;
use serde::de::DeserializeOwned;

/// Returns at most `most` records that `sql` selects, and whether there are more. `sql` lists the longest overdue
/// first.
fn select_longest_due<T: DeserializeOwned>(
    c: &Connection,
    sql: &str,
    most: usize,
) -> Result<(Vec<T>, bool), DbError> {
    let mut found: Vec<T> = query_all(c, sql, [to_sql_limit(most.saturating_add(1))])?;
    let more = found.len() > most;
    found.truncate(most);
    Ok((found, more))
}

fn select_open_work(c: &Connection, most: usize) -> Result<OpenWork, DbError> {
    let sql = "SELECT body FROM messages WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let (messages, more_messages) = select_longest_due::<Message>(c, sql, most)?;
    let sql = "SELECT body FROM events WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let (events, more_events) = select_longest_due::<EventRecord>(c, sql, most)?;
    let sql = "SELECT body FROM parked ORDER BY due LIMIT ?1";
    let (parked, more_parked) = select_longest_due::<ParkedConversation>(c, sql, most)?;
    Ok(OpenWork {
        messages: messages.iter().filter_map(OpenMessage::from_message).collect(),
        events: events.iter().map(OpenEvent::from_record).collect(),
        parked: parked.into_iter().map(|parked| parked.instance).collect(),
        at_least: more_messages || more_events || more_parked,
    })
}

impl Gauges for Embedded {
    async fn read_open_work(&self, limit: usize) -> PortResult<OpenWork> {
        self.run_read("open work", move |c| select_open_work(c, limit))
            .await
    }
}
