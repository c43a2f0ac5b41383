use super::*;
use crate::stand_in::{Does, StandIn};

const URL: &str = "https://recado.example/webhooks/evolution";

struct Case {
    http: Client,
    key: Secret,
    secret: Secret,
    instance: ExternalId,
}

fn case() -> Case {
    Case {
        http: recado_http_client::build_http_client().unwrap(),
        key: Secret::new("evolution-key").unwrap(),
        secret: Secret::new("the-secret").unwrap(),
        instance: ExternalId::parse("suporte-01").unwrap(),
    }
}

impl Case {
    fn at<'a>(&'a self, server: &'a StandIn, version: u8) -> EvolutionAdminClient<'a> {
        EvolutionAdminClient {
            http: &self.http,
            base: &server.url,
            key: &self.key,
            instance: &self.instance,
            version,
        }
    }

    fn wanted(&self, proven_by: WebhookAuthMethod) -> DesiredWebhook<'_> {
        DesiredWebhook {
            url: URL,
            secret: &self.secret,
            auth_method: proven_by,
            base64: false,
            extra_events: &[],
        }
    }
}

#[tokio::test]
async fn version_two_is_told_url_events_and_the_secret_as_a_header() {
    let (case, server) = (case(), StandIn::start(vec![Does::Answers(201, "{}")]).await);
    case.at(&server, 2)
        .set_webhook(&case.wanted(WebhookAuthMethod::Header))
        .await
        .unwrap();
    let asked = &server.requests()[0];
    assert_eq!(asked.line, "POST /webhook/set/suporte-01");
    assert!(asked.headers.contains(&"apikey: evolution-key".to_owned()));
    assert_eq!(
        asked.body,
        json!({"webhook": {"enabled": true, "url": URL, "headers": {"apikey": "the-secret"}, "byEvents": false,
            "base64": false, "events": ["MESSAGES_UPSERT", "MESSAGES_UPDATE", "CONNECTION_UPDATE", "MESSAGES_EDITED",
            "MESSAGES_DELETE"]}})
    );
}

#[tokio::test]
async fn version_one_has_a_flat_body_without_headers() {
    let (case, server) = (case(), StandIn::start(vec![Does::Answers(201, "{}")]).await);
    case.at(&server, 1)
        .set_webhook(&case.wanted(WebhookAuthMethod::Url))
        .await
        .unwrap();
    let asked = &server.requests()[0];
    assert_eq!(
        asked.body,
        json!({"url": URL, "enabled": true, "webhook_by_events": false, "webhook_base64": false,
            "events": ["MESSAGES_UPSERT", "MESSAGES_UPDATE", "CONNECTION_UPDATE", "MESSAGES_DELETE"]})
    );
}

#[tokio::test]
async fn the_answer_of_another_program_is_no_webhook_that_was_set() {
    let (case, server) = (
        case(),
        StandIn::start(vec![Does::Answers(200, "<p>Shop</p>")]).await,
    );
    let refused = case
        .at(&server, 2)
        .set_webhook(&case.wanted(WebhookAuthMethod::Token))
        .await
        .unwrap_err()
        .to_string();
    assert!(refused.contains("not Evolution API's"), "{refused}");
}

#[tokio::test]
async fn a_version_that_does_not_know_every_event_is_told_those_that_are_needed() {
    let script = vec![Does::Answers(400, "{}"), Does::Answers(201, "{}")];
    let (case, server) = (case(), StandIn::start(script).await);
    case.at(&server, 2)
        .set_webhook(&case.wanted(WebhookAuthMethod::Token))
        .await
        .unwrap();
    let asked = &server.requests()[1].body["webhook"];
    assert_eq!(asked["events"], json!(REQUIRED_EVENTS));
    let script = vec![Does::Answers(400, "{}"), Does::Answers(201, "{}")];
    let server = StandIn::start(script).await;
    let chosen = DesiredWebhook {
        extra_events: &["PRESENCE_UPDATE"],
        ..case.wanted(WebhookAuthMethod::Token)
    };
    case.at(&server, 2).set_webhook(&chosen).await.unwrap();
    let again = &server.requests()[1].body["webhook"]["events"];
    assert_eq!(again[3], "PRESENCE_UPDATE", "{again}");
    assert_eq!(asked["headers"], json!({"jwt_key": "the-secret"}));
}

#[tokio::test]
async fn what_is_set_is_compared_with_what_is_wanted() {
    let rows = [
        (
            r#"{"id": "x", "url": "https://recado.example/webhooks/evolution", "enabled": true, "webhookByEvents": false,
                "webhookBase64": false, "headers": {"apikey": "the-secret"},
                "events": ["MESSAGES_UPSERT", "MESSAGES_UPDATE", "CONNECTION_UPDATE"]}"#,
            "",
        ),
        (
            r#"{"url": "https://old.example/k/hidden", "enabled": false, "events": ["MESSAGES_UPSERT"],
                "headers": {"apikey": "another"}}"#,
            "it is switched off; it goes to https://old.example; events are missing: MESSAGES_UPDATE, CONNECTION_UPDATE; \
             its header apikey is not the instance's secret",
        ),
    ];
    let case = case();
    for (row, wrong) in rows {
        let server = StandIn::start(vec![Does::Answers(200, row)]).await;
        let found = case.at(&server, 2).find_webhook().await.unwrap().unwrap();
        let told = found
            .list_differences(&case.wanted(WebhookAuthMethod::Header))
            .join("; ");
        assert_eq!(told, wrong);
    }
    let server = StandIn::start(vec![Does::Answers(200, "null")]).await;
    assert_eq!(case.at(&server, 2).find_webhook().await.unwrap(), None);
}

#[test]
fn a_slash_too_many_is_another_url_and_no_list_of_events_is_all_of_them() {
    let case = case();
    let set = |url: &str, events: Value| {
        let row = json!({"url": url, "enabled": true, "headers": {"apikey": "the-secret"}, "events": events});
        parse_webhook(&row)
            .unwrap()
            .list_differences(&case.wanted(WebhookAuthMethod::Header))
    };
    assert_eq!(set(URL, json!([])), [""; 0]);
    assert_eq!(set(URL, json!(null)), [""; 0]);
    assert_eq!(
        set(URL, json!(["MESSAGES_UPSERT"])),
        ["events are missing: MESSAGES_UPDATE, CONNECTION_UPDATE"]
    );
    assert_eq!(set(&format!("{URL}/"), json!([])), [format!("it goes to {URL}/")]);
}

#[tokio::test]
async fn a_failure_that_says_200_is_one() {
    let said = r#"{"error": true, "message": "no session"}"#;
    let (case, server) = (case(), StandIn::start(vec![Does::Answers(200, said)]).await);
    let failed = case.at(&server, 2).start_pairing().await.unwrap_err();
    assert_eq!(failed.to_string(), "HTTP 200: no session");
    let said = r#"{"pairingCode": null, "code": "2@abc", "base64": "data:image/png;base64,", "count": 1}"#;
    let server = StandIn::start(vec![Does::Answers(200, said)]).await;
    let pairing = case.at(&server, 2).start_pairing().await.unwrap();
    assert_eq!(pairing.code.as_deref(), Some("2@abc"));
    assert_eq!(pairing.pairing_code, None);
}
