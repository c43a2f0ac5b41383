use super::DynamoStore;
use super::expression::{Change, Expression};
use super::item::{self, Item, number, text};
use super::keys::Key;
use super::table::ROUNDS;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{Connection, InstanceState, Parked};
use recado_domain::millis::{instant, shift};
use recado_domain::rate::Rate;
use recado_pipeline::ports::{Ambient, Instances, PortError, PortResult, Reservation};

/// The instance is open: as one is of which nothing is known.
const OPEN: &str = "(attribute_not_exists(#connection) OR #connection = :open)";

fn when(text: &str, now: Timestamp) -> Expression {
    Expression::new(format!("{text} AND {OPEN}"))
        .text(":open", Connection::Open.as_str())
        .number(":now", now.as_millisecond())
}

/// The connection is `connection` already (`true`), or another one.
fn connected(connection: Connection, already: bool) -> Expression {
    let text = match (connection, already) {
        (Connection::Open, true) => OPEN,
        (Connection::Open, false) => "attribute_exists(#connection) AND #connection <> :open",
        (_, true) => "#connection = :open",
        (_, false) => "(attribute_not_exists(#connection) OR #connection <> :open)",
    };
    Expression::new(text).text(":open", connection.as_str())
}

/// A change of connection. The index holds when the instance is to be asked again.
fn changed(id: &InstanceId, connection: Connection, now: Timestamp, probe_at: Option<Timestamp>) -> Change {
    let state = InstanceState {
        connection,
        since: Some(now),
        probe_at,
        ..InstanceState::default()
    };
    let due = state.due();
    Change::default()
        .set("connection", text(connection.as_str()))
        .set("since", number(now.as_millisecond()))
        .set("probes", number(0))
        .set("timeouts", number(0))
        .set_or_remove("probe_at", probe_at.map(milliseconds))
        .set_or_remove("open_shard", due.map(|_| text(Key::state(id).shard())))
        .set_or_remove("open_due", due.map(milliseconds))
}

/// The same connection found again.
fn probed(id: &InstanceId, connection: Connection, probe_at: Option<Timestamp>) -> Change {
    let change = Change::default()
        .count("probes")
        .set_or_remove("probe_at", probe_at.map(milliseconds));
    match (connection, probe_at) {
        (Connection::Open, _) => change.remove(&["open_shard", "open_due"]),
        (_, Some(at)) => change
            .set("open_shard", text(Key::state(id).shard()))
            .set("open_due", milliseconds(at)),
        (_, None) => change
            .set("open_shard", text(Key::state(id).shard()))
            .set_to("open_due", "#since"),
    }
}

fn milliseconds(at: Timestamp) -> AttributeValue {
    number(at.as_millisecond())
}

fn small(item: &Item, name: &str) -> u32 {
    item::whole(item, name)
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or_default()
}

/// Whether a refused reservation found the instance closed.
fn found_closed(what: &'static str, found: Option<&Item>) -> PortResult<bool> {
    let state: Option<InstanceState> = found.map(|item| item::read(what, item)).transpose()?;
    Ok(state.is_some_and(|state| state.connection != Connection::Open))
}

impl<A: Ambient> Instances for DynamoStore<A> {
    async fn instance_state(&self, id: &InstanceId) -> PortResult<InstanceState> {
        const WHAT: &str = "reading an instance's state";
        let found = self.table.get(WHAT, Key::state(id)).await?;
        found.map_or_else(|| Ok(InstanceState::default()), |item| item::read(WHAT, &item))
    }

