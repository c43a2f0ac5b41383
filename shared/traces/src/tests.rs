use super::*;
use recado_domain::ids::CorrelationId;
use recado_domain::trace_context::{ParentSpan, TraceParent};
use recado_http_client::build_http_client;
use recado_pipeline::settings::VariableReader;
use recado_pipeline::trace_span::{JOB_TARGET, continue_trace, link_client_span};
use recado_testkit::servers::scripted::{Does, StandIn};
use recado_testkit::servers::traces::{PostedSpan, read_posted_spans};
use std::future::Future;
use tokio::net::TcpListener;
use tracing::{info_span, subscriber};
use tracing_subscriber::layer::SubscriberExt;

const CORRELATION: &str = "0193a4b5c6d7e8f90123456789abcdef";
const LONG: Duration = Duration::from_secs(10);

fn correlation() -> CorrelationId {
    CorrelationId::parse(CORRELATION).unwrap()
}

fn settings(url: &str, ratio: &str) -> TraceSettings {
    let set = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("OTEL_TRACES_SAMPLER_ARG", ratio),
    ];
    TraceSettings::from_environment(&mut VariableReader::new(set)).unwrap()
}

/// Runs `work` while its spans are exported with this ratio, and returns what was posted.
async fn collect_spans(ratio: &str, work: impl FnOnce()) -> Vec<PostedSpan> {
    let host = StandIn::start(vec![Does::Answers(200, "")]).await;
    let (export, delivery) =
        TraceExport::prepare(&settings(&host.url, ratio), build_http_client().unwrap()).unwrap();
    subscriber::with_default(tracing_subscriber::registry().with(export.create_layer()), work);
    tokio::spawn(delivery.run_delivery());
    export.flush_spans(LONG).await;
    read_posted_spans(&host.requests())
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

#[test]
fn a_trace_has_the_correlation_id_and_goes_on_below_the_span_that_made_the_job() {
    let parent = TraceParent::parse_header(&format!("00-{CORRELATION}-00f067aa0ba902b7-01")).unwrap();
    let spans = block_on(collect_spans("1", || {
        let begun = info_span!(target: TRACE_TARGET, "webhook", secret = "Maria", provider = "meta");
        continue_trace(&begun, &correlation(), None);
        begun.in_scope(|| {
            info_span!(target: "recado_pipeline::usecases", "step", step = "model").in_scope(|| {});
        });
        let below = info_span!(target: JOB_TARGET, "turn");
        continue_trace(&below, &correlation(), Some(parent.parent));
    }));
    let find = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let (begun, step, below) = (find("webhook"), find("step model"), find("turn"));
    assert_eq!(spans.len(), 3);
    for span in &spans {
        assert_eq!((span.trace.as_str(), span.events), (CORRELATION, 0), "{span:?}");
    }
    assert_eq!(begun.parent, "");
    assert_eq!(step.parent, begun.id);
    assert_eq!(below.parent, "00f067aa0ba902b7");
    let listed = [("provider".to_owned(), "meta".to_owned())];
    assert_eq!(
        begun.attributes, listed,
        "what is not on the list is not exported"
    );
}

#[test]
fn what_the_client_does_not_sample_and_what_the_ratio_leaves_out_is_not_exported() {
    let unsampled = ParentSpan {
        is_sampled: false,
        ..TraceParent::parse_header(&format!("00-{CORRELATION}-00f067aa0ba902b7-01"))
            .unwrap()
            .parent
    };
    let spans = block_on(collect_spans("1", || {
        let span = info_span!(target: TRACE_TARGET, "webhook");
        continue_trace(&span, &correlation(), Some(unsampled));
    }));
    assert_eq!(spans, []);
    let spans = block_on(collect_spans("0", || {
        continue_trace(&info_span!(target: TRACE_TARGET, "webhook"), &correlation(), None);
    }));
    assert_eq!(spans, []);
}

#[test]
fn another_trace_of_the_client_is_linked() {
    let client =
        TraceParent::parse_header("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
    let spans = block_on(collect_spans("1", || {
        let span = info_span!(target: TRACE_TARGET, "api");
        link_client_span(&span, client);
        continue_trace(&span, &correlation(), None);
    }));
    assert_eq!(spans[0].links, [client.trace.to_string()]);
}

#[test]
fn an_exporter_that_is_down_holds_nothing_up() {
    block_on(async {
        // Nobody listens there any more.
        let port = TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        let settings = settings(&format!("http://{port}"), "1");
        let (export, delivery) = TraceExport::prepare(&settings, build_http_client().unwrap()).unwrap();
        let layered = tracing_subscriber::registry().with(export.create_layer());
        subscriber::with_default(layered, || {
            for _ in 0..2 * span_queue::WAITING_SPANS_MAX {
                continue_trace(&info_span!(target: TRACE_TARGET, "webhook"), &correlation(), None);
            }
        });
        // Nobody delivers: the limit ends the wait.
        export.flush_spans(Duration::from_millis(1)).await;
        tokio::spawn(delivery.run_delivery());
        export.flush_spans(LONG).await;
    });
}
