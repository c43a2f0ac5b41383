use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{decode_json, encode_json, query_all, to_sql_limit};
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceState, ParkedConversation};
use recado_domain::message::Message;
use recado_pipeline::ports::{
    ClosedInstance, DiskSpace, Gauges, OpenEvent, OpenMessage, OpenWork, OwedAnswer, PortError, PortResult,
};
use rusqlite::{Connection, params};
use serde::de::DeserializeOwned;

/// The instances whose open work is read, as JSON lists: by id, and by provider and the provider's name.
struct WantedInstances {
    ids: String,
    externals: String,
}

impl WantedInstances {
    fn from_instances(instances: &[Instance]) -> Result<Self, DbError> {
        let ids: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
        let external = |instance: &Instance| {
            let external = instance.resolve_external_id()?;
            Some(format!("{}/{external}", instance.provider))
        };
        let externals: Vec<String> = instances.iter().filter_map(external).collect();
        Ok(Self {
            ids: encode_json(&ids)?,
            externals: encode_json(&externals)?,
        })
    }
}

/// Returns at most `most` records that `sql` selects, and whether there are more. `sql` lists the longest overdue
/// first; `wanted` limits it, as a JSON list.
fn select_longest_due<T: DeserializeOwned>(
    c: &Connection,
    sql: &str,
    wanted: Option<&str>,
    most: usize,
) -> Result<(Vec<T>, bool), DbError> {
    let values = params![to_sql_limit(most.saturating_add(1)), wanted];
    let mut found: Vec<T> = query_all(c, sql, values)?;
    let more = found.len() > most;
    found.truncate(most);
    Ok((found, more))
}

/// Returns the instances that are not open, of those in the JSON list `wanted`. Such an instance has a next probe, so it is
/// among those that are due.
fn select_closed(c: &Connection, wanted: Option<&str>) -> Result<Vec<ClosedInstance>, DbError> {
    let mut statement = c.prepare_cached(
        "SELECT id, body FROM instance_states WHERE due IS NOT NULL
        AND (?1 IS NULL OR id IN (SELECT value FROM json_each(?1)))",
    )?;
    let mut rows = statement.query([wanted])?;
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

fn select_open_work(
    c: &Connection,
    wanted: Option<&WantedInstances>,
    most: usize,
) -> Result<OpenWork, DbError> {
    let (ids, externals) = (
        wanted.map(|wanted| wanted.ids.as_str()),
        wanted.map(|wanted| wanted.externals.as_str()),
    );
    let sql = "SELECT body FROM messages WHERE due IS NOT NULL AND (?2 IS NULL
        OR json_extract(body, '$.instance') IN (SELECT value FROM json_each(?2))) ORDER BY due LIMIT ?1";
    let (messages, more_messages) = select_longest_due::<Message>(c, sql, ids, most)?;
    let sql = "SELECT body FROM events WHERE due IS NOT NULL AND (?2 IS NULL
        OR json_extract(body, '$.job.provider') || '/' || json_extract(body, '$.job.external')
        IN (SELECT value FROM json_each(?2))) ORDER BY due LIMIT ?1";
    let (events, more_events) = select_longest_due::<EventRecord>(c, sql, externals, most)?;
    let sql = "SELECT body FROM parked WHERE ?2 IS NULL OR instance IN (SELECT value FROM json_each(?2))
        ORDER BY due LIMIT ?1";
    let (parked, more_parked) = select_longest_due::<ParkedConversation>(c, sql, ids, most)?;
    let sql = "SELECT body FROM conversations WHERE due IS NOT NULL
        AND (?2 IS NULL OR instance IN (SELECT value FROM json_each(?2))) ORDER BY due LIMIT ?1";
    let (owing, more_owing) = select_longest_due::<Conversation>(c, sql, ids, most)?;
    Ok(OpenWork {
        owed: owing.iter().map(OwedAnswer::from_conversation).collect(),
        messages: messages.iter().filter_map(OpenMessage::from_message).collect(),
        events: events.iter().map(OpenEvent::from_record).collect(),
        parked: parked.into_iter().map(|parked| parked.instance).collect(),
        closed: select_closed(c, ids)?,
        at_least: more_messages || more_events || more_parked || more_owing,
    })
}

impl Gauges for Embedded {
    async fn read_open_work(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork> {
        const WHAT: &str = "open work";
        let wanted = of.map(WantedInstances::from_instances).transpose();
        let wanted = wanted.map_err(|fault| fault.into_port_error(WHAT))?;
        self.run_read(WHAT, move |c| select_open_work(c, wanted.as_ref(), limit))
            .await
    }

    async fn read_disk_space(&self) -> PortResult<Option<DiskSpace>> {
        self.measure_disk_space()
            .map_err(|error| PortError::unavailable("measuring the disk", error))
    }
}
