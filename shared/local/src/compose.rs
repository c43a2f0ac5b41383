//! Creates all parts of an installation on one machine, once at start.

use crate::environment::LocalEnvironment;
use crate::keyring::EnvironmentSecrets;
use anyhow::{Context, Result};
use recado_ai::Model;
use recado_domain::web_url::is_sent_unencrypted;
use recado_email::EmailClients;
use recado_embedded::{Clock, Embedded, EmbeddedSystem};
use recado_features::FEATURES;
use recado_http_client::{build_http_client, build_public_http_client};
use recado_pipeline::ports::Llm;
use recado_pipeline::{Components, Deps, Settings};
use recado_whatsapp::{ProviderConfig, SimulatedOutbox, Simulation, WhatsApp};
use std::sync::Arc;

/// The carriers of e-mail of an installation on one machine.
pub type LocalEmails = EmailClients<EnvironmentSecrets>;

/// The parts of the installation.
#[derive(Debug)]
pub struct LocalComposition {
    /// The ports that the use cases call.
    pub deps: Arc<Deps>,
    /// The carriers of e-mail.
    pub emails: LocalEmails,
    /// The store and the queues; the workers receive messages from it.
    pub embedded: Embedded,
    /// The messages that the simulated provider accepted. `None` if nothing is simulated.
    pub simulator: Option<SimulatedOutbox>,
}

/// Opens the data folder and creates the parts. With `simulate`, instances without a credential are simulated, provided
/// that the model has no key: real words never go to a simulated provider, nor simulated ones to a real provider.
pub async fn compose_components(environment: &LocalEnvironment, simulate: bool) -> Result<LocalComposition> {
    let embedded = Embedded::open_folder(&environment.data, Clock::from_system())
        .with_context(|| format!("cannot open the data folder {}", environment.data.display()))?;
    embedded.set_least_free(environment.least_free);
    embedded.set_event_retention(environment.settings.published_event_ttl);
    resume_from_backup(&embedded).await?;
    let elsewhere = environment
        .providers
        .base_urls()
        .chain([environment.model.base_url.as_str()])
        .chain(environment.model.other_base_urls.iter().map(String::as_str));
    for url in elsewhere.filter(|url| is_sent_unencrypted(url)) {
        tracing::warn!(
            url,
            "keys are sent there unencrypted: whoever is on the way can read them"
        );
    }
    let http = build_http_client()?;
    let llm = Model::new(
        http.clone(),
        &environment.model,
        EnvironmentSecrets,
        EmbeddedSystem,
    )?;
    let simulate = simulate && !llm.has_key().await?;
    let simulator = simulate.then(SimulatedOutbox::default);
    let providers = ProviderConfig {
        simulation: simulator
            .clone()
            .map_or(Simulation::Off, Simulation::WithoutCredentials),
        ..environment.providers.clone()
    };
    let emails = EmailClients::new(EnvironmentSecrets, http.clone(), environment.email.clone());
    let providers = WhatsApp::new(http, EnvironmentSecrets, EmbeddedSystem, providers)
        .with_public_client(build_public_http_client()?);
    let settings = Settings {
        public_url: environment.public_url.clone(),
        restored_at: embedded.find_restore_time().await?,
        ..environment.settings.clone()
    };
    let (store, queues) = (embedded.clone(), embedded.clone());
    let components = Components::new(store, queues, providers, llm, EmbeddedSystem, &FEATURES, settings);
    Ok(LocalComposition {
        deps: components.deps,
        emails,
        embedded,
        simulator,
    })
}

/// Doubts what was open when the backup was taken, if the data folder comes from one, and tells of it.
async fn resume_from_backup(embedded: &Embedded) -> Result<()> {
    let Some(doubted) = embedded.resume_from_backup().await? else {
        return Ok(());
    };
    tracing::warn!(
        ?doubted,
        "this data folder comes from a backup: what was open is looked for before it is sent, or waits for a person"
    );
    println!(
        "This data folder comes from a backup of {:.0}. {} messages are looked for before they are sent, {} owed answers wait \
         for a person (docs/server.md).",
        doubted.taken_at,
        doubted.messages + doubted.scheduled,
        doubted.answers
    );
    Ok(())
}
