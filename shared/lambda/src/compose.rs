//! Composition of a Lambda function's dependencies, done once at start, before the first request.

use crate::AwsDeps;
use crate::batch::MessageVisibility;
use crate::emf::{MetricsSettings, let_counts_wait, start_metrics};
use crate::push::PushNotifier;
use crate::read_ahead::read_ahead;
use crate::required_variables::{FunctionNeeds, PROVIDERS};
use crate::settings_record::read_variables;
use crate::social::SocialQueue;
use futures::future::BoxFuture;
use futures::future::join;
use recado_ai::{DocumentSettings, Model, ModelClientError, ModelSettings, ReadingLimits, ReadingPlace};
use recado_aws::{
    AwsConfig, AwsQueues, AwsSecrets, Clients, DynamoStore, OsSystem, OwnParameters, PushSender, variable,
};
use recado_domain::dead_letter::QueueName;
use recado_email::{CarrierSettings, EmailClients};
use recado_http::WebhookLimits;
use recado_http_client::{ClientError, build_http_client, build_public_http_client};
use recado_pipeline::ports::PortError;
use recado_pipeline::settings::{SettingError, VariableReader};
use recado_pipeline::{Components, ExclusiveTurns, Features, Settings};
use recado_traces::TraceSettings;
use recado_whatsapp::{ProviderConfig, SimulatedOutbox, Simulation, WhatsApp};

/// The result of the composition.
#[derive(Debug)]
pub struct AwsComposition {
    /// Dependencies of the use cases.
    pub deps: AwsDeps,
    /// Secrets: credentials, the operators' token and the webhook master secrets.
    pub secrets: AwsSecrets<OsSystem>,
    /// The settings.
    pub environment: LambdaEnvironment,
    /// The carriers of e-mail.
    pub emails: EmailClients<AwsSecrets<OsSystem>>,
    /// Client of outgoing requests.
    pub http: reqwest::Client,
    /// The sender of news to push connections; `None` if the function is not given the WebSocket API.
    pub push: Option<PushNotifier>,
}

/// The reason why a function cannot start. All unusable variables are named at once.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// Environment variables are missing or unusable.
    #[error("the environment is not usable: {}", join_problems(.0))]
    Environment(Vec<SettingError>),
    /// The HTTP client could not be built.
    #[error(transparent)]
    Http(#[from] ClientError),
    /// The model's client could not be built.
    #[error(transparent)]
    Model(#[from] ModelClientError),
}

fn join_problems(problems: &[SettingError]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The settings of the functions, read from the environment.
#[derive(Debug)]
pub struct LambdaEnvironment {
    /// The limits of a webhook.
    pub webhook_limits: WebhookLimits,
    /// `RECADO_PUBLIC_URL`: the base URL at which providers reach the installation.
    pub public_url: Option<String>,
    /// `RECADO_PUBLISH_EVENTS`: `false` if the stack publishes no events.
    pub publishes_events: bool,
    /// `RECADO_PUSH_URL`: the WebSocket API that tells pages of news. `None` also where no events are published.
    pub push_url: Option<String>,
    /// `RECADO_FILE_ORIGIN`: the origin from which browsers read the files of messages.
    pub file_origin: Option<String>,
    /// The queue of AWS End User Messaging Social.
    pub social: SocialQueue,
    email: CarrierSettings,
    metrics: MetricsSettings,
    settings: Settings,
    providers: ProviderConfig,
    model: ModelSettings,
    config: AwsConfig,
    simulation: bool,
    log_requests: bool,
}

impl LambdaEnvironment {
    /// Reads all settings. `required` lists the variables that the function needs besides the table.
    pub(crate) fn from_variables(reader: &mut VariableReader, required: &[&str]) -> Self {
        let settings = Settings::from_environment(reader);
        let providers = ProviderConfig::from_environment(reader, settings.provider_timeout.unsigned_abs());
        let required = [&[recado_aws::variable::TABLE], required].concat();
        // They are read when they are needed.
        reader.add_known_names(&recado_aws::OWN_SECRET_VARIABLES);
        // The export began with the log. Here the problems of its settings are found.
        let _begun = TraceSettings::from_environment(reader);
        let publishes_events = read_publishing(reader);
        Self {
            webhook_limits: WebhookLimits::from_environment(reader),
            public_url: reader.read_base_url("RECADO_PUBLIC_URL"),
            publishes_events,
            push_url: read_push_url(reader).filter(|_| publishes_events),
            file_origin: reader.read_base_url(variable::FILE_ORIGIN),
            social: SocialQueue::from_environment(reader),
            email: CarrierSettings::from_environment(reader),
            metrics: MetricsSettings::from_environment(reader),
            settings,
            providers,
            model: ModelSettings {
                documents: limit_document_reading(reader),
                ..ModelSettings::from_environment(reader)
            },
            config: AwsConfig::from_environment(reader, &required),
            simulation: reader.read_simulation().unwrap_or(false),
            log_requests: reader.read_bool("RECADO_LOG_AWS_REQUESTS", false),
        }
    }

    /// Returns the settings of the providers.
    pub fn provider_config(&self) -> ProviderConfig {
        ProviderConfig {
            simulation: if self.simulation {
                Simulation::WithoutCredentials(SimulatedOutbox::default())
            } else {
                Simulation::Off
            },
            ..self.providers.clone()
        }
    }
}

/// Returns whether events are published.
fn read_publishing(reader: &mut VariableReader) -> bool {
    let what = "must be on or off";
    reader.read_parsed(variable::PUBLISH_EVENTS, true, what, |text| match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    })
}

/// Returns the URL of the WebSocket API. It becomes a part of the console's content security policy.
fn read_push_url(reader: &mut VariableReader) -> Option<String> {
    let what = "must begin with wss:// and have no spaces, commas and semicolons";
    reader.read_parsed(variable::PUSH_URL, None, what, |url| {
        let is_socket = url.starts_with("wss://") || url.starts_with("ws://");
        let is_one_source = !url.contains([' ', ',', ';', '?']);
        (is_socket && is_one_source).then(|| Some(url.trim_end_matches('/').to_owned()))
    })
}

/// Returns how documents are read: on a thread, since a function does one thing at a time; PDF documents in a process of their own, with
/// limits by the memory of the function. What is counted is addresses, of which the stack and the program take many without using the
/// memory.
fn limit_document_reading(reader: &mut VariableReader) -> DocumentSettings {
    let name = "AWS_LAMBDA_FUNCTION_MEMORY_SIZE";
    let memory: u64 = reader.read_parsed(name, 256, "must be a number of MiB", |text| text.parse().ok());
    DocumentSettings {
        place: ReadingPlace::Thread,
        limits: ReadingLimits {
            memory_mib: memory + 256,
            seconds: 10,
        },
        ..DocumentSettings::default()
    }
}

/// Composes the dependencies of a function with these needs, which asks `features`. What its first run needs is read here, side by side.
///
/// The future is boxed here, so that it is compiled with this crate.
pub fn compose_aws_deps<'a>(
    needs: &'a FunctionNeeds,
    features: &'static Features,
) -> BoxFuture<'a, Result<AwsComposition, ComposeError>> {
    Box::pin(compose_deps(needs, features))
}

