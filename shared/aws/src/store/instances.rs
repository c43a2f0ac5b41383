mod slots;

use super::DynamoStore;
use super::expression::{Expression, UpdateChange};
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use super::parking::parking_change;
use crate::cache::CacheLookup;
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ChangedInstance, InstanceChange, InstanceState, ParkedConversation};
use recado_domain::rate::Rate;
use recado_ports::ports::{InstanceName, Instances, PortError, PortResult, Reservation, SlotTurn, System};
use recado_ports::records::configuration::join_instance_config;
use std::collections::HashMap;
use std::sync::Arc;

/// The attribute that holds the nonce of the request that changed the state last: by it, a request that was sent twice
/// recognizes its own effect.
const CHANGED_BY: &str = "counted_by";

/// Number of tries to change a state that others change too. A try fails only because another caller's change succeeded.
const CHANGE_TRIES: u32 = 32;

fn timestamp_attribute(at: Timestamp) -> AttributeValue {
    number_attribute(at.as_millisecond())
}

/// Returns the condition that the stored state has the revision `rev`. A state that was never changed has none.
fn has_revision(rev: u64) -> Expression {
    match rev {
        0 => Expression::new("attribute_not_exists(#rev)"),
        _ => Expression::new("#rev = :seen").with_number(":seen", rev),
    }
}

