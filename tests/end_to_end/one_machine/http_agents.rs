//! An agent that the user runs: an endpoint that gets each turn as a signed request.

use crate::commands::{findings, grade, run};
use crate::machine::{INSTANCE, Machine, seconds};
use recado_testkit::servers::scripted::{Does, Request, StandIn};
use recado_testkit::webhooks::evolution_text;

const MARIA: &str = "5511900000001@s.whatsapp.net";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A machine without a model's key, whose agent is this endpoint.
fn serving(url: &str) -> Machine {
    let mut machine = Machine::prepared(&[
        ("RECADO_PRIVATE_TOOLS", "true"),
        ("RECADO_CREDENTIAL_CLINICA_AGENT", SECRET),
    ]);
    machine.unset("ANTHROPIC_API_KEY");
    machine.configure(&format!(
        r#"
        [[tenants]]
        id = "clinica"
        [[agents]]
        id = "ana"
        tenant = "clinica"
        [agents.http]
        url = "{url}/turns"
        secret = "env:RECADO_CREDENTIAL_CLINICA_AGENT"
        [[instances]]
        id = "{INSTANCE}"
        tenant = "clinica"
        agent = "ana"
        provider = "evolution"
        "#
    ));
    machine.start("serve");
    machine
}

fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    let mut headers = request.headers.iter();
    headers.find_map(|header| header.strip_prefix(&prefix)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_is_answered_by_the_users_own_endpoint_and_every_request_is_signed() {
    let endpoint = StandIn::start(vec![Does::Answers(200, r#"{"reply": "Olá, **Maria**!"}"#)]).await;
    let machine = serving(&endpoint.url);
    let body = evolution_text(INSTANCE, MARIA, "H1", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    let phone = machine.phone(1).await;
    assert_eq!(phone[0].text, "Olá, *Maria*!");
    let requests = endpoint.requests();
    let turn = requests
        .iter()
        .find(|one| one.body["type"] == "agent.turn")
        .unwrap();
    assert_eq!(turn.body["data"]["messages"][0]["text"], "Oi");
    assert!(
        !turn.text.contains("5511900000001"),
        "no number goes out: {}",
        turn.text
    );
    let library = standardwebhooks::Webhook::new(SECRET).unwrap();
    for request in &requests {
        let at = header(request, "webhook-timestamp").parse().unwrap();
        let id = header(request, "webhook-id");
        let signed = library.sign(id, at, request.text.as_bytes()).unwrap();
        // The stand-in keeps headers in lower case.
        assert_eq!(header(request, "webhook-signature"), signed.to_lowercase());
    }
    let all = findings(&run(&machine, &["doctor", "--json", INSTANCE]));
    assert_eq!(grade(&all, "-", "agent"), "good");
    let checked = endpoint.requests();
    assert_eq!(checked.last().unwrap().body["type"], "agent.check");
    assert!(machine.stand_ins.anthropic.requests().is_empty());
    assert!(!machine.log().contains("Maria"), "no words are logged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_names_an_endpoint_that_refuses_the_signature() {
    let endpoint = StandIn::start(vec![Does::Answers(401, "")]).await;
    let machine = serving(&endpoint.url);
    let all = findings(&run(&machine, &["doctor", "--json", INSTANCE]));
    assert_eq!(grade(&all, "-", "agent"), "broken");
    assert_eq!(endpoint.requests().len(), 1, "the endpoint was asked");
    let told = all.iter().find(|finding| finding["check"] == "agent").unwrap();
    assert!(told.to_string().contains("the signature was refused"), "{told}");
}
