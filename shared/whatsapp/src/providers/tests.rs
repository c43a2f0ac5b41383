use super::*;
use crate::stand_in::{Does, StandIn};
use recado_domain::config::{Agent, CredentialRef, Instance, Tenant};
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::ids::MessageId;
use recado_domain::millis::instant;
use recado_domain::options::SendOptions;
use recado_pipeline::ports::PortResult;
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod cloud;

pub(super) const PHONE: &str = "5511900000001@s.whatsapp.net";
const OWN_ID: &str = "c_0123456789abcdef0123456789abcdef-1.7";

#[derive(Clone)]
pub(super) struct Keys {
    key: Option<&'static str>,
    forgotten: Arc<Mutex<u32>>,
}

impl Secrets for Keys {
    async fn resolve(&self, _: &CredentialRef) -> PortResult<Option<Secret>> {
        Ok(self.key.and_then(Secret::new))
    }

    async fn forget(&self, _: &CredentialRef) {
        *self.forgotten.lock().unwrap() += 1;
    }
}

#[derive(Clone)]
pub(super) struct Still;

impl Ambient for Still {
    fn now(&self) -> Timestamp {
        instant(1_760_000_000_000)
    }

    fn random(&self) -> u64 {
        0xabcd
    }

    async fn sleep(&self, _: Duration) {}
}

pub(super) fn whatsapp(
    base: &str,
    key: Option<&'static str>,
    simulation: Simulation,
) -> WhatsApp<Keys, Still> {
    let http = recado_ai::http_client().unwrap();
    let config = ProviderConfig {
        evolution_base_url: Some(base.to_owned()),
        meta_base_url: base.to_owned(),
        dialog360_base_url: base.to_owned(),
        timeout: Duration::from_millis(500),
        simulation,
        ..ProviderConfig::default()
    };
    WhatsApp::new(
        http,
        Keys {
            key,
            forgotten: Arc::default(),
        },
        Still,
        config,
    )
}

pub(super) fn bound(provider: Provider, external: &str, version: u8) -> Bound {
    let instance = json!({"id": "suporte-01", "tenant": "t", "provider": provider, "external_id": external, "agent": "a",
        "api_version": version});
    let agent = json!({"id": "a", "tenant": "t", "model": "m", "system_prompt": "p"});
    Bound {
        instance: serde_json::from_value::<Instance>(instance).unwrap(),
        tenant: serde_json::from_value::<Tenant>(json!({"id": "t"})).unwrap(),
        agent: serde_json::from_value::<Agent>(agent).unwrap(),
    }
}

fn evolution_instance() -> Bound {
    bound(Provider::Evolution, "suporte 01/a", 2)
}

fn meta_number() -> Bound {
    bound(Provider::Meta, "100000000000001", 2)
}

fn message(to: &str) -> OutgoingMessage {
    OutgoingMessage {
        id: MessageId::parse(OWN_ID).unwrap(),
        to: ContactAddress::parse(to).unwrap(),
        content: Content::text("Olá"),
        options: SendOptions::default(),
        attempt: 1,
    }
}

async fn sent_to(bound: &Bound, message: &OutgoingMessage, does: Does) -> (SendOutcome, StandIn) {
    let stand_in = StandIn::start(vec![does]).await;
    let outcome = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off)
        .send(bound, message)
        .await;
    (outcome, stand_in)
}

fn accepted(id: &str) -> SendOutcome {
    SendOutcome::Accepted {
        provider_message_id: Some(id.to_owned()),
        simulated: false,
    }
}

