//! What a provider remembers: every message that it carried, whether its webhook came or not.

use super::{FakeWorld, Line, Said, traits};
use crate::person;
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::EventKind;
use recado_domain::ids::{EventId, ExternalId, InstanceId};
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_domain::millis::from_unix_millis;
use recado_pipeline::ports::{HistoryPage, HistoryRecord, HistorySpan};
use std::collections::BTreeSet;

/// How many messages a page has: few, so that there are several.
const PAGE: usize = 4;

/// A message that the provider has: what `chat/findMessages` would show.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// Under whose name it lies.
    pub(super) chat: ContactAddress,
    pub(super) to: ContactAddress,
    pub(super) also: Option<ContactAddress>,
    pub(super) text: String,
    pub(super) id: String,
    pub(super) at: Timestamp,
}

impl FakeWorld {
    /// Under which name the provider keeps what is sent to a contact: whom it knows by an identity, too, now under one, now
    /// under the other.
    pub(super) fn chat_of(&self, to: &ContactAddress) -> ContactAddress {
        let number = person::phone(to);
        if !self.state().identities.contains(&number) {
            return to.clone();
        }
        let names = [person::identity(&number), number];
        self.simulation.pick(&names)
    }

    /// The newest message that the provider keeps to a contact: its id there.
    pub fn newest_to(&self, instance: &InstanceId, to: &ContactAddress) -> Option<String> {
        let newest = |line: &mut Line| {
            let mut of_contact = line
                .kept
                .iter()
                .filter(|kept| person::phone(&kept.to) == person::phone(to));
            of_contact.next_back().map(|kept| kept.id.clone())
        };
        self.line(instance, newest).flatten()
    }

    /// The provider remembers what a contact wrote. What the business writes it has from the phone itself.
    pub fn remember(&self, event: &WebhookEvent) {
        let from_me = event.payload["from_me"] == true;
        let (Ok(instance), false) = (InstanceId::parse(event.external.as_str()), from_me) else {
            return;
        };
        if event.kind != EventKind::Message || event.payload["target"].is_string() {
            return;
        }
        let said_at = event.payload["sent_at"].as_i64();
        let at = said_at.map_or_else(|| self.simulation.now(), from_unix_millis);
        self.line(&instance, |line| line.received.push((at, event.clone())));
    }

    /// Lists what the instance's provider had received by `until`, each once.
    pub fn list_received(&self, instance: &InstanceId, until: Timestamp) -> Vec<WebhookEvent> {
        let mut seen = BTreeSet::new();
        let before = |line: &mut Line| {
            let received = line
                .received
                .iter()
                .filter(|(at, event)| *at <= until && seen.insert(event.id.clone()));
            received.map(|(_, event)| event.clone()).collect()
        };
        self.line(instance, before).unwrap_or_default()
    }

    /// The events of contacts' messages that the instance's provider remembers up to `until`.
    pub fn remembered(&self, instance: &InstanceId, until: Timestamp) -> Vec<EventId> {
        let before = |line: &mut Line| {
            let received = line.received.iter().filter(|(at, _)| *at <= until);
            received.map(|(_, event)| event.id.clone()).collect()
        };
        self.line(instance, before).unwrap_or_default()
    }

    /// A page of what the provider remembers of `span`; `None` if it remembers nothing at all.
    pub(super) fn recall(&self, bound: &InstanceConfig, span: HistorySpan, page: u32) -> Option<HistoryPage> {
        let (instance, provider) = (&bound.instance, bound.instance.provider);
        if !traits(provider).has_history {
            return None;
        }
        let external = instance.resolve_external_id()?;
        let until = span.until.min(self.simulation.now());
        let mut all = self.line(&instance.id, |line| told(line, &external))?;
        all.retain(|record| record.at.is_none_or(|at| at >= span.since && at <= until));
        // The newest stand on the first page, the oldest first on each.
        all.sort_by_key(|record| record.at);
        let pages = all.len().div_ceil(PAGE).max(1);
        let end = all
            .len()
            .saturating_sub(PAGE * usize::try_from(page).unwrap_or(1).saturating_sub(1));
        let records = all[end.saturating_sub(PAGE)..end].to_vec();
        Some(HistoryPage {
            records,
            pages: u32::try_from(pages).unwrap_or(u32::MAX),
            total: all.len() as u64,
            cut: false,
        })
    }
}

/// What contacts wrote, and what went out.
fn told(line: &Line, external: &ExternalId) -> Vec<HistoryRecord> {
    let received = line.received.iter().map(|(at, event)| HistoryRecord {
        items: vec![WebhookItem::Event(event.clone())],
        at: Some(*at),
        own_delivery: None,
    });
    let said = line.kept.iter().map(|kept| {
        let said = Said {
            id: &kept.id,
            text: &kept.text,
            from_me: true,
            sent_at: Some(kept.at),
        };
        let mut event = said.event(line.provider, external, &kept.to);
        if let Some(also) = &kept.also {
            event.payload["also"] = also.as_str().into();
        }
        HistoryRecord {
            items: vec![WebhookItem::Event(event)],
            at: Some(kept.at),
            own_delivery: Some(DeliveryKey::from_provider_id(line.provider, external, &kept.id)),
        }
    });
    received.chain(said).collect()
}
