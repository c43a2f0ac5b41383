//! The webhooks that a provider owes for a message that it took: an echo, and statuses.

use super::{FakeWorld, Owed, Said, traits};
use crate::person::{self, Shows};
use recado_domain::contact::ContactAddress;
use recado_domain::country::Country;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, Pricing, StatusDetail, StatusUpdate};
use recado_domain::ids::{ExternalId, MessageId};
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;

impl FakeWorld {
    pub(super) fn owe_echo_and_statuses(
        &self,
        provider: Provider,
        external: &ExternalId,
        to: &ContactAddress,
        message: &MessageId,
        text: &str,
        id: &str,
    ) {
        let simulation = &self.simulation;
        let mut owed = Vec::new();
        if provider == Provider::Evolution && simulation.chance(0.6) {
            let said = Said {
                id,
                text,
                from_me: true,
                sent_at: Some(simulation.now()),
            };
            let number = person::phone(to);
            let event = if self.state().identities.contains(&number) {
                let shows = [Shows::Number, Shows::Identity, Shows::Both];
                said.event_in(provider, external, &number, simulation.pick(&shows))
            } else {
                said.event(provider, external, to)
            };
            let after_ms = simulation.pick(&[0, 0, 500, 3_000, 25_000]);
            owed.push(Owed {
                item: WebhookItem::Event(event),
                after_ms,
            });
        }
        let key = if traits(provider).echoes_our_id {
            DeliveryKey::from_own_id(provider, external, message)
        } else {
            DeliveryKey::from_provider_id(provider, external, id)
        };
        for status in [
            DeliveryStatus::Sent,
            DeliveryStatus::Delivered,
            DeliveryStatus::Read,
        ] {
            if !simulation.chance(0.7) {
                continue;
            }
            let mut update = StatusUpdate {
                key: key.clone(),
                status,
                at: simulation.now(),
                provider_message_id: (provider == Provider::Meta).then(|| id.to_owned()),
                detail: None,
            };
            let after_ms = simulation.between(0, 20_000);
            let item = if provider == Provider::Meta {
                update.detail = Some(Box::new(name_price()));
                tell_charge(update, external)
            } else {
                WebhookItem::Status(update)
            };
            owed.push(Owed { item, after_ms });
        }
        self.state().owed.extend(owed);
    }
}

/// What Meta says of the price of a message, with each of its statuses.
fn name_price() -> StatusDetail {
    StatusDetail {
        pricing: Some(Pricing {
            billable: Some(true),
            category: Some("utility".to_owned()),
            country: Country::parse("BR"),
            ..Pricing::default()
        }),
        ..StatusDetail::default()
    }
}

/// The item of a status of Meta, as the parser makes it.
fn tell_charge(update: StatusUpdate, external: &ExternalId) -> WebhookItem {
    if update.find_charge().is_none() {
        return WebhookItem::Status(update);
    }
    WebhookItem::ChargedStatus {
        update,
        provider: Provider::Meta,
        external: external.clone(),
    }
}