#[tokio::test]
async fn evolution_two_gets_its_request_and_its_answer_is_understood() {
    let answer = r#"{"key":{"remoteJid":"5511900000001@s.whatsapp.net","fromMe":true,"id":"3EB0AA"},"status":"PENDING"}"#;
    let (outcome, stand_in) =
        sent_to(&evolution_instance(), &message(PHONE), Does::Answers(201, answer)).await;
    assert_eq!(outcome, accepted("3EB0AA"));
    let request = &stand_in.requests()[0];
    assert_eq!(request.line, "POST /message/sendText/suporte%2001%2Fa");
    assert!(request.headers.contains(&"apikey: key-1".to_owned()));
    assert!(
        request
            .headers
            .contains(&"content-type: application/json".to_owned())
    );
    assert_eq!(request.body, json!({"number": "5511900000001", "text": "Olá"}));
}

#[tokio::test]
async fn evolution_one_gets_its_own_body_and_a_lid_stays_whole() {
    let bound = bound(Provider::Evolution, "suporte-01", 1);
    let to = message("100000000000001@lid");
    let (outcome, stand_in) = sent_to(&bound, &to, Does::Answers(200, r#"{"key":{"id":"BAE5"}}"#)).await;
    assert_eq!(outcome, accepted("BAE5"));
    let expected = json!({"number": "100000000000001@lid", "options": {}, "textMessage": {"text": "Olá"}});
    assert_eq!(stand_in.requests()[0].body, expected);
}

#[tokio::test]
async fn meta_gets_the_number_with_its_plus_and_our_id() {
    let answer = r#"{"messaging_product":"whatsapp","contacts":[{"input":"x","wa_id":"x"}],"messages":[{"id":"wamid.A"}]}"#;
    let (outcome, stand_in) = sent_to(
        &meta_number(),
        &message("5511900000001"),
        Does::Answers(200, answer),
    )
    .await;
    assert_eq!(outcome, accepted("wamid.A"));
    let request = &stand_in.requests()[0];
    assert_eq!(request.line, "POST /v24.0/100000000000001/messages");
    assert!(
        request
            .headers
            .contains(&"authorization: bearer key-1".to_owned())
    );
    assert_eq!(
        request.body,
        json!({"messaging_product": "whatsapp", "recipient_type": "individual", "to": "+5511900000001",
        "type": "text", "text": {"body": "Olá", "preview_url": false}, "biz_opaque_callback_data": OWN_ID})
    );
}

#[tokio::test]
async fn meta_gets_a_user_id_as_recipient_and_other_content_as_text() {
    let mut to = message("BR.10000000000000001");
    to.content = Content::Media(Media {
        file_name: Some("a.pdf".to_owned()),
        ..Media::of(MediaKind::Document)
    });
    let (_, stand_in) = sent_to(
        &meta_number(),
        &to,
        Does::Answers(200, r#"{"messages":[{"id":"w"}]}"#),
    )
    .await;
    let body = &stand_in.requests()[0].body;
    assert_eq!(
        (&body["recipient"], &body["to"]),
        (&json!("BR.10000000000000001"), &Value::Null)
    );
    assert_eq!(body["text"]["body"], "[document a.pdf]");
}

#[tokio::test]
async fn a_text_over_metas_limit_is_refused_and_never_cut() {
    let mut long = message("5511900000001");
    long.content = Content::text("é".repeat(4097));
    let (outcome, stand_in) = sent_to(&meta_number(), &long, Does::Answers(200, "{}")).await;
    assert!(
        matches!(outcome, SendOutcome::Permanent { reason: Reason::WhatsappPermanentError, why } if why == "text too long")
    );
    assert!(stand_in.requests().is_empty());
}

#[tokio::test]
async fn what_breaks_after_the_request_left_is_unknown_and_before_it_is_retryable() {
    for bound in [evolution_instance(), meta_number()] {
        for (does, timed_out) in [
            (Does::Hangs, true),
            (Does::Breaks, false),
            (Does::BreaksHalfway, false),
        ] {
            let (outcome, _stand_in) = sent_to(&bound, &message(PHONE), does.clone()).await;
            assert!(
                matches!(outcome, SendOutcome::Unknown { timed_out: t, .. } if t == timed_out),
                "{does:?} {outcome:?}"
            );
        }
        // Nothing listens there any more.
        let closed = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        for base in [format!("http://{closed}"), "nonsense".to_owned()] {
            let outcome = whatsapp(&base, Some("key-1"), Simulation::Off)
                .send(&bound, &message(PHONE))
                .await;
            assert!(
                matches!(outcome, SendOutcome::Retryable { .. }),
                "{base} {outcome:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_the_key_stays_here() {
    let elsewhere = StandIn::start(vec![Does::Answers(201, r#"{"key":{"id":"X"}}"#)]).await;
    for bound in [evolution_instance(), meta_number()] {
        let (outcome, _) = sent_to(&bound, &message(PHONE), Does::Redirects(elsewhere.url.clone())).await;
        assert!(matches!(outcome, SendOutcome::Retryable { .. }), "{outcome:?}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_no_json_is_no_proof_of_anything() {
    for bound in [evolution_instance(), meta_number()] {
        let (outcome, _) = sent_to(&bound, &message(PHONE), Does::Answers(200, "<html>")).await;
        assert!(
            matches!(outcome, SendOutcome::Unknown { timed_out: false, .. }),
            "{outcome:?}"
        );
        let (outcome, _) = sent_to(&bound, &message(PHONE), Does::Answers(503, "<html>")).await;
        assert!(matches!(outcome, SendOutcome::Retryable { .. }), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_refused_credential_is_forgotten() {
    let cases = [
        (
            evolution_instance(),
            r#"{"status":401,"error":"Unauthorized","response":{"message":"Unauthorized"}}"#,
        ),
        (
            meta_number(),
            r#"{"error":{"code":190,"message":"Error validating access token"}}"#,
        ),
    ];
    for (bound, body) in cases {
        let stand_in = StandIn::start(vec![Does::Answers(401, body)]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        assert!(matches!(
            whatsapp.send(&bound, &message(PHONE)).await,
            SendOutcome::Credentials { .. }
        ));
        assert_eq!(*whatsapp.secrets.forgotten.lock().unwrap(), 1);
    }
}

#[tokio::test]
async fn without_a_credential_messages_wait_or_go_to_the_simulated_provider() {
    let outbox = SimulatedOutbox::default();
    for bound in [evolution_instance(), meta_number()] {
        let off = whatsapp("http://127.0.0.1:9", None, Simulation::Off);
        assert!(matches!(
            off.send(&bound, &message(PHONE)).await,
            SendOutcome::Credentials { .. }
        ));
        assert_eq!(off.connection(&bound).await, ConnectionAnswer::NeedsCredentials);
        let on = whatsapp(
            "http://127.0.0.1:9",
            None,
            Simulation::WithoutCredentials(outbox.clone()),
        );
        let outcome = on.send(&bound, &message(PHONE)).await;
        let id = Some("sim-000000000000abcd".to_owned());
        assert_eq!(
            outcome,
            SendOutcome::Accepted {
                provider_message_id: id.clone(),
                simulated: true
            }
        );
        assert_eq!(on.connection(&bound).await, ConnectionAnswer::Open);
        let evidence = on.evidence(&bound, &message(PHONE), instant(0)).await;
        assert_eq!(
            evidence,
            Evidence::Sent {
                provider_message_id: id
            }
        );
    }
    let listed = serde_json::to_value(outbox.list()).unwrap();
    assert_eq!(listed[0]["text"], "Olá");
    assert_eq!(listed[0]["sent_at"], "2025-10-09T08:53:20Z");
}

#[tokio::test]
async fn a_meta_number_is_open_while_its_token_is_good() {
    let expired = r#"{"error":{"message":"(#190) expired","type":"OAuthException","code":190}}"#;
    for (does, expected) in [
        (
            Does::Answers(200, r#"{"id":"100000000000001"}"#),
            ConnectionAnswer::Open,
        ),
        (Does::Answers(401, expired), ConnectionAnswer::NeedsCredentials),
        (Does::Answers(500, "{}"), ConnectionAnswer::Unclear),
        (Does::Hangs, ConnectionAnswer::Unclear),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("token-1"), Simulation::Off);
        assert_eq!(whatsapp.connection(&meta_number()).await, expected, "{does:?}");
        let asked = &stand_in.requests()[0].line;
        assert!(
            asked.starts_with("GET /v") && asked.ends_with("?fields=id"),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn the_connection_is_what_evolution_says_of_it() {
    for (does, expected) in [
        (
            Does::Answers(200, r#"{"instance":{"instanceName":"x","state":"open"}}"#),
            ConnectionAnswer::Open,
        ),
        (
            Does::Answers(200, r#"{"instance":{"state":"close"}}"#),
            ConnectionAnswer::Closed,
        ),
        (
            Does::Answers(200, r#"{"instance":{"state":"refused"}}"#),
            ConnectionAnswer::Closed,
        ),
        (
            Does::Answers(200, r#"{"instance":{"state":"connecting"}}"#),
            ConnectionAnswer::Unclear,
        ),
        (
            Does::Answers(200, r#"{"instance":{}}"#),
            ConnectionAnswer::Unclear,
        ),
        (Does::Answers(401, "{}"), ConnectionAnswer::NeedsCredentials),
        (Does::Answers(404, "{}"), ConnectionAnswer::Closed),
        (Does::Answers(500, "{}"), ConnectionAnswer::Unclear),
        (Does::Answers(200, "<html>"), ConnectionAnswer::Unclear),
        (Does::Hangs, ConnectionAnswer::Unclear),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        assert_eq!(
            whatsapp.connection(&evolution_instance()).await,
            expected,
            "{does:?}"
        );
        assert_eq!(
            stand_in.requests()[0].line,
            "GET /instance/connectionState/suporte%2001%2Fa"
        );
    }
}

#[tokio::test]
async fn evidence_is_looked_for_in_both_forms_of_a_number_and_in_both_versions() {
    let claimed = instant(1_760_000_000_000);
    let found = r#"{"messages":{"total":1,"records":[{"key":{"id":"A","fromMe":true},"message":{"conversation":"Olá"},"messageTimestamp":1760000001}]}}"#;
    let script = vec![
        Does::Answers(200, r#"{"messages":{"records":[]}}"#),
        Does::Answers(200, found),
    ];
    let stand_in = StandIn::start(script).await;
    let two = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    let evidence = two
        .evidence(&evolution_instance(), &message(PHONE), claimed)
        .await;
    assert_eq!(
        evidence,
        Evidence::Sent {
            provider_message_id: Some("A".to_owned())
        }
    );
    let asked: Vec<Value> = stand_in
        .requests()
        .iter()
        .map(|request| request.body["where"]["key"]["remoteJid"].clone())
        .collect();
    assert_eq!(asked, [PHONE, "551100000001@s.whatsapp.net"]);

    let list = r#"[{"key":{"id":"B"},"message":{"extendedTextMessage":{"text":"Olá"}},"messageTimestamp":"1760000001"}]"#;
    for (does, expected) in [
        (
            Does::Answers(200, list),
            Evidence::Sent {
                provider_message_id: Some("B".to_owned()),
            },
        ),
        (Does::Answers(200, "[]"), Evidence::None),
        (Does::Answers(200, "<html>"), Evidence::Unclear),
        (Does::Answers(500, "{}"), Evidence::Unclear),
        (Does::Hangs, Evidence::Unclear),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let one = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        let bound = bound(Provider::Evolution, "suporte-01", 1);
        assert_eq!(
            one.evidence(&bound, &message(PHONE), claimed).await,
            expected,
            "{does:?}"
        );
        assert!(
            stand_in.requests()[0].body["where"]
                .get("messageTimestamp")
                .is_none()
        );
    }
    assert_eq!(
        two.evidence(&meta_number(), &message(PHONE), claimed).await,
        Evidence::None
    );
}
