//! The way of a message as one trace, exported to a host that takes spans.

use crate::commands::run;
use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::servers::traces::{PostedSpan, read_posted_spans};
use recado_testkit::webhooks::evolution_text;

const MARIA: &str = "5511900000001@s.whatsapp.net";

/// The trace of a proxy in front of Recado.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Posts a message of a contact, as a proxy passes it on that takes part in the trace.
async fn post_message(machine: &Machine, text: &str) {
    let request = machine
        .http
        .post(machine.url("/webhooks/evolution"))
        .header("apikey", machine.secret(INSTANCE))
        .header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"))
        .json(&evolution_text(INSTANCE, MARIA, "T1", text, seconds()));
    let answered = request.send().await.unwrap();
    assert_eq!(answered.status(), 200);
    assert_eq!(answered.headers()["x-correlation-id"], TRACE);
}

/// Returns the names from a span up to the root: those that caused it.
fn list_causes<'a>(spans: &'a [PostedSpan], span: &'a PostedSpan) -> Vec<&'a str> {
    let mut causes = Vec::new();
    let mut above = Some(span);
    while let Some(span) = above {
        causes.push(span.name.as_str());
        above = spans.iter().find(|one| one.id == span.parent);
    }
    causes
}

#[tokio::test]
async fn a_message_is_one_trace_from_its_webhook_to_the_provider() {
    let host = StandIn::start(vec![Does::Answers(200, "")]).await;
    let machine = Machine::serving(&[
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &host.url),
        ("RECADO_TRACE_URL", "https://jaeger.example/trace/{trace_id}"),
        ("RUST_LOG", "warn"),
    ]);
    post_message(&machine, "CANARY text").await;
    machine.phone(1).await;
    let spans = eventually("the spans", || async {
        let spans = read_posted_spans(&host.requests());
        let has = |name: &str| spans.iter().any(|span| span.name == name);
        (has("provider") && has("send")).then_some(spans)
    })
    .await;
    assert!(spans.iter().all(|span| span.trace == TRACE), "{spans:?}");
    let find = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    assert_eq!(
        list_causes(&spans, find("provider")),
        ["provider", "send", "step commit", "turn", "process", "webhook"]
    );
    assert_eq!(
        list_causes(&spans, find("step model"))[..2],
        ["step model", "turn"]
    );
    assert_eq!(find("webhook").parent, "00f067aa0ba902b7", "the proxy's span");
    let posted = format!("{spans:?}");
    for private in ["CANARY", "5511900000001", "Maria"] {
        assert!(!posted.contains(private), "{posted}");
    }
    // Providers and models are no part of the trace.
    let asked = machine.stand_ins.anthropic.requests();
    assert!(!format!("{asked:?}").contains(TRACE));

    let link = format!("https://jaeger.example/trace/{TRACE}");
    let conversation = machine.conversation().await;
    let reply = machine.messages(&conversation).await[1]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = machine.get(&format!("/v1/messages/{reply}")).await;
    assert_eq!(
        (&shown["trace_id"], &shown["trace_url"]),
        (&TRACE.into(), &link.as_str().into())
    );
    let found = run(&machine, &["find", &reply]).out;
    assert!(found.contains(&format!("trace {link}")), "{found}");
}

#[tokio::test]
async fn without_an_endpoint_nothing_is_made_and_a_dead_exporter_costs_no_message() {
    let machine = Machine::serving(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]);
    post_message(&machine, "Oi").await;
    machine.phone(1).await;
    let conversation = machine.conversation().await;
    let reply = machine.messages(&conversation).await[1]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = machine.get(&format!("/v1/messages/{reply}")).await;
    assert!(shown["trace_id"].is_null() && shown["trace_url"].is_null());
    assert_eq!(shown["correlation_id"], TRACE);
    drop(machine);

    // Nobody listens at port 9 of this machine.
    let mut machine = Machine::serving(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")]);
    post_message(&machine, "Oi").await;
    machine.phone(1).await;
    eventually("the count of dropped spans", || async {
        let metrics = machine
            .http
            .get(machine.url("/metrics"))
            .bearer_auth(crate::machine::TOKEN);
        let page = metrics.send().await.unwrap().text().await.unwrap();
        let line = page
            .lines()
            .find(|line| line.starts_with("recado_spans_dropped_total "))?;
        (!line.ends_with(" 0")).then_some(())
    })
    .await;
    assert!(machine.stop("-TERM").success());
}
