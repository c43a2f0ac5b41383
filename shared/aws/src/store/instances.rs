use super::DynamoStore;
use super::expression::{COUNTED_BY, Expression, UpdateChange};
use super::instance_changes::{
    OPEN, connection_change, connection_condition, no_answer_change, probe_change, while_open,
};
use super::item::{self, Item, number_attribute};
use super::keys::TableKey;
use super::table::RETRIES_MAX;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{
    ConnectionStatus, ConnectionUpdate, InstanceState, ParkedConversation, TrafficProfile, UnansweredAttempt,
};
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::rate::Rate;
use recado_pipeline::ports::{InstanceStates, PortError, PortResult, Reservation, System};

/// Returns whether the attribute `name` holds the time `at`.
fn is_time_at(found: &Item, name: &str, at: Timestamp) -> bool {
    item::get_integer(found, name) == Some(at.as_millisecond())
}

pub(super) fn timestamp_attribute(at: Timestamp) -> AttributeValue {
    number_attribute(at.as_millisecond())
}

fn get_small_count(item: &Item, name: &str) -> u32 {
    item::get_integer(item, name)
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or_default()
}

/// Builds the reservation of a slot, with the state that the update returned.
fn slot_reservation(what: &'static str, at: Timestamp, updated: &Item) -> PortResult<Reservation> {
    let state = Box::new(item::decode_record(what, updated)?);
    Ok(Reservation::Slot { at, state })
}

/// Returns whether a refused reservation found the instance closed.
fn found_closed(what: &'static str, found: Option<&Item>) -> PortResult<bool> {
    let state: Option<InstanceState> = found.map(|item| item::decode_record(what, item)).transpose()?;
    Ok(state.is_some_and(|state| state.connection != ConnectionStatus::Open))
}