async fn compose_deps(
    needs: &FunctionNeeds,
    features: &'static Features,
) -> Result<AwsComposition, ComposeError> {
    let mut reader = read_variables(std::env::vars_os());
    let environment = LambdaEnvironment::from_variables(&mut reader, &needs.list_required_variables());
    for (name, why) in reader.list_warnings() {
        tracing::warn!(name, why, "this variable is ignored");
    }
    let problems = reader.into_problems();
    if !problems.is_empty() {
        return Err(ComposeError::Environment(problems));
    }
    start_metrics(&environment.metrics);
    let clients = Clients::load_from_env(environment.log_requests).await?;
    let composed = compose_over_clients(needs, features, environment, clients)?;
    let runtime_api = std::env::var("AWS_LAMBDA_RUNTIME_API").ok();
    let told = let_counts_wait(runtime_api.as_deref());
    join(told, read_ahead(needs, &composed.deps.store, &composed.secrets)).await;
    Ok(composed)
}

/// Composes the dependencies over the SDK's clients. Nothing is sent.
fn compose_over_clients(
    needs: &FunctionNeeds,
    features: &'static Features,
    environment: LambdaEnvironment,
    clients: Clients,
) -> Result<AwsComposition, ComposeError> {
    let own = OwnParameters {
        prefix: environment.config.parameter_prefix.clone(),
        secrets: needs.own_secrets.concat(),
    };
    let secrets = AwsSecrets::new(&clients, own, OsSystem);
    let http = build_http_client()?;
    let llm = Model::new(http.clone(), &environment.model, secrets.clone(), OsSystem)?;
    let config = environment.config.clone();
    let settings = Settings {
        public_url: environment.public_url.clone(),
        ..environment.settings.clone()
    };
    let emails = EmailClients::new(secrets.clone(), http.clone(), environment.email.clone());
    let store = DynamoStore::new(
        clients.dynamodb.clone(),
        config.table.clone().unwrap_or_default(),
        OsSystem,
        settings.config_ttl.unsigned_abs(),
    );
    let speaks = needs.read.contains(&PROVIDERS);
    let providers = ProviderConfig {
        aws_social: speaks
            .then(|| aws_social_client(&clients, config.bucket.as_deref()))
            .flatten(),
        ..environment.provider_config()
    };
    let providers = WhatsApp::new(http.clone(), secrets.clone(), OsSystem, providers)
        .with_public_client(build_public_http_client()?);
    let push = environment.push_url.as_deref();
    let push =
        push.map(|url| PushNotifier::new(PushSender::new(&clients.shared, url, environment.log_requests)));
    let queues = AwsQueues::new(clients, config, OsSystem);
    let mut deps = Components::new(store, queues, providers, llm, OsSystem, features, settings);
    deps.deps_mut().exclusive_turns = ExclusiveTurns::one_at_a_time();
    Ok(AwsComposition {
        deps,
        secrets,
        environment,
        emails,
        http,
        push,
    })
}

