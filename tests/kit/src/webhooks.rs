//! Webhook bodies after the shapes that providers really send, with invented values, and the proofs that go with them.
//!
//! Shapes: Evolution API 1.8 and 2.3 (`messages.upsert`, `messages.update`, `connection.update`), the queue-worker form
//! that posts a message without an envelope, Meta's Cloud API webhooks.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use recado_domain::Timestamp;
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, SecretParts, SecretVersion, derive_webhook_secret, hmac_sha256};
use serde_json::{Value, json};

/// The live key that Evolution puts into every body. It must be found nowhere afterwards: no record, no log.
pub const EVOLUTION_BODY_KEY: &str = "LIVE-KEY-0A1B2C3D4E5F";

/// The name under which the contact of these bodies is known to WhatsApp.
pub const CONTACT_NAME: &str = "Carla Nunes";

/// The instance's own number, without a sign.
const OWN_NUMBER: &str = "5511955550000";

/// An invented UUID as Evolution gives one to an instance.
const INSTANCE_UUID: &str = "1c0ffee0-5b1d-4a6e-9d2f-0123456789ab";

/// Evolution's envelope, the same in both versions.
fn envelope(event: &str, instance: &str, date_time: &str, data: &Value) -> Value {
    json!({
        "event": event,
        "instance": instance,
        "data": data,
        "destination": "https://recado.example/webhooks/evolution",
        "date_time": date_time,
        "sender": format!("{OWN_NUMBER}@s.whatsapp.net"),
        "server_url": "https://evolution.example",
        "apikey": EVOLUTION_BODY_KEY,
    })
}

/// Evolution's `date_time`: local time with a false `Z`, here three hours behind UTC.
fn date_time(ts_seconds: i64) -> String {
    let local = Timestamp::from_second(ts_seconds - 3 * 3600).unwrap_or_default();
    format!("{local:.3}")
}

fn upsert(jid: &str, id: &str, from_me: bool, text: &str, ts_seconds: i64) -> Value {
    json!({
        "key": {"remoteJid": jid, "fromMe": from_me, "id": id},
        "pushName": if from_me { "Atendimento" } else { CONTACT_NAME },
        "status": if from_me { "SERVER_ACK" } else { "DELIVERY_ACK" },
        "message": {"conversation": text},
        "messageType": "conversation",
        "messageTimestamp": ts_seconds,
        "instanceId": INSTANCE_UUID,
        "source": if from_me { "ios" } else { "android" },
    })
}

/// A text that came in, Evolution 2.
pub fn evolution_text(instance: &str, jid: &str, id: &str, text: &str, ts_seconds: i64) -> Value {
    let data = upsert(jid, id, false, text, ts_seconds);
    envelope("messages.upsert", instance, &date_time(ts_seconds), &data)
}

/// A text typed on the phone of the instance itself, or the echo of one that we sent, Evolution 2.
pub fn evolution_from_me(instance: &str, jid: &str, id: &str, text: &str, ts_seconds: i64) -> Value {
    let data = upsert(jid, id, true, text, ts_seconds);
    envelope("messages.upsert", instance, &date_time(ts_seconds), &data)
}

/// A text that came in, Evolution 1: an `owner`, no `status`, no `instanceId`.
pub fn evolution_v1_text(instance: &str, jid: &str, id: &str, text: &str, ts_seconds: i64) -> Value {
    let data = json!({
        "key": {"remoteJid": jid, "fromMe": false, "id": id},
        "pushName": CONTACT_NAME,
        "message": {
            "conversation": text,
            "messageContextInfo": {
                "deviceListMetadata": {"senderTimestamp": ts_seconds.to_string(), "recipientKeyIndexes": [42]},
                "deviceListMetadataVersion": 2,
            },
        },
        "messageType": "conversation",
        "messageTimestamp": ts_seconds,
        "owner": instance,
        "source": "android",
    });
    envelope("messages.upsert", instance, &date_time(ts_seconds), &data)
}

