//! Invitations by e-mail, with each carrier: sent once, found by the carrier's id, and ended by the link in their headers.

use crate::machine::{Machine, eventually};
use recado_testkit::servers::{Behaviour, EmailStandIn, MailServer, Says};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const CREDENTIAL: &str = "credential = \"env:RECADO_CREDENTIAL_DEMO_MAIL\"\n";

/// A machine with the sample configuration, in which the sender of e-mails is another, and with the guest `g1`.
async fn serving(sender: &str, variables: &[(&str, &str)]) -> Machine {
    let mut machine = Machine::prepared(variables);
    machine.set("RECADO_CREDENTIAL_DEMO_MAIL", "key-of-this-test");
    machine.set("RECADO_PUBLIC_URL", "https://recado.example");
    let sample = Machine::sample();
    let simulated = "kind = \"simulated\"\n";
    assert!(sample.contains(simulated));
    let invite = "name = \"invite\"\ntenant = \"demo\"\nchannel = \"email\"";
    let remind = "[[invitation_templates]]\nname = \"remind\"\ntenant = \"demo\"\nchannel = \"email\"\nsubject = \"a\"\ntext = \"b\"\n";
    assert!(sample.contains(invite));
    machine.configure(&format!("{}\n{remind}", sample.replacen(simulated, sender, 1)));
    machine.start("serve");
    let guests =
        json!({"guests": [{"id": "g1", "name": "Ana\r\nBcc: x@y.example", "email": "ana@clinic.example"}]});
    let path = "/v1/occasions/ev_demo/guests?tenant=demo";
    let (status, added) = machine.api(Method::POST, path, Some(guests)).await;
    assert_eq!((status, &added["added"]), (StatusCode::OK, &json!(1)), "{added}");
    machine
}

async fn send(machine: &Machine, template: &str) -> (StatusCode, Value) {
    let wanted = json!({
        "tenant": "demo", "eventId": "ev_demo", "guestId": "g1", "channel": "email", "template": template
    });
    machine.api(Method::POST, "/deliver/send", Some(wanted)).await
}

async fn invite(machine: &Machine) -> String {
    let (status, taken) = send(machine, "invite").await;
    assert_eq!(status, StatusCode::ACCEPTED, "{taken}");
    taken["id"].as_str().unwrap().to_owned()
}

/// The status of a delivery once it is this one.
async fn reached(machine: &Machine, id: &str, wanted: &str) -> Value {
    let path = format!("/deliver/{id}/status?tenant=demo");
    eventually("the status of the e-mail", async || {
        let found = machine.get(&path).await;
        (found["status"] == wanted).then_some(found)
    })
    .await
}

#[tokio::test]
async fn resend_is_asked_again_under_the_same_id_and_sends_once() {
    let resend = EmailStandIn::resend();
    resend.next(Behaviour::status(500, json!({"name": "internal_server_error"})));
    let sender = format!("kind = \"resend\"\n{CREDENTIAL}");
    let machine = serving(&sender, &[("RESEND_BASE_URL", &resend.url())]).await;
    let id = invite(&machine).await;
    let sent = reached(&machine, &id, "sent").await;
    let phone = resend.phone();
    assert_eq!((phone.len(), resend.violations()), (1, vec![]));
    assert_eq!(sent["provider_ref"], phone[0].id);
    assert_eq!(phone[0].callback.as_deref(), Some(id.as_str()));
    let by_ref = reached(&machine, &phone[0].id, "sent").await;
    assert_eq!(by_ref["id"], sent["id"]);
    let content = &phone[0].content;
    assert!(
        content["text"].as_str().unwrap().starts_with("Olá, Ana"),
        "{content}"
    );
    assert!(!content["subject"].as_str().unwrap().contains('\n'));
    let headers = &content["headers"];
    assert_eq!(headers["List-Unsubscribe-Post"], "List-Unsubscribe=One-Click");
    let link = headers["List-Unsubscribe"].as_str().unwrap();
    let link = link
        .trim_matches(['<', '>'])
        .strip_prefix("https://recado.example");
    let (status, _) = machine.api(Method::POST, link.unwrap(), None).await;
    assert_eq!(status, StatusCode::OK);
    let (status, refused) = send(&machine, "remind").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{refused}");
}

#[tokio::test]
async fn a_mail_server_is_not_asked_again_after_an_unclear_answer() {
    let server = MailServer::start(vec![Says::TakesAndBreaks]).await;
    let sender = format!("kind = \"smtp\"\nserver = \"{}\"\n", server.url);
    let machine = serving(&sender, &[("RECADO_PRIVATE_MAIL_SERVERS", "true")]).await;
    let id = invite(&machine).await;
    let failed = reached(&machine, &id, "failed").await;
    assert!(failed["error"].as_str().unwrap().contains("unknown"), "{failed}");
    assert_eq!((server.mails().len(), server.violations()), (1, vec![]));
    let found = eventually("the dead letter", async || {
        let letters = machine.get("/v1/dead-letters").await;
        letters["items"].as_array()?.first().cloned()
    })
    .await;
    assert_eq!(
        (&found["what"], &found["reason"]),
        (&json!("email"), &json!("unknown_outcome"))
    );
    let redrive = format!("/v1/dead-letters/{id}/redrive");
    let (status, redriven) = machine.api(Method::POST, &redrive, None).await;
    assert!(status.is_success(), "{redriven}");
    let sent = reached(&machine, &id, "sent").await;
    let mails = server.mails();
    assert_eq!(mails.len(), 2);
    let reference = sent["provider_ref"].as_str().unwrap();
    assert!(mails[1].data.contains(reference), "{sent}");
}

#[tokio::test]
async fn a_mail_server_takes_an_invitation() {
    let server = MailServer::start(vec![]).await;
    let sender = format!("kind = \"smtp\"\nserver = \"{}\"\n", server.url);
    let machine = serving(&sender, &[("RECADO_PRIVATE_MAIL_SERVERS", "true")]).await;
    let id = invite(&machine).await;
    reached(&machine, &id, "sent").await;
    let mails = server.mails();
    assert_eq!((mails.len(), server.violations()), (1, vec![]));
    assert_eq!(mails[0].to, ["<ana@clinic.example>"]);
    assert!(
        mails[0]
            .data
            .contains("List-Unsubscribe: <https://recado.example/unsubscribe/")
    );
}

#[tokio::test]
async fn a_simulated_sender_sends_nothing_and_says_so() {
    let machine = serving("kind = \"simulated\"\n", &[]).await;
    let id = invite(&machine).await;
    let sent = reached(&machine, &id, "sent").await;
    assert_eq!(sent["simulated"], true);
}
