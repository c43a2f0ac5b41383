//! What a provider remembers, in pages of three.

use recado_domain::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_pipeline::ports::{HistoryError, HistoryPage, HistoryRecord, HistorySpan};
use serde_json::json;
use std::sync::{Arc, Mutex};

const PAGE: usize = 3;

#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) id: String,
    pub(crate) address: ContactAddress,
    pub(crate) text: String,
    pub(crate) from_me: bool,
    pub(crate) at: Timestamp,
    pub(crate) status: Option<DeliveryStatus>,
}

#[derive(Debug, Default)]
struct Pages {
    kept: Vec<Kept>,
    asked: Vec<(HistorySpan, u32)>,
    /// Comes in when the next page is asked for.
    meanwhile: Vec<Kept>,
    fails: Option<HistoryError>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(Arc<Mutex<Pages>>);

impl Memory {
    pub(crate) fn keep(&self, kept: Kept) {
        self.0.lock().unwrap().kept.push(kept);
    }

    /// Comes in, late, while the pages are read.
    pub(crate) fn keep_meanwhile(&self, kept: Kept) {
        self.0.lock().unwrap().meanwhile.push(kept);
    }

    pub(crate) fn fails(&self, error: Option<HistoryError>) {
        self.0.lock().unwrap().fails = error;
    }

    /// What was asked for so far.
    pub(crate) fn asked(&self) -> Vec<(HistorySpan, u32)> {
        self.0.lock().unwrap().asked.clone()
    }

    pub(crate) fn page(
        &self,
        bound: &InstanceConfig,
        span: HistorySpan,
        page: u32,
    ) -> Result<HistoryPage, HistoryError> {
        let mut pages = self.0.lock().unwrap();
        pages.asked.push((span, page));
        if pages.asked.len() > 1 {
            let late = std::mem::take(&mut pages.meanwhile);
            pages.kept.extend(late);
        }
        if let Some(error) = pages.fails {
            return Err(error);
        }
        let mut inside: Vec<&Kept> = pages
            .kept
            .iter()
            .filter(|kept| kept.at >= span.since && kept.at <= span.until)
            .collect();
        inside.sort_by_key(|kept| std::cmp::Reverse(kept.at));
        let place = usize::try_from(page - 1).unwrap() * PAGE;
        let records = inside.iter().skip(place).take(PAGE).rev();
        Ok(HistoryPage {
            records: records.map(|kept| record(bound, kept)).collect(),
            pages: u32::try_from(inside.len().div_ceil(PAGE)).unwrap(),
            total: u64::try_from(inside.len()).unwrap(),
            cut: false,
        })
    }
}

fn record(bound: &InstanceConfig, kept: &Kept) -> HistoryRecord {
    let (provider, external) = (
        bound.instance.provider,
        bound.instance.resolve_external_id().unwrap(),
    );
    let key = DeliveryKey::from_provider_id(provider, &external, &kept.id);
    let mut items = vec![WebhookItem::Event(WebhookEvent {
        id: derive_event_id(provider, &external, EventKind::Message, &kept.id),
        provider,
        external,
        kind: EventKind::Message,
        address: Some(kept.address.clone()),
        payload: json!({"address": kept.address.as_str(), "id": kept.id, "text": kept.text, "from_me": kept.from_me,
            "sent_at": kept.at.as_millisecond()}),
        lookalike: false,
        file: None,
    })];
    items.extend(kept.status.map(|status| {
        WebhookItem::Status(StatusUpdate {
            key: key.clone(),
            status,
            at: kept.at,
            provider_message_id: None,
            detail: None,
        })
    }));
    HistoryRecord {
        items,
        at: Some(kept.at),
        own_delivery: kept.from_me.then_some(key),
    }
}
