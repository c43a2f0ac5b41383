//! What the product sends, of every kind, is what the servers take.

use super::*;
use async_trait::async_trait;
use recado_domain::config::{Agent, CredentialRef, Instance, InstanceConfig, Tenant};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::ids::MessageId;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::secret::Secret;
use recado_ports::ports::{
    OutgoingMessage, PortResult, Providers, Secrets, SendEvidence, SendOutcome, System,
};
use recado_whatsapp::{ProviderConfig, WhatsApp};

pub(super) struct Key;

impl Secrets for Key {
    async fn resolve_secret(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(Secret::new("key-1"))
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}

pub(super) struct Clock;

#[async_trait]
impl System for Clock {
    fn now(&self) -> recado_domain::Timestamp {
        recado_domain::Timestamp::now()
    }

    fn random_u64(&self) -> u64 {
        7
    }

    async fn sleep(&self, _: Duration) {}
}

pub(super) fn product(server: &StandIn) -> WhatsApp<Key, Clock> {
    let config = ProviderConfig {
        evolution_base_url: Some(server.url()),
        meta_base_url: server.url(),
        dialog360_base_url: server.url(),
        ..ProviderConfig::default()
    };
    WhatsApp::new(client(), Key, Clock, config)
}

/// The stand-in for a provider.
pub(super) fn server(provider: &str) -> StandIn {
    match provider {
        "meta" => StandIn::meta(),
        "360dialog" => StandIn::dialog360(),
        _ => StandIn::evolution(),
    }
}

pub(super) fn bound(provider: &str, version: u8) -> InstanceConfig {
    let external = if provider == "evolution" {
        "loja-1"
    } else {
        "100000000000001"
    };
    let instance = json!({"id": "loja-01", "tenant": "t", "provider": provider, "external_id": external, "agent": "a",
        "api_version": version});
    let agent = json!({"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"});
    InstanceConfig {
        instance: serde_json::from_value::<Instance>(instance).unwrap(),
        tenant: serde_json::from_value::<Tenant>(json!({"id": "t"})).unwrap(),
        agent: serde_json::from_value::<Agent>(agent).unwrap(),
        knowledge: None,
        tools: Vec::new(),
    }
}

pub(super) fn message(content: &Value) -> OutgoingMessage {
    OutgoingMessage {
        id: MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap(),
        to: ContactAddress::parse("5511944440000@s.whatsapp.net").unwrap(),
        content: serde_json::from_value(content.clone()).unwrap(),
        options: SendOptions {
            reply_to: Some("3EB0Q".to_owned()),
            mentions: vec!["5511944440009".to_owned()],
            link_preview: Some(true),
            ..SendOptions::default()
        },
        attempt: 1,
        model: None,
    }
}

/// One of each kind, and of each way in which a file may be given.
fn contents() -> Vec<Value> {
    let mut all = vec![
        json!({"type": "text", "text": "Olá"}),
        json!({"type": "location", "latitude": "-23.55", "longitude": "-46.6"}),
        json!({"type": "location", "latitude": "-23.5500", "longitude": "-46.60", "name": "Loja", "address": "Rua 1"}),
        json!({"type": "contacts", "contacts": [{"name": "Ana Lima", "phones": ["+5511944440001", "1130000000"],
            "emails": ["ana@example.org"], "organization": "Loja"}, {"name": "Bia", "phones": ["1130000001"]}]}),
        json!({"type": "reaction", "emoji": "👍", "target": "3EB0A"}),
        json!({"type": "reaction", "target": "3EB0A"}),
        json!({"type": "buttons", "header": "Loja", "body": "Confirma?", "footer": "Até já",
            "buttons": [{"kind": "reply", "id": "s", "title": "Sim"}, {"kind": "reply", "id": "n", "title": "Não"}]}),
        json!({"type": "buttons", "body": "Veja", "buttons": [{"kind": "url", "url": "https://example.org", "title": "Abrir"}]}),
        json!({"type": "buttons", "body": "Fale", "buttons": [{"kind": "call", "phone": "+551130000000", "title": "Ligar"}]}),
        json!({"type": "buttons", "body": "Use", "buttons": [{"kind": "copy", "code": "VOLTA10", "title": "Cupom"}]}),
        json!({"type": "list", "body": "Escolha", "button": "Ver", "sections": [
            {"title": "Manhã", "rows": [{"id": "9", "title": "9h", "description": "com Ana"}]},
            {"title": "Tarde", "rows": [{"id": "14", "title": "14h"}]}]}),
        json!({"type": "poll", "question": "Que dia?", "options": ["Seg", "Ter"], "selectable": 1}),
        json!({"type": "poll", "question": "Que dia?", "options": ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]}),
    ];
    for media in ["image", "video", "audio", "voice", "document", "sticker"] {
        for source in [
            "https://example.org/a.bin",
            "data:application/pdf;base64,AAECAwQ=",
        ] {
            all.push(json!({"type": "media", "media": media, "source": source}));
        }
    }
    all.push(
        json!({"type": "media", "media": "image", "source": "https://example.org/a.png", "caption": "veja"}),
    );
    all
}

