//! 360dialog, and AWS where the build leaves it out.

use super::*;

const ACCEPTED: &str = r#"{"messages":[{"id":"wamid.A"}]}"#;

fn dialog360_number() -> InstanceConfig {
    bound(Provider::Dialog360, "100000000000001", 2)
}

fn aws_number() -> InstanceConfig {
    bound(Provider::AwsSocial, "0123456789abcdef0123456789abcdef", 2)
}

#[tokio::test]
async fn dialog360_gets_metas_body_with_its_own_key_and_no_number_in_the_path() {
    for status in [200, 201] {
        let message = message("5511900000001");
        let (outcome, stand_in) =
            sent_to(&dialog360_number(), &message, Does::Answers(status, ACCEPTED)).await;
        assert_eq!(outcome, accepted("wamid.A"));
        let request = &stand_in.requests()[0];
        assert_eq!(request.line, "POST /messages");
        assert!(request.headers.contains(&"d360-api-key: key-1".to_owned()));
        assert!(
            !request
                .headers
                .iter()
                .any(|header| header.starts_with("authorization"))
        );
        assert_eq!(
            request.body,
            json!({"messaging_product": "whatsapp", "recipient_type": "individual", "to": "+5511900000001", "type": "text",
                "text": {"body": "Olá", "preview_url": false}, "biz_opaque_callback_data": OWN_ID})
        );
    }
}

#[tokio::test]
async fn a_user_id_goes_to_dialog360_as_recipient_and_an_instance_has_its_own_base() {
    let stand_in = StandIn::start(vec![Does::Answers(200, ACCEPTED)]).await;
    let mut number = dialog360_number();
    number.instance.base_url = Some(format!("{}/d360/", stand_in.url));
    number.instance.credential = Some(CredentialRef::Env("RECADO_CREDENTIAL_T_KEY".to_owned()));
    let outcome = whatsapp("http://127.0.0.1:9", Some("key-1"), Simulation::Off)
        .send_message(&number, &message("BR.1000000000000001"))
        .await;
    assert_eq!(outcome, accepted("wamid.A"));
    let request = &stand_in.requests()[0];
    assert_eq!(request.line, "POST /d360/messages");
    assert_eq!(request.body["recipient"], "BR.1000000000000001");
    assert_eq!(request.body.get("to"), None);
}

#[tokio::test]
async fn an_acceptance_of_dialog360_that_names_no_message_is_unknown() {
    for answer in ["", "OK", "<html>", r#"{"contacts":[{"user_id":"BR.1"}]}"#] {
        let (outcome, _) = sent_to(
            &dialog360_number(),
            &message("5511900000001"),
            Does::Answers(200, answer),
        )
        .await;
        assert!(
            matches!(outcome, SendOutcome::Unknown { timed_out: false, .. }),
            "{answer}: {outcome:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_of_dialog360_is_classed_and_a_refused_key_forgotten() {
    let number = dialog360_number();
    let refused = async |status, body| {
        sent_to(&number, &message("5511900000001"), Does::Answers(status, body))
            .await
            .0
    };
    let throttled = refused(
        400,
        r#"{"error":{"message":"exceeded the endpoint rate limit","code":400}}"#,
    )
    .await;
    assert!(matches!(throttled, SendOutcome::Retryable { after: Some(_), .. }));
    let window = refused(403, r#"{"error":{"message":"(#131047) x","code":131047}}"#).await;
    assert!(matches!(
        window,
        SendOutcome::Permanent {
            reason: Reason::WindowClosed,
            ..
        }
    ));
    assert!(matches!(refused(500, "oops").await, SendOutcome::Unknown { .. }));
    assert!(matches!(refused(502, "").await, SendOutcome::Unknown { .. }));

    let stand_in = StandIn::start(vec![Does::Answers(
        401,
        r#"{"meta":{"developer_message":"Invalid api_key"}}"#,
    )])
    .await;
    let whatsapp = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off);
    let outcome = whatsapp.send_message(&number, &message("5511900000001")).await;
    assert!(matches!(outcome, SendOutcome::Credentials { .. }));
    assert_eq!(*whatsapp.secrets.forgotten.lock().unwrap(), 1);
}

#[tokio::test]
async fn a_number_of_dialog360_counts_as_open_unless_its_key_is_refused() {
    let answer = async |does| {
        let stand_in = StandIn::start(vec![does]).await;
        let answer = whatsapp(&stand_in.url, Some("key-1"), Simulation::Off)
            .query_connection(&dialog360_number())
            .await;
        let request = &stand_in.requests()[0];
        assert_eq!(request.line, "GET /v1/configs/webhook");
        assert!(request.headers.contains(&"d360-api-key: key-1".to_owned()));
        answer
    };
    for status in [200, 403, 404, 429] {
        assert_eq!(
            answer(Does::Answers(status, "{}")).await,
            ConnectionAnswer::Open,
            "{status}"
        );
    }
    assert_eq!(
        answer(Does::Answers(401, "{}")).await,
        ConnectionAnswer::NeedsCredentials
    );
    let unpaid = r#"{"meta":{"developer_message":"lack of payment"}}"#;
    assert_eq!(
        answer(Does::Answers(400, unpaid)).await,
        ConnectionAnswer::NeedsCredentials
    );
    for does in [Does::Answers(503, ""), Does::Breaks] {
        assert_eq!(answer(does).await, ConnectionAnswer::Unreachable);
    }
}

#[tokio::test]
async fn neither_can_be_asked_for_evidence() {
    for number in [dialog360_number(), aws_number()] {
        let simulation = Simulation::WithoutCredentials(SimulatedOutbox::default());
        let whatsapp = whatsapp("http://127.0.0.1:9", Some("key-1"), simulation);
        let evidence = whatsapp
            .find_send_evidence(&number, &message("5511900000001"), &[], from_unix_millis(0))
            .await;
        assert_eq!(evidence, SendEvidence::None);
    }
}

#[tokio::test]
async fn without_a_client_aws_sends_nothing_says_why_and_reads_no_secret() {
    let off = whatsapp("http://127.0.0.1:9", Some("key-1"), Simulation::Off);
    let outcome = off.send_message(&aws_number(), &message("5511900000001")).await;
    assert!(
        matches!(&outcome, SendOutcome::Credentials { why } if why == aws_social::NO_CLIENT),
        "{outcome:?}"
    );
    assert_eq!(
        off.query_connection(&aws_number()).await,
        ConnectionAnswer::NeedsCredentials
    );
    let outbox = SimulatedOutbox::default();
    let simulated = whatsapp(
        "http://127.0.0.1:9",
        Some("key-1"),
        Simulation::WithoutCredentials(outbox.clone()),
    );
    let outcome = simulated
        .send_message(&aws_number(), &message("5511900000001"))
        .await;
    assert!(matches!(outcome, SendOutcome::Accepted { simulated: true, .. }));
    assert_eq!(outbox.list_messages().len(), 1);
}
