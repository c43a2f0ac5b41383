//! A machine's clock that ran ahead and was set back: what was to happen by then does not wait until it is there again.

use crate::Embedded;
use crate::fault::Fault;
use crate::record::{decode, encode, execute};
use crate::store::{ConversationRow, MessageRow};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::instance::{InFlight, InstanceState, Parked};
use recado_domain::message::Message;
use recado_domain::set_back::SetBack;
use recado_pipeline::ports::PortResult;
use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Changes the records of `sql` where `change` says so, each by its row's number. What cannot be read is left as it is.
fn changed<T: DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    change: impl Fn(&mut T) -> bool,
    put: impl Fn(i64, &T) -> Result<(), Fault>,
) -> Result<usize, Fault> {
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows = rows.collect::<Result<Vec<(i64, String)>, _>>()?;
    let mut count = 0;
    for (row, body) in rows {
        match decode::<T>(&body) {
            Ok(mut record) => {
                if change(&mut record) {
                    put(row, &record)?;
                    count += 1;
                }
            }
            Err(error) => tracing::error!(%error, "a record cannot be read"),
        }
    }
    Ok(count)
}

fn kicks(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let now = [back.now.as_millisecond()];
    // One with a name waits for an opening, which `reconcile` asks for if this is the wrong one.
    let held = "UPDATE queue_messages SET visible_at = ?1
        WHERE visible_at > ?1 AND dead_at IS NULL AND name IS NULL";
    let count = execute(connection, held, now)?;
    for sql in [
        "UPDATE queue_messages SET sent_at = ?1 WHERE sent_at > ?1",
        "UPDATE queue_groups SET free_at = ?1 WHERE free_at > ?1",
        "UPDATE queue_dedup SET until = ?1 WHERE until > ?1",
    ] {
        execute(connection, sql, now)?;
    }
    Ok(count)
}

fn conversations(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let put = |_, conversation: &Conversation| ConversationRow::of(conversation)?.put(connection);
    let now = back.now.as_millisecond();
    let sql = format!(
        "SELECT rowid, body FROM conversations WHERE last_at > {now} OR due > {now}
            OR json_extract(body, '$.lease.until') > {now} OR json_extract(body, '$.pair_arrival') > {now}
            OR json_extract(body, '$.reengaged.at') > {now}"
    );
    changed(
        connection,
        &sql,
        |conversation| back.conversation(conversation),
        put,
    )
}

fn messages(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let put = |_, message: &Message| MessageRow::of(message)?.put(connection);
    let sql = "SELECT rowid, body FROM messages WHERE open = 1";
    changed(connection, sql, |message| back.message(message), put)
}

fn instances(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let put = |row, state: &InstanceState| {
        let due = state.due().map(Timestamp::as_millisecond);
        let sql = "UPDATE instance_states SET due = ?2, body = ?3 WHERE rowid = ?1";
        execute(connection, sql, params![row, due, encode(state)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM instance_states";
    changed(connection, sql, |state| back.instance(state), put)
}

fn parked(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let put = |row, parked: &Parked| {
        let (since, due) = (parked.since.as_millisecond(), parked.due().as_millisecond());
        let sql = "UPDATE parked SET since = ?2, due = ?3, body = ?4 WHERE rowid = ?1";
        execute(connection, sql, params![row, since, due, encode(parked)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM parked";
    changed(connection, sql, |parked| back.parked(parked), put)
}

fn notes(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let put = |row, flight: &InFlight| {
        let sql = "UPDATE in_flight SET body = ?2 WHERE rowid = ?1";
        execute(connection, sql, params![row, encode(flight)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM in_flight";
    changed(connection, sql, |flight| back.in_flight(flight), put)
}

fn events(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let put = |row, event: &EventRecord| {
        let due = event.due().map(Timestamp::as_millisecond);
        let sql = "UPDATE events SET due = ?2, body = ?3 WHERE rowid = ?1";
        execute(connection, sql, params![row, due, encode(event)?]).map(drop)
    };
    let sql = "SELECT rowid, body FROM events WHERE due IS NOT NULL";
    changed(connection, sql, |event| back.event(event), put)
}

fn set_back(connection: &Connection, back: SetBack) -> Result<usize, Fault> {
    let mut count = 0;
    for part in [kicks, conversations, messages, instances, parked, notes, events] {
        count += part(connection, back)?;
    }
    Ok(count)
}

/// The latest time that this machine's clock has given the records.
fn latest(connection: &Connection) -> Result<Option<i64>, Fault> {
    let sql = "SELECT MAX(at) FROM (SELECT MAX(last_at) AS at FROM conversations
        UNION ALL SELECT MAX(json_extract(body, '$.confirmed_at')) FROM instance_states)";
    Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
}

impl Embedded {
    /// Lets nothing wait for times that the machine's clock gave while it ran ahead, after it was set back. To be called when
    /// no send that was begun before then runs any more. Returns how many records and queue messages were changed.
    pub async fn set_back(&self) -> PortResult<usize> {
        let back = SetBack { now: self.now() };
        self.write("set_back", move |c| set_back(c, back)).await
    }

    /// How far the clock is behind the latest time that it has given: it was set back while nobody looked.
    pub async fn behind(&self) -> PortResult<Duration> {
        let now = self.now();
        let latest = self.read("behind", latest).await?;
        let ahead = latest.map_or(0, |at| at.saturating_sub(now.as_millisecond()));
        Ok(Duration::from_millis(u64::try_from(ahead).unwrap_or(0)))
    }
}