#[tokio::test]
async fn every_kind_is_taken_by_each_provider_and_version() {
    for (provider, version) in [("evolution", 1), ("evolution", 2), ("meta", 2), ("360dialog", 2)] {
        let server = server(provider);
        let (product, bound) = (product(&server), bound(provider, version));
        let mut contents = contents();
        if provider != "evolution" {
            contents.push(
                json!({"type": "template", "name": "lembrete", "language": "pt_BR", "components": [
                {"type": "body", "parameters": [{"type": "text", "text": "Ana"}]}]}),
            );
        }
        for content in &contents {
            let parsed: Content = serde_json::from_value(content.clone()).unwrap();
            assert!(
                product
                    .explain_refusal(bound.instance.provider, &parsed)
                    .is_none()
            );
            let outcome = product.send_message(&bound, &message(content)).await;
            assert!(
                matches!(outcome, SendOutcome::Accepted { .. }),
                "{provider} {version} {content} {outcome:?}"
            );
        }
        assert_eq!(server.violations(), [], "{provider} {version}");
        assert_eq!(server.phone().len(), contents.len());
    }
}

#[tokio::test]
async fn what_evolution_stored_is_evidence_for_every_kind() {
    for version in [1, 2] {
        for content in contents() {
            // Reactions are looked up like messages; nobody else reacts with the same to the same.
            let server = StandIn::evolution();
            let (product, bound) = (product(&server), bound("evolution", version));
            let message = message(&content);
            let began = add_millis(recado_domain::Timestamp::now(), -1_000);
            assert_eq!(
                product.find_send_evidence(&bound, &message, &[], began).await,
                SendEvidence::None
            );
            let SendOutcome::Accepted {
                provider_message_id, ..
            } = product.send_message(&bound, &message).await
            else {
                panic!("{content}")
            };
            let found = product.find_send_evidence(&bound, &message, &[], began).await;
            assert_eq!(
                found,
                SendEvidence::Sent { provider_message_id },
                "{version} {content}"
            );
        }
    }
}

#[tokio::test]
async fn wrong_bodies_of_every_kind_are_refused_by_evolution_and_kept() {
    let evolution = StandIn::evolution();
    let number = "5511944440000";
    let bad = [
        ("sendText", json!({"number": number, "text": "x", "txet": "x"})),
        (
            "sendMedia",
            json!({"number": number, "mediatype": "gif", "media": "https://example.org/a"}),
        ),
        (
            "sendMedia",
            json!({"number": number, "mediatype": "image", "media": "data:image/png;base64,AA=="}),
        ),
        (
            "sendMedia",
            json!({"number": number, "mediatype": "document", "media": "AAEC"}),
        ),
        (
            "sendReaction",
            json!({"key": {"id": "A", "remoteJid": "5511944440000@s.whatsapp.net"}, "reaction": "👍"}),
        ),
        (
            "sendLocation",
            json!({"number": number, "latitude": "-23", "longitude": -46, "name": "a", "address": "b"}),
        ),
        (
            "sendLocation",
            json!({"number": number, "latitude": -23, "longitude": -46, "name": "a"}),
        ),
        ("sendContact", json!({"number": number, "contact": []})),
        (
            "sendPoll",
            json!({"number": number, "name": "a", "selectableCount": 1, "values": ["a", "a"]}),
        ),
        ("sendButtons", json!({"number": number})),
    ];
    for (action, body) in &bad {
        let url = format!("{}/message/{action}/loja-1", evolution.url());
        let answer = go(client().post(url).header("apikey", "key-1").json(body)).await;
        assert_eq!(answer.0, 400, "{action} {body}");
        assert!(answer.1["response"]["message"].is_array());
    }
    assert_eq!(evolution.violations().len(), bad.len());
}

#[tokio::test]
async fn wrong_bodies_of_every_kind_are_refused_by_meta_and_who_passes_its_bodies_on() {
    let (meta, dialog360) = (StandIn::meta(), StandIn::dialog360());
    let bad = [
        json!({"type": "image", "image": {"link": "https://example.org/a", "id": "1"}}),
        json!({"type": "sticker", "sticker": {"id": "1", "caption": "x"}}),
        json!({"type": "location", "location": {"latitude": "-23", "longitude": -46}}),
        json!({"type": "contacts", "contacts": [{"name": {"formatted_name": "Ana"}, "phones": [{"phone": "1"}]}]}),
        json!({"type": "reaction", "reaction": {"message_id": "A"}}),
        json!({"type": "interactive", "interactive": {"type": "button", "body": {"text": "x"}, "action": {"buttons": []}}}),
        json!({"type": "interactive", "interactive": {"type": "list", "body": {"text": "x"}, "action": {"button": "Ver",
            "sections": [{"rows": [{"id": "1", "title": "x".repeat(25)}]}]}}}),
        json!({"type": "template", "template": {"name": "x"}}),
        json!({"type": "poll", "poll": {}}),
    ];
    let send = |server: &StandIn, path: &str| client().post(format!("{}{path}", server.url()));
    for part in &bad {
        let mut body = json!({"messaging_product": "whatsapp", "recipient_type": "individual", "to": "+5511944440000",
            "biz_opaque_callback_data": "c_1-1.2"});
        body.as_object_mut()
            .unwrap()
            .extend(part.as_object().unwrap().clone());
        for request in [
            send(&meta, "/v24.0/1/messages").bearer_auth("key-1"),
            send(&dialog360, "/messages").header("D360-API-KEY", "key-1"),
        ] {
            let answer = go(request.json(&body)).await;
            let refused = (answer.0, &answer.1["error"]["code"]);
            assert_eq!(refused, (400, &json!(100)), "{part}");
        }
    }
    for server in [meta, dialog360] {
        assert_eq!(server.violations().len(), bad.len());
        assert!(server.phone().is_empty());
    }
}
