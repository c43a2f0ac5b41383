use super::*;

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
    to.content = Content::Poll {
        question: "Que dia?".to_owned(),
        options: vec!["Seg".to_owned(), "Ter".to_owned()],
        selectable: 1,
    };
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
    assert_eq!(body["text"]["body"], "Que dia?\n\n1. Seg\n2. Ter");
}

#[tokio::test]
async fn a_text_over_metas_limit_is_refused_and_never_cut() {
    let mut long = message("5511900000001");
    long.content = Content::from_text("é".repeat(4097));
    let (outcome, stand_in) = sent_to(&meta_number(), &long, Does::Answers(200, "{}")).await;
    assert!(
        matches!(outcome, SendOutcome::Permanent { reason: Reason::WhatsappPermanentError, why } if why == "text too long")
    );
    assert!(stand_in.requests().is_empty());
}
