use super::*;
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::servers::{Behaviour, EmailStandIn};

fn resend() -> EmailSender {
    sender(&json!({"kind": "resend", "credential": REFERENCE}))
}

#[tokio::test]
async fn resend_gets_the_whole_email_and_recognizes_its_repeat() {
    let server = EmailStandIn::resend();
    let clients = clients(keys("re_123"), &server.url());
    let first = clients.send_email(&resend(), &email()).await.unwrap();
    let second = clients.send_email(&resend(), &email()).await.unwrap();
    assert_eq!(
        (&first.carrier_id, first.is_simulated),
        (&second.carrier_id, false)
    );
    assert_eq!(server.violations(), []);
    let sent = server.phone();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].to, "ana@xn--mnchen-3ya.example");
    assert_eq!(sent[0].instance, "\"Clínica São João\" <hello@clinic.example>");
    assert_eq!(sent[0].callback.as_deref(), Some("d-7f3a"));
    let headers = json!({"List-Unsubscribe": "<https://recado.example/unsubscribe/abc>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"});
    assert_eq!(sent[0].content["headers"], headers);
    assert_eq!(sent[0].content["html"], "<p>Olá, Ana &amp; João!</p>");
    assert_eq!(sent[0].content["reply_to"], "desk@clinic.example");
}

#[tokio::test]
async fn an_email_whose_answer_was_lost_is_sent_once_by_resend_though_asked_twice() {
    let server = EmailStandIn::resend();
    server.next(Behaviour::AcceptThenDrop);
    let clients = clients(keys("re_123"), &server.url());
    let lost = clients.send_email(&resend(), &email()).await.unwrap_err();
    assert!(!lost.is_certain(), "{lost:?}");
    let again = clients.send_email(&resend(), &email()).await.unwrap();
    assert_eq!(server.phone().len(), 1);
    assert_eq!(server.phone()[0].id, again.carrier_id);
    // Another content under the same id: the first one may have been sent, so this is no clear refusal.
    let mut other = email();
    other.text = "Another".to_owned();
    let told = clients.send_email(&resend(), &other).await.unwrap_err();
    assert!(!told.is_certain(), "{told:?}");
}

#[tokio::test]
async fn a_wrong_key_is_told_and_forgotten() {
    let server = EmailStandIn::resend();
    server.expect_credential("re_right");
    let wrong = keys("re_wrong");
    let told = clients(wrong.clone(), &server.url())
        .send_email(&resend(), &email())
        .await
        .unwrap_err();
    assert!(matches!(told, EmailError::NeedsCredentials(_)), "{told:?}");
    assert_eq!(wrong.forgotten.load(Ordering::SeqCst), 1);
    assert_eq!(server.phone(), []);
}

/// What an answer means, by the first word of its name.
fn class_of(told: &EmailError) -> &'static str {
    match told {
        EmailError::Refused(_) => "refused",
        EmailError::NeedsCredentials(_) => "credentials",
        EmailError::SenderNotReady(_) => "not ready",
        EmailError::Later { .. } => "later",
        EmailError::Throttled { .. } => "throttled",
        EmailError::Unreachable(_) => "unreachable",
        EmailError::Unknown(_) => "unknown",
    }
}

#[tokio::test]
async fn each_refusal_of_resend_has_its_meaning() {
    let server = EmailStandIn::resend();
    let clients = clients(keys("re_123"), &server.url());
    for (status, name, class) in [
        (400, "validation_error", "refused"),
        (400, "invalid_idempotency_key", "refused"),
        (401, "missing_api_key", "credentials"),
        (401, "restricted_api_key", "credentials"),
        (403, "invalid_api_key", "credentials"),
        (403, "validation_error", "not ready"),
        (409, "concurrent_idempotent_requests", "later"),
        (409, "invalid_idempotent_request", "unknown"),
        (422, "invalid_from_address", "refused"),
        (429, "rate_limit_exceeded", "throttled"),
        (429, "daily_quota_exceeded", "later"),
        (451, "security_error", "refused"),
        (500, "application_error", "unknown"),
        (503, "<html>", "unknown"),
    ] {
        let body = json!({"statusCode": status, "name": name, "message": "to ana@clinic.example"});
        server.next(Behaviour::status(status, body));
        let told = clients.send_email(&resend(), &email()).await.unwrap_err();
        assert_eq!(class_of(&told), class, "{status} {name}: {told:?}");
        assert!(
            !told.to_string().contains("ana@"),
            "no address of a recipient is told: {told}"
        );
    }
    server.next(Behaviour::status_with(
        429,
        json!({"name": "rate_limit_exceeded"}),
        "retry-after",
        "7",
    ));
    let told = clients.send_email(&resend(), &email()).await.unwrap_err();
    let EmailError::Throttled { after, .. } = told else {
        panic!("{told:?}");
    };
    assert_eq!(after, Some(Duration::from_secs(7)));
    server.next(Behaviour::status(429, json!({"name": "rate_limit_exceeded"})));
    let told = clients.send_email(&resend(), &email()).await.unwrap_err();
    assert!(
        matches!(told, EmailError::Throttled { after: None, .. }),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_lost_answer_is_unknown_and_a_refused_connection_is_not() {
    let server = EmailStandIn::resend();
    let patient = clients(keys("re_123"), &server.url());
    for behaviour in [Behaviour::AcceptThenDrop, Behaviour::Drop] {
        server.next(behaviour);
        let told = patient.send_email(&resend(), &email()).await.unwrap_err();
        assert_eq!(class_of(&told), "unknown", "{told:?}");
    }
    server.next(Behaviour::Hang(Duration::from_secs(60)));
    let hasty = clients(keys("re_123"), &server.url()).with_timeout(Duration::from_millis(200));
    let told = hasty.send_email(&resend(), &email()).await.unwrap_err();
    assert_eq!(class_of(&told), "unknown", "{told:?}");
    server.let_go();
    let nobody = clients(keys("re_123"), "http://127.0.0.1:9");
    let told = nobody.send_email(&resend(), &email()).await.unwrap_err();
    assert_eq!(class_of(&told), "unreachable", "{told:?}");
}

#[tokio::test]
async fn an_acceptance_without_an_id_is_unknown() {
    let odd = vec![
        Does::Answers(200, "{}"),
        Does::Answers(200, "<html>"),
        Does::BreaksHalfway,
    ];
    for does in odd {
        let server = StandIn::start(vec![does]).await;
        let told = clients(keys("re_123"), &server.url)
            .send_email(&resend(), &email())
            .await
            .unwrap_err();
        assert_eq!(class_of(&told), "unknown", "{told:?}");
    }
}

#[tokio::test]
async fn a_check_sends_nothing_and_tells_what_is_missing() {
    let server = EmailStandIn::resend();
    let resend_clients = clients(keys("re_123"), &server.url());
    let told = resend_clients.check_email_sender(&resend()).await.unwrap();
    assert_eq!(told, "the key is valid and clinic.example is verified");
    let mut foreign = resend();
    foreign.from = Mailbox::parse("hello@other.example").unwrap();
    let told = resend_clients.check_email_sender(&foreign).await.unwrap_err();
    assert_eq!(class_of(&told), "not ready");
    server.next(Behaviour::status(401, json!({"name": "restricted_api_key"})));
    assert!(
        resend_clients
            .check_email_sender(&resend())
            .await
            .unwrap()
            .contains("may only send")
    );
    assert_eq!((server.phone(), server.violations()), (vec![], vec![]));
}
