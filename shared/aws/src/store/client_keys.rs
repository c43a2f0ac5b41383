//! The idempotency keys of clients.

use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::TableKey;
use super::transaction::FailedConditions;
use jiff::Timestamp;
use recado_domain::ids::MessageId;
use recado_ports::ports::{CommitOutcome, IdempotencyClaim, IdempotencyRecord, PortError, PortResult};

/// Returns the condition that an idempotency key is new or expired.
pub(super) fn key_is_free(now: Timestamp) -> Expression {
    Expression::new("attribute_not_exists(#pk) OR #expires <= :now")
        .with_value(":now", number_attribute(now.as_millisecond()))
}

/// Builds the item of an idempotency key that was used for `message`.
pub(super) fn client_key_item(claim: &IdempotencyClaim, message: &MessageId) -> Item {
    let item = Item::from([
        ("request_hash".to_owned(), text_attribute(&claim.request_hash)),
        ("message".to_owned(), text_attribute(message.as_str())),
        (
            "expires".to_owned(),
            number_attribute(claim.expires.as_millisecond()),
        ),
        // `ttl` counts in seconds. It is rounded up, so that the item does not expire early.
        (
            "ttl".to_owned(),
            number_attribute(claim.expires.as_second().saturating_add(1)),
        ),
    ]);
    TableKey::for_client_key(&claim.scope, &claim.key).into_item(item)
}

pub(super) fn parse_key_record(what: &'static str, item: &Item) -> PortResult<IdempotencyRecord> {
    let field = |name| {
        item::get_string(item, name).ok_or_else(|| PortError::invalid(what, "a key without its request"))
    };
    let message = MessageId::parse(field("message")?).map_err(|error| PortError::invalid(what, error))?;
    Ok(IdempotencyRecord {
        request_hash: field("request_hash")?.to_owned(),
        message,
    })
}

/// Returns the outcome of a refused commit. A used idempotency key is reported first: a request that was carried out is
/// final, whatever happened to the conversation since. `key` is the number of the action that writes the key.
pub(super) fn commit_outcome(
    what: &'static str,
    refusals: &FailedConditions,
    key: Option<usize>,
) -> PortResult<CommitOutcome> {
    match key
        .and_then(|action| refusals.for_action(action))
        .and_then(|refused| refused.0.as_ref())
    {
        Some(item) => Ok(CommitOutcome::KeyTaken(parse_key_record(what, item)?)),
        None => Ok(CommitOutcome::Conflict),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::ids::IdempotencyKey;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn a_clients_key_survives_being_written_and_read() {
        let claim = IdempotencyClaim {
            scope: "front-desk".to_owned(),
            key: IdempotencyKey::parse("order-7").unwrap(),
            request_hash: "abc".to_owned(),
            expires: from_unix_millis(1_500),
        };
        let message = MessageId::parse("c_0-1.2").unwrap();
        let item = client_key_item(&claim, &message);
        assert_eq!(
            parse_key_record("test", &item).unwrap(),
            IdempotencyRecord {
                request_hash: "abc".to_owned(),
                message
            }
        );
        assert_eq!(
            (
                item::get_integer(&item, "expires"),
                item::get_integer(&item, "ttl")
            ),
            (Some(1_500), Some(2))
        );
    }
}
