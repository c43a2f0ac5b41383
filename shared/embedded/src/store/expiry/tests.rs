use super::*;
use crate::Clock;
use crate::record::encode;
use futures::executor::block_on;
use recado_domain::event::{EventKind, InboundJob, Payload, event_id};
use recado_domain::ids::{CorrelationId, ExternalId, InstanceId, MessageId, Nonce};
use recado_domain::millis::instant;
use recado_domain::provider::Provider;
use recado_pipeline::ports::{Inbox, OutboxStore, Queues, Recorded};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const HOUR: i64 = 3_600_000;

fn job(id: &str, payload: Payload) -> InboundJob {
    let external = ExternalId::parse("loja-01").unwrap();
    InboundJob {
        event: event_id(Provider::named("evolution"), &external, EventKind::Message, id),
        provider: Provider::named("evolution"),
        external,
        kind: EventKind::Message,
        group: "g".to_owned(),
        correlation: CorrelationId::parse("k").unwrap(),
        received_at: instant(0),
        payload,
        redrive: None,
    }
}

#[test]
fn an_applied_event_is_forgotten_when_it_expires_and_a_pending_one_never() {
    let time = Arc::new(AtomicI64::new(0));
    let now = Arc::clone(&time);
    let store = Embedded::in_memory(Clock::new(move || instant(now.load(Ordering::Relaxed)))).unwrap();
    block_on(async {
        let (applied, pending) = (
            job("a", Payload::Inline(json!(1))),
            job("b", Payload::Inline(json!(2))),
        );
        for job in [&applied, &pending] {
            assert_eq!(store.record_event(job).await.unwrap(), Recorded::New);
        }
        store
            .settle_event(&applied.event, None, instant(5), instant(HOUR))
            .await
            .unwrap();
        time.store(HOUR - 1, Ordering::Relaxed);
        assert_eq!(store.record_event(&applied).await.unwrap(), Recorded::Settled);
        time.store(HOUR, Ordering::Relaxed);
        assert_eq!(
            store.event(&applied.event).await.unwrap(),
            None,
            "before any sweep"
        );
        let swept = store.sweep(instant(HOUR)).await.unwrap();
        assert_eq!((swept.events, swept.unfinished()), (1, false));
        time.store(9_000 * HOUR, Ordering::Relaxed);
        assert_eq!(store.record_event(&pending).await.unwrap(), Recorded::Pending);
        assert_eq!(store.record_event(&applied).await.unwrap(), Recorded::New);
    });
}

#[test]
fn a_large_body_stays_as_long_as_its_event_may_need_it() {
    let scratch = crate::embedded::tests::Scratch::new();
    let store = Embedded::open(&scratch.0, Clock::system()).unwrap();
    block_on(async {
        let job = job("a", Payload::Stored("body-a".to_owned()));
        store.put_payload("body-a", &json!("large")).await.unwrap();
        store.put_payload("body-b", &json!("of nobody")).await.unwrap();
        store.record_event(&job).await.unwrap();
        let now = Timestamp::now();
        assert_eq!(
            store.sweep(now).await.unwrap().payloads,
            0,
            "what is new may be claimed yet"
        );
        let tomorrow = millis::shift(now, 25 * HOUR);
        assert_eq!(store.sweep(tomorrow).await.unwrap().payloads, 1);
        assert_eq!(store.payload("body-b").await.unwrap(), None);
        assert_eq!(store.payload("body-a").await.unwrap(), Some(json!("large")));
        store
            .settle_event(&job.event, None, now, millis::shift(now, 90 * HOUR))
            .await
            .unwrap();
        assert_eq!(store.sweep(tomorrow).await.unwrap().payloads, 1);
        assert_eq!(store.payload("body-a").await.unwrap(), None);
    });
}

#[test]
fn a_note_of_a_send_is_swept_once_no_echo_can_come_any_more() {
    let scratch = crate::embedded::tests::Scratch::new();
    let store = Embedded::open(&scratch.0, Clock::system()).unwrap();
    block_on(async {
        let note = InFlight {
            message: MessageId::parse("c.1").unwrap(),
            nonce: Nonce::parse("n").unwrap(),
            claimed_at: instant(0),
            until: instant(35_000),
            text_hash: "h".to_owned(),
            echo: None,
        };
        let id = InstanceId::parse("front-desk").unwrap();
        let (body, instance) = (encode(&note).unwrap(), id.clone());
        let sql = "INSERT INTO in_flight (instance, message, nonce, body) VALUES (?1, 'm', 'n', ?2)";
        let put = move |c: &Connection| execute(c, sql, params![instance.as_str(), body]);
        store.write("test", put).await.unwrap();
        let last = InFlight::KEPT_MS;
        assert_eq!(store.sweep(instant(last - 1)).await.unwrap().notes, 0);
        assert_eq!(store.in_flight(&id).await.unwrap(), [note]);
        assert_eq!(store.sweep(instant(last)).await.unwrap().notes, 1);
        assert!(store.in_flight(&id).await.unwrap().is_empty());
    });
}
