//! Everything that one machine consists of, put together once at start.

use crate::environment::Environment;
use crate::installation::travels_readably;
use crate::keyring::EnvironmentSecrets;
use anyhow::{Context, Result};
use recado_ai::{Claude, ClaudeSettings, Model, http_client};
use recado_domain::dead_letter::QueueName;
use recado_embedded::{Clock, Embedded, SystemAmbient};
use recado_pipeline::Parts;
use recado_pipeline::ports::{Depths, PortResult, QueueDepth};
use recado_whatsapp::{ProviderConfig, SimulatedOutbox, Simulation, WhatsApp};

/// The world of one machine.
pub(crate) type LocalWorld = Parts<
    Embedded,
    Embedded,
    WhatsApp<EnvironmentSecrets, SystemAmbient>,
    Model<EnvironmentSecrets, SystemAmbient>,
    SystemAmbient,
>;

/// What was put together.
#[derive(Debug)]
pub(crate) struct Composed {
    /// What the use cases reach.
    pub(crate) world: LocalWorld,
    /// The queues, as workers see them.
    pub(crate) embedded: Embedded,
    /// What the simulated provider took, where instances without credentials are simulated.
    pub(crate) simulator: Option<SimulatedOutbox>,
}

/// Opens the data folder and puts the parts together.
pub(crate) async fn compose(environment: &Environment) -> Result<Composed> {
    let embedded = Embedded::open(&environment.data, Clock::system())
        .with_context(|| format!("cannot open the data folder {}", environment.data.display()))?;
    let elsewhere = environment
        .providers
        .base_urls()
        .chain(environment.anthropic_url.as_deref());
    for url in elsewhere.filter(|url| travels_readably(url)) {
        tracing::warn!(
            url,
            "keys are sent there unencrypted: whoever is on the way can read them"
        );
    }
    let http = http_client()?;
    let simulator = environment.simulation.then(SimulatedOutbox::default);
    let providers = ProviderConfig {
        simulation: simulator
            .clone()
            .map_or(Simulation::Off, Simulation::WithoutCredentials),
        ..environment.providers.clone()
    };
    let mut claude = ClaudeSettings::default();
    if let Some(url) = &environment.anthropic_url {
        claude.base_url.clone_from(url);
    }
    let claude = Claude::new(http.clone(), claude, EnvironmentSecrets, SystemAmbient)?;
    let llm = if environment.simulation {
        Model::claude_or_simulated(claude, environment.simulated_latency).await?
    } else {
        Model::Claude(claude)
    };
    let world = Parts {
        store: embedded.clone(),
        queues: embedded.clone(),
        providers: WhatsApp::new(http, EnvironmentSecrets, SystemAmbient, providers),
        llm,
        ambient: SystemAmbient,
        settings: environment.settings.clone(),
        retries: recado_pipeline::Retries::default(),
    };
    Ok(Composed {
        world,
        embedded,
        simulator,
    })
}

/// The depths of the embedded queues.
#[derive(Debug, Clone)]
pub(crate) struct EmbeddedDepths(pub(crate) Embedded);

impl Depths for EmbeddedDepths {
    async fn depth(&self, queue: QueueName) -> PortResult<QueueDepth> {
        let depth = self.0.depth(queue).await?;
        Ok(QueueDepth {
            waiting: depth.visible,
            in_flight: depth.in_flight,
            delayed: depth.delayed,
            oldest: depth.oldest,
        })
    }
}
