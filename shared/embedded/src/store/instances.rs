use crate::Embedded;
use crate::fault::Fault;
use crate::record::{all, encode, execute, limit, one};
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{Connection as Link, InstanceState, NoAnswer, Parked, Pattern, Sighting};
use recado_domain::rate::Rate;
use recado_pipeline::ports::{Instances, PortResult, Reservation};
use rusqlite::{Connection, params};

fn state(connection: &Connection, id: &InstanceId) -> Result<InstanceState, Fault> {
    let found = one(
        connection,
        "SELECT body FROM instance_states WHERE id = ?1",
        [id.as_str()],
    )?;
    Ok(found.unwrap_or_default())
}

fn put(connection: &Connection, id: &InstanceId, state: &InstanceState) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO instance_states (id, due, body) VALUES (?1, ?2, ?3)";
    let due = state.due().map(Timestamp::as_millisecond);
    execute(connection, sql, params![id.as_str(), due, encode(state)?])?;
    Ok(())
}

fn reserve(
    connection: &Connection,
    id: &InstanceId,
    rate: Rate,
    now: Timestamp,
) -> Result<Reservation, Fault> {
    let mut state = state(connection, id)?;
    if state.connection != Link::Open {
        return Ok(Reservation::NotOpen);
    }
    let slot = rate.reserve(state.arrival, now);
    state.arrival = Some(slot.arrival);
    state.asked_at.get_or_insert(now);
    put(connection, id, &state)?;
    Ok(Reservation::Slot {
        at: slot.at,
        state: Box::new(state),
    })
}

/// Changes the state, and writes it if `change` says so.
fn changed(
    connection: &Connection,
    id: &InstanceId,
    change: impl FnOnce(&mut InstanceState) -> bool,
) -> Result<bool, Fault> {
    let mut state = state(connection, id)?;
    let changed = change(&mut state);
    if changed {
        put(connection, id, &state)?;
    }
    Ok(changed)
}

fn set_connection(connection: &Connection, id: &InstanceId, seen: &Sighting) -> Result<bool, Fault> {
    let mut state = state(connection, id)?;
    let another = state.see(seen);
    put(connection, id, &state)?;
    Ok(another)
}

/// Whether the question is ours to ask.
fn ask(state: &mut InstanceState, now: Timestamp, before: Timestamp) -> bool {
    let ours = state.connection == Link::Open && state.checked_at().is_none_or(|at| at <= before);
    if ours {
        state.asked_at = Some(now);
    }
    ours
}

fn note_timeout(connection: &Connection, id: &InstanceId, found: &NoAnswer) -> Result<u32, Fault> {
    let mut state = state(connection, id)?;
    if state.count_timeout(found) {
        put(connection, id, &state)?;
    }
    Ok(state.timeouts)
}

fn set_llm_needs_credentials(connection: &Connection, id: &InstanceId, missing: bool) -> Result<bool, Fault> {
    let mut state = state(connection, id)?;
    let changed = state.llm_needs_credentials != missing;
    if changed {
        state.llm_needs_credentials = missing;
        put(connection, id, &state)?;
    }
    Ok(changed)
}

fn park(connection: &Connection, mut parked: Parked) -> Result<(), Fault> {
    let conversation = parked.conversation.to_string();
    let sql = "SELECT body FROM parked WHERE instance = ?1 AND conversation = ?2";
    let before: Option<Parked> = one(connection, sql, params![parked.instance.as_str(), conversation])?;
    if let Some(before) = before {
        parked.since = before.since;
    }
    let sql = "INSERT OR REPLACE INTO parked (instance, conversation, version, since, due, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (since, due) = (parked.since.as_millisecond(), parked.due().as_millisecond());
    let (instance, version) = (parked.instance.as_str(), parked.version.as_str());
    execute(
        connection,
        sql,
        params![instance, conversation, version, since, due, encode(&parked)?],
    )?;
    Ok(())
}

fn unpark(connection: &Connection, parked: &Parked) -> Result<bool, Fault> {
    let sql = "DELETE FROM parked WHERE instance = ?1 AND conversation = ?2 AND version = ?3";
    let (instance, conversation) = (parked.instance.as_str(), parked.conversation.to_string());
    Ok(execute(
        connection,
        sql,
        params![instance, conversation, parked.version.as_str()],
    )? > 0)
}

impl Instances for Embedded {
    async fn instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        let id = id.clone();
        self.read("instance_state", move |c| state(c, &id)).await
    }

    async fn reserve(&self, id: &InstanceId, rate: Rate, now: Timestamp) -> PortResult<Reservation> {
        let id = id.clone();
        self.write("reserve", move |c| reserve(c, &id, rate, now)).await
    }

    async fn set_connection(&self, id: &InstanceId, seen: &Sighting) -> PortResult<bool> {
        let (id, seen) = (id.clone(), *seen);
        self.write("set_connection", move |c| set_connection(c, &id, &seen))
            .await
    }

    async fn claim_question(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        let id = id.clone();
        let ours = move |state: &mut InstanceState| ask(state, now, before);
        self.write("claim_question", move |c| changed(c, &id, ours)).await
    }

    async fn confirm(&self, id: &InstanceId, at: Timestamp) -> PortResult<()> {
        let id = id.clone();
        let confirmed = move |state: &mut InstanceState| {
            state.confirmed_at = Some(at);
            state.connection == Link::Open
        };
        self.write("confirm", move |c| changed(c, &id, confirmed).map(drop))
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
        self.write("claim_catch_up", move |c| changed(c, &id, claim))
            .await
    }

    async fn caught_up(
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
        self.write("caught_up", move |c| changed(c, &id, note).map(drop))
            .await
    }

    async fn set_pattern(&self, id: &InstanceId, pattern: &Pattern) -> PortResult<()> {
        let (id, pattern) = (id.clone(), pattern.clone());
        let set = move |state: &mut InstanceState| {
            state.pattern = Some(pattern);
            true
        };
        self.write("set_pattern", move |c| changed(c, &id, set).map(drop))
            .await
    }

    async fn note_timeout(&self, id: &InstanceId, found: &NoAnswer) -> PortResult<u32> {
        let (id, found) = (id.clone(), found.clone());
        self.write("note_timeout", move |c| note_timeout(c, &id, &found))
            .await
    }

    async fn forget_timeouts(&self, id: &InstanceId) -> PortResult<()> {
        let id = id.clone();
        let forget = |state: &mut InstanceState| {
            state.forget_timeouts();
            true
        };
        self.write("forget_timeouts", move |c| changed(c, &id, forget).map(drop))
            .await
    }

    async fn set_llm_needs_credentials(&self, id: &InstanceId, missing: bool) -> PortResult<bool> {
        let id = id.clone();
        self.write("set_llm_needs_credentials", move |c| {
            set_llm_needs_credentials(c, &id, missing)
        })
        .await
    }

    async fn park(&self, parked: &Parked) -> PortResult<()> {
        let parked = parked.clone();
        self.write("park", move |c| park(c, parked)).await
    }

    async fn parked(&self, id: &InstanceId, most: usize) -> PortResult<Vec<Parked>> {
        let id = id.clone();
        let sql = "SELECT body FROM parked WHERE instance = ?1 ORDER BY since, conversation LIMIT ?2";
        self.read("parked", move |c| all(c, sql, params![id.as_str(), limit(most)]))
            .await
    }

    async fn unpark(&self, parked: &Parked) -> PortResult<bool> {
        let parked = parked.clone();
        self.write("unpark", move |c| unpark(c, &parked)).await
    }
}
