//! `recado serve`: runs the HTTP server and the workers until a signal.

use crate::alert_monitor::AlertMonitor;
use crate::background::{BackgroundRuntime, watch_background};
use crate::clock;
use crate::console::LocalConsole;
use crate::endpoint_posts::run_endpoint_posts;
use crate::logging::ToldDrops;
use crate::metrics::ProcessMetrics;
use crate::service_manager;
use crate::start_checks;
use crate::start_file;
use crate::stop_signals::StopSignals;
use crate::webhook_recorder::WebhookRecorder;
use crate::welcome::{self, Welcome};
use crate::workers;
use anyhow::{Context, Result, bail};
use axum::Router;
use futures::future::{LocalBoxFuture, join, ready};
use recado_checks::key_check::{self, FoundKeys, InstanceKeys};
use recado_configuration::StartedConfiguration;
use recado_domain::secret::Secret;
use recado_embedded::{
    Embedded, EmbeddedSystem, EventReader, FULL_DISK_REMEDY, RecoveryCounts, is_disk_full,
};
use recado_features::{api_router, api_routes};
use recado_http::{ApiOptions, EventFeed, HealthProbe, accept_extra_slashes, record_webhooks};
use recado_http_client::build_http_client;
use recado_local::compose::{LocalComposition, compose_components};
use recado_local::environment::LocalEnvironment;
use recado_local::keyring::{EnvironmentSecrets, Keyring};
use recado_local::message_path::{add_webhook_routes, serve_requests};
use recado_machine::{address_file, configuration_file};
use recado_notify::EndpointPoster;
use recado_onboarding::SetupService;
use recado_pipeline::Deps;
use recado_pipeline::ports::{CredentialState, PortError};
use recado_whatsapp::SimulatedOutbox;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Serves until Ctrl-C, SIGTERM or SIGHUP, then finishes the work that was begun. A second signal stops at once, like a
/// crash: acknowledged webhooks and requests are stored, and the next start takes up the rest.
///
/// With `demonstrate`, instances without keys are simulated unless the settings say otherwise, and the demonstration runs first. The
/// future is boxed here, so that the server is compiled with this crate.
pub fn serve_until_signal(
    environment: LocalEnvironment,
    demonstrate: Option<Demonstrate>,
) -> LocalBoxFuture<'static, Result<()>> {
    Box::pin(async move { serve(environment, demonstrate).await.map_err(add_remedy) })
}

/// Adds what helps where a disk has no room, whichever write of a start meets it.
fn add_remedy(error: anyhow::Error) -> anyhow::Error {
    let mut failed = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<PortError>());
    if failed.any(is_disk_full) {
        return error.context(FULL_DISK_REMEDY);
    }
    error
}

async fn serve(environment: LocalEnvironment, demonstrate: Option<Demonstrate>) -> Result<()> {
    let or_sample = demonstrate.is_some();
    let (document, source) =
        configuration_file::load_start_configuration(environment.config.as_deref(), or_sample)?;
    let simulate = environment.simulation.unwrap_or(or_sample);
    let LocalComposition {
        deps,
        emails,
        embedded,
        simulator,
    } = compose_components(&environment, simulate).await?;
    start_checks::check_webhook_secret(&deps, &environment).await?;
    let keyring = Keyring::load_or_generate(&environment)?;
    let applied = start_file::apply_at_start(&deps, &embedded, document, &source).await?;
    key_check::tell_missing_secrets(&deps).await?;
    let listener = start_checks::listen(environment.address).await?;
    let address = listener.local_addr()?;
    address_file::write_address(&environment.data, address)?;
    recover_crashed_work(&embedded).await?;
    let mut signals = StopSignals::register_handlers()?;
    let (stop, stopped) = watch::channel(false);
    let (close, closing) = watch::channel(false);
    let health_probe = HealthProbe::by_timer();
    health_probe.probe_store(&deps, &embedded).await;
    let metrics = ProcessMetrics::install_recorder(environment.metrics_instances, &applied.document)?;
    let (event_feed, poster) = (EventFeed::new(stopped.clone()), keyring.create_poster());
    let mut options = build_options(&environment, simulator, &metrics, &embedded, &health_probe)?;
    options.listening_url = Some(address_file::local_url(address));
    options.event_feed = Some(event_feed.clone());
    options.endpoint_posts = Some(Arc::new(poster.clone()));
    let console = create_console(&deps, &keyring, &options)?;
    let router = build_router(&deps, &keyring, &environment, options, &console)?;
    let server = serve_requests(listener, router, environment.server.clone(), closing);
    let server = tokio::spawn(server);
    let feeding = tokio::spawn(feed_event_streams(event_feed, embedded.clone()));
    let background = BackgroundRuntime::start_threads()?;
    let posting = start_endpoint_posts(&background, (&deps, poster), &embedded, &stopped);
    let alert_monitor = AlertMonitor::new(&environment)?;
    let workers = background.spawn_work(workers::run_workers(
        Arc::clone(&deps),
        emails,
        embedded.clone(),
        (metrics.clone(), health_probe.watchdog().clone()),
        alert_monitor.clone(),
        stopped,
    ));
    let stores = (Arc::clone(&deps), embedded.clone());
    let probing = tokio::spawn(look_after_process(health_probe, stores, metrics, alert_monitor));
    welcome::print_address(address);
    console.print_link(address);
    // After the server began: with many instances this takes longer than all else.
    let keys = key_check::find_instance_keys(&deps).await?;
    print_start_information(&environment, &source, &keys, &applied);
    let recording = tokio::spawn(record_keys(Arc::clone(&deps)));
    let demonstrating = demonstrate_if_wanted(demonstrate, address, &keyring, &keys);
    work_until_stop(demonstrating, &mut signals, &[recording, probing, feeding]).await;
    stop.send_replace(true);
    let finished = finish_and_close((server, close), (workers, posting), &embedded);
    finish_or_stop_at_once(finished, &mut signals).await
}