    /// An idle instance takes one request, a busy one two: the arrival time lies ahead, and grows where it stands.
    async fn reserve(&self, id: &InstanceId, rate: Rate, now: Timestamp) -> PortResult<Reservation> {
        const WHAT: &str = "reserving a slot";
        let idle = when("(attribute_not_exists(#arrival) OR #arrival <= :now)", now);
        let busy = when("#arrival > :now", now);
        let fresh = rate.reserve(None, now);
        let restart = Change::default().set("arrival", milliseconds(fresh.arrival));
        let advance = Change::default()
            .set_to("arrival", "#arrival + :interval")
            .with(":interval", number(rate.interval_ms()));
        for _ in 0..ROUNDS {
            let first = self.table.update(
                WHAT,
                Key::state(id),
                &restart,
                Some(idle.clone()),
                ReturnValue::None,
            );
            let Err(refused) = first.await? else {
                return Ok(Reservation::Slot(fresh.at));
            };
            if found_closed(WHAT, refused.0.as_ref())? {
                return Ok(Reservation::NotOpen);
            }
            let second = self.table.update(
                WHAT,
                Key::state(id),
                &advance,
                Some(busy.clone()),
                ReturnValue::UpdatedNew,
            );
            match second.await? {
                Ok(updated) => {
                    let arrival = item::whole(&updated, "arrival")
                        .ok_or_else(|| PortError::invalid(WHAT, "no arrival time was returned"))?;
                    let stored = shift(instant(arrival), -rate.interval_ms());
                    return Ok(Reservation::Slot(rate.reserve(Some(stored), now).at));
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

    async fn set_connection(
        &self,
        id: &InstanceId,
        connection: Connection,
        now: Timestamp,
        probe_at: Option<Timestamp>,
    ) -> PortResult<bool> {
        const WHAT: &str = "setting an instance's connection";
        for _ in 0..ROUNDS {
            for other in [true, false] {
                let change = if other {
                    changed(id, connection, now, probe_at)
                } else {
                    probed(id, connection, probe_at)
                };
                let condition = Some(connected(connection, !other));
                if self
                    .table
                    .update(WHAT, Key::state(id), &change, condition, ReturnValue::None)
                    .await?
                    .is_ok()
                {
                    return Ok(other);
                }
            }
        }
        Err(PortError::unavailable(
            WHAT,
            "the instance's state keeps changing",
        ))
    }

    async fn note_timeout(&self, id: &InstanceId, timed_out: bool) -> PortResult<u32> {
        const WHAT: &str = "noting a time-out";
        let change = Change::default();
        let change = if timed_out {
            change.count("timeouts")
        } else {
            change.set("timeouts", number(0))
        };
        let noted = self
            .table
            .update(WHAT, Key::state(id), &change, None, ReturnValue::UpdatedNew)
            .await?;
        Ok(noted.map(|item| small(&item, "timeouts")).unwrap_or_default())
    }

    async fn set_llm_needs_credentials(&self, id: &InstanceId, missing: bool) -> PortResult<bool> {
        const NAME: &str = "llm_needs_credentials";
        let change = Change::default().set(NAME, AttributeValue::Bool(missing));
        let other = if missing {
            Expression::new(format!("attribute_not_exists(#{NAME}) OR #{NAME} = :other"))
        } else {
            Expression::new(format!("#{NAME} = :other"))
        };
        let other = other.with(":other", AttributeValue::Bool(!missing));
        let what = "noting the state of the model's credentials";
        Ok(self
            .table
            .update(what, Key::state(id), &change, Some(other), ReturnValue::None)
            .await?
            .is_ok())
    }

    async fn park(&self, parked: &Parked) -> PortResult<()> {
        self.park_conversation(parked).await
    }

    async fn parked(&self, id: &InstanceId, limit: usize) -> PortResult<Vec<Parked>> {
        self.parked_conversations(id, limit).await
    }

    async fn unpark(&self, parked: &Parked) -> PortResult<bool> {
        const WHAT: &str = "unparking a conversation";
        let seen = Expression::new("#version = :seen").text(":seen", parked.version.as_str());
        let key = Key::parked(&parked.instance, &parked.conversation);
        Ok(self.table.delete(WHAT, key, Some(seen)).await?.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> InstanceId {
        InstanceId::parse("front-desk").unwrap()
    }

    #[test]
    fn a_connection_that_is_lost_enters_the_index_and_one_that_is_back_leaves_it() {
        let lost = changed(&id(), Connection::Closed, instant(5), Some(instant(60_000))).expression();
        assert!(lost.text.contains("#open_due = :open_due") && lost.values[":open_due"] == number(60_000));
        let back = changed(&id(), Connection::Open, instant(6), None).expression();
        assert!(back.text.contains("REMOVE #probe_at, #open_shard, #open_due"));
    }

    #[test]
    fn a_lost_connection_without_a_probe_time_is_due_since_it_was_lost() {
        let again = probed(&id(), Connection::Closed, None).expression();
        assert!(again.text.contains("#open_due = #since"), "{}", again.text);
    }

    #[test]
    fn an_instance_of_which_nothing_is_known_is_open() {
        assert!(
            connected(Connection::Open, true)
                .text
                .contains("attribute_not_exists(#connection)")
        );
        assert!(
            connected(Connection::Closed, false)
                .text
                .contains("attribute_not_exists(#connection)")
        );
        assert!(!found_closed("test", None).unwrap());
        let closed = Item::from([
            ("connection".to_owned(), text("closed")),
            ("arrival".to_owned(), number(9)),
        ]);
        assert!(found_closed("test", Some(&closed)).unwrap());
    }
}
