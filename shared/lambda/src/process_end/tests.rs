use super::*;
use recado_testkit::servers::scripted::{Does, StandIn};
use std::process::Command;
use std::sync::Arc;
use tokio::sync::Notify;

/// The address of a runtime API, as Lambda writes it.
fn address_of(stand_in: &StandIn) -> &str {
    stand_in.url.trim_start_matches("http://")
}

#[tokio::test]
async fn a_process_that_registered_learns_of_its_end() {
    let asked_for_events = Arc::new(Notify::new());
    let id = vec![("lambda-extension-identifier", "the-id")];
    let script = vec![
        Does::AnswersWith(200, id, "{}".to_owned()),
        Does::HangsAndTells(Arc::clone(&asked_for_events)),
    ];
    let stand_in = StandIn::start(script).await;
    let ended = Arc::new(Notify::new());
    let told = Arc::clone(&ended);
    assert!(run_at_end(address_of(&stand_in), move || told.notify_one()).await);
    // A function that registers an extension and does not ask for its events never ends its start.
    asked_for_events.notified().await;
    let requests = stand_in.requests();
    let has = |at: usize, header: &str| requests[at].headers.iter().any(|one| one == header);
    assert_eq!(requests[0].line, "POST /2020-01-01/extension/register");
    assert!(has(0, "lambda-extension-name: recado"), "{requests:?}");
    assert_eq!(requests[0].text, r#"{"events":[]}"#);
    assert_eq!(requests[1].line, "GET /2020-01-01/extension/event/next");
    assert!(has(1, "lambda-extension-identifier: the-id"), "{requests:?}");
    let signal_parent = ["-c", "kill -TERM $PPID"];
    assert!(Command::new("sh").args(signal_parent).status().unwrap().success());
    ended.notified().await;
}

#[tokio::test]
async fn where_there_are_no_extensions_nobody_tells() {
    let unknown = StandIn::start(vec![Does::Answers(404, "")]).await;
    let broken = StandIn::start(vec![Does::Breaks]).await;
    for api in [address_of(&unknown), address_of(&broken), "", "/no/host"] {
        assert!(!run_at_end(api, || unreachable!()).await, "{api}");
    }
}
