//! Tells what a provider's history would bring, without storing any of it.

use crate::steps::catch_up_report::{CatchUpReport, MissedMessages};
use crate::steps::inbound_arrival::is_stale;
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use serde_json::Value;

/// Counts the items into `done`, as processing them would. Nothing is stored, so items of a page that is read twice count
/// twice.
pub(crate) async fn preview_items(
    deps: &Deps,
    items: Vec<WebhookItem>,
    correlation: &CorrelationId,
    done: &mut CatchUpReport,
) -> PortResult<()> {
    let mut missed = done.preview.take().unwrap_or_default();
    for item in items {
        match item {
            WebhookItem::Status(_) | WebhookItem::ChargedStatus { .. } => done.statuses += 1,
            WebhookItem::Notice { .. } | WebhookItem::Typing(_) | WebhookItem::Ignored { .. } => {
                done.ignored += 1;
            }
            WebhookItem::Event(event) => {
                if deps.store().find_event(&event.id).await?.is_some() {
                    done.known += 1;
                } else {
                    done.missed += 1;
                    judge_event(deps, event, correlation, &mut missed);
                }
            }
        }
    }
    done.preview = Some(missed);
    Ok(())
}

/// Judges what would become of an event that is not known.
fn judge_event(deps: &Deps, event: WebhookEvent, correlation: &CorrelationId, missed: &mut MissedMessages) {
    let job = InboundJob {
        group: String::new(),
        event: event.id,
        provider: event.provider,
        external: event.external,
        kind: event.kind,
        correlation: correlation.clone(),
        parent: None,
        received_at: deps.system().now(),
        payload: EventPayload::Inline(Value::Null),
        lookalike: event.lookalike,
        has_file: false,
        redrive: None,
    };
    let InboundEvent::Message(inbound) = deps.providers().interpret_event(&job, &event.payload) else {
        return;
    };
    if let Some(at) = inbound.sent_at {
        missed.oldest = Some(missed.oldest.map_or(at, |oldest| oldest.min(at)));
        missed.newest = missed.newest.max(Some(at));
    }
    if inbound.from_me || !inbound.content.expects_answer() {
        return;
    }
    if is_stale(deps, &job, &inbound) {
        missed.too_old += 1;
    } else {
        missed.answerable += 1;
    }
}