/// The server that a demonstration writes to.
#[derive(Debug)]
pub struct Served {
    /// The address at which it listens.
    pub address: SocketAddr,
    /// The operators' token.
    pub token: Secret,
    /// `true` if an instance is simulated.
    pub is_simulated: bool,
}

/// Shows what Recado does, for as long as somebody reads.
pub type Demonstrate = Box<dyn FnOnce(Served) -> LocalBoxFuture<'static, Result<()>>>;

/// Runs the demonstration, if there is to be one.
fn demonstrate_if_wanted(
    demonstrate: Option<Demonstrate>,
    address: SocketAddr,
    keyring: &Keyring,
    keys: &FoundKeys,
) -> LocalBoxFuture<'static, Result<()>> {
    let is_simulated = |keys: &InstanceKeys| keys.credential == CredentialState::Simulated;
    let served = Served {
        address,
        token: keyring.token.clone(),
        is_simulated: keys.first.iter().any(is_simulated),
    };
    match demonstrate {
        Some(demonstrate) => demonstrate(served),
        None => Box::pin(ready(Ok(()))),
    }
}

/// Tells the service manager that all is ready, and waits for a stop signal. What runs `beside` the work ends then.
async fn work_until_stop(
    demonstration: impl Future<Output = Result<()>>,
    signals: &mut StopSignals,
    beside: &[JoinHandle<()>],
) {
    service_manager::tell_ready();
    wait_for_stop(demonstration, signals).await;
    service_manager::tell_stopping();
    for task in beside {
        task.abort();
    }
    println!("\nFinishing what was begun … (a second signal stops at once)");
}

fn print_start_information(
    environment: &LocalEnvironment,
    source: &str,
    keys: &FoundKeys,
    applied: &StartedConfiguration,
) {
    Welcome {
        environment,
        source,
        keys,
        document: &applied.document,
        kept: &applied.kept,
    }
    .print();
}

/// Waits until all is finished, or fails at the next signal.
async fn finish_or_stop_at_once(
    finished: impl Future<Output = Result<()>>,
    signals: &mut StopSignals,
) -> Result<()> {
    tokio::select! {
        finished = finished => finished,
        () = signals.wait_for_signal() => bail!("stopped by a second signal, before all was finished"),
    }
}

/// Creates the part that sets instances up for the API.
fn create_setup_service(environment: &LocalEnvironment) -> Result<SetupService<EnvironmentSecrets>> {
    Ok(SetupService {
        http: build_http_client()?,
        config: environment.providers.clone(),
        secrets: EnvironmentSecrets,
    })
}

/// Builds what the routes of operators need beside the ports.
fn build_options(
    environment: &LocalEnvironment,
    simulator: Option<SimulatedOutbox>,
    metrics: &ProcessMetrics,
    embedded: &Embedded,
    health_probe: &HealthProbe,
) -> Result<ApiOptions> {
    Ok(ApiOptions {
        public_url: environment.public_url.clone(),
        listening_url: None,
        simulator,
        metrics: Some(metrics.to_page()),
        depths: Arc::new(embedded.clone()),
        health_probe: health_probe.clone(),
        asks_models: true,
        provider_setup: Some(create_setup_service(environment)?.into_setup()),
        publishes_events: true,
        push_ticket_issuer: None,
        event_feed: None,
        endpoint_posts: None,
        applies_file: true,
    })
}

/// Creates the console over the routes of the API.
fn create_console(deps: &Arc<Deps>, keyring: &Keyring, options: &ApiOptions) -> Result<LocalConsole> {
    let has_simulator = options.simulator.is_some();
    let api = api_router(Arc::clone(deps), Arc::new(keyring.clone()), options.clone());
    LocalConsole::create(api, keyring, has_simulator)
}

/// Builds the routes of both sides and of the console. They record webhooks if the settings say so.
fn build_router(
    deps: &Arc<Deps>,
    keyring: &Keyring,
    environment: &LocalEnvironment,
    options: ApiOptions,
    console: &LocalConsole,
) -> Result<Router> {
    let api = api_routes(Arc::clone(deps), Arc::new(keyring.clone()), options);
    let router = add_webhook_routes(deps, keyring, environment.webhook_limits, api);
    let router = record_if_configured(router.merge(console.routes.clone()), environment)?;
    Ok(accept_extra_slashes(router))
}

