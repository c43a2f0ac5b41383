use crate::Embedded;
use crate::fault::Fault;
use crate::record::{all, limit};
use jiff::Timestamp;
use recado_domain::ids::CorrelationId;
use recado_pipeline::ports::{PortResult, Traced, Traces};
use rusqlite::{Connection, params};

fn traced(connection: &Connection, id: &CorrelationId, most: usize, now: Timestamp) -> Result<Traced, Fault> {
    let events =
        "SELECT body FROM events WHERE correlation = ?1 AND (expires IS NULL OR expires > ?2) LIMIT ?3";
    let values = params![id.as_str(), now.as_millisecond(), limit(most)];
    let events = all(connection, events, values)?;
    let most = most.saturating_sub(events.len());
    let messages = "SELECT body FROM messages WHERE correlation = ?1 LIMIT ?2";
    let messages = all(connection, messages, params![id.as_str(), limit(most)])?;
    Ok(Traced { events, messages })
}

impl Traces for Embedded {
    async fn traced(&self, correlation: &CorrelationId, limit: usize) -> PortResult<Traced> {
        let (id, now) = (correlation.clone(), self.now());
        self.read("traced", move |c| traced(c, &id, limit, now)).await
    }
}
