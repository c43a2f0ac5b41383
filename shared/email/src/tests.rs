//! Against stand-ins of the carriers, which check every request.

mod mail_server;
mod over_http;

use super::*;
use recado_domain::config::CredentialRef;
use recado_domain::email::{EmailAddress, Mailbox};
use recado_domain::ids::TenantId;
use recado_domain::secret::Secret;
use recado_http_client::build_http_client;
use recado_ports::ports::PortResult;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const REFERENCE: &str = "env:RECADO_CREDENTIAL_CLINIC_MAIL";

/// Holds one secret, and counts how often it was forgotten.
#[derive(Debug, Clone)]
struct Keys {
    secret: Option<&'static str>,
    forgotten: Arc<AtomicU32>,
}

impl Secrets for Keys {
    async fn resolve_secret(&self, reference: &CredentialRef) -> PortResult<Option<Secret>> {
        assert_eq!(String::from(reference.clone()), REFERENCE);
        Ok(self.secret.and_then(Secret::new))
    }

    async fn forget_secret(&self, _: &CredentialRef) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
    }
}

fn keys(secret: &'static str) -> Keys {
    Keys {
        secret: Some(secret),
        forgotten: Arc::default(),
    }
}

fn clients(keys: Keys, url: &str) -> EmailClients<Keys> {
    let carriers = CarrierSettings {
        resend: url.to_owned(),
        mail_servers: MailServerReach::Private,
    };
    EmailClients::new(keys, build_http_client().unwrap(), carriers)
}

fn sender(fields: &Value) -> EmailSender {
    let mut sender = json!({"id": "mail", "from": "Clínica São João <hello@clinic.example>"});
    for (name, value) in fields.as_object().unwrap() {
        sender[name] = value.clone();
    }
    let sender: EmailSender = serde_json::from_value(sender).unwrap();
    sender.check_sender(&TenantId::parse("clinic").unwrap()).unwrap();
    sender
}

fn email() -> Email {
    Email {
        id: "d-7f3a".to_owned(),
        to: EmailAddress::parse("ana@münchen.example").unwrap(),
        from: Mailbox::parse("Clínica São João <hello@clinic.example>").unwrap(),
        reply_to: Some(Mailbox::parse("desk@clinic.example").unwrap()),
        subject: "Convite: Ana & João ✉".to_owned(),
        text: "Olá, Ana!\n.\nVeja o convite.".to_owned(),
        html: Some("<p>Olá, Ana &amp; João!</p>".to_owned()),
        unsubscribe_url: Some("https://recado.example/unsubscribe/abc".to_owned()),
    }
}

#[tokio::test]
async fn a_simulated_sender_says_so_and_no_other_is_simulated() {
    let clients = clients(keys("unused"), "http://127.0.0.1:9");
    let simulated = sender(&json!({"kind": "simulated"}));
    let accepted = clients.send_email(&simulated, &email()).await.unwrap();
    assert!(accepted.is_simulated);
    assert!(
        clients
            .check_email_sender(&simulated)
            .await
            .unwrap()
            .contains("simulated")
    );
}

#[tokio::test]
async fn without_a_key_an_email_waits_and_nothing_is_asked() {
    let without = Keys {
        secret: None,
        forgotten: Arc::default(),
    };
    // Nothing listens there: a request would be told as unreachable.
    let clients = clients(without, "http://127.0.0.1:9");
    let resend = sender(&json!({"kind": "resend", "credential": REFERENCE}));
    let told = clients.send_email(&resend, &email()).await.unwrap_err();
    let expected = EmailError::NeedsCredentials("RECADO_CREDENTIAL_CLINIC_MAIL is not set".to_owned());
    assert_eq!(told, expected);
}

#[tokio::test]
async fn an_email_that_could_begin_another_header_is_given_to_nobody() {
    let clients = clients(keys("unused"), "http://127.0.0.1:9");
    let mut injecting = email();
    injecting.subject = "a\r\nBcc: b@c.example".to_owned();
    for fields in [
        json!({"kind": "simulated"}),
        json!({"kind": "resend", "credential": REFERENCE}),
        json!({"kind": "smtp", "server": "smtp://127.0.0.1:9"}),
    ] {
        let told = clients
            .send_email(&sender(&fields), &injecting)
            .await
            .unwrap_err();
        assert!(matches!(told, EmailError::Refused(_)), "{fields}: {told:?}");
    }
}
