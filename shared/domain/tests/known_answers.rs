//! Every derived id and key has the value that records already hold: another would orphan them. The values were computed
//! apart from this code: SHA-256 over each part after its length in eight bytes, the highest first.

#![expect(clippy::unwrap_used, reason = "test code")]

use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventKind, derive_event_id, derive_event_id_from_body};
use recado_domain::ids::{ExternalId, MessageId, hash_parts};
use recado_domain::millis::from_unix_millis;
use recado_domain::notice::{NewNotice, Notice, NoticeKind};
use recado_domain::outbox::hash_text;
use recado_domain::provider::Provider;
use serde_json::json;

fn external(name: &str) -> ExternalId {
    ExternalId::parse(name).unwrap()
}

#[test]
fn a_hash_of_parts_is_known() {
    assert_eq!(hash_parts(&["ab", "c"], 16), "601d5476e2ccfe2c87a2bba7a3226597");
    assert_eq!(hash_parts(&[], 4), "e3b0c442");
}

#[test]
fn ids_of_events_are_known() {
    let (evolution, meta) = (Provider::Evolution, Provider::Meta);
    let message = derive_event_id(
        evolution,
        &external("suporte-01"),
        EventKind::Message,
        "3EB0B2C4D5E6",
    );
    assert_eq!(
        message.as_str(),
        "fc533e1004f6e9e5b6cdb3d89372cb1410c4e0125a35b9bb6397e47e47f99376"
    );
    let failed = derive_event_id(
        meta,
        &external("100000000000001"),
        EventKind::Failed,
        "wamid.A:failed",
    );
    assert_eq!(
        failed.as_str(),
        "080900f1682242930067df40f9c85cd2c734be2879308e0546a8df4f5b07a9b5"
    );
    let body = json!({"event": "connection.update", "data": {"state": "open"}, "server_url": "x", "apikey": "k",
        "date_time": "2026-03-02T09:15:00.000Z", "destination": "d", "api_key": "k", "webhookUrl": "w"});
    let connection =
        derive_event_id_from_body(evolution, &external("suporte-01"), EventKind::Connection, &body);
    assert_eq!(
        connection.as_str(),
        "a3dabc88406f707c66470058fd18041e4c1140857a8555f5fe223d304e55bfa3"
    );
}

#[test]
fn keys_of_deliveries_are_known() {
    let message = MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap();
    let own = DeliveryKey::from_own_id(Provider::Meta, &external("100000000000001"), &message);
    assert_eq!(own.as_str(), "d7359e918d1a68122482d9a94d2ab2de");
    let theirs = DeliveryKey::from_provider_id(Provider::Evolution, &external("suporte-01"), "3EB0B2C4D5E6");
    assert_eq!(theirs.as_str(), "35a239f53b3ced5fe931ae24550a6110");
}

#[test]
fn a_delivery_of_one_instance_or_provider_is_not_that_of_another() {
    let message = MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap();
    let own = |provider, instance| {
        DeliveryKey::from_own_id(Provider::parse(provider).unwrap(), &external(instance), &message)
    };
    let theirs = |provider, instance| {
        DeliveryKey::from_provider_id(Provider::parse(provider).unwrap(), &external(instance), "A")
    };
    let keys = [
        own("meta", "1"),
        own("meta", "2"),
        own("360dialog", "1"),
        theirs("meta", "1"),
        theirs("meta", "2"),
        theirs("360dialog", "1"),
    ];
    let unlike: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(unlike.len(), keys.len());
}

#[test]
fn the_hash_of_a_text_is_known() {
    assert_eq!(hash_text(" Olá\n"), "ab9e3ead97c558b1ca96b3c5cea1bcc3");
}

#[test]
fn the_id_of_a_notice_is_known() {
    let told = NewNotice {
        kind: NoticeKind::Account,
        summary: "account: verified".to_owned(),
        at: Some(from_unix_millis(1_760_000_000_000)),
        details: json!({"event": "VERIFIED_ACCOUNT"}),
    };
    let notice = Notice::with_derived_id(Provider::Meta, "200000000000002", told, from_unix_millis(0));
    assert_eq!(notice.id.as_str(), "bb1665e804f852f22904259a69fed3b1");
}
