//! `recado serve`: the HTTP server and the workers, until a signal.

use crate::clock;
use crate::compose::{Composed, EmbeddedDepths, LocalWorld, compose};
use crate::configuration;
use crate::demonstration;
use crate::environment::Environment;
use crate::keyring::Keyring;
use crate::record::Recording;
use crate::server;
use crate::workers;
use anyhow::{Context, Result, bail};
use recado_domain::config::Document;
use recado_embedded::{Embedded, Recovered, SystemAmbient};
use recado_http::{ApiOptions, Pulse, WebhookLimits, recorded, whole_router};
use recado_pipeline::{configure, settings};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Serves until Ctrl-C or SIGTERM, then finishes what was begun; a second signal ends that at once, as a crash would: what
/// was acknowledged is stored, and a restart takes the rest up. With `demonstrate`, a burst goes in and its reply comes
/// out first, provided that both ends are simulated.
pub(crate) async fn serve(environment: Environment, demonstrate: bool) -> Result<()> {
    for (name, why) in settings::without_meaning(|name| std::env::var(name).ok()) {
        tracing::warn!(name, why, "this variable is ignored");
    }
    let Composed {
        world,
        embedded,
        simulator,
    } = compose(&environment).await?;
    let keyring = Keyring::open(&environment)?;
    let (document, source) = configuration::at_start(&environment)?;
    let applied = configure::apply(&world, document)
        .await
        .with_context(|| format!("the configuration ({source}) was not applied"))?;
    let listener = TcpListener::bind(environment.address)
        .await
        .with_context(|| format!("cannot listen on {} (RECADO_ADDR)", environment.address))?;
    let address = listener.local_addr()?;
    take_over(&embedded).await?;
    let mut signals = Signals::listen()?;
    let demonstrate = demonstrate && simulator.is_some();
    let world = Arc::new(world);
    let (stop, stopped) = watch::channel(false);
    let pulse = Pulse::beaten();
    pulse.beat(&*world, &EmbeddedDepths(embedded.clone())).await;
    let options = ApiOptions {
        public_url: environment.public_url.clone(),
        simulator,
        depths: EmbeddedDepths(embedded.clone()),
        pulse: pulse.clone(),
    };
    let limits = WebhookLimits {
        bytes_max: environment.webhook_bytes_max,
    };
    let mut router = whole_router(Arc::clone(&world), Arc::new(keyring.clone()), limits, options);
    if let Some(recording) = Recording::start(&environment.record_folder, environment.record)? {
        router = recorded(router, SystemAmbient, move |webhook| recording.take(webhook));
        println!("Webhooks are recorded in {}", environment.record_folder.display());
    }
    let limits = environment.server.clone();
    let server = tokio::spawn(server::serve(listener, router, limits, stopped.clone()));
    let crew = tokio::spawn(workers::run(Arc::clone(&world), embedded.clone(), stopped));
    let heart = tokio::spawn(beat(pulse, Arc::clone(&world), embedded.clone()));
    let document = &applied.document;
    welcome(&environment, &world, &keyring, document, address, &source);
    until_told(
        demonstration::run(demonstrate, address, &keyring, document),
        &mut signals,
    )
    .await;
    heart.abort();
    println!("\nFinishing what was begun … (a second signal stops at once)");
    stop.send_replace(true);
    tokio::select! {
        finished = finish(server, crew, &embedded) => finished,
        () = signals.next() => bail!("stopped by a second signal, before all was finished"),
    }
}

/// Proves every few seconds that the store takes writes, for `/health` to tell.
async fn beat(pulse: Pulse, world: Arc<LocalWorld>, embedded: Embedded) {
    let depths = EmbeddedDepths(embedded);
    loop {
        tokio::time::sleep(BETWEEN_BEATS).await;
        pulse.beat(&*world, &depths).await;
    }
}

/// The wait between two proofs. With the time that one may take, the last is never ten seconds old while the store works.
const BETWEEN_BEATS: Duration = Duration::from_secs(5);

/// Waits for requests and work that are under way, and closes the store.
async fn finish(server: JoinHandle<()>, crew: JoinHandle<()>, embedded: &Embedded) -> Result<()> {
    // A client that never finishes its request must not keep the process: what was acknowledged is stored.
    if let Ok(ended) = tokio::time::timeout(LAST_REQUESTS, server).await {
        ended.context("the server panicked")?;
    } else {
        tracing::warn!("stopped before every client had finished its request");
    }
    crew.await.context("a worker panicked")?;
    embedded.close().await;
    println!("Stopped.");
    Ok(())
}

/// What a stopping server waits for requests that are under way.
const LAST_REQUESTS: Duration = Duration::from_secs(30);

/// Takes up what a process that crashed was doing.
async fn take_over(embedded: &Embedded) -> Result<()> {
    let recovered = embedded.recover().await?;
    if recovered != Recovered::default() {
        tracing::warn!(
            ?recovered,
            "the process before did not end well: what it held is taken up again"
        );
    }
    let behind = embedded.behind().await?;
    if behind > clock::TOLERATED {
        let changed = embedded.set_back().await?;
        tracing::warn!(
            seconds = behind.as_secs(),
            changed,
            "the machine's clock was set back: what waited for it as it was goes on"
        );
    }
    Ok(())
}

/// Runs the demonstration, and returns once a signal says stop.
async fn until_told(demonstration: impl Future<Output = Result<()>>, signals: &mut Signals) {
    tokio::select! {
        done = demonstration => {
            if let Err(error) = done {
                eprintln!("The demonstration did not come to its end: {error:#}");
            }
        }
        () = signals.next() => return,
    }
    signals.next().await;
}

/// Ctrl-C and SIGTERM, listened for from the start: none gets lost between two waits.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?,
            terminate: signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

fn welcome(
    environment: &Environment,
    world: &LocalWorld,
    keyring: &Keyring,
    document: &Document,
    address: SocketAddr,
    source: &str,
) {
    println!(
        "Recado listens on http://{address}   data: {}   configuration: {source}",
        environment.data.display()
    );
    println!(
        "Model: {}.",
        match world.llm.name() {
            "simulated" => "simulated, for want of ANTHROPIC_API_KEY",
            name => name,
        }
    );
    if environment.simulation {
        println!("Instances without a credential are simulated; what they sent: GET /simulator/outbox");
    }
    for instance in &document.instances {
        println!("  {} ({})", instance.id, instance.provider);
    }
    println!(
        "Operators' token: {}",
        if environment.token.is_some() {
            "as RECADO_TOKEN says".to_owned()
        } else {
            environment.data.join("operator-token").display().to_string()
        }
    );
    if let Some(hint) = demonstration::hint(address, keyring, document) {
        println!("\n{hint}");
    }
}
