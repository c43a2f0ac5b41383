//! Conversations whose messages wait for their instance.

use super::DynamoStore;
use super::expression::Change;
use super::item::{self, number, text};
use super::keys::{self, Key};
use aws_sdk_dynamodb::types::ReturnValue;
use recado_domain::ids::InstanceId;
use recado_domain::instance::Parked;
use recado_pipeline::ports::{Ambient, PortResult};

/// What parking changes: a new version, the first `since` kept. The index holds when the entry is to be looked at.
fn parking(parked: &Parked) -> Change {
    let key = Key::parked(&parked.instance, &parked.conversation);
    let since = parked.since.as_millisecond();
    let change = Change::default()
        .set("instance", text(parked.instance.as_str()))
        .set("conversation", text(parked.conversation.to_string()))
        .set("version", text(parked.version.as_str()))
        .set_to("since", "if_not_exists(#since, :since)")
        .with(":since", number(since))
        .set_or_remove(
            "not_before",
            parked.not_before.map(|at| number(at.as_millisecond())),
        )
        .set("patience_ms", number(parked.patience_ms))
        .set_or_remove("reply", parked.reply.as_ref().map(|reply| text(reply.as_str())))
        .set("open_shard", text(key.shard()));
    if let Some(at) = parked.not_before {
        return change.set("open_due", number(at.as_millisecond()));
    }
    change
        .set_to("open_due", "if_not_exists(#since, :since) + :patience")
        .with(":patience", number(parked.patience_ms))
}

impl<A: Ambient> DynamoStore<A> {
    pub(super) async fn park_conversation(&self, parked: &Parked) -> PortResult<()> {
        let key = Key::parked(&parked.instance, &parked.conversation);
        let what = "parking a conversation";
        let _parked = self
            .table
            .update(what, key, &parking(parked), None, ReturnValue::None)
            .await?;
        Ok(())
    }

    pub(super) async fn parked_conversations(
        &self,
        id: &InstanceId,
        limit: usize,
    ) -> PortResult<Vec<Parked>> {
        const WHAT: &str = "reading parked conversations";
        let pk = keys::instance(id);
        let found = self.table.partition(WHAT, pk, Some(keys::PARK)).await?;
        let mut parked: Vec<Parked> = found
            .iter()
            .map(|item| item::read(WHAT, item))
            .collect::<PortResult<_>>()?;
        parked.sort_by_key(|parked| parked.since);
        parked.truncate(limit);
        Ok(parked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::identity::IdentityKey;
    use recado_domain::ids::{ConversationId, Nonce};
    use recado_domain::instance::PATIENCE_MS;
    use recado_domain::millis::instant;

    #[test]
    fn an_entry_is_due_at_its_time_or_when_its_patience_since_the_first_parking_ends() {
        let instance = InstanceId::parse("front-desk").unwrap();
        let mut parked = Parked {
            conversation: ConversationId::new(IdentityKey::new([7; 32]).thread(&instance, "551190000000"), 1),
            instance,
            version: Nonce::parse("v").unwrap(),
            since: instant(1_000),
            not_before: None,
            patience_ms: PATIENCE_MS,
            reply: None,
        };
        let waiting = parking(&parked).expression();
        assert!(
            waiting
                .text
                .contains("#open_due = if_not_exists(#since, :since) + :patience")
        );
        assert_eq!(waiting.values[":patience"], number(PATIENCE_MS));
        parked.not_before = Some(instant(5_000));
        assert_eq!(parking(&parked).expression().values[":open_due"], number(5_000));
    }
}