/// A text in the queue-worker form: no envelope. Without `id` there is none, as in that project's own example.
pub fn queue_worker_form(instance: &str, jid: &str, id: Option<&str>, text: &str) -> Value {
    let mut key = json!({"remoteJid": jid, "fromMe": false});
    if let Some(id) = id {
        key["id"] = json!(id);
    }
    json!({
        "instanceName": instance,
        "message": {"key": key, "message": {"conversation": text}, "pushName": CONTACT_NAME},
    })
}

/// `connection.update`. `state` is `open`, `close`, `connecting` or `refused`; `date_time` tells two equal states apart.
/// On `open` the body names the profile.
pub fn evolution_connection(instance: &str, state: &str, date_time: &str) -> Value {
    let reason = match state {
        "close" => 401,
        "refused" => 428,
        _ => 200,
    };
    let mut data = json!({"instance": instance, "state": state, "statusReason": reason});
    if state == "open" {
        data["wuid"] = json!(format!("{OWN_NUMBER}@s.whatsapp.net"));
        data["profileName"] = json!("Atendimento");
        data["profilePictureUrl"] = Value::Null;
    }
    envelope("connection.update", instance, date_time, &data)
}

/// `messages.update` of Evolution 2, about a message that we sent. `id` is what the send answered (`key.id`); `status` is
/// `SERVER_ACK`, `DELIVERY_ACK`, `READ`, `PLAYED` or `ERROR`.
pub fn evolution_status(instance: &str, id: &str, status: &str) -> Value {
    let data = json!({
        "keyId": id,
        "remoteJid": "5511944440000@s.whatsapp.net",
        "fromMe": true,
        "status": status,
        "instanceId": INSTANCE_UUID,
        "messageId": "cm0000000000000000000test",
    });
    envelope("messages.update", instance, "2026-01-05T09:00:00.000Z", &data)
}

/// A text for [`meta_texts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaText {
    /// The contact's number in digits, without a `+`.
    pub from: String,
    /// Meta's id of the message.
    pub wamid: String,
    /// The text.
    pub text: String,
    /// When it was sent, in seconds since 1970.
    pub ts_seconds: i64,
}

/// One text.
pub fn meta_text(phone_number_id: &str, from: &str, wamid: &str, text: &str, ts_seconds: i64) -> Value {
    let text = MetaText {
        from: from.to_owned(),
        wamid: wamid.to_owned(),
        text: text.to_owned(),
        ts_seconds,
    };
    meta_texts(phone_number_id, vec![text])
}

/// Several texts in one body, as Meta batches them when it has fallen behind: one entry, one change.
pub fn meta_texts(phone_number_id: &str, texts: Vec<MetaText>) -> Value {
    let mut contacts: Vec<Value> = Vec::new();
    for text in &texts {
        if contacts
            .iter()
            .all(|contact| contact["wa_id"] != text.from.as_str())
        {
            contacts.push(json!({"profile": {"name": CONTACT_NAME}, "wa_id": text.from}));
        }
    }
    let message = |text: MetaText| {
        json!({
            "from": text.from,
            "id": text.wamid,
            "timestamp": text.ts_seconds.to_string(),
            "text": {"body": text.text},
            "type": "text",
        })
    };
    let messages: Vec<Value> = texts.into_iter().map(message).collect();
    change(
        phone_number_id,
        &json!({"contacts": contacts, "messages": messages}),
    )
}

