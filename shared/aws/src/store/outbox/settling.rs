//! Makes the parts of the transaction that settles a message.

use super::{remove_in_flight, revision_condition};
use crate::store::conversations::put_conversation;
use crate::store::deliveries::{ACKNOWLEDGED, CHARGED, early_condition};
use crate::store::expression::UpdateChange;
use crate::store::item::{self, number_attribute, text_attribute};
use crate::store::keys::TableKey;
use crate::store::keys::waiting::{WAIT_TENANT, unacknowledged_shard};
use crate::store::transaction::TransactionAction;
use crate::store::{DynamoStore, records};
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::Delivery;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_ports::ports::{DeliveryLink, PortResult, System};

impl<A: System> DynamoStore<A> {
    /// Links a delivery to its message. A status that came first is kept.
    /// `early`: what statuses told under the key of the provider's id; it is moved already.
    fn link_delivery(message: &Message, link: &DeliveryLink, early: Option<&Delivery>) -> TransactionAction {
        let mut change = UpdateChange::default()
            .set_value("message", text_attribute(message.message_id().as_str()))
            .set_value("ttl", number_attribute(link.expires.as_second()));
        if let Some(id) = &link.provider_message_id {
            change = change.set_value("provider_message_id", text_attribute(id));
        }
        if early.is_some_and(|early| early.charged) {
            change = change.set_value(CHARGED, AttributeValue::Bool(true));
        }
        let key = TableKey::for_delivery(&link.key);
        if let Some(awaited) = &link.acknowledgement {
            // A status that came first has left the shard under which nobody looks.
            let term = format!("if_not_exists(#{ACKNOWLEDGED}, :shard)");
            change = change
                .set_to_term("open_shard", &term)
                .with_value(":shard", text_attribute(unacknowledged_shard(&awaited.tenant)))
                .set_value("open_due", number_attribute(awaited.due.as_millisecond()))
                .set_value("since", number_attribute(awaited.accepted_at.as_millisecond()))
                .set_value(WAIT_TENANT, text_attribute(awaited.tenant.as_str()))
                .set_value("instance", text_attribute(awaited.instance.as_str()));
        }
        TransactionAction::Update(key, change, None)
    }

    /// Makes the record under the key of the provider's id, which leads to the delivery. It replaces the statuses of `early` and no
    /// others.
    fn lead_to_delivery(
        what: &'static str,
        link: &DeliveryLink,
        early: Option<&Delivery>,
        now: Timestamp,
    ) -> PortResult<Option<TransactionAction>> {
        let Some(provider_key) = &link.provider_key else {
            return Ok(None);
        };
        let mut item = item::encode_record(what, &Delivery::leading_to(&link.key))?;
        item.insert("ttl".to_owned(), number_attribute(link.expires.as_second()));
        let condition = early_condition(early).with_number(":now", now.as_second());
        let item = TableKey::for_delivery(provider_key).into_item(item);
        Ok(Some(TransactionAction::Put(item, Some(condition))))
    }

    /// Makes the parts of the transaction that settles a message. The last is [`Self::lead_to_delivery`], if there is one.
    pub(super) fn settle_actions(
        &self,
        what: &'static str,
        settled: (
            &Message,
            Option<&InFlightSend>,
            Option<&DeliveryLink>,
            Option<&Conversation>,
        ),
        early: Option<&Delivery>,
    ) -> PortResult<Vec<TransactionAction>> {
        let (message, finished_send, link, conversation) = settled;
        let condition = revision_condition(what, message)?;
        let mut actions = if records::stays_open(message) {
            // The message is dead and has no dead letter yet. It keeps its open copy, so that `reconcile` finds it.
            let open = records::open_message_item(what, message)?;
            vec![TransactionAction::Put(open, condition)]
        } else {
            let open = TableKey::for_open_message(&message.conversation, message.ordinal);
            vec![
                TransactionAction::Delete(open, condition),
                TransactionAction::put(records::message_item(what, message)?),
            ]
        };
        actions.extend(finished_send.map(|flight| remove_in_flight(message, flight)));
        if let Some(conversation) = conversation {
            actions.push(put_conversation(what, conversation)?);
        }
        if let Some(link) = link {
            actions.push(Self::link_delivery(message, link, early));
            actions.extend(Self::lead_to_delivery(
                what,
                link,
                early,
                self.table.system.now(),
            )?);
        }
        Ok(actions)
    }
}
