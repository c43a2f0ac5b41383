use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{decode_json, query_all, to_sql_limit};
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceState, ParkedConversation};
use recado_domain::message::Message;
use recado_pipeline::ports::{
    ClosedInstance, DiskSpace, Gauges, OpenEvent, OpenMessage, OpenWork, OwedAnswer, PortError, PortResult,
};
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

/// Returns the instances that are not open. Such an instance has a next probe, so it is among those that are due.
fn select_closed(c: &Connection) -> Result<Vec<ClosedInstance>, DbError> {
    let mut statement = c.prepare_cached("SELECT id, body FROM instance_states WHERE due IS NOT NULL")?;
    let mut rows = statement.query([])?;
    let mut closed = Vec::new();
    while let Some(row) = rows.next()? {
        let (id, body): (String, String) = (row.get(0)?, row.get(1)?);
        let state: InstanceState = decode_json(&body)?;
        if let Ok(instance) = InstanceId::parse(&id)
            && state.connection != ConnectionStatus::Open
        {
            closed.push(ClosedInstance {
                instance,
                connection: state.connection,
                since: state.since,
            });
        }
    }
    Ok(closed)
}

fn select_open_work(c: &Connection, most: usize) -> Result<OpenWork, DbError> {
    let sql = "SELECT body FROM messages WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let (messages, more_messages) = select_longest_due::<Message>(c, sql, most)?;
    let sql = "SELECT body FROM events WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let (events, more_events) = select_longest_due::<EventRecord>(c, sql, most)?;
    let sql = "SELECT body FROM parked ORDER BY due LIMIT ?1";
    let (parked, more_parked) = select_longest_due::<ParkedConversation>(c, sql, most)?;
    let sql = "SELECT body FROM conversations WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let (owing, more_owing) = select_longest_due::<Conversation>(c, sql, most)?;
    Ok(OpenWork {
        owed: owing.iter().map(OwedAnswer::from_conversation).collect(),
        messages: messages.iter().filter_map(OpenMessage::from_message).collect(),
        events: events.iter().map(OpenEvent::from_record).collect(),
        parked: parked.into_iter().map(|parked| parked.instance).collect(),
        closed: select_closed(c)?,
        at_least: more_messages || more_events || more_parked || more_owing,
    })
}

impl Gauges for Embedded {
    async fn read_open_work(&self, limit: usize) -> PortResult<OpenWork> {
        self.run_read("open work", move |c| select_open_work(c, limit))
            .await
    }

    async fn read_disk_space(&self) -> PortResult<Option<DiskSpace>> {
        self.measure_disk_space()
            .map_err(|error| PortError::unavailable("measuring the disk", error))
    }
}
