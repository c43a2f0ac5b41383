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

#[tokio::test]
async fn the_linked_identity_is_asked_for_only_while_evolution_knows_of_no_acknowledgement() {
    let waits = r#"{"messages":{"records":[{"key":{"id":"A1"},"message":{},"MessageUpdate":[{"status":"PENDING"}]}]}}"#;
    let told = r#"{"messages":{"records":[{"key":{"id":"A1"},"message":{},"MessageUpdate":[{"status":"SERVER_ACK"}]}]}}"#;
    let found = r#"[{"exists":true,"jid":"5511900000001@s.whatsapp.net","number":"5511900000001","lid":"100000000000001@lid"}]"#;
    let none = r#"[{"exists":true,"jid":"5511900000001@s.whatsapp.net","number":"5511900000001"}]"#;
    let (identity, other) = ("100000000000001@lid", "100000000000002@lid");
    for (first, second, known_as, expected, requests) in [
        (waits, found, None, Some(identity), 2),
        (waits, none, None, None, 2),
        (waits, "<html>", None, None, 2),
        (told, found, None, None, 1),
        (r#"{"messages":{"records":[]}}"#, found, None, None, 1),
        (waits, found, Some(other), Some(other), 1),
        (told, found, Some(other), None, 1),
    ] {
        let script = vec![Does::Answers(200, first), Does::Answers(200, second)];
        let stand_in = StandIn::start(script).await;
        let client = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
        let address = |text: &str| ContactAddress::parse(text).unwrap();
        let (to, known_as) = (address(PHONE), known_as.map(address));
        let send = UnacknowledgedSend {
            to: &to,
            provider_message_id: "A1",
            known_as: known_as.as_ref(),
        };
        let answer = client
            .find_unacknowledged_identity(&evolution_instance(), send)
            .await;
        assert_eq!(answer, expected.map(address), "{first} {second}");
        let asked = stand_in.requests();
        assert_eq!(asked.len(), requests, "{first} {second}");
        if requests == 2 {
            assert_eq!(asked[1].body, serde_json::json!({"numbers": ["5511900000001"]}));
        }
        let version_1 = bound(Provider::Evolution, "suporte-01", 1);
        for bound in [version_1, meta_number()] {
            assert_eq!(client.find_unacknowledged_identity(&bound, send).await, None);
        }
        assert_eq!(stand_in.requests().len(), requests);
    }
}