/// A status of a message that we sent: `sent`, `delivered`, `read`, `played` or `failed` (with error 131026). `biz_opaque`
/// is what the send had as `biz_opaque_callback_data`.
pub fn meta_status(phone_number_id: &str, wamid: &str, status: &str, biz_opaque: Option<&str>) -> Value {
    let mut body = json!({
        "id": wamid,
        "status": status,
        "timestamp": "1767603600",
        "recipient_id": "5511944440000",
    });
    if let Some(data) = biz_opaque {
        body["biz_opaque_callback_data"] = json!(data);
    }
    match status {
        "failed" => {
            body["errors"] = json!([{
                "code": 131_026,
                "title": "Message undeliverable",
                "message": "Message undeliverable",
                "error_data": {"details": "Message Undeliverable."},
            }]);
        }
        "sent" | "delivered" => {
            body["conversation"] =
                json!({"id": "c0ffee00c0ffee00c0ffee00c0ffee00", "origin": {"type": "service"}});
            body["pricing"] = json!({"billable": false, "pricing_model": "PMP", "category": "service", "type": "free_customer_service"});
        }
        _ => {}
    }
    change(phone_number_id, &json!({"statuses": [body]}))
}

/// Meta's envelope around one change.
fn change(phone_number_id: &str, fields: &Value) -> Value {
    let mut value = json!({
        "messaging_product": "whatsapp",
        "metadata": {"display_phone_number": OWN_NUMBER, "phone_number_id": phone_number_id},
    });
    if let (Some(value), Some(fields)) = (value.as_object_mut(), fields.as_object()) {
        value.extend(fields.clone());
    }
    json!({
        "object": "whatsapp_business_account",
        "entry": [{"id": "100000000000001", "changes": [{"value": value, "field": "messages"}]}],
    })
}

/// The webhook secret of an instance under a master secret, if its entry is from before there were salts: what goes into the header `apikey`, into
/// `Authorization: Bearer …` or into the path, and the key of [`jwt_hs256`].
///
/// # Panics
/// When the master is empty or the instance's name is none.
pub fn derived_secret(master: &str, provider: Provider, instance: &str) -> String {
    derive_secret(
        master,
        (provider, instance),
        &SecretParts {
            version: SecretVersion::FIRST,
            salt: None,
        },
    )
}

/// The present webhook secret of a configured instance. `configuration` is the answer of `GET /v1/config`. An instance that is
/// not in it has the secret of [`derived_secret`].
///
/// # Panics
/// When the answer cannot be read, the master is empty or the instance's name is none.
pub fn configured_secret(
    master: &str,
    (provider, instance): (Provider, &str),
    configuration: &Value,
) -> String {
    let document: ConfigDocument =
        serde_json::from_value(configuration["document"].clone()).expect("a configuration");
    let name = ExternalId::parse(instance).expect("an instance's name");
    let is_meant =
        |one: &&Instance| one.provider == provider && one.resolve_external_id().as_ref() == Some(&name);
    let found = document.instances.iter().find(is_meant);
    found.map_or_else(
        || derived_secret(master, provider, instance),
        |found| derive_secret(master, (provider, instance), &found.secret_parts()),
    )
}

fn derive_secret(master: &str, (provider, instance): (Provider, &str), parts: &SecretParts) -> String {
    let master = Secret::new(master).expect("a master secret");
    let instance = ExternalId::parse(instance).expect("an instance's name");
    derive_webhook_secret(&master, provider, &instance, parts)
        .expose_secret()
        .to_owned()
}

/// The JWT that Evolution signs with an instance's `jwt_key`. `iat` and `exp` are seconds since 1970; Evolution's `exp` is
/// ten minutes after `iat`.
pub fn jwt_hs256(secret: &str, iat: i64, exp: i64) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(&json!({"alg": "HS256", "typ": "JWT"}));
    let claims = part(&json!({"iat": iat, "exp": exp, "app": "evolution", "action": "webhook"}));
    let signed = format!("{header}.{claims}");
    let mac = hmac_sha256(secret.as_bytes(), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
}

/// The header `X-Hub-Signature-256` for exactly these bytes.
pub fn meta_signature(app_secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hex::encode(hmac_sha256(app_secret.as_bytes(), body)))
}

#[cfg(test)]
mod tests;
