use super::conversation_row::{HAS_LABEL, mode_name};
use super::instances::parse_state_row;
use super::record_indexes::{select_overdue, select_traced};
use super::unacknowledged;
use super::usage::select_usage_sums;
use crate::Embedded;
use crate::db_error::DbResult;
use crate::sql_records::{PagedQuery, encode_json, keep_readable, query_found, to_sql_limit};
use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use recado_domain::config::Instance;
use recado_domain::conversation::{Conversation, ConversationLabel};
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::event::EventRecord;
use recado_domain::ids::{CorrelationId, InstanceId, TenantId};
use recado_domain::instance::ParkedConversation;
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use recado_ports::ports::{
    ConversationFilter, CorrelatedRecords, DiskSpace, OpenEvent, OpenMessage, OpenWork, OverdueWork,
    Overviews, OwedAnswer, Page, PageRequest, PortError, PortResult, TroubledInstances, UnacknowledgedCounts,
    UnacknowledgedFilter, WaitingForPerson,
};
use rusqlite::{Connection, params};
use serde::de::{DeserializeOwned, IgnoredAny};

/// The instances whose open work is read, as JSON lists: by id, and by provider and the provider's name.
struct WantedInstances {
    ids: String,
    externals: String,
}

impl WantedInstances {
    fn from_instances(instances: &[Instance]) -> DbResult<Self> {
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
    db: &Connection,
    sql: &str,
    wanted: Option<&str>,
    most: usize,
) -> DbResult<(Vec<T>, bool)> {
    let values = params![to_sql_limit(most.saturating_add(1)), wanted];
    let found = query_found(db, sql, values)?;
    let (more, mut records) = (found.has_more_than(most), found.records);
    records.truncate(most);
    Ok((records, more))
}

fn select_open_work(db: &Connection, wanted: Option<&WantedInstances>, most: usize) -> DbResult<OpenWork> {
    let ids = wanted.map(|wanted| wanted.ids.as_str());
    let externals = wanted.map(|wanted| wanted.externals.as_str());
    let sql = "SELECT body FROM messages WHERE due IS NOT NULL AND (?2 IS NULL
        OR CASE WHEN json_valid(body) THEN json_extract(body, '$.instance') END IN (SELECT value FROM json_each(?2))) ORDER BY due LIMIT ?1";
    let (messages, more_messages) = select_longest_due::<Message>(db, sql, ids, most)?;
    let sql = "SELECT body FROM events WHERE due IS NOT NULL AND (?2 IS NULL
        OR CASE WHEN json_valid(body) THEN json_extract(body, '$.job.provider') END || '/' || CASE WHEN json_valid(body) THEN json_extract(body, '$.job.external') END
        IN (SELECT value FROM json_each(?2))) ORDER BY due LIMIT ?1";
    let (events, more_events) = select_longest_due::<EventRecord<IgnoredAny>>(db, sql, externals, most)?;
    let sql = "SELECT body FROM parked WHERE ?2 IS NULL OR instance IN (SELECT value FROM json_each(?2))
        ORDER BY due LIMIT ?1";
    let (parked, more_parked) = select_longest_due::<ParkedConversation>(db, sql, ids, most)?;
    let sql = "SELECT body FROM conversations WHERE due IS NOT NULL
        AND (?2 IS NULL OR instance IN (SELECT value FROM json_each(?2))) ORDER BY due LIMIT ?1";
    let (owing, more_owing) = select_longest_due::<Conversation>(db, sql, ids, most)?;
    Ok(OpenWork {
        owed: owing
            .iter()
            .filter(|conversation| conversation.agent_owes_answer())
            .map(OwedAnswer::from_conversation)
            .collect(),
        messages: messages.iter().filter_map(OpenMessage::from_message).collect(),
        events: events.iter().map(OpenEvent::from_record).collect(),
        parked: parked.into_iter().map(|parked| parked.instance).collect(),
        at_least: more_messages || more_events || more_parked || more_owing,
    })
}

