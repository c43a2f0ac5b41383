//! The changes to an instance's record, and the conditions on it, as `DynamoDB` expressions.

use super::expression::{Expression, UpdateChange};
use super::instances::timestamp_attribute;
use super::item::{number_attribute, text_attribute};
use super::keys::TableKey;
use jiff::Timestamp;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, ConnectionUpdate, UnansweredAttempt};

/// The condition that the instance is open. An instance without a stored state counts as open.
pub(super) const OPEN: &str = "(attribute_not_exists(#connection) OR #connection = :open)";

pub(super) fn while_open(text: &str, now: Timestamp) -> Expression {
    Expression::new(format!("{text} AND {OPEN}"))
        .with_text(":open", ConnectionStatus::Open.as_str())
        .with_number(":now", now.as_millisecond())
}

/// Returns the condition that the stored connection is `connection` already (`true`), or another one (`false`).
pub(super) fn connection_condition(connection: ConnectionStatus, already: bool) -> Expression {
    let text = match (connection, already) {
        (ConnectionStatus::Open, true) => OPEN,
        (ConnectionStatus::Open, false) => "attribute_exists(#connection) AND #connection <> :open",
        (_, true) => "#connection = :open",
        (_, false) => "(attribute_not_exists(#connection) OR #connection <> :open)",
    };
    Expression::new(text).with_text(":open", connection.as_str())
}

/// Returns the changes that every observation of a connection makes. The index holds the time of the next probe. An
/// instance that is not open and has no such time is indexed under `since`, a term of the expression language.
fn observation_change(id: &InstanceId, sighting: &ConnectionUpdate, since: &str) -> UpdateChange {
    let mut change =
        UpdateChange::default().set_or_remove("probe_at", sighting.probe_at.map(timestamp_attribute));
    if let Some(asked_at) = sighting.asked_at {
        change = change.set_value("confirmed_at", timestamp_attribute(asked_at));
    }
    if sighting.releases_waiting {
        change = change.set_value("released_at", timestamp_attribute(sighting.at));
    }
    if sighting.connection == ConnectionStatus::Open && sighting.probe_at.is_none() {
        return change.remove_attributes(&["open_shard", "open_due"]);
    }
    let due = if sighting.probe_at.is_some() {
        ":probe_at"
    } else {
        since
    };
    change
        .set_value(
            "open_shard",
            text_attribute(TableKey::for_instance_state(id).open_shard_key()),
        )
        .set_to_term("open_due", due)
}

/// Returns the changes that a new connection state makes.
pub(super) fn connection_change(id: &InstanceId, sighting: &ConnectionUpdate) -> UpdateChange {
    let mut change = observation_change(id, sighting, ":since");
    if sighting.connection != ConnectionStatus::Open {
        change = change.set_to_term("catch_up_from", "if_not_exists(#catch_up_from, :since)");
    }
    change
        .set_value("connection", text_attribute(sighting.connection.as_str()))
        .set_value("since", timestamp_attribute(sighting.at))
        .set_value("probes", number_attribute(0))
        .set_value("timeouts", number_attribute(0))
        .remove_attributes(&["timed_out"])
}

/// Returns the changes for one more unanswered attempt, and the condition under which the attempt counts.
pub(super) fn no_answer_change(found: &UnansweredAttempt, nonce: &str) -> (UpdateChange, Expression) {
    let change = UpdateChange::default().increment_counter("timeouts", nonce);
    match found {
        UnansweredAttempt::TimedOut(message) => (
            change.set_value("timed_out", text_attribute(message.as_str())),
            Expression::new("(attribute_not_exists(#timed_out) OR #timed_out <> :timed_out)"),
        ),
        UnansweredAttempt::Unreached => (
            change.remove_attributes(&["timed_out"]),
            Expression::not_counted_by(nonce),
        ),
    }
}

/// Returns the changes for an observation of the same connection state.
pub(super) fn probe_change(id: &InstanceId, sighting: &ConnectionUpdate, nonce: &str) -> UpdateChange {
    observation_change(id, sighting, "#since").increment_counter("probes", nonce)
}
