use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_all, query_one, to_sql_limit};
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{
    ConnectionStatus as Link, ConnectionUpdate, InstanceState, ParkedConversation, TrafficProfile,
    UnansweredAttempt,
};
use recado_domain::rate::Rate;
use recado_pipeline::ports::{InstanceStates, PortResult, Reservation};
use rusqlite::{Connection, params};

fn select_state(connection: &Connection, id: &InstanceId) -> Result<InstanceState, DbError> {
    let found = query_one(
        connection,
        "SELECT body FROM instance_states WHERE id = ?1",
        [id.as_str()],
    )?;
    Ok(found.unwrap_or_default())
}

fn upsert_state(connection: &Connection, id: &InstanceId, state: &InstanceState) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO instance_states (id, due, body) VALUES (?1, ?2, ?3)";
    let due = state.next_probe_at().map(Timestamp::as_millisecond);
    execute_sql(connection, sql, params![id.as_str(), due, encode_json(state)?])?;
    Ok(())
}

fn reserve_slot(
    connection: &Connection,
    id: &InstanceId,
    rate: Rate,
    now: Timestamp,
) -> Result<Reservation, DbError> {
    let mut state = select_state(connection, id)?;
    if state.connection != Link::Open {
        return Ok(Reservation::NotOpen);
    }
    let slot = rate.reserve_slot(state.arrival, now);
    state.arrival = Some(slot.arrival);
    state.asked_at.get_or_insert(now);
    upsert_state(connection, id, &state)?;
    Ok(Reservation::Slot {
        at: slot.at,
        state: Box::new(state),
    })
}

/// Changes the state, and stores it if `change` returns `true`. Returns the result of `change`.
fn update_state(
    connection: &Connection,
    id: &InstanceId,
    change: impl FnOnce(&mut InstanceState) -> bool,
) -> Result<bool, DbError> {
    let mut state = select_state(connection, id)?;
    let changed = change(&mut state);
    if changed {
        upsert_state(connection, id, &state)?;
    }
    Ok(changed)
}

fn update_connection(
    connection: &Connection,
    id: &InstanceId,
    seen: &ConnectionUpdate,
) -> Result<bool, DbError> {
    let mut state = select_state(connection, id)?;
    let another = state.apply_connection_update(seen);
    upsert_state(connection, id, &state)?;
    Ok(another)
}

/// Claims the check of the connection: sets `asked_at` and returns `true` if the instance is open and was never checked
/// after `before`.
fn claim_if_unasked(state: &mut InstanceState, now: Timestamp, before: Timestamp) -> bool {
    let ours = state.connection == Link::Open && state.last_checked_at().is_none_or(|at| at <= before);
    if ours {
        state.asked_at = Some(now);
    }
    ours
}

fn count_timeout_row(
    connection: &Connection,
    id: &InstanceId,
    found: &UnansweredAttempt,
) -> Result<u32, DbError> {
    let mut state = select_state(connection, id)?;
    if state.count_timeout(found) {
        upsert_state(connection, id, &state)?;
    }
    Ok(state.timeouts)
}

fn update_llm_credentials(connection: &Connection, id: &InstanceId, missing: bool) -> Result<bool, DbError> {
    let mut state = select_state(connection, id)?;
    let changed = state.llm_needs_credentials != missing;
    if changed {
        state.llm_needs_credentials = missing;
        upsert_state(connection, id, &state)?;
    }
    Ok(changed)
}

fn upsert_parked(connection: &Connection, mut parked: ParkedConversation) -> Result<(), DbError> {
    let conversation = parked.conversation.to_string();
    let sql = "SELECT body FROM parked WHERE instance = ?1 AND conversation = ?2";
    let before: Option<ParkedConversation> =
        query_one(connection, sql, params![parked.instance.as_str(), conversation])?;
    if let Some(before) = before {
        parked.since = before.since;
    }
    let sql = "INSERT OR REPLACE INTO parked (instance, conversation, version, since, due, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (since, due) = (
        parked.since.as_millisecond(),
        parked.release_due_at().as_millisecond(),
    );
    let (instance, version) = (parked.instance.as_str(), parked.version.as_str());
    execute_sql(
        connection,
        sql,
        params![instance, conversation, version, since, due, encode_json(&parked)?],
    )?;
    Ok(())
}

fn delete_parked(connection: &Connection, parked: &ParkedConversation) -> Result<bool, DbError> {
    let sql = "DELETE FROM parked WHERE instance = ?1 AND conversation = ?2 AND version = ?3";
    let (instance, conversation) = (parked.instance.as_str(), parked.conversation.to_string());
    Ok(execute_sql(
        connection,
        sql,
        params![instance, conversation, parked.version.as_str()],
    )? > 0)
}

