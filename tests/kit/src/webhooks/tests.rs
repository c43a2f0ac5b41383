//! The product's own parsers and checks read what is built here.

use super::*;
use recado_domain::delivery::DeliveryStatus;
use recado_domain::event::EventKind;
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_domain::millis::from_unix_millis;
use recado_whatsapp::evolution::{self, EvolutionCredentials};
use recado_whatsapp::{meta, split_webhook};

const JID: &str = "5511944440000@s.whatsapp.net";
const NOW: i64 = 1_767_603_600;

fn items(provider: Provider, body: &Value) -> Vec<WebhookItem> {
    split_webhook(
        provider,
        body.to_string().as_bytes(),
        from_unix_millis(NOW * 1000),
    )
    .unwrap()
}

fn event(provider: Provider, body: &Value) -> WebhookEvent {
    match &items(provider, body)[..] {
        [WebhookItem::Event(event)] => event.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn evolutions_texts_are_messages_of_the_contact() {
    let bodies = [
        evolution_text("loja-1", JID, "3A01", "Olá", NOW),
        evolution_from_me("loja-1", JID, "3A01", "Olá", NOW),
        evolution_v1_text("loja-1", JID, "3A01", "Olá", NOW),
        queue_worker_form("loja-1", JID, Some("3A01"), "Olá"),
        queue_worker_form("loja-1", JID, None, "Olá"),
    ];
    for body in &bodies {
        let event = event(Provider::Evolution, body);
        assert_eq!(
            (event.kind, event.external.as_str()),
            (EventKind::Message, "loja-1")
        );
        assert!(event.address.is_some());
        assert!(!event.payload.to_string().contains(EVOLUTION_BODY_KEY));
    }
    assert_eq!(
        bodies[0]["date_time"], "2026-01-05T06:00:00.000Z",
        "three hours behind, with a false Z"
    );
}

#[test]
fn connections_and_statuses_are_what_they_say() {
    let open = evolution_connection("loja-1", "open", "2026-01-05T06:00:00.000Z");
    assert_eq!(event(Provider::Evolution, &open).kind, EventKind::Connection);
    let reached = |provider, body| match &items(provider, &body)[..] {
        [WebhookItem::Status(update)] => update.status,
        other => panic!("{other:?}"),
    };
    let delivered = evolution_status("loja-1", "3EB0", "DELIVERY_ACK");
    assert_eq!(reached(Provider::Evolution, delivered), DeliveryStatus::Delivered);
    for (word, status) in [("sent", DeliveryStatus::Sent), ("read", DeliveryStatus::Read)] {
        assert_eq!(
            reached(Provider::Meta, meta_status("100200300", "wamid.A", word, None)),
            status
        );
    }
    let failed = meta_status("100200300", "wamid.A", "failed", Some("x"));
    assert_eq!(event(Provider::Meta, &failed).kind, EventKind::Failed);
}

#[test]
fn a_body_of_meta_holds_as_many_messages_as_it_was_given() {
    let one = meta_text("100200300", "5511944440000", "wamid.A", "Olá", NOW);
    assert_eq!(event(Provider::Meta, &one).external.as_str(), "100200300");
    let text = |from: &str, wamid: &str| MetaText {
        from: from.to_owned(),
        wamid: wamid.to_owned(),
        text: "Olá".to_owned(),
        ts_seconds: NOW,
    };
    let texts = vec![
        text("5511944440000", "wamid.A"),
        text("5511944440001", "wamid.B"),
        text("5511944440000", "wamid.C"),
    ];
    let body = meta_texts("100200300", texts);
    assert_eq!(items(Provider::Meta, &body).len(), 3);
    assert_eq!(
        body["entry"][0]["changes"][0]["value"]["contacts"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn the_proofs_open_and_only_where_they_should() {
    let masters = [Secret::new("master").unwrap()];
    let instance = ExternalId::parse("loja-1").unwrap();
    let secret = derived_secret("master", Provider::Evolution, "loja-1");
    let opens = |authorization: &str| {
        let proof = EvolutionCredentials {
            authorization: Some(authorization),
            ..EvolutionCredentials::default()
        };
        let now = from_unix_millis(NOW * 1000);
        !evolution::find_proven_secrets(&proof, &masters, &instance, None, now).is_empty()
    };
    assert!(opens(&format!("Bearer {secret}")));
    assert!(opens(&format!("Bearer {}", jwt_hs256(&secret, NOW, NOW + 600))));
    assert!(!opens(&format!(
        "Bearer {}",
        jwt_hs256(&secret, NOW - 90_000, NOW - 89_400)
    )));
    assert!(!opens(&format!("Bearer {}", jwt_hs256("other", NOW, NOW + 600))));
    let apps = [Secret::new("app").unwrap()];
    assert!(meta::verify_signature(
        Some(&meta_signature("app", b"{}")),
        b"{}",
        &apps
    ));
    assert!(!meta::verify_signature(
        Some(&meta_signature("app", b"{ }")),
        b"{}",
        &apps
    ));
}
