//! Against a stand-in endpoint that answers what each test wants.

use super::*;
use crate::model_client::tests::{KeyBox, Time};
use recado_domain::config::HttpAgent;
use recado_domain::decision::{AgentDecision, OfferedDecisions};
use recado_testkit::servers::scripted::{Does, Request, StandIn};
use serde_json::json;

const NAME: &str = "RECADO_CREDENTIAL_CLINIC_AGENT";
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

fn agent(url: &str) -> HttpAgent {
    serde_json::from_value(json!({"url": format!("{url}/turns"), "secret": format!("env:{NAME}")})).unwrap()
}

fn request(agent: &HttpAgent) -> HttpAgentRequest<'_> {
    HttpAgentRequest {
        agent,
        id: "turn_n1".to_owned(),
        body: json!({"type": "agent.turn", "data": {"conversation_id": "c1"}}),
        decisions: OfferedDecisions {
            hand_over: true,
            ..OfferedDecisions::default()
        },
        within: Duration::from_secs(60),
        private_hosts: true,
    }
}

fn agents(keys: KeyBox) -> HttpAgents<KeyBox, Time> {
    HttpAgents::new(GuardedClients::default(), keys, Time::default())
}

async fn ask(script: Vec<Does>) -> (Result<Option<LlmReply>, LlmError>, Vec<Request>) {
    let stand_in = StandIn::start(script).await;
    let agent = agent(&stand_in.url);
    let answer = agents(KeyBox::named(NAME, Some(SECRET)))
        .ask(&request(&agent))
        .await;
    (answer, stand_in.requests())
}

fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    let mut headers = request.headers.iter();
    headers.find_map(|header| header.strip_prefix(&prefix)).unwrap()
}

#[tokio::test]
async fn a_turn_is_posted_with_the_signature_of_standard_webhooks_and_answered() {
    let (answer, requests) = ask(vec![Does::Answers(
        200,
        r#"{"reply": "Oi", "decision": "hand_over", "reason": "asks"}"#,
    )])
    .await;
    let reply = answer.unwrap().unwrap();
    assert_eq!((reply.text.as_str(), reply.model.as_str()), ("Oi", "http"));
    let note = "asks".to_owned();
    assert_eq!(reply.decision, Some(AgentDecision::HandOver { note }));
    let [posted] = &requests[..] else {
        panic!("one request")
    };
    assert_eq!(
        (posted.line.as_str(), header(posted, "webhook-id")),
        ("POST /turns", "turn_n1")
    );
    assert_eq!(posted.body["data"]["conversation_id"], "c1");
    let library = standardwebhooks::Webhook::new(SECRET).unwrap();
    let at = header(posted, "webhook-timestamp").parse().unwrap();
    let signed = library.sign("turn_n1", at, posted.text.as_bytes()).unwrap();
    // The stand-in keeps headers in lower case.
    assert_eq!(header(posted, "webhook-signature"), signed.to_lowercase());
}

#[tokio::test]
async fn status_204_says_that_nothing_is_to_be_answered() {
    let (answer, _) = ask(vec![Does::Answers(204, "")]).await;
    assert_eq!(answer, Ok(None));
}

#[tokio::test]
async fn what_may_pass_is_repeated_under_the_same_id_and_the_reply_comes() {
    let (answer, requests) = ask(vec![
        Does::AnswersWith(503, vec![("retry-after", "2")], String::new()),
        Does::Answers(200, "<html>"),
        Does::Answers(200, r#"{"reply": "Oi"}"#),
    ])
    .await;
    assert_eq!(answer.unwrap().unwrap().text, "Oi");
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|one| header(one, "webhook-id") == "turn_n1"));
    assert!(requests.iter().all(|one| one.text == requests[0].text));
    let signed: std::collections::BTreeSet<&str> = requests
        .iter()
        .map(|one| header(one, "webhook-signature"))
        .collect();
    assert!(signed.len() > 1, "an attempt is signed at its time");
}