impl InstanceStates for Embedded {
    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        let id = id.clone();
        self.run_read("instance_state", move |c| select_state(c, &id))
            .await
    }

    async fn reserve_slot(&self, id: &InstanceId, rate: Rate, now: Timestamp) -> PortResult<Reservation> {
        let id = id.clone();
        self.run_write("reserve", move |c| reserve_slot(c, &id, rate, now))
            .await
    }

    async fn set_connection(&self, id: &InstanceId, seen: &ConnectionUpdate) -> PortResult<bool> {
        let (id, seen) = (id.clone(), *seen);
        self.run_write("set_connection", move |c| update_connection(c, &id, &seen))
            .await
    }

    async fn claim_connection_check(
        &self,
        id: &InstanceId,
        now: Timestamp,
        before: Timestamp,
    ) -> PortResult<bool> {
        let id = id.clone();
        let ours = move |state: &mut InstanceState| claim_if_unasked(state, now, before);
        self.run_write("claim_question", move |c| update_state(c, &id, ours))
            .await
    }

    async fn confirm_connection(&self, id: &InstanceId, at: Timestamp) -> PortResult<()> {
        let id = id.clone();
        let confirmed = move |state: &mut InstanceState| {
            state.confirmed_at = Some(at);
            state.connection == Link::Open
        };
        self.run_write("confirm", move |c| update_state(c, &id, confirmed).map(drop))
            .await
    }

    async fn claim_catch_up(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        let id = id.clone();
        let claim = move |state: &mut InstanceState| {
            let ours = state.caught_up_at.is_none_or(|at| at <= before);
            if ours {
                state.caught_up_at = Some(now);
            }
            ours
        };
        self.run_write("claim_catch_up", move |c| update_state(c, &id, claim))
            .await
    }

    async fn record_catch_up(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        rest: Option<Timestamp>,
    ) -> PortResult<()> {
        let (id, from, since) = (id.clone(), seen.catch_up_from, seen.since);
        let note = move |state: &mut InstanceState| {
            let same = state.catch_up_from == from && state.since == since;
            if same {
                state.catch_up_from = rest;
            }
            same
        };
        self.run_write("caught_up", move |c| update_state(c, &id, note).map(drop))
            .await
    }

    async fn set_traffic_profile(&self, id: &InstanceId, pattern: &TrafficProfile) -> PortResult<()> {
        let (id, pattern) = (id.clone(), pattern.clone());
        let set = move |state: &mut InstanceState| {
            state.pattern = Some(pattern);
            true
        };
        self.run_write("set_pattern", move |c| update_state(c, &id, set).map(drop))
            .await
    }

    async fn record_timeout(&self, id: &InstanceId, found: &UnansweredAttempt) -> PortResult<u32> {
        let (id, found) = (id.clone(), found.clone());
        self.run_write("note_timeout", move |c| count_timeout_row(c, &id, &found))
            .await
    }

    async fn reset_timeouts(&self, id: &InstanceId) -> PortResult<()> {
        let id = id.clone();
        let forget = |state: &mut InstanceState| {
            state.reset_timeouts();
            true
        };
        self.run_write("forget_timeouts", move |c| update_state(c, &id, forget).map(drop))
            .await
    }

    async fn set_llm_needs_credentials(&self, id: &InstanceId, missing: bool) -> PortResult<bool> {
        let id = id.clone();
        self.run_write("set_llm_needs_credentials", move |c| {
            update_llm_credentials(c, &id, missing)
        })
        .await
    }

    async fn put_parked(&self, parked: &ParkedConversation) -> PortResult<()> {
        let parked = parked.clone();
        self.run_write("park", move |c| upsert_parked(c, parked)).await
    }

    async fn list_parked(&self, id: &InstanceId, most: usize) -> PortResult<Vec<ParkedConversation>> {
        let id = id.clone();
        let sql = "SELECT body FROM parked WHERE instance = ?1 ORDER BY since, conversation LIMIT ?2";
        self.run_read("parked", move |c| {
            query_all(c, sql, params![id.as_str(), to_sql_limit(most)])
        })
        .await
    }

    async fn remove_parked(&self, parked: &ParkedConversation) -> PortResult<bool> {
        let parked = parked.clone();
        self.run_write("unpark", move |c| delete_parked(c, &parked)).await
    }
}
