//! Conversations whose messages wait for their instance.

use super::expression::UpdateChange;
use super::item::{number_attribute, text_attribute};
use super::keys::TableKey;
use recado_domain::instance::ParkedConversation;
use recado_domain::millis::to_millis;

/// Returns the changes that park a conversation: a new version, with the first `since` kept. The index `open` holds the
/// time at which the entry must be looked at.
pub(super) fn parking_change(parked: &ParkedConversation) -> UpdateChange {
    let key = TableKey::for_parked(&parked.instance, &parked.conversation);
    let since = parked.since.as_millisecond();
    let not_before = parked.not_before.map(|at| number_attribute(at.as_millisecond()));
    let reply = parked.reply.as_ref().map(|reply| text_attribute(reply.as_str()));
    let change = UpdateChange::default()
        .set_value("instance", text_attribute(parked.instance.as_str()))
        .set_value("conversation", text_attribute(parked.conversation.to_string()))
        .set_value("version", text_attribute(parked.version.as_str()))
        .set_to_term("since", "if_not_exists(#since, :since)")
        .with_value(":since", number_attribute(since))
        .set_or_remove("not_before", not_before)
        .set_value("patience_ms", number_attribute(to_millis(parked.patience)))
        .set_or_remove("reply", reply)
        .set_value("open_shard", text_attribute(key.open_shard_key()));
    if let Some(at) = parked.not_before {
        return change.set_value("open_due", number_attribute(at.as_millisecond()));
    }
    change
        .set_to_term("open_due", "if_not_exists(#since, :since) + :patience")
        .with_value(":patience", number_attribute(to_millis(parked.patience)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::identity::IdentityKey;
    use recado_domain::ids::{ConversationId, InstanceId, Nonce};
    use recado_domain::instance::DEFAULT_PATIENCE;
    use recado_domain::millis::{from_unix_millis, to_millis};

    #[test]
    fn an_entry_is_due_at_its_time_or_when_its_patience_since_the_first_parking_ends() {
        let instance = InstanceId::parse("front-desk").unwrap();
        let mut parked = ParkedConversation {
            conversation: ConversationId::new(
                IdentityKey::from_bytes([7; 32]).derive_thread_id(&instance, "551190000000"),
                1,
            ),
            instance,
            version: Nonce::parse("v").unwrap(),
            since: from_unix_millis(1_000),
            not_before: None,
            patience: DEFAULT_PATIENCE,
            reply: None,
        };
        let waiting = parking_change(&parked).build_expression();
        assert!(
            waiting
                .text
                .contains("#open_due = if_not_exists(#since, :since) + :patience")
        );
        assert_eq!(
            waiting.values[":patience"],
            number_attribute(to_millis(DEFAULT_PATIENCE))
        );
        parked.not_before = Some(from_unix_millis(5_000));
        assert_eq!(
            parking_change(&parked).build_expression().values[":open_due"],
            number_attribute(5_000)
        );
    }
}
