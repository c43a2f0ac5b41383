use super::published_events::insert_published_events;
use super::table::select_item;
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{
    decode_column, encode_json, execute_sql, query_all, query_readable, run_sql_statement, to_sql_limit,
};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::{Instance, InstanceConfig};
use recado_domain::ids::InstanceId;
use recado_domain::instance::{
    ChangedInstance, ConnectionStatus as Link, InstanceChange, InstanceState, ParkedConversation,
};
use recado_domain::published_event::derive_instance_events;
use recado_domain::rate::{Rate, YieldingSlot};
use recado_ports::ports::{InstanceName, Instances, PortResult, Reservation, SlotTurn};
use recado_ports::records::configuration::join_instance_config;
use recado_ports::table::Record;
use recado_ports::unreadable_record::keep_readable;
use rusqlite::{Connection, Row, params};
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the entry of an instance; `None` also if it cannot be read.
pub(crate) fn select_instance(db: &Connection, name: &InstanceName) -> DbResult<Option<Instance>> {
    // An entry does not expire, so any time will do.
    let found = select_item(db, &name.build_key(), Timestamp::UNIX_EPOCH)?;
    Ok(found.and_then(|item| keep_readable(Instance::from_body(&item.body))))
}

/// Returns the state of an instance. One that cannot be read counts as none: the next change writes it anew.
fn select_state(db: &Connection, id: &InstanceId) -> DbResult<InstanceState> {
    let sql = "SELECT body FROM instance_states WHERE id = ?1";
    let found = query_readable(db, sql, [id.as_str()])?;
    Ok(found.unwrap_or_default())
}

/// Parses a row of an instance's id and its state.
pub(super) fn parse_state_row(row: &Row<'_>) -> DbResult<(InstanceId, InstanceState)> {
    let id = InstanceId::parse(&row.get::<_, String>(0)?).map_err(|_| DbError::Argument("a damaged id"))?;
    Ok((id, decode_column(row, 1)?))
}

pub(super) fn upsert_state(db: &Connection, id: &InstanceId, state: &InstanceState) -> DbResult<()> {
    let sql = "INSERT OR REPLACE INTO instance_states (id, due, body) VALUES (?1, ?2, ?3)";
    let due = state.index_time().map(Timestamp::as_millisecond);
    run_sql_statement(db, sql, params![id.as_str(), due, encode_json(state)?])
}

/// Publishes what an instance's new state tells, unless the instance is configured no more.
fn publish_instance_state(
    db: &Connection,
    id: &InstanceId,
    (old, new): (&InstanceState, &InstanceState),
    now: Timestamp,
) -> DbResult<()> {
    if old.connection == new.connection {
        return Ok(());
    }
    let Some(instance) = select_instance(db, &InstanceName::Id(id.clone()))? else {
        return Ok(());
    };
    insert_published_events(db, &derive_instance_events((id, &instance.tenant), old, new, now))
}

fn reserve_slot(
    db: &Connection,
    id: &InstanceId,
    rate: Rate,
    turn: SlotTurn,
    now: Timestamp,
) -> DbResult<Reservation> {
    let mut state = select_state(db, id)?;
    if state.connection != Link::Open {
        return Ok(Reservation::NotOpen);
    }
    let reserved = match turn {
        SlotTurn::Next => {
            let slot = rate.reserve_slot(state.arrival, now);
            state.arrival = Some(slot.arrival);
            state.slots = state.slots.saturating_add(1);
            state.asked_at.get_or_insert(now);
            YieldingSlot::Slot(slot)
        }
        SlotTurn::Yielding => state.reserve_yielding(rate, false, now),
        SlotTurn::YieldingAgain => state.reserve_yielding(rate, true, now),
    };
    upsert_state(db, id, &state)?;
    Ok(match reserved {
        YieldingSlot::Place { at, .. } => Reservation::Place(at),
        YieldingSlot::Slot(slot) => Reservation::Slot {
            at: slot.at,
            state: Box::new(state),
        },
    })
}

fn change_state(
    db: &Connection,
    id: &InstanceId,
    change: &InstanceChange,
    now: Timestamp,
) -> DbResult<ChangedInstance> {
    let before = select_state(db, id)?;
    let mut state = before.clone();
    let done = state.apply_change(change);
    if state != before {
        upsert_state(db, id, &state)?;
        publish_instance_state(db, id, (&before, &state), now)?;
    }
    Ok(ChangedInstance { done, state })
}