#[tokio::test]
async fn what_never_comes_right_is_unavailable_after_three_attempts() {
    let large = "x".repeat(usize::try_from(ANSWER_MAX).unwrap() + 1);
    for does in [
        Does::Answers(500, "secret words"),
        Does::Answers(200, r#"{"text": "secret words"}"#),
        Does::AnswersWith(200, Vec::new(), large),
        Does::Breaks,
    ] {
        let (answer, requests) = ask(vec![does.clone()]).await;
        let Err(error @ LlmError::Unavailable(_)) = answer else {
            panic!("{does:?}: {answer:?}")
        };
        assert_eq!(requests.len(), 3, "{does:?}");
        let told = error.to_string();
        assert!(!told.contains("secret") && !told.contains("/turns"), "{told}");
    }
}

#[tokio::test]
async fn what_will_not_pass_is_asked_once() {
    for does in [
        Does::Answers(404, ""),
        Does::Answers(422, ""),
        Does::Redirects("http://127.0.0.1:9/".to_owned()),
    ] {
        let (answer, requests) = ask(vec![does.clone()]).await;
        assert!(
            matches!(answer, Err(LlmError::Refused(_))),
            "{does:?}: {answer:?}"
        );
        assert_eq!(requests.len(), 1);
    }
    let stand_in = StandIn::start(vec![Does::Answers(401, "")]).await;
    let (keys, agent) = (KeyBox::named(NAME, Some(SECRET)), agent(&stand_in.url));
    let answer = agents(keys.clone()).ask(&request(&agent)).await;
    assert!(matches!(answer, Err(LlmError::Credentials(_))), "{answer:?}");
    assert_eq!((stand_in.requests().len(), keys.forgotten()), (1, 1));
}

#[tokio::test]
async fn without_a_secret_that_signs_nothing_is_sent() {
    let stand_in = StandIn::start(vec![Does::Answers(204, "")]).await;
    let agent = agent(&stand_in.url);
    for keys in [KeyBox::empty(), KeyBox::named(NAME, Some("whsec_!"))] {
        let answer = agents(keys).ask(&request(&agent)).await;
        assert!(matches!(answer, Err(LlmError::Credentials(_))), "{answer:?}");
    }
    assert!(stand_in.requests().is_empty());
}

#[tokio::test]
async fn only_public_hosts_are_asked_and_only_by_https_unless_the_setting_allows_others() {
    let stand_in = StandIn::start(vec![Does::Answers(204, "")]).await;
    for url in [
        stand_in.url.as_str(),
        "http://example.org",
        "https://127.1:9",
        "https://10.0.0.1",
    ] {
        let agent = agent(url);
        let public = HttpAgentRequest {
            private_hosts: false,
            ..request(&agent)
        };
        let answer = agents(KeyBox::named(NAME, Some(SECRET))).ask(&public).await;
        assert!(matches!(answer, Err(LlmError::Refused(_))), "{url}: {answer:?}");
    }
    let metadata = agent("http://169.254.169.254");
    let answer = agents(KeyBox::named(NAME, Some(SECRET)))
        .ask(&request(&metadata))
        .await;
    assert!(matches!(answer, Err(LlmError::Refused(_))), "{answer:?}");
    assert!(stand_in.requests().is_empty());
}

#[tokio::test]
async fn a_check_is_passed_by_any_answer_that_accepts_it() {
    for (does, passes) in [
        (Does::Answers(204, ""), true),
        (Does::Answers(200, "ok"), true),
        (Does::Answers(401, ""), false),
        (Does::Answers(500, ""), false),
    ] {
        let stand_in = StandIn::start(vec![does.clone()]).await;
        let agent = agent(&stand_in.url);
        let checked = agents(KeyBox::named(NAME, Some(SECRET)))
            .check(&request(&agent))
            .await;
        assert_eq!(checked.is_ok(), passes, "{does:?}: {checked:?}");
        assert_eq!(stand_in.requests().len(), 1);
    }
}
