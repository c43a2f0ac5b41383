//! What Meta tells of an account, and of a message's price.

use crate::tests::webhooks::meta_body;
use crate::tests::{Answered, Site, signature};
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_pipeline::ports::OutboxStore;
use recado_pipeline::records::configuration::put_configuration;
use serde_json::{Value, json};

const ACCOUNT: &str = "200000000000002";

async fn meta(site: &Site, body: &Value) -> Answered {
    let body = body.to_string();
    let signed = signature(body.as_bytes());
    site.ask(
        "POST",
        "/webhooks/meta",
        &[("x-hub-signature-256", &signed)],
        body,
    )
    .await
}

fn rejected(time: i64) -> Value {
    let value = json!({"event": "REJECTED", "message_template_name": "lembrete", "message_template_language": "pt_BR", "reason": "SCAM"});
    json!({"object": "whatsapp_business_account", "entry": [{"id": ACCOUNT, "time": time,
        "changes": [{"field": "message_template_status_update", "value": value}]}]})
}

/// A site whose Meta instance belongs to the account.
async fn site() -> Site {
    let site = Site::in_memory().configured().await;
    let mut document = crate::tests::document();
    document
        .instances
        .retain(|instance| instance.id.as_str() == "oficial");
    document.instances[0].account_id = Some(ACCOUNT.to_owned());
    put_configuration(&site.store, &document).await.unwrap();
    site
}

async fn notices(site: &Site, instance: &str) -> Answered {
    site.operate("GET", &format!("/v1/instances/{instance}/notices"), &Value::Null)
        .await
}

#[tokio::test]
async fn what_is_told_of_an_account_is_shown_with_its_instance_once_and_the_newest_first() {
    let site = site().await;
    assert_eq!(notices(&site, "oficial").await.body, json!({"items": []}));
    for time in [1_760_000_000, 1_760_000_900, 1_760_000_000] {
        let answered = meta(&site, &rejected(time)).await;
        assert_eq!(
            (answered.status, &answered.body["notices"]),
            (StatusCode::OK, &json!(1))
        );
        assert_eq!(answered.body["ignored"], json!(0));
    }
    let shown = notices(&site, "oficial").await.body;
    let items = shown["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{shown}");
    assert_eq!(items[0]["at"], "2025-10-09T09:08:20Z");
    assert_eq!(items[0]["kind"], "template_status");
    assert_eq!(items[0]["summary"], "template lembrete (pt_BR): rejected, SCAM");
    assert_eq!(items[0]["details"]["reason"], "SCAM");
}

#[tokio::test]
async fn an_instance_of_no_known_account_has_no_notices_and_an_unknown_one_is_not_found() {
    let site = Site::in_memory().configured().await;
    meta(&site, &rejected(1_760_000_000)).await;
    assert_eq!(notices(&site, "oficial").await.body, json!({"items": []}));
    for unknown in ["nobody", "no%20body"] {
        assert_eq!(
            notices(&site, unknown).await.status,
            StatusCode::NOT_FOUND,
            "{unknown}"
        );
    }
}

#[tokio::test]
async fn a_price_is_kept_with_the_status_that_brought_it() {
    let site = site().await;
    let status = |word: &str, time: i64, pricing: Value| json!({"id": "wamid.PRECO", "status": word, "timestamp": time.to_string(), "recipient_id": "5511900000001", "pricing": pricing});
    let price = json!({"billable": true, "pricing_model": "PMP", "type": "regular", "category": "utility"});
    let sent = meta_body(&json!({"statuses": [status("sent", 1_760_000_000, price)]}));
    let read = meta_body(&json!({"statuses": [status("read", 1_760_000_060, Value::Null)]}));
    for body in [sent, read] {
        assert_eq!(meta(&site, &body).await.body["statuses"], json!(1));
    }
    let number = ExternalId::parse("100000000000001").unwrap();
    let key = DeliveryKey::from_provider_id(Provider::Meta, &number, "wamid.PRECO");
    let known = site.store.find_delivery(&key).await.unwrap().unwrap();
    assert_eq!(known.at, Some(Timestamp::from_second(1_760_000_060).unwrap()));
    assert_eq!(known.detail.pricing.unwrap().category.as_deref(), Some("utility"));
}

#[tokio::test]
async fn a_charged_message_is_summed_up_once_by_its_category_and_costs_what_its_price_says() {
    let site = site().await;
    let now = Timestamp::now().as_second();
    let price = |billable: bool| json!({"billable": billable, "pricing_model": "PMP", "type": "regular", "category": "utility"});
    for (id, word, pricing) in [
        ("wamid.UMA", "sent", price(true)),
        ("wamid.UMA", "read", price(true)),
        ("wamid.UMA", "delivered", price(true)),
        ("wamid.UMA", "delivered", price(true)),
        ("wamid.OUTRA", "delivered", price(true)),
        ("wamid.LIVRE", "delivered", price(false)),
        ("wamid.A_CAMINHO", "sent", price(true)),
    ] {
        let status = json!({"id": id, "status": word, "timestamp": now.to_string(), "recipient_id": "5511900000001", "pricing": pricing});
        let answered = meta(&site, &meta_body(&json!({"statuses": [status]}))).await;
        assert_eq!(answered.body["statuses"], json!(1), "{}", answered.text);
    }
    let look = async || site.operate("GET", "/v1/usage?by=model", &Value::Null).await.body["items"].clone();
    let unpriced = look().await;
    assert_eq!(unpriced[0]["model"], "meta:utility", "{unpriced}");
    assert_eq!(
        (
            &unpriced[0]["charged_messages"],
            &unpriced[0]["unpriced_messages"]
        ),
        (&json!(2), &json!(2))
    );
    let configuration = json!({"prices": [
        {"model": "meta:*", "message": "0.5"},
        {"model": "meta:*", "message": "0.0068", "countries": ["BR"]},
    ]});
    let applied = site.operate("PUT", "/v1/config", &configuration).await;
    assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
    let priced = look().await;
    assert_eq!(priced[0]["costs"], json!([{"currency": "USD", "micros": 13_600}]));
    assert_eq!(priced[0]["unpriced_messages"], 0);
    let by_country = site.operate("GET", "/v1/usage?by=country", &Value::Null).await;
    let line = &by_country.body["items"][0];
    assert_eq!(
        (&line["country"], &line["charged_messages"]),
        (&json!("BR"), &json!(2))
    );
    assert_eq!(line["costs"], priced[0]["costs"]);
}
