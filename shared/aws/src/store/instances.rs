use super::DynamoStore;
use super::expression::{COUNTED_BY, Change, Expression};
use super::item::{self, Item, number, text};
use super::keys::Key;
use super::table::ROUNDS;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{Connection, InstanceState, NoAnswer, Parked, Pattern, Sighting};
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

/// What every sighting changes. The index holds when the instance is to be asked again: one that is not open and has no
/// time for that, since `since` (a term).
fn seen(id: &InstanceId, sighting: &Sighting, since: &str) -> Change {
    let mut change = Change::default().set_or_remove("probe_at", sighting.probe_at.map(milliseconds));
    if let Some(asked_at) = sighting.asked_at {
        change = change.set("confirmed_at", milliseconds(asked_at));
    }
    if sighting.releases {
        change = change.set("released_at", milliseconds(sighting.at));
    }
    if sighting.connection == Connection::Open && sighting.probe_at.is_none() {
        return change.remove(&["open_shard", "open_due"]);
    }
    let due = if sighting.probe_at.is_some() {
        ":probe_at"
    } else {
        since
    };
    change
        .set("open_shard", text(Key::state(id).shard()))
        .set_to("open_due", due)
}

/// A change of connection.
fn changed(id: &InstanceId, sighting: &Sighting) -> Change {
    let mut change = seen(id, sighting, ":since");
    if sighting.connection != Connection::Open {
        change = change.set_to("catch_up_from", "if_not_exists(#catch_up_from, :since)");
    }
    change
        .set("connection", text(sighting.connection.as_str()))
        .set("since", milliseconds(sighting.at))
        .set("probes", number(0))
        .set("timeouts", number(0))
        .remove(&["timed_out"])
}

/// A further attempt that got no answer, on condition that it counts.
fn unanswered(found: &NoAnswer, nonce: &str) -> (Change, Expression) {
    let change = Change::default().count("timeouts", nonce);
    match found {
        NoAnswer::TimedOut(message) => (
            change.set("timed_out", text(message.as_str())),
            Expression::new("(attribute_not_exists(#timed_out) OR #timed_out <> :timed_out)"),
        ),
        NoAnswer::Unreached => (change.remove(&["timed_out"]), Expression::not_counted_by(nonce)),
    }
}

/// The same connection found again.
fn probed(id: &InstanceId, sighting: &Sighting, nonce: &str) -> Change {
    seen(id, sighting, "#since").count("probes", nonce)
}

/// Whether a time of the record is `at`.
fn is_at(found: &Item, name: &str, at: Timestamp) -> bool {
    item::whole(found, name) == Some(at.as_millisecond())
}

fn milliseconds(at: Timestamp) -> AttributeValue {
    number(at.as_millisecond())
}

fn small(item: &Item, name: &str) -> u32 {
    item::whole(item, name)
        .and_then(|count| u32::try_from(count).ok())
        .unwrap_or_default()
}

