//! Splits a webhook body and reads every event in it, as the webhook function and the processor do. Which provider's parser
//! is meant `RECADO_FUZZ_PROVIDER` says. What must not happen: a panic, a hang (libFuzzer's own limit), an error text or
//! a record that takes far more memory than the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::millis;
use recado_domain::provider::Provider;
use recado_whatsapp::{interpret_event, split_webhook};
use std::sync::LazyLock;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What a body may take at most, in bytes for each of its own. JSON of many small values takes most: `[0,0,0…` makes a
/// value of 72 bytes out of two characters, which are then held as the body, as a payload and as content.
const PER_BYTE: usize = 400;

/// What is allowed for whatever the body.
const ALWAYS: usize = 512 * 1024;

static PROVIDER: LazyLock<Provider> = LazyLock::new(|| {
    let name = std::env::var("RECADO_FUZZ_PROVIDER").unwrap_or_else(|_| "evolution".to_owned());
    serde_json::from_value(serde_json::Value::String(name))
        .expect("RECADO_FUZZ_PROVIDER is a provider's name")
});

fuzz_target!(|body: &[u8]| {
    let provider = *PROVIDER;
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    if let Ok(items) = split_webhook(provider, body, millis::from_unix_millis(1_772_443_000_000)) {
        assert!(!items.is_empty(), "a body without a fate");
        for item in &items {
            if let WebhookItem::Event(event) = item {
                read(event);
            }
        }
    }
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let allowed = ALWAYS + PER_BYTE * body.len();
    assert!(taken <= allowed, "{taken} bytes for a body of {}", body.len());
});

fn read(event: &WebhookEvent) {
    let job = InboundJob {
        event: event.id.clone(),
        provider: event.provider,
        external: event.external.clone(),
        kind: event.kind,
        group: "group".to_owned(),
        correlation: CorrelationId::parse("fuzz").expect("an id"),
        parent: None,
        received_at: millis::from_unix_millis(1_772_443_000_000),
        payload: EventPayload::Inline(event.payload.clone()),
        lookalike: false,
        has_file: false,
        redrive: None,
    };
    if let InboundEvent::Message(message) = interpret_event(&job, &event.payload) {
        // What a model and an operator read, and what is stored.
        let _ = (message.context.render_text(), message.content.render_text());
        let stored = serde_json::to_string(&message.content).expect("content is JSON");
        let again = serde_json::from_str(&stored).expect("content is read again");
        assert_eq!(
            message.content, again,
            "content changed on its way through the store"
        );
    }
}
