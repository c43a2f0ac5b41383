//! Reserves slots of an instance's rate.

use super::{CHANGE_TRIES, parse_state, timestamp_attribute};
use crate::store::DynamoStore;
use crate::store::expression::{Expression, UpdateChange};
use crate::store::item::{self, Item, number_attribute};
use crate::store::keys::TableKey;
use crate::store::table::RETRIES_MAX;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::ConnectionStatus;
use recado_domain::millis::{add_duration, from_unix_millis, to_millis};
use recado_domain::rate::{Rate, YieldingSlot};
use recado_ports::ports::{Instances, PortError, PortResult, Reservation, System};

/// The condition that the instance is open. An instance without a stored state counts as open.
const OPEN: &str = "(attribute_not_exists(#connection) OR #connection = :open)";

/// The reason for which a reservation is given up.
const KEEPS_CHANGING: &str = "the instance's state keeps changing";

fn while_open(text: &str, now: Timestamp) -> Expression {
    Expression::new(format!("{text} AND {OPEN}"))
        .with_text(":open", ConnectionStatus::Open.as_str())
        .with_number(":now", now.as_millisecond())
}

/// Returns the condition that the attribute `name` still holds the time `before`.
fn has_time(name: &str, before: Option<Timestamp>) -> Expression {
    match before {
        None => Expression::new(format!("attribute_not_exists(#{name})")),
        Some(at) => Expression::new(format!("#{name} = :{name}_before"))
            .with_number(&format!(":{name}_before"), at.as_millisecond()),
    }
}

/// Returns the beginning of every change of a slot: it leaves the connection as it is.
fn keep_connection() -> UpdateChange {
    UpdateChange::default().remove_attributes(&[item::CONNECTION_CHANGED])
}

/// Returns the change that counts one slot more. Who uses it gives `:now`, for an instance that was never asked for one.
fn count_slot() -> UpdateChange {
    keep_connection()
        .set_to_term("asked_at", "if_not_exists(#asked_at, :now)")
        .set_to_term("slots", "if_not_exists(#slots, :none) + :one")
        .with_value(":none", number_attribute(0))
        .with_value(":one", number_attribute(1))
}

/// Builds the reservation of a slot, with the state that the update returned.
fn slot_reservation(what: &'static str, at: Timestamp, updated: &Item) -> Reservation {
    let state = Box::new(parse_state(what, updated));
    Reservation::Slot { at, state }
}

impl<A: System> DynamoStore<A> {
    /// Returns whether a refused reservation found the instance closed.
    async fn found_closed(
        &self,
        what: &'static str,
        id: &InstanceId,
        found: Option<Item>,
    ) -> PortResult<bool> {
        let state = self.take_found_state(what, id, found).await?;
        Ok(state.connection != ConnectionStatus::Open)
    }

    /// Reserves the next slot. An idle instance takes one request. A busy one takes two: its arrival time lies ahead, and the
    /// second request moves it further.
    pub(super) async fn reserve_next_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        now: Timestamp,
    ) -> PortResult<Reservation> {
        const WHAT: &str = "reserving a slot";
        // An arrival time later than this is not plausible and is replaced.
        let latest = rate.latest_plausible_time(now).as_millisecond();
        let idle = "(attribute_not_exists(#arrival) OR #arrival <= :now OR #arrival > :latest)";
        let idle = while_open(idle, now).with_number(":latest", latest);
        let busy = while_open("#arrival > :now AND #arrival <= :latest", now).with_number(":latest", latest);
        let fresh = rate.reserve_slot(None, now);
        let restart = count_slot().set_value("arrival", timestamp_attribute(fresh.arrival));
        let advance = count_slot()
            .set_to_term("arrival", "#arrival + :interval")
            .with_value(":interval", number_attribute(to_millis(rate.interval())));
        for _ in 0..RETRIES_MAX {
            let key = TableKey::for_instance_state(id);
            let first = self.table.update_and_read(WHAT, key, &restart, idle.clone());
            let refused = match first.await? {
                Ok(updated) => return Ok(slot_reservation(WHAT, fresh.at, &updated)),
                Err(refused) => refused,
            };
            if self.found_closed(WHAT, id, refused.0).await? {
                return Ok(Reservation::NotOpen);
            }
            let key = TableKey::for_instance_state(id);
            let second = self.table.update_and_read(WHAT, key, &advance, busy.clone());
            match second.await? {
                Ok(updated) => {
                    let arrival = item::get_integer(&updated, "arrival")
                        .ok_or_else(|| PortError::invalid(WHAT, "no arrival time was returned"))?;
                    let stored = add_duration(from_unix_millis(arrival), -rate.interval());
                    let at = rate.reserve_slot(Some(stored), now).at;
                    return Ok(slot_reservation(WHAT, at, &updated));
                }
                Err(refused) => {
                    if self.found_closed(WHAT, id, refused.0).await? {
                        return Ok(Reservation::NotOpen);
                    }
                }
            }
        }
        Err(PortError::unavailable(WHAT, KEEPS_CHANGING))
    }

    /// Reserves a slot for a message that lets others go before it: a read, and an update on condition that nobody reserved
    /// since. Callers whose update was refused twice wait for random times, so that many callers do not collide again.
    pub(super) async fn reserve_yielding_slot(
        &self,
        id: &InstanceId,
        rate: Rate,
        holds_place: bool,
        now: Timestamp,
    ) -> PortResult<Reservation> {
        const WHAT: &str = "reserving a slot behind others";
        let open = Expression::new(OPEN).with_text(":open", ConnectionStatus::Open.as_str());
        for round in 0..CHANGE_TRIES {
            let before = self.read_instance_state(id).await?;
            if before.connection != ConnectionStatus::Open {
                return Ok(Reservation::NotOpen);
            }
            let mut after = before.clone();
            let reserved = after.reserve_yielding(rate, holds_place, now);
            let unchanged = open
                .clone()
                .and_condition(has_time("arrival", before.arrival))
                .and_condition(has_time("places", before.places));
            let change = match reserved {
                YieldingSlot::Slot(slot) => count_slot()
                    .set_value("arrival", timestamp_attribute(slot.arrival))
                    .with_value(":now", timestamp_attribute(now)),
                YieldingSlot::Place { .. } => {
                    keep_connection().set_or_remove("places", after.places.map(timestamp_attribute))
                }
            };
            let key = TableKey::for_instance_state(id);
            let written = self.table.update_and_read(WHAT, key, &change, unchanged);
            match (written.await?, reserved) {
                (Ok(updated), YieldingSlot::Slot(slot)) => {
                    return Ok(slot_reservation(WHAT, slot.at, &updated));
                }
                (Ok(_), YieldingSlot::Place { at, .. }) => return Ok(Reservation::Place(at)),
                (Err(refused), _) => {
                    if self.found_closed(WHAT, id, refused.0).await? {
                        return Ok(Reservation::NotOpen);
                    }
                    if round > 0 {
                        self.table.wait_before_retry(round).await;
                    }
                }
            }
        }
        Err(PortError::unavailable(WHAT, KEEPS_CHANGING))
    }
}