fn select_troubled(db: &Connection, most: usize) -> DbResult<TroubledInstances> {
    let sql = "SELECT id, body FROM instance_states WHERE due IS NOT NULL ORDER BY due LIMIT ?1";
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query([to_sql_limit(most.saturating_add(1))])?;
    let mut found = TroubledInstances::default();
    while let Some(row) = rows.next()? {
        if found.states.len() == most {
            found.at_least = true;
            break;
        }
        found
            .states
            .extend(keep_readable("instance_states", parse_state_row(row))?);
    }
    Ok(found)
}

#[async_trait]
impl Overviews for Embedded {
    async fn read_open_work(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork> {
        const WHAT: &str = "open work";
        let wanted = of.map(WantedInstances::from_instances).transpose();
        let wanted = wanted.map_err(|fault| fault.into_port_error(WHAT))?;
        self.run_read(WHAT, move |db| select_open_work(db, wanted.as_ref(), limit))
            .await
    }

    async fn read_disk_space(&self) -> PortResult<Option<DiskSpace>> {
        self.measure_disk_space()
            .map_err(|error| PortError::unavailable("measuring the disk", error))
    }

    async fn list_troubled_instances(&self, limit: usize) -> PortResult<TroubledInstances> {
        self.run_read("troubled_instances", move |db| select_troubled(db, limit))
            .await
    }

    async fn list_waiting_for_person(&self, before: Timestamp, limit: usize) -> PortResult<WaitingForPerson> {
        let sql =
            "SELECT body FROM conversations WHERE person_since <= ?2 ORDER BY person_since DESC LIMIT ?1";
        self.run_read("waiting_for_person", move |db| {
            let most = to_sql_limit(limit.saturating_add(1));
            let found = query_found(db, sql, params![most, before.as_millisecond()])?;
            let (more, mut conversations) = (found.has_more_than(limit), found.records);
            conversations.truncate(limit);
            Ok(WaitingForPerson::from_conversations(conversations, more))
        })
        .await
    }

    async fn list_waiting_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        let (filter, page) = (filter.clone(), page.clone());
        self.run_read("waiting_conversations", move |db| {
            PagedQuery::oldest_first("conversations", "person_since", &page)?
                .filter("tenant = ?", filter.tenant.as_ref().map(TenantId::as_str))
                .filter("instance = ?", filter.instance.as_ref().map(InstanceId::as_str))
                .filter("mode = ?", filter.mode.map(mode_name))
                .filter(HAS_LABEL, filter.label.as_ref().map(ConversationLabel::as_str))
                .fetch_page(db)
        })
        .await
    }
    async fn count_unacknowledged(
        &self,
        range: (Timestamp, Timestamp),
        limit: usize,
    ) -> PortResult<UnacknowledgedCounts> {
        self.run_read("unacknowledged_counts", move |db| {
            unacknowledged::count_by_owner(db, range, limit)
        })
        .await
    }

    async fn list_unacknowledged(
        &self,
        filter: &UnacknowledgedFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> PortResult<Page<UnacknowledgedMessage>> {
        let (filter, page) = (filter.clone(), page.clone());
        self.run_read("unacknowledged", move |db| {
            unacknowledged::select_page(db, &filter, now, &page)
        })
        .await
    }

    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        self.run_read("overdue", move |db| select_overdue(db, now, limit))
            .await
    }

    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        self.wait_for_intake("traced").await?;
        let (id, tenant, now) = (correlation.clone(), tenant.cloned(), self.current_time());
        self.run_read("traced", move |db| {
            select_traced(db, &id, tenant.as_ref(), limit, now)
        })
        .await
    }

    async fn list_usage(&self, tenant: &TenantId, from: Date, to: Date) -> PortResult<Vec<UsageSum>> {
        let (tenant, now) = (tenant.clone(), self.current_time());
        self.run_read("list_usage", move |db| {
            select_usage_sums(db, &tenant, (from, to), now)
        })
        .await
    }
}
