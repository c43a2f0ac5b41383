//! The metrics that use cases record: each fact once, under its own word.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use crate::world::Setup;
use crate::{setup, state};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use recado_domain::instance::ConnectionStatus;
use recado_domain::reason::Reason;
use recado_pipeline::measure::{
    CONVERSATIONS_PARKED, DEAD_LETTERS_CREATED, LATENCY, MODEL_ERRORS, PROCESSED, PROVIDER_ERRORS, RETRIES,
    TOKENS, TURN_STEP,
};
use recado_pipeline::ports::SendOutcome;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What this thread records from now on, until it is dropped.
struct Recorded {
    handle: PrometheusHandle,
    _guard: metrics::LocalRecorderGuard<'static>,
}

impl Recorded {
    fn start() -> Self {
        let recorder = Box::leak(Box::new(PrometheusBuilder::new().build_recorder()));
        Self {
            handle: recorder.handle(),
            _guard: metrics::set_default_local_recorder(recorder),
        }
    }

    /// The sum of the series of this metric whose labels contain these words.
    fn sum(&self, name: &str, words: &[&str]) -> f64 {
        let page = self.handle.render();
        let of_metric = page.lines().filter(|line| {
            line.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['{', ' ']))
        });
        let fits = of_metric.filter(|line| words.iter().all(|word| line.contains(&format!("\"{word}\""))));
        fits.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap())
            .sum()
    }
}

async fn send_next(setup: &Setup, outcome: Option<SendOutcome>) {
    if let Some(outcome) = outcome {
        setup.answers(outcome);
    }
    let reply = setup.replied().await;
    let _comes_back = setup.job(&reply.conversation).await;
}

#[tokio::test]
async fn each_outcome_of_a_send_is_counted_under_its_class_and_its_end_once() {
    let (recorded, why) = (Recorded::start(), || "as the test wants".to_owned());
    for (outcome, class) in [
        (SendOutcome::Disconnected { why: why() }, "disconnected"),
        (SendOutcome::Unreached { why: why() }, "unreached"),
        (
            SendOutcome::Retryable {
                why: why(),
                after: Some(Duration::from_secs(1)),
            },
            "retryable",
        ),
        (
            SendOutcome::Unknown {
                why: why(),
                timed_out: false,
            },
            "unknown",
        ),
        (SendOutcome::Credentials { why: why() }, "credentials"),
        (
            SendOutcome::Permanent {
                reason: Reason::WhatsappPermanentError,
                why: why(),
            },
            "permanent",
        ),
    ] {
        let setup = setup().await;
        send_next(&setup, Some(outcome)).await;
        let instance = setup.fixture.instance().as_str();
        assert_eq!(recorded.sum(PROVIDER_ERRORS, &[instance, class]), 1.0, "{class}");
        assert_eq!(recorded.sum(PROVIDER_ERRORS, &[instance]), 1.0, "{class}");
        let given_up = if class == "permanent" { 1.0 } else { 0.0 };
        assert_eq!(
            recorded.sum(PROCESSED, &[instance, "failed"]),
            given_up,
            "{class}"
        );
        assert_eq!(recorded.sum(PROCESSED, &[instance]), given_up, "{class}");
        let reason = Reason::WhatsappPermanentError.as_str();
        assert_eq!(
            recorded.sum(DEAD_LETTERS_CREATED, &[instance, "outbound", reason]),
            given_up
        );
        let again = if class == "retryable" { 1.0 } else { 0.0 };
        assert_eq!(recorded.sum(RETRIES, &[instance, "outbound"]), again, "{class}");
    }
}

#[tokio::test]
async fn a_sent_message_is_counted_once_with_its_times() {
    let (recorded, setup) = (Recorded::start(), setup().await);
    *setup.world.llm.says.lock().unwrap() = Some("Olá".to_owned());
    setup.message(&setup.fixture, "wa-1", "Oi", false).await;
    setup.pass(4);
    let reply = setup.turn(&setup.fixture).await;
    setup.pass(2);
    for _ in 0..3 {
        setup.send(&reply.conversation).await;
    }
    let instance = setup.fixture.instance().as_str();
    assert_eq!(recorded.sum(PROCESSED, &[instance, "success"]), 1.0);
    for (stage, seconds) in [("inbound", 0.0), ("turn", 4.0), ("outbound", 2.0), ("reply", 6.0)] {
        let name = |part: &str| format!("{LATENCY}{part}");
        assert_eq!(recorded.sum(&name("_count"), &[instance, stage]), 1.0, "{stage}");
        let sum = recorded.sum(&name("_sum"), &[instance, stage]);
        assert!((sum - seconds).abs() < 0.5, "{stage}: {sum}");
    }
    for step in ["read", "model", "commit"] {
        assert_eq!(
            recorded.sum(&format!("{TURN_STEP}_count"), &[instance, step]),
            1.0,
            "{step}"
        );
    }
}

#[tokio::test]
async fn a_parked_conversation_is_counted_each_time() {
    let (recorded, setup) = (Recorded::start(), setup().await);
    let why = "gone".to_owned();
    send_next(&setup, Some(SendOutcome::Disconnected { why })).await;
    assert_eq!(state(&setup).await.connection, ConnectionStatus::Closed);
    let instance = setup.fixture.instance().as_str();
    assert_eq!(
        recorded.sum(CONVERSATIONS_PARKED, &[instance]),
        0.0,
        "the send job comes back first"
    );
    send_next(&setup, None).await;
    assert_eq!(recorded.sum(CONVERSATIONS_PARKED, &[instance]), 1.0);
}

#[tokio::test]
async fn tokens_and_errors_of_the_model_are_counted_by_kind() {
    let (recorded, setup) = (Recorded::start(), setup().await);
    let instance = setup.fixture.instance().as_str();
    setup.message(&setup.fixture, "wa-1", "Oi", false).await;
    let says = |text: Option<&str>| *setup.world.llm.says.lock().unwrap() = text.map(str::to_owned);
    says(Some("Olá"));
    setup.turns(&setup.fixture).await;
    assert_eq!(recorded.sum(TOKENS, &[instance, "output"]), 7.0);
    assert_eq!(
        recorded.sum(TOKENS, &[instance]),
        7.0,
        "what is zero makes no series"
    );
    assert_eq!(recorded.sum(MODEL_ERRORS, &[]), 0.0);
    for (text, lacks_key, class) in [
        (None, false, "refused"),
        (Some(" "), false, "empty"),
        (None, true, "credentials"),
    ] {
        let contact = setup.fixture.other_contact();
        says(text);
        setup.world.llm.lacks_key.store(lacks_key, Ordering::SeqCst);
        setup.message(&contact, class, "Oi", false).await;
        setup.turns(&contact).await;
        assert_eq!(recorded.sum(MODEL_ERRORS, &[instance, class]), 1.0, "{class}");
    }
    assert_eq!(recorded.sum(MODEL_ERRORS, &[]), 3.0);
}