/// Records the webhooks that `router` receives, if the settings say so.
fn record_if_configured(router: Router, environment: &LocalEnvironment) -> Result<Router> {
    let folder = &environment.record_folder;
    let Some(recording) = WebhookRecorder::start_recording(folder, environment.record)? else {
        return Ok(router);
    };
    println!("Webhooks are recorded in {}", folder.display());
    Ok(record_webhooks(router, EmbeddedSystem, move |webhook| {
        recording.record_webhook(webhook);
    }))
}

/// Stores which keys are missing, and lets what waited for a key go on. Providers are asked, so it runs beside the server.
async fn record_keys(deps: Arc<Deps>) {
    if let Err(error) = key_check::record_instance_keys(&deps).await {
        tracing::error!(%error, "the list of missing keys could not be stored");
    }
}

/// Looks after the process from outside of the threads of the background, for ever.
async fn look_after_process(
    health_probe: HealthProbe,
    (deps, embedded): (Arc<Deps>, Embedded),
    metrics: ProcessMetrics,
    alert_monitor: AlertMonitor,
) {
    let watchdog = health_probe.watchdog().clone();
    let watching = watch_background(watchdog, alert_monitor, Arc::clone(&deps), embedded.clone());
    let probing = probe_periodically(health_probe, deps, embedded, metrics);
    join(watching, probing).await;
}

/// Checks every few seconds that the store accepts writes. Also moves recorded durations into their buckets, and tells of
/// dropped log lines. `/health` reports the result of the check.
async fn probe_periodically(
    health_probe: HealthProbe,
    deps: Arc<Deps>,
    embedded: Embedded,
    metrics: ProcessMetrics,
) {
    let mut drops = ToldDrops::default();
    loop {
        tokio::time::sleep(PROBE_INTERVAL).await;
        metrics.run_upkeep();
        drops.tell_new();
        health_probe.probe_store(&deps, &embedded).await;
    }
}

/// Begins to post published events to the endpoints of tenants.
fn start_endpoint_posts(
    background: &BackgroundRuntime,
    (deps, poster): (&Arc<Deps>, EndpointPoster),
    embedded: &Embedded,
    stopped: &watch::Receiver<bool>,
) -> JoinHandle<()> {
    let posting = run_endpoint_posts(Arc::clone(deps), poster, embedded.clone(), stopped.clone());
    background.spawn_work(posting)
}

/// Time between two reads of the log of published events at least, so that many changes cost one read.
const FEED_PAUSE: Duration = Duration::from_millis(20);

/// Tells the open streams what is published, until the process stops.
async fn feed_event_streams(feed: EventFeed, embedded: Embedded) {
    let wait_for_change = || {
        let waker = Arc::clone(embedded.event_waker(EventReader::Streams));
        async move {
            waker.notified().await;
            tokio::time::sleep(FEED_PAUSE).await;
        }
    };
    feed.run_feed(&embedded, wait_for_change).await;
}

/// Time between two checks. Together with the time that one check may take it is less than ten seconds, so the result
/// is never stale while the store works.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// Waits for work and requests that are under way, and closes the store. The work first: meanwhile webhooks are still taken, so that
/// they wait no longer for the next process than its start takes.
async fn finish_and_close(
    (server, close): (JoinHandle<()>, watch::Sender<bool>),
    (workers, posting): (JoinHandle<()>, JoinHandle<()>),
    embedded: &Embedded,
) -> Result<()> {
    workers.await.context("a worker panicked")?;
    posting.await.context("the posts to webhook endpoints panicked")?;
    close.send_replace(true);
    // A client that never finishes its request must not keep the process running: acknowledged requests are stored.
    if let Ok(ended) = tokio::time::timeout(LAST_REQUESTS, server).await {
        ended.context("the server panicked")?;
    } else {
        tracing::warn!("stopped before every client had finished its request");
    }
    embedded.shut_down().await;
    println!("Stopped.");
    Ok(())
}

/// The longest time that a stopping server waits for requests that are under way.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// Takes up the work that a crashed process left behind, and corrects stored times if the clock was set back.
async fn recover_crashed_work(embedded: &Embedded) -> Result<()> {
    let recovered = embedded.recover_after_crash().await?;
    if recovered != RecoveryCounts::default() {
        tracing::warn!(
            ?recovered,
            "the process before did not end well: what it held is taken up again"
        );
    }
    let behind = embedded.measure_clock_lag().await?;
    if behind > clock::SET_BACK_TOLERATED {
        let changed = embedded.adjust_to_set_back_clock().await?;
        tracing::warn!(
            seconds = behind.as_secs(),
            changed,
            "the machine's clock was set back: what waited for it as it was goes on"
        );
    }
    Ok(())
}

/// Runs the demonstration, and returns once a stop signal comes.
async fn wait_for_stop(demonstration: impl Future<Output = Result<()>>, signals: &mut StopSignals) {
    tokio::select! {
        done = demonstration => {
            if let Err(error) = done {
                eprintln!("The demonstration did not come to its end: {error:#}");
            }
        }
        () = signals.wait_for_signal() => return,
    }
    signals.wait_for_signal().await;
}
