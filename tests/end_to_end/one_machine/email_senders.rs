//! `recado doctor` checks the senders of e-mails by their credentials, and sends nothing; an unsubscribe link that is none is told so.

use crate::commands::{findings, grade, run};
use crate::machine::Machine;
use recado_testkit::servers::{Behaviour, EmailStandIn};
use reqwest::{Method, StatusCode};
use serde_json::json;

const VARIABLE: &str = "RECADO_CREDENTIAL_CLINICA_MAIL";

#[tokio::test]
async fn doctor_checks_senders_of_emails_without_sending() {
    let resend = EmailStandIn::resend();
    let mut machine = Machine::prepared(&[
        ("RESEND_BASE_URL", &resend.url()),
        (VARIABLE, "resend-key-of-this-test"),
    ]);
    machine.configure(
        r#"
        [[tenants]]
        id = "clinica"
        deliveries = { quiet_hours = { from = "21:00", to = "08:00" } }
        [[tenants.email_senders]]
        id = "resend"
        kind = "resend"
        from = "Clinic <hello@clinic.example>"
        credential = "env:RECADO_CREDENTIAL_CLINICA_MAIL"
        [[tenants.email_senders]]
        id = "later"
        kind = "resend"
        from = "hello@clinic.example"
        credential = "env:RECADO_CREDENTIAL_CLINICA_OTHER"
        "#,
    );
    machine.start("serve");
    let all = findings(&run(&machine, &["doctor", "--json"]));
    for (sender, expected) in [("resend", "good"), ("later", "note")] {
        assert_eq!(
            grade(&all, &format!("clinica/{sender}"), "e-mail"),
            expected,
            "{all:?}"
        );
    }
    resend.next(Behaviour::status(403, json!({"name": "invalid_api_key"})));
    let all = findings(&run(&machine, &["doctor", "--json"]));
    assert_eq!(grade(&all, "clinica/resend", "e-mail"), "broken", "{all:?}");
    assert_eq!((resend.phone(), resend.violations()), (vec![], vec![]));
    let (status, _) = machine.api(Method::GET, "/unsubscribe/00ff", None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}