/// Returns the update that makes the state `after` of `before`. It names only the attributes that differ, so that it
/// does not undo a reservation of a slot, and marks [another connection](item::CONNECTION_CHANGED). The index holds
/// [`InstanceState::index_time`].
fn state_update(
    what: &'static str,
    id: &InstanceId,
    before: &InstanceState,
    after: &InstanceState,
) -> PortResult<UpdateChange> {
    let old = item::encode_record(what, before)?;
    let new = item::encode_record(what, after)?;
    let mut update = UpdateChange::default();
    for (name, value) in &new {
        if old.get(name) != Some(value) {
            update = update.set_value(name, value.clone());
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        update = update.remove_attributes(&[name.as_str()]);
    }
    let update = match after.index_time() {
        due if due == before.index_time() => update,
        due => update.index_open(&TableKey::for_instance_state(id), due),
    };
    let is_changed = before.connection != after.connection;
    let changed = is_changed.then_some(AttributeValue::Bool(true));
    Ok(update.set_or_remove(item::CONNECTION_CHANGED, changed))
}

/// Returns the condition that the stored state is as a caller read it. The default state is read also where none [can be
/// read](parse_state): for it there must be none.
fn is_as_read(seen: &InstanceState) -> Expression {
    if *seen == default_state(seen.rev) {
        Expression::record_absent()
    } else {
        has_revision(seen.rev)
    }
}

fn default_state(rev: u64) -> InstanceState {
    InstanceState {
        rev,
        ..InstanceState::default()
    }
}

/// Returns the state in an item. One that cannot be read is the default state, with the stored revision.
fn parse_state(what: &'static str, found: &Item) -> InstanceState {
    let read = item::keep_readable(item::decode_record(what, found));
    read.unwrap_or_else(|| default_state(item::stored_revision(found)))
}

impl<A: System> DynamoStore<A> {
    /// Returns the state that a write found. In the place of one that cannot be read, the default state is written with the next
    /// revision: a change of single attributes would leave it unreadable.
    async fn take_found_state(
        &self,
        what: &'static str,
        id: &InstanceId,
        found: Option<Item>,
    ) -> PortResult<InstanceState> {
        let Some(found) = found else {
            return Ok(InstanceState::default());
        };
        if let Some(state) = item::keep_readable(item::decode_record(what, &found)) {
            return Ok(state);
        }
        let state = default_state(item::stored_revision(&found).saturating_add(1));
        let mut whole = item::encode_record(what, &state)?;
        whole.extend(TableKey::for_instance_state(id).into_key_item());
        let as_found = Expression::attribute_as_found("rev", &found);
        // If another worker wrote it meanwhile, the caller's next try finds that.
        let _written = self.table.put_record(what, whole, Some(as_found)).await?;
        Ok(state)
    }
}

#[async_trait]
impl<A: System> Instances for DynamoStore<A> {
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>> {
        if let CacheLookup::Hit(known) = self.configs.get(&name, self.table.system.now()) {
            return Ok(known);
        }
        let found = join_instance_config(self, &name).await?.map(Arc::new);
        self.configs
            .insert_entry(name, found.clone(), self.table.system.now());
        Ok(found)
    }

    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        const WHAT: &str = "reading an instance's state";
        let key = TableKey::for_instance_state(id);
        let found = self.table.get_record(WHAT, key).await?;
        Ok(found.map_or_else(InstanceState::default, |item| parse_state(WHAT, &item)))
    }

    async fn read_instance_states(
        &self,
        ids: &[InstanceId],
    ) -> PortResult<HashMap<InstanceId, InstanceState>> {
        const WHAT: &str = "reading instances' states";
        let keys: Vec<TableKey> = ids.iter().map(TableKey::for_instance_state).collect();
        let by_key: HashMap<String, &InstanceId> = ids.iter().map(|id| (keys::instance_pk(id), id)).collect();
        let mut states = HashMap::new();
        for item in self.table.get_records(WHAT, keys, false).await? {
            let id = item::get_string(&item, "pk").and_then(|pk| by_key.get(pk));
            if let Some(id) = id {
                let state = item::keep_readable(item::decode_record(WHAT, &item));
                states.extend(state.map(|state| ((*id).clone(), state)));
            }
        }
        Ok(states)
    }

    async fn reserve_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        turn: SlotTurn,
        now: Timestamp,
    ) -> PortResult<Reservation> {
        match turn {
            SlotTurn::Next => self.reserve_next_slot(id, rate, now).await,
            SlotTurn::Yielding => self.reserve_yielding_slot(id, rate, false, now).await,
            SlotTurn::YieldingAgain => self.reserve_yielding_slot(id, rate, true, now).await,
        }
    }

    /// Changes the state: one update of `seen`, on condition that nobody changed the stored state since. A refused update
    /// returns the stored state, from which the next one is made. If the change would leave `seen` as it is, the stored
    /// state is read first.
    async fn change_instance_state(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        change: &InstanceChange,
    ) -> PortResult<ChangedInstance> {
        const WHAT: &str = "changing an instance's state";
        let nonce = self.random_nonce();
        let is_this = |found: &Item| item::get_string(found, CHANGED_BY) == Some(nonce.as_str());
        let (mut before, mut is_stored) = (seen.clone(), false);
        for round in 0..CHANGE_TRIES {
            let mut state = before.clone();
            let done = state.apply_change(change);
            if state == before && is_stored {
                return Ok(ChangedInstance { done, state });
            }
            if state == before {
                let key = TableKey::for_instance_state(id);
                let found = self.table.get_record(WHAT, key).await?;
                (before, is_stored) = (self.take_found_state(WHAT, id, found).await?, true);
                continue;
            }
            let update =
                state_update(WHAT, id, &before, &state)?.set_value(CHANGED_BY, text_attribute(&nonce));
            let unchanged = if is_stored {
                has_revision(before.rev)
            } else {
                is_as_read(&before)
            };
            let key = TableKey::for_instance_state(id);
            let written = self
                .table
                .update_record_once(WHAT, key, &update, unchanged, is_this);
            let Err(refused) = written.await? else {
                return Ok(ChangedInstance { done, state });
            };
            (before, is_stored) = (self.take_found_state(WHAT, id, refused.0).await?, true);
            if round > 0 {
                self.table.wait_before_retry(round).await;
            }
        }
        Err(PortError::contended(WHAT))
    }

    async fn put_parked(&self, parked: &ParkedConversation) -> PortResult<()> {
        let key = TableKey::for_parked(&parked.instance, &parked.conversation);
        let what = "parking a conversation";
        let _parked = self
            .table
            .update_record(what, key, &parking_change(parked), None)
            .await?;
        Ok(())
    }

    async fn list_parked(&self, id: &InstanceId, limit: usize) -> PortResult<Vec<ParkedConversation>> {
        const WHAT: &str = "reading parked conversations";
        let pk = keys::instance_pk(id);
        let found = self.table.query_partition(WHAT, pk, Some(keys::PARK)).await?;
        let mut parked: Vec<ParkedConversation> = item::decode_readable(WHAT, &found);
        parked.sort_by_key(|parked| parked.since);
        parked.truncate(limit);
        Ok(parked)
    }

    async fn remove_parked(&self, parked: &ParkedConversation) -> PortResult<bool> {
        const WHAT: &str = "unparking a conversation";
        let seen = Expression::new("#version = :seen").with_text(":seen", parked.version.as_str());
        let key = TableKey::for_parked(&parked.instance, &parked.conversation);
        Ok(self.table.delete_record(WHAT, key, seen).await?.is_ok())
    }
}

#[cfg(test)]
mod tests;
