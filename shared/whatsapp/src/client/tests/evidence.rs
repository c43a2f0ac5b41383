use super::*;

#[tokio::test]
async fn evidence_is_looked_for_in_both_forms_of_a_number_and_in_both_versions() {
    let claimed = from_unix_millis(1_760_000_000_000);
    let found = r#"{"messages":{"total":1,"records":[{"key":{"id":"A","fromMe":true},"message":{"conversation":"Olá"},"messageTimestamp":1760000001}]}}"#;
    let script = vec![
        Does::Answers(200, r#"{"messages":{"records":[]}}"#),
        Does::Answers(200, found),
    ];
    let stand_in = StandIn::start(script).await;
    let two = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    let evidence = two
        .find_send_evidence(&evolution_instance(), &message(PHONE), &[], claimed)
        .await;
    assert_eq!(
        evidence,
        SendEvidence::Sent {
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
            SendEvidence::Sent {
                provider_message_id: Some("B".to_owned()),
            },
        ),
        (Does::Answers(200, "[]"), SendEvidence::None),
        (Does::Answers(200, "<html>"), SendEvidence::Unclear),
        (Does::Answers(500, "{}"), SendEvidence::Unclear),
        (Does::Hangs, SendEvidence::Unclear),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let one = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        let bound = bound(Provider::Evolution, "suporte-01", 1);
        assert_eq!(
            one.find_send_evidence(&bound, &message(PHONE), &[], claimed)
                .await,
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
        two.find_send_evidence(&meta_number(), &message(PHONE), &[], claimed)
            .await,
        SendEvidence::None
    );
}

#[tokio::test]
async fn evidence_is_looked_for_in_the_chat_of_the_other_name_too() {
    let claimed = from_unix_millis(1_760_000_000_000);
    let found = r#"{"messages":{"total":1,"records":[{"key":{"id":"A","fromMe":true},"message":{"conversation":"Olá"},"messageTimestamp":1760000001}]}}"#;
    let empty = Does::Answers(200, r#"{"messages":{"records":[]}}"#);
    let script = vec![empty.clone(), empty, Does::Answers(200, found)];
    let stand_in = StandIn::start(script).await;
    let asks = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    let also = [ContactAddress::parse("100000000000001@lid").unwrap()];
    let evidence = asks
        .find_send_evidence(&evolution_instance(), &message(PHONE), &also, claimed)
        .await;
    let provider_message_id = Some("A".to_owned());
    assert_eq!(evidence, SendEvidence::Sent { provider_message_id });
    let asked = stand_in.requests()[2].body["where"]["key"]["remoteJid"].clone();
    assert_eq!(asked, "100000000000001@lid");
}

#[tokio::test]
async fn without_the_key_to_look_nothing_is_known() {
    let claimed = from_unix_millis(1_760_000_000_000);
    for key in [Some(UNREADABLE), None] {
        let stand_in = StandIn::start(vec![Does::Answers(200, "[]")]).await;
        let asks = whatsapp(&stand_in.url, key, Simulation::Off);
        let evidence = asks
            .find_send_evidence(&evolution_instance(), &message(PHONE), &[], claimed)
            .await;
        assert_eq!(evidence, SendEvidence::Unclear, "{key:?}");
        assert!(stand_in.requests().is_empty());
    }
}

#[tokio::test]
async fn what_is_stored_of_a_message_is_asked_for_by_its_id() {
    let two = r#"{"messages":{"records":[{"key":{"id":"OTHER"},"message":{"conversation":"x"}},
        {"key":{"id":"A1"},"message":{"conversation":"às 15h"}}]}}"#;
    let text = Some(recado_domain::content::Content::from_text("às 15h"));
    for (does, expected) in [
        (Does::Answers(200, two), text.clone()),
        (
            Does::Answers(
                200,
                r#"[{"key":{"id":"A1"},"message":{"editedMessage":{"message":{"conversation":"às 15h"}}}}]"#,
            ),
            text,
        ),
        (
            Does::Answers(
                200,
                r#"[{"key":{"id":"A1"},"message":{"messageContextInfo":{}}}]"#,
            ),
            None,
        ),
        (Does::Answers(200, r#"{"messages":{"records":[]}}"#), None),
        (Does::Answers(500, two), None),
        (Does::Hangs, None),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let client = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        let found = client.fetch_stored_content(&evolution_instance(), "A1").await;
        assert_eq!(found, expected, "{does:?}");
        let asked = &stand_in.requests()[0];
        assert_eq!(asked.body["where"]["key"], serde_json::json!({"id": "A1"}));
    }
    let silent = StandIn::start(vec![]).await;
    let client = whatsapp(&silent.url, Some("key-1"), Simulation::Off);
    assert_eq!(client.fetch_stored_content(&meta_number(), "A1").await, None);
}
