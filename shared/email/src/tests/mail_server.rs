use super::*;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_testkit::servers::{MailServer, Says};

fn smtp(server: &MailServer) -> EmailSender {
    sender(&json!({"kind": "smtp", "server": server.url, "user": "clinic", "credential": REFERENCE}))
}

async fn send(script: Vec<Says>) -> (Result<AcceptedEmail, EmailError>, MailServer) {
    let server = MailServer::start(script).await;
    server.expect_login(&STANDARD.encode("\0clinic\0pass word"));
    let clients = clients(keys("pass word"), "http://127.0.0.1:9").with_timeout(Duration::from_secs(5));
    let sent = clients.send_email(&smtp(&server), &email()).await;
    (sent, server)
}

/// Returns the value of a header, unfolded.
fn header<'a>(data: &'a str, name: &str) -> &'a str {
    let begin = format!("{name}: ");
    data.lines()
        .find_map(|line| line.strip_prefix(&begin))
        .unwrap_or_default()
}

#[tokio::test]
async fn a_mail_server_gets_both_parts_and_the_headers() {
    let (sent, server) = send(Vec::new()).await;
    let accepted = sent.unwrap();
    assert_eq!(
        (accepted.carrier_id.as_str(), accepted.is_simulated),
        ("<d-7f3a@clinic.example>", false)
    );
    assert_eq!(server.violations(), Vec::<String>::new());
    let mails = server.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].from, "<hello@clinic.example>");
    assert_eq!(mails[0].to, ["<ana@xn--mnchen-3ya.example>"]);
    let data = &mails[0].data;
    assert_eq!(header(data, "Message-ID"), "<d-7f3a@clinic.example>");
    assert_eq!(
        header(data, "List-Unsubscribe"),
        "<https://recado.example/unsubscribe/abc>"
    );
    assert_eq!(
        header(data, "List-Unsubscribe-Post"),
        "List-Unsubscribe=One-Click"
    );
    assert_eq!(header(data, "Reply-To"), "desk@clinic.example");
    assert!(
        header(data, "Content-Type").starts_with("multipart/alternative"),
        "{data}"
    );
    assert!(data.is_ascii(), "{data}");
    assert!(
        data.contains("text/plain") && data.contains("text/html"),
        "{data}"
    );
}

#[tokio::test]
async fn what_a_failure_means_depends_on_the_command() {
    for (script, class) in [
        (Says::To("AUTH", "535 5.7.8 no"), "credentials"),
        (Says::To("AUTH", "454 4.7.0 not now"), "later"),
        (Says::To("MAIL", "550 5.7.1 this sender not"), "not ready"),
        (Says::To("MAIL", "552 5.3.4 too large"), "refused"),
        (Says::To("RCPT", "550 5.1.1 nobody of this name"), "refused"),
        (Says::To("RCPT", "450 4.2.1 busy"), "later"),
        (Says::To("DATA", "554 5.7.1 no"), "refused"),
        (Says::AtTheEnd("554 5.6.0 spam"), "refused"),
        (Says::AtTheEnd("451 4.3.0 try again"), "later"),
        (Says::BreaksAt("EHLO"), "unreachable"),
        (Says::BreaksAt("MAIL"), "unreachable"),
        (Says::BreaksAt("RCPT"), "unreachable"),
        (Says::BreaksAt("DATA"), "unreachable"),
    ] {
        let (sent, server) = send(vec![script.clone()]).await;
        let told = sent.unwrap_err();
        let is_as_expected = match class {
            "credentials" => matches!(told, EmailError::NeedsCredentials(_)),
            "not ready" => matches!(told, EmailError::SenderNotReady(_)),
            "later" => matches!(told, EmailError::Later { .. }),
            "refused" => matches!(told, EmailError::Refused(_)),
            _ => matches!(told, EmailError::Unreachable(_)),
        };
        assert!(is_as_expected, "{script:?}: {told:?}, and not {class}");
        assert!(
            told.is_certain() && server.mails().is_empty(),
            "{script:?}: what is certain was not taken"
        );
    }
}

#[tokio::test]
async fn after_the_content_only_an_answer_tells() {
    let (sent, server) = send(vec![Says::TakesAndBreaks]).await;
    assert!(matches!(sent, Err(EmailError::Unknown(_))), "{sent:?}");
    assert_eq!(server.mails().len(), 1);
    let server = MailServer::start(vec![Says::TakesAndHangs]).await;
    let clients = clients(keys("pass word"), "http://127.0.0.1:9").with_timeout(Duration::from_millis(500));
    let sent = clients.send_email(&smtp(&server), &email()).await;
    assert!(matches!(sent, Err(EmailError::Unknown(_))), "{sent:?}");
}

#[tokio::test]
async fn a_tenants_mail_server_is_a_public_one_unless_a_setting_allows_others() {
    let server = MailServer::start(Vec::new()).await;
    let mut careful = clients(keys("pass word"), "http://127.0.0.1:9");
    careful.carriers.mail_servers = MailServerReach::Public;
    let told = careful.send_email(&smtp(&server), &email()).await.unwrap_err();
    assert!(matches!(told, EmailError::SenderNotReady(_)), "{told:?}");
    assert_eq!(server.mails(), []);
}

#[tokio::test]
async fn a_check_signs_in_and_sends_nothing() {
    let server = MailServer::start(Vec::new()).await;
    server.expect_login(&STANDARD.encode("\0clinic\0pass word"));
    let right = clients(keys("pass word"), "http://127.0.0.1:9");
    assert!(
        right
            .check_email_sender(&smtp(&server))
            .await
            .unwrap()
            .contains("took the user")
    );
    let wrong = keys("another");
    let told = clients(wrong.clone(), "http://127.0.0.1:9")
        .check_email_sender(&smtp(&server))
        .await;
    assert!(matches!(told, Err(EmailError::NeedsCredentials(_))), "{told:?}");
    assert_eq!(wrong.forgotten.load(Ordering::SeqCst), 1);
    assert_eq!((server.mails(), server.violations()), (vec![], vec![]));
}
