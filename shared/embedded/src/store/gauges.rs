use crate::Embedded;
use crate::fault::Fault;
use crate::record::{all, limit};
use recado_domain::event::EventRecord;
use recado_domain::instance::Parked;
use recado_domain::message::Message;
use recado_pipeline::ports::{Gauges, OpenEvent, OpenMessage, OpenWork, PortResult};
use rusqlite::Connection;
use serde::de::DeserializeOwned;

/// The longest overdue of a table by its index, and whether there is more.
fn due<T: DeserializeOwned>(c: &Connection, sql: &str, most: usize) -> Result<(Vec<T>, bool), Fault> {
    let mut found: Vec<T> = all(c, sql, [limit(most.saturating_add(1))])?;
    let more = found.len() > most;
    found.truncate(most);
    Ok((found, more))
}

fn open_work(c: &Connection, most: usize) -> Result<OpenWork, Fault> {
    let sql = "SELECT body FROM messages WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let (messages, more_messages) = due::<Message>(c, sql, most)?;
    let sql = "SELECT body FROM events WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let (events, more_events) = due::<EventRecord>(c, sql, most)?;
    let sql = "SELECT body FROM parked ORDER BY due LIMIT ?1";
    let (parked, more_parked) = due::<Parked>(c, sql, most)?;
    Ok(OpenWork {
        messages: messages.iter().filter_map(OpenMessage::of).collect(),
        events: events.iter().map(OpenEvent::of).collect(),
        parked: parked.into_iter().map(|parked| parked.instance).collect(),
        at_least: more_messages || more_events || more_parked,
    })
}

impl Gauges for Embedded {
    async fn open_work(&self, limit: usize) -> PortResult<OpenWork> {
        self.read("open work", move |c| open_work(c, limit)).await
    }
}