/// A slot, with the state that the update returned.
fn slot(what: &'static str, at: Timestamp, updated: &Item) -> PortResult<Reservation> {
    let state = Box::new(item::read(what, updated)?);
    Ok(Reservation::Slot { at, state })
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
        // What is later is not believed.
        let latest = rate.latest(now).as_millisecond();
        let idle = "(attribute_not_exists(#arrival) OR #arrival <= :now OR #arrival > :latest)";
        let idle = when(idle, now).number(":latest", latest);
        let busy = when("#arrival > :now AND #arrival <= :latest", now).number(":latest", latest);
        let fresh = rate.reserve(None, now);
        let first = || Change::default().set_to("asked_at", "if_not_exists(#asked_at, :now)");
        let restart = first().set("arrival", milliseconds(fresh.arrival));
        let advance = first()
            .set_to("arrival", "#arrival + :interval")
            .with(":interval", number(rate.interval_ms()));
        for _ in 0..ROUNDS {
            let first = self.table.update(
                WHAT,
                Key::state(id),
                &restart,
                Some(idle.clone()),
                ReturnValue::AllNew,
            );
            let refused = match first.await? {
                Ok(updated) => return slot(WHAT, fresh.at, &updated),
                Err(refused) => refused,
            };
            if found_closed(WHAT, refused.0.as_ref())? {
                return Ok(Reservation::NotOpen);
            }
            let second = self.table.update(
                WHAT,
                Key::state(id),
                &advance,
                Some(busy.clone()),
                ReturnValue::AllNew,
            );
            match second.await? {
                Ok(updated) => {
                    let arrival = item::whole(&updated, "arrival")
                        .ok_or_else(|| PortError::invalid(WHAT, "no arrival time was returned"))?;
                    let stored = shift(instant(arrival), -rate.interval_ms());
                    return slot(WHAT, rate.reserve(Some(stored), now).at, &updated);
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

    async fn set_connection(&self, id: &InstanceId, seen: &Sighting) -> PortResult<bool> {
        const WHAT: &str = "setting an instance's connection";
        let nonce = self.nonce();
        let is_this_change = |found: &Item| {
            item::string(found, "connection") == Some(seen.connection.as_str())
                && is_at(found, "since", seen.at)
        };
        let is_this_probe = |found: &Item| item::string(found, COUNTED_BY) == Some(nonce.as_str());
        for _ in 0..ROUNDS {
            let (key, other) = (Key::state(id), connected(seen.connection, false));
            let change = changed(id, seen);
            let first =
                self.table
                    .update_known(WHAT, key, &change, Some(other), ReturnValue::None, is_this_change);
            if first.await?.is_ok() {
                return Ok(true);
            }
            let same = connected(seen.connection, true).and(Expression::not_counted_by(&nonce));
            let (key, change) = (Key::state(id), probed(id, seen, &nonce));
            let second =
                self.table
                    .update_known(WHAT, key, &change, Some(same), ReturnValue::None, is_this_probe);
            if second.await?.is_ok() {
                return Ok(false);
            }
        }
        Err(PortError::unavailable(
            WHAT,
            "the instance's state keeps changing",
        ))
    }

    async fn claim_question(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        const WHAT: &str = "claiming the question for an instance's state";
        let change = Change::default().set("asked_at", milliseconds(now));
        let unasked = Expression::new(format!(
            "{OPEN} AND (attribute_not_exists(#asked_at) OR #asked_at <= :before) \
            AND (attribute_not_exists(#confirmed_at) OR #confirmed_at <= :before)"
        ));
        let unasked = unasked
            .text(":open", Connection::Open.as_str())
            .number(":before", before.as_millisecond());
        let is_this = |found: &Item| is_at(found, "asked_at", now);
        let key = Key::state(id);
        let claimed = self
            .table
            .update_known(WHAT, key, &change, Some(unasked), ReturnValue::None, is_this);
        Ok(claimed.await?.is_ok())
    }

    async fn confirm(&self, id: &InstanceId, at: Timestamp) -> PortResult<()> {
        const WHAT: &str = "confirming an instance's state";
        let change = Change::default().set("confirmed_at", milliseconds(at));
        let open = Expression::new(OPEN).text(":open", Connection::Open.as_str());
        let _open = self
            .table
            .update(WHAT, Key::state(id), &change, Some(open), ReturnValue::None)
            .await?;
        Ok(())
    }

    async fn claim_catch_up(&self, id: &InstanceId, now: Timestamp, before: Timestamp) -> PortResult<bool> {
        const WHAT: &str = "claiming a catch-up";
        let change = Change::default().set("caught_up_at", milliseconds(now));
        let free = Expression::new("attribute_not_exists(#caught_up_at) OR #caught_up_at <= :before")
            .number(":before", before.as_millisecond());
        let is_this = |found: &Item| is_at(found, "caught_up_at", now);
        let key = Key::state(id);
        let claimed = self
            .table
            .update_known(WHAT, key, &change, Some(free), ReturnValue::None, is_this);
        Ok(claimed.await?.is_ok())
    }

    async fn caught_up(
        &self,
        id: &InstanceId,
        seen: &InstanceState,
        rest: Option<Timestamp>,
    ) -> PortResult<()> {
        const WHAT: &str = "noting a catch-up";
        let change = Change::default().set_or_remove("catch_up_from", rest.map(milliseconds));
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
                    same.number(&format!(":seen_{name}"), at.as_millisecond())
                })
            });
        let _noted = self
            .table
            .update(WHAT, Key::state(id), &change, Some(same), ReturnValue::None)
            .await?;
        Ok(())
    }

    async fn set_pattern(&self, id: &InstanceId, pattern: &Pattern) -> PortResult<()> {
        const WHAT: &str = "keeping how an instance's contacts write";
        let change = Change::default().set("pattern", item::part(WHAT, pattern)?);
        let _set = self
            .table
            .update(WHAT, Key::state(id), &change, None, ReturnValue::None)
            .await?;
        Ok(())
    }

    async fn note_timeout(&self, id: &InstanceId, found: &NoAnswer) -> PortResult<u32> {
        const WHAT: &str = "noting a time-out";
        let (change, counts) = unanswered(found, &self.nonce());
        let noted = self.table.update(
            WHAT,
            Key::state(id),
            &change,
            Some(counts),
            ReturnValue::UpdatedNew,
        );
        // What is not counted, or was by an earlier try, leaves what there is.
        let item = noted.await?.or_else(|refused| refused.0.ok_or(()));
        Ok(item.map_or(0, |item| small(&item, "timeouts")))
    }

    async fn forget_timeouts(&self, id: &InstanceId) -> PortResult<()> {
        const WHAT: &str = "forgetting time-outs";
        let change = Change::default()
            .set("timeouts", number(0))
            .remove(&["timed_out"]);
        let _forgotten = self
            .table
            .update(WHAT, Key::state(id), &change, None, ReturnValue::None)
            .await?;
        Ok(())
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
        let is_this = |found: &Item| found.get(NAME) == Some(&AttributeValue::Bool(missing));
        let key = Key::state(id);
        let noted = self
            .table
            .update_known(what, key, &change, Some(other), ReturnValue::None, is_this);
        Ok(noted.await?.is_ok())
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
        Ok(self.table.delete(WHAT, key, seen).await?.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id() -> InstanceId {
        InstanceId::parse("front-desk").unwrap()
    }

    fn sighting(connection: Connection, probe_at: Option<i64>) -> Sighting {
        Sighting {
            connection,
            at: instant(5),
            probe_at: probe_at.map(instant),
            asked_at: None,
            releases: false,
        }
    }

    #[test]
    fn a_connection_that_is_lost_enters_the_index_and_one_that_is_back_leaves_it() {
        let lost = changed(&id(), &sighting(Connection::Closed, Some(60_000))).expression();
        assert!(lost.text.contains("#open_due = :probe_at") && lost.values[":probe_at"] == number(60_000));
        assert!(!lost.text.contains("released_at"));
        let back = changed(&id(), &sighting(Connection::Open, None)).expression();
        assert!(back.text.contains("REMOVE #probe_at, #open_shard, #open_due"));
        assert!(!back.text.contains("released_at"));
        let releasing = Sighting {
            releases: true,
            ..sighting(Connection::Open, None)
        };
        let back = changed(&id(), &releasing).expression();
        assert!(back.text.contains("#released_at = :released_at"));
    }

    #[test]
    fn an_open_one_that_is_to_be_released_again_stays_in_the_index() {
        let back = changed(&id(), &sighting(Connection::Open, Some(60_000))).expression();
        assert!(back.text.contains("#open_due = :probe_at"), "{}", back.text);
        assert!(!back.text.contains("released_at"), "{}", back.text);
    }

    #[test]
    fn a_lost_connection_without_a_probe_time_is_due_since_it_was_lost() {
        let first = changed(&id(), &sighting(Connection::Closed, None)).expression();
        assert!(first.text.contains("#open_due = :since"), "{}", first.text);
        let again = probed(&id(), &sighting(Connection::Closed, None), "n").expression();
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
