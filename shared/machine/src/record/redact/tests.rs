use super::*;
use serde_json::json;

fn evolution() -> Value {
    json!({
        "event": "messages.upsert", "instance": "suporte-01", "apikey": "LIVE-KEY", "sender": "5511955550000@s.whatsapp.net",
        "server_url": "https://evolution.example/x",
        "data": {
            "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "3EB0A1"},
            "pushName": "Carla Nunes",
            "message": {"conversation": "Meu número é 5511900000001, João!", "base64": "AAAA",
                "imageMessage": {"mediaKey": "k", "mimetype": "image/jpeg", "caption": "Olha 👍"}},
            "messageType": "conversation", "messageTimestamp": 1_760_000_000,
        },
    })
}

#[test]
fn names_texts_and_numbers_are_others_and_the_shape_is_the_same() {
    let redacted = Redaction::default().redact_body(evolution());
    assert_eq!(
        redacted,
        json!({
            "event": "messages.upsert", "instance": "suporte-01", "sender": "5511000000001@s.whatsapp.net",
            "server_url": "https://redacted.example/file",
            "data": {
                "key": {"remoteJid": "5511000000002@s.whatsapp.net", "fromMe": false, "id": "3EB0A1"},
                "pushName": "Xxxxx Xxxxx",
                "message": {"conversation": "Xxx xxxxxx x 0000000000000, Xxxx!",
                    "imageMessage": {"mimetype": "image/jpeg", "caption": "Xxxx 👍"}},
                "messageType": "conversation", "messageTimestamp": 1_760_000_000,
            },
        })
    );
}

#[test]
fn one_person_keeps_one_number_and_one_message_one_id_within_a_file() {
    let mut redaction = Redaction::default();
    let body = |number: &str, id: &str| {
        json!({"entry": [{"id": "900", "changes": [{"field": "messages", "value": {
            "metadata": {"display_phone_number": "+55 11 95555-0000", "phone_number_id": "100000000000001"},
            "contacts": [{"profile": {"name": "Bia"}, "wa_id": number, "user_id": "BR.13491208655302741918"}],
            "messages": [{"from": number, "id": id, "timestamp": "1760000000", "type": "text", "text": {"body": "Oi"}}],
        }}]}]})
    };
    let first = redaction.redact_body(body("5511900000001", "wamid.HBgNNTUxMTkwMDAwMDAwMQ=="));
    let again = redaction.redact_body(body("5511900000001", "wamid.HBgNNTUxMTkwMDAwMDAwMQ=="));
    let other = redaction.redact_body(body("5511900000002", "wamid.OTHER"));
    assert_eq!(first, again);
    let value = |body: &Value, path: &str| {
        body.pointer(&format!("/entry/0/changes/0/value{path}"))
            .unwrap()
            .clone()
    };
    assert_eq!(
        value(&first, "/contacts/0/wa_id"),
        value(&first, "/messages/0/from")
    );
    assert_ne!(
        value(&first, "/messages/0/from"),
        value(&other, "/messages/0/from")
    );
    assert_ne!(value(&first, "/messages/0/id"), value(&other, "/messages/0/id"));
    assert_eq!(value(&first, "/metadata/phone_number_id"), "100000000000001");
    assert_eq!(value(&first, "/messages/0/timestamp"), "1760000000");
    let text = first.to_string();
    for trace in [
        "NNTUx",
        "55550000",
        "95555-0000",
        "900000001",
        "Bia",
        "Oi",
        "1349",
    ] {
        assert!(!text.contains(trace), "{trace} in {text}");
    }
    assert_eq!(
        value(&first, "/metadata/display_phone_number")
            .as_str()
            .unwrap()
            .len(),
        "+55 11 95555-0000".len()
    );
}

#[test]
fn people_who_are_keys_and_places_are_redacted_and_what_is_not_known_is_masked() {
    let mut redaction = Redaction::default();
    let redacted = redaction.redact_body(json!({
        "presences": {"5511900000001@s.whatsapp.net": {"lastKnownPresence": "composing"}},
        "degreesLatitude": -23.5, "longitude": -46.6, "phone": 5_511_900_000_001_u64, "novelty": "Rua Azul, 12",
    }));
    assert_eq!(
        redacted,
        json!({
            "presences": {"5511000000001@s.whatsapp.net": {"lastKnownPresence": "xxxxxxxxx"}},
            "degreesLatitude": 0, "longitude": 0, "phone": 0, "novelty": "Xxx Xxxx, 00",
        })
    );
}

#[test]
fn no_field_and_no_key_keeps_what_somebody_wrote() {
    for field in [
        "reason",
        "source",
        "status",
        "code",
        "category",
        "owner",
        "id",
        "instance",
        "href",
        "timestamp",
        "mimetype",
    ] {
        for (written, trace) in [
            ("CPF 123.456.789-00", "123"),
            ("Maria Silva deve R$300", "Silva"),
            ("paciente-Maria-Silva", "Silva"),
            ("5511900000001", "90000000"),
            ("https://clinica.example/maria", "maria"),
        ] {
            if field == "timestamp" && written.starts_with("55") {
                continue;
            }
            let redacted = Redaction::default()
                .redact_body(json!({field: written}))
                .to_string();
            assert!(!redacted.contains(trace), "{field}: {redacted}");
        }
    }
    let keys = json!({"paciente-Maria-Silva": 1, "CPF 123": 2, "Maria Silva": 3, "whatsAppWebhookEntry": 4, "d360-x": 5});
    let redacted = Redaction::default().redact_body(keys);
    let mut left: Vec<&String> = redacted.as_object().unwrap().keys().collect();
    left.sort();
    assert_eq!(
        left,
        [
            "XXX 000",
            "Xxxxx Xxxxx",
            "d360-x",
            "whatsAppWebhookEntry",
            "xxxxxxxx-Xxxxx-Xxxxx"
        ]
    );
}

#[test]
fn what_says_how_a_thing_is_built_stays() {
    let body = json!({
        "event": "messages.upsert", "status": "DELIVERY_ACK", "messageType": "imageMessage", "source": "android",
        "mimetype": "audio/ogg; codecs=opus", "instance": "suporte-01", "instanceId": "11111111-2222-4333-8444-555555555555",
        "date_time": "2026-03-02T09:15:00.000Z", "timestamp": "1760000000", "id": "3EB0B2C4D5E6", "version": "2.3.1",
        "phone_number_id": "100000000000001", "href": "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/",
        "reason": "NONE", "category": "marketing_lite", "statusReason": 200,
    });
    assert_eq!(Redaction::default().redact_body(body.clone()), body);
}

#[test]
fn credentials_go_at_any_depth_and_in_any_spelling() {
    let mut body = json!({"apiKey": "a", "data": [{"Authorization": "b", "kept": 1, "token": "c"}], "qrcode": {"code": "d"}});
    remove_credentials(&mut body);
    assert_eq!(body, json!({"data": [{"kept": 1}]}));
}