pub(super) fn upsert_parked(db: &Connection, mut parked: ParkedConversation) -> DbResult<()> {
    let conversation = parked.conversation.to_string();
    let sql = "SELECT body FROM parked WHERE instance = ?1 AND conversation = ?2";
    let before: Option<ParkedConversation> =
        query_readable(db, sql, params![parked.instance.as_str(), conversation])?;
    if let Some(before) = before {
        parked.since = before.since;
    }
    let sql = "INSERT OR REPLACE INTO parked (instance, conversation, version, since, due, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let since = parked.since.as_millisecond();
    let due = parked.release_due_at().as_millisecond();
    let (instance, version) = (parked.instance.as_str(), parked.version.as_str());
    let values = params![instance, conversation, version, since, due, encode_json(&parked)?];
    run_sql_statement(db, sql, values)
}

fn delete_parked(db: &Connection, parked: &ParkedConversation) -> DbResult<bool> {
    let sql = "DELETE FROM parked WHERE instance = ?1 AND conversation = ?2 AND version = ?3";
    let (instance, conversation) = (parked.instance.as_str(), parked.conversation.to_string());
    Ok(execute_sql(db, sql, params![instance, conversation, parked.version.as_str()])? > 0)
}

#[async_trait]
impl Instances for Embedded {
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>> {
        let cache = &self.inner.configs;
        let changes = match cache.find_kept_config(&name) {
            Ok(config) => return Ok(Some(config)),
            Err(changes) => changes,
        };
        let found = join_instance_config(self, &name).await?.map(Arc::new);
        if let Some(config) = &found {
            cache.keep_read_config(changes, name, Arc::clone(config));
        }
        Ok(found)
    }

    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        let id = id.clone();
        self.run_lookup("instance_state", move |db| select_state(db, &id))
            .await
    }

    async fn read_instance_states(
        &self,
        ids: &[InstanceId],
    ) -> PortResult<HashMap<InstanceId, InstanceState>> {
        let ids = ids.to_vec();
        let work = move |db: &Connection| {
            let sql = "SELECT body FROM instance_states WHERE id = ?1";
            let mut found = HashMap::new();
            for id in &ids {
                let state = query_readable(db, sql, [id.as_str()])?;
                found.extend(state.map(|state| (id.clone(), state)));
            }
            Ok(found)
        };
        self.run_read("instance_states", work).await
    }

    async fn reserve_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        turn: SlotTurn,
        now: Timestamp,
    ) -> PortResult<Reservation> {
        let id = id.clone();
        let what = match turn {
            SlotTurn::Next => "reserve",
            SlotTurn::Yielding | SlotTurn::YieldingAgain => "reserve_yielding",
        };
        self.run_write(what, move |db| reserve_slot(db, &id, rate, turn, now))
            .await
    }

    async fn change_instance_state(
        &self,
        id: &InstanceId,
        _seen: &InstanceState,
        change: &InstanceChange,
    ) -> PortResult<ChangedInstance> {
        let (id, change, now) = (id.clone(), change.clone(), self.current_time());
        self.run_write("change_instance_state", move |db| {
            change_state(db, &id, &change, now)
        })
        .await
    }

    async fn put_parked(&self, parked: &ParkedConversation) -> PortResult<()> {
        let parked = parked.clone();
        self.run_write("park", move |db| upsert_parked(db, parked.clone()))
            .await
    }

    async fn list_parked(&self, id: &InstanceId, most: usize) -> PortResult<Vec<ParkedConversation>> {
        let id = id.clone();
        let sql = "SELECT body FROM parked WHERE instance = ?1 ORDER BY since, conversation LIMIT ?2";
        self.run_read("parked", move |db| {
            query_all(db, sql, params![id.as_str(), to_sql_limit(most)])
        })
        .await
    }

    async fn remove_parked(&self, parked: &ParkedConversation) -> PortResult<bool> {
        let parked = parked.clone();
        self.run_write("unpark", move |db| delete_parked(db, &parked))
            .await
    }
}