/// Builds the client that sends through AWS End User Messaging Social; `None` if that provider is not built in.
#[cfg(feature = "aws-social")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature there is none")]
fn aws_social_client(
    clients: &Clients,
    bucket: Option<&str>,
) -> Option<recado_whatsapp::aws_social::AwsSocialClient> {
    Some(crate::social_files::build_social_client(clients, bucket))
}

#[cfg(not(feature = "aws-social"))]
fn aws_social_client(_: &Clients, _: Option<&str>) -> Option<recado_whatsapp::aws_social::AwsSocialClient> {
    None
}

/// The visibility of messages received from one of the queues.
#[derive(Debug, Clone, Copy)]
pub struct QueueVisibility<'a> {
    /// The queues.
    pub queues: &'a AwsQueues<OsSystem>,
    /// Queue from which the messages were received.
    pub queue: QueueName,
}

impl MessageVisibility for QueueVisibility<'_> {
    type Error = PortError;

    async fn change_visibility(&self, receipt: &str, seconds: u32) -> Result<(), PortError> {
        self.queues.change_visibility(self.queue, receipt, seconds).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (LambdaEnvironment, VariableReader) {
        let mut reader = VariableReader::new(variables.iter().copied());
        (LambdaEnvironment::from_variables(&mut reader, &[]), reader)
    }

    #[test]
    fn the_stack_takes_every_setting_that_is_read() {
        let template = include_str!("../../../template.yaml");
        let record = include_str!("../../../infra/settings.json");
        let mut reader = VariableReader::default();
        Settings::from_environment(&mut reader);
        let own: Vec<&str> = reader
            .known_names()
            .filter(|name| name.starts_with("RECADO_"))
            .collect();
        assert!(own.len() > 15, "{own:?}");
        for name in own {
            let is_variable = template.contains(&format!(" {name}: !If "));
            let is_setting = record.contains(&format!("\"{name}\": "));
            assert!(is_variable != is_setting, "{name} is given in one way");
        }
    }

    #[test]
    fn every_variable_of_the_stack_is_known() {
        let template = include_str!("../../../template.yaml");
        // The record is read before the settings.
        let names = template
            .lines()
            .filter_map(|line| line.trim().split(':').next())
            .filter(|name| name.starts_with("RECADO_") && *name != "RECADO_SETTINGS");
        let set: Vec<(&str, &str)> = names.map(|name| (name, "x")).collect();
        assert!(set.len() > 20, "{set:?}");
        let (_, reader) = read(&set);
        assert_eq!(reader.list_warnings(), []);
    }

    #[test]
    fn nothing_is_simulated_unless_it_is_allowed() {
        let simulation = |set: &[(&str, &str)]| read(set).0.provider_config().simulation;
        assert!(matches!(simulation(&[]), Simulation::Off));
        assert!(matches!(
            simulation(&[("RECADO_SIMULATION", "off")]),
            Simulation::Off
        ));
        assert!(matches!(
            simulation(&[("RECADO_SIMULATION", "auto")]),
            Simulation::WithoutCredentials(_)
        ));
    }

    #[test]
    fn pages_connect_to_no_websocket_where_no_events_are_published() {
        let push = ("RECADO_PUSH_URL", "wss://push.example/live");
        for (set, publishes_events) in [(None, true), (Some("on"), true), (Some("off"), false)] {
            let variables: Vec<(&str, &str)> = set
                .map(|word| ("RECADO_PUBLISH_EVENTS", word))
                .into_iter()
                .chain([push])
                .collect();
            let (environment, _) = read(&variables);
            assert_eq!(environment.publishes_events, publishes_events, "{set:?}");
            assert_eq!(environment.push_url.is_some(), publishes_events, "{set:?}");
        }
    }

    #[test]
    fn empty_addresses_are_the_vendors_own_and_others_are_taken_without_their_last_slash() {
        let (environment, reader) = read(&[
            ("RECADO_TABLE", "records"),
            ("ANTHROPIC_BASE_URL", ""),
            ("META_BASE_URL", "https://graph.example/"),
        ]);
        assert_eq!(reader.into_problems(), []);
        assert_eq!(environment.model.base_url, "https://api.anthropic.com");
        assert_eq!(
            environment.provider_config().meta_base_url,
            "https://graph.example"
        );
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let wrong = [
            ("RECADO_SIMULATION", "true"),
            ("EVOLUTION_API_URL", "evo"),
            ("RECADO_STALE_SECONDS", "x"),
            ("RECADO_WEBHOOK_MAX_BYTES", "0"),
            ("RECADO_TABLE", ""),
            ("RECADO_PUSH_URL", "https://push.example; script-src *"),
            ("RECADO_PUBLISH_EVENTS", "no"),
        ];
        let problems = read(&wrong).1.into_problems().into_iter();
        let names: Vec<String> = problems.map(|problem| problem.name).collect();
        assert_eq!(names.len(), wrong.len());
        assert!(
            wrong
                .iter()
                .all(|(name, _)| names.iter().any(|known| known == name))
        );
    }
}