impl<A: System> InstanceStates for DynamoStore<A> {
    async fn read_instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        const WHAT: &str = "reading an instance's state";
        let found = self
            .table
            .get_record(WHAT, TableKey::for_instance_state(id))
            .await?;
        found.map_or_else(
            || Ok(InstanceState::default()),
            |item| item::decode_record(WHAT, &item),
        )
    }

    /// Reserves a slot. An idle instance takes one request. A busy one takes two: its arrival time lies ahead, and the
    /// second request moves it further.
    async fn reserve_slot(&self, id: &InstanceId, rate: Rate, now: Timestamp) -> PortResult<Reservation> {
        const WHAT: &str = "reserving a slot";
        // An arrival time later than this is not plausible and is replaced.
        let latest = rate.latest_plausible_time(now).as_millisecond();
        let idle = "(attribute_not_exists(#arrival) OR #arrival <= :now OR #arrival > :latest)";
        let idle = while_open(idle, now).with_number(":latest", latest);
        let busy = while_open("#arrival > :now AND #arrival <= :latest", now).with_number(":latest", latest);
        let fresh = rate.reserve_slot(None, now);
        let first = || UpdateChange::default().set_to_term("asked_at", "if_not_exists(#asked_at, :now)");
        let restart = first().set_value("arrival", timestamp_attribute(fresh.arrival));
        let advance = first()
            .set_to_term("arrival", "#arrival + :interval")
            .with_value(":interval", number_attribute(rate.interval_ms()));
        for _ in 0..RETRIES_MAX {
            let first = self.table.update_record(
                WHAT,
                TableKey::for_instance_state(id),
                &restart,
                Some(idle.clone()),
                ReturnValue::AllNew,
            );
            let refused = match first.await? {
                Ok(updated) => return slot_reservation(WHAT, fresh.at, &updated),
                Err(refused) => refused,
            };
            if found_closed(WHAT, refused.0.as_ref())? {
                return Ok(Reservation::NotOpen);
            }
            let second = self.table.update_record(
                WHAT,
                TableKey::for_instance_state(id),
                &advance,
                Some(busy.clone()),
                ReturnValue::AllNew,
            );
            match second.await? {
                Ok(updated) => {
                    let arrival = item::get_integer(&updated, "arrival")
                        .ok_or_else(|| PortError::invalid(WHAT, "no arrival time was returned"))?;
                    let stored = add_millis(from_unix_millis(arrival), -rate.interval_ms());
                    return slot_reservation(WHAT, rate.reserve_slot(Some(stored), now).at, &updated);
                }
                Err(refused) if found_closed(WHAT, refused.0.as_ref())? => return Ok(Reservation::NotOpen),
                Err(_) => {}
            }
        }
        Err(PortError::unavailable(
            WHAT,
            "the instance's state keeps changing",
        ))
    }

    async fn set_connection(&self, id: &InstanceId, seen: &ConnectionUpdate) -> PortResult<bool> {
        const WHAT: &str = "setting an instance's connection";
        let nonce = self.random_nonce();
        let is_this_change = |found: &Item| {
            item::get_string(found, "connection") == Some(seen.connection.as_str())
                && is_time_at(found, "since", seen.at)
        };
        let is_this_probe = |found: &Item| item::get_string(found, COUNTED_BY) == Some(nonce.as_str());
        for _ in 0..RETRIES_MAX {
            let (key, other) = (
                TableKey::for_instance_state(id),
                connection_condition(seen.connection, false),
            );
            let change = connection_change(id, seen);
            let first = self.table.update_record_once(
                WHAT,
                key,
                &change,
                Some(other),
                ReturnValue::None,
                is_this_change,
            );
            if first.await?.is_ok() {
                return Ok(true);
            }
            let same =
                connection_condition(seen.connection, true).and_condition(Expression::not_counted_by(&nonce));
            let (key, change) = (TableKey::for_instance_state(id), probe_change(id, seen, &nonce));
            let second = self.table.update_record_once(
                WHAT,
                key,
                &change,
                Some(same),
                ReturnValue::None,
                is_this_probe,
            );
            if second.await?.is_ok() {
                return Ok(false);
            }
        }
        Err(PortError::unavailable(
            WHAT,
            "the instance's state keeps changing",
        ))
    }

    async fn claim_connection_check(
        &self,
        id: &InstanceId,
        now: Timestamp,
        before: Timestamp,
    ) -> PortResult<bool> {
        const WHAT: &str = "claiming the question for an instance's state";
        let change = UpdateChange::default().set_value("asked_at", timestamp_attribute(now));
        let unasked = Expression::new(format!(
            "{OPEN} AND (attribute_not_exists(#asked_at) OR #asked_at <= :before) \
            AND (attribute_not_exists(#confirmed_at) OR #confirmed_at <= :before)"
        ));
        let unasked = unasked
            .with_text(":open", ConnectionStatus::Open.as_str())
            .with_number(":before", before.as_millisecond());
        let is_this = |found: &Item| is_time_at(found, "asked_at", now);
        let key = TableKey::for_instance_state(id);
        let claimed =
            self.table
                .update_record_once(WHAT, key, &change, Some(unasked), ReturnValue::None, is_this);
        Ok(claimed.await?.is_ok())
    }

    async fn confirm_connection(&self, id: &InstanceId, at: Timestamp) -> PortResult<()> {
        const WHAT: &str = "confirming an instance's state";
        let change = UpdateChange::default().set_value("confirmed_at", timestamp_attribute(at));
        let open = Expression::new(OPEN).with_text(":open", ConnectionStatus::Open.as_str());
        let _open = self
            .table
            .update_record(
                WHAT,
                TableKey::for_instance_state(id),
                &change,
                Some(open),
                ReturnValue::None,
            )
            .await?;
        Ok(())
    }

    async fn claim_catch_up(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        const WHAT: &str = "claiming a catch-up";
        let change = UpdateChange::default().set_value("caught_up_at", timestamp_attribute(now));
        let free = Expression::new("attribute_not_exists(#caught_up_at) OR #caught_up_at <= :before")
            .with_number(":before", before.as_millisecond());
        let is_this = |found: &Item| is_time_at(found, "caught_up_at", now);
        let key = TableKey::for_instance_state(id);
        let claimed =
            self.table
                .update_record_once(WHAT, key, &change, Some(free), ReturnValue::None, is_this);
        Ok(claimed.await?.is_ok())
    }

    async fn record_catch_up(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        rest: Option<Timestamp>,
    ) -> PortResult<()> {
        const WHAT: &str = "noting a catch-up";
        let change = UpdateChange::default().set_or_remove("catch_up_from", rest.map(timestamp_attribute));
        let as_seen = |name: &str, value: Option<Timestamp>| match value {
            Some(_) => format!("#{name} = :seen_{name}"),
            None => format!("attribute_not_exists(#{name})"),
        };
        let both = [("catch_up_from", seen.catch_up_from), ("since", seen.since)];
        let text = both.map(|(name, value)| as_seen(name, value)).join(" AND ");
        let same = both
            .into_iter()
            .fold(Expression::new(text), |same, (name, value)| {
                value.map_or(same.clone(), |at| {
                    same.with_number(&format!(":seen_{name}"), at.as_millisecond())
                })
            });
        let _noted = self
            .table
            .update_record(
                WHAT,
                TableKey::for_instance_state(id),
                &change,
                Some(same),
                ReturnValue::None,
            )
            .await?;
        Ok(())
    }

    async fn set_traffic_profile(&self, id: &InstanceId, pattern: &TrafficProfile) -> PortResult<()> {
        const WHAT: &str = "keeping how an instance's contacts write";
        let change = UpdateChange::default().set_value("pattern", item::encode_part(WHAT, pattern)?);
        let _set = self
            .table
            .update_record(
                WHAT,
                TableKey::for_instance_state(id),
                &change,
                None,
                ReturnValue::None,
            )
            .await?;
        Ok(())
    }

    async fn record_timeout(&self, id: &InstanceId, found: &UnansweredAttempt) -> PortResult<u32> {
        const WHAT: &str = "noting a time-out";
        let (change, counts) = no_answer_change(found, &self.random_nonce());
        let noted = self.table.update_record(
            WHAT,
            TableKey::for_instance_state(id),
            &change,
            Some(counts),
            ReturnValue::UpdatedNew,
        );
        // An attempt that does not count, or that an earlier request counted already, leaves the stored number
        // unchanged.
        let item = noted.await?.or_else(|refused| refused.0.ok_or(()));
        Ok(item.map_or(0, |item| get_small_count(&item, "timeouts")))
    }

    async fn reset_timeouts(&self, id: &InstanceId) -> PortResult<()> {
        const WHAT: &str = "forgetting time-outs";
        let change = UpdateChange::default()
            .set_value("timeouts", number_attribute(0))
            .remove_attributes(&["timed_out"]);
        let _forgotten = self
            .table
            .update_record(
                WHAT,
                TableKey::for_instance_state(id),
                &change,
                None,
                ReturnValue::None,
            )
            .await?;
        Ok(())
    }

    async fn set_llm_needs_credentials(&self, id: &InstanceId, missing: bool) -> PortResult<bool> {
        const NAME: &str = "llm_needs_credentials";
        let change = UpdateChange::default().set_value(NAME, AttributeValue::Bool(missing));
        let other = if missing {
            Expression::new(format!("attribute_not_exists(#{NAME}) OR #{NAME} = :other"))
        } else {
            Expression::new(format!("#{NAME} = :other"))
        };
        let other = other.with_value(":other", AttributeValue::Bool(!missing));
        let what = "noting the state of the model's credentials";
        let is_this = |found: &Item| found.get(NAME) == Some(&AttributeValue::Bool(missing));
        let key = TableKey::for_instance_state(id);
        let noted =
            self.table
                .update_record_once(what, key, &change, Some(other), ReturnValue::None, is_this);
        Ok(noted.await?.is_ok())
    }

    async fn put_parked(&self, parked: &ParkedConversation) -> PortResult<()> {
        self.write_parked_record(parked).await
    }

    async fn list_parked(&self, id: &InstanceId, limit: usize) -> PortResult<Vec<ParkedConversation>> {
        self.read_parked_records(id, limit).await
    }

    async fn remove_parked(&self, parked: &ParkedConversation) -> PortResult<bool> {
        const WHAT: &str = "unparking a conversation";
        let seen = Expression::new("#version = :seen").with_text(":seen", parked.version.as_str());
        let key = TableKey::for_parked(&parked.instance, &parked.conversation);
        Ok(self.table.delete_record(WHAT, key, seen).await?.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::text_attribute;
    use super::*;

    fn id() -> InstanceId {
        InstanceId::parse("front-desk").unwrap()
    }

    fn sighting(connection: ConnectionStatus, probe_at: Option<i64>) -> ConnectionUpdate {
        ConnectionUpdate {
            connection,
            at: from_unix_millis(5),
            probe_at: probe_at.map(from_unix_millis),
            asked_at: None,
            releases_waiting: false,
        }
    }

    #[test]
    fn a_connection_that_is_lost_enters_the_index_and_one_that_is_back_leaves_it() {
        let lost =
            connection_change(&id(), &sighting(ConnectionStatus::Closed, Some(60_000))).build_expression();
        assert!(
            lost.text.contains("#open_due = :probe_at")
                && lost.values[":probe_at"] == number_attribute(60_000)
        );
        assert!(!lost.text.contains("released_at"));
        let back = connection_change(&id(), &sighting(ConnectionStatus::Open, None)).build_expression();
        assert!(back.text.contains("REMOVE #probe_at, #open_shard, #open_due"));
        assert!(!back.text.contains("released_at"));
        let releasing = ConnectionUpdate {
            releases_waiting: true,
            ..sighting(ConnectionStatus::Open, None)
        };
        let back = connection_change(&id(), &releasing).build_expression();
        assert!(back.text.contains("#released_at = :released_at"));
    }

    #[test]
    fn an_open_one_that_is_to_be_released_again_stays_in_the_index() {
        let back =
            connection_change(&id(), &sighting(ConnectionStatus::Open, Some(60_000))).build_expression();
        assert!(back.text.contains("#open_due = :probe_at"), "{}", back.text);
        assert!(!back.text.contains("released_at"), "{}", back.text);
    }

    #[test]
    fn a_lost_connection_without_a_probe_time_is_due_since_it_was_lost() {
        let first = connection_change(&id(), &sighting(ConnectionStatus::Closed, None)).build_expression();
        assert!(first.text.contains("#open_due = :since"), "{}", first.text);
        let again = probe_change(&id(), &sighting(ConnectionStatus::Closed, None), "n").build_expression();
        assert!(again.text.contains("#open_due = #since"), "{}", again.text);
    }

    #[test]
    fn an_instance_of_which_nothing_is_known_is_open() {
        assert!(
            connection_condition(ConnectionStatus::Open, true)
                .text
                .contains("attribute_not_exists(#connection)")
        );
        assert!(
            connection_condition(ConnectionStatus::Closed, false)
                .text
                .contains("attribute_not_exists(#connection)")
        );
        assert!(!found_closed("test", None).unwrap());
        let closed = Item::from([
            ("connection".to_owned(), text_attribute("closed")),
            ("arrival".to_owned(), number_attribute(9)),
        ]);
        assert!(found_closed("test", Some(&closed)).unwrap());
    }
}
