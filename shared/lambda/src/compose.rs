//! Composition of a Lambda function's dependencies, done once at start, before the first request.

use crate::batch::MessageVisibility;
use recado_ai::{Claude, ClaudeError, ClaudeSettings, Model};
use recado_aws::{AwsConfig, AwsQueues, AwsSecrets, Clients, DynamoStore, OsSystem};
use recado_domain::dead_letter::QueueName;
use recado_http_client::{ClientError, build_http_client};
use recado_pipeline::ports::PortError;
use recado_pipeline::settings::{SettingError, list_ignored_variables};
use recado_pipeline::{Components, Settings};
use recado_whatsapp::{ProviderConfig, SimulatedOutbox, Simulation, WhatsApp};
use std::time::Duration;

/// The dependencies of the Lambda functions.
pub type AwsDeps = Components<
    DynamoStore<OsSystem>,
    AwsQueues<OsSystem>,
    WhatsApp<AwsSecrets<OsSystem>, OsSystem>,
    Model<AwsSecrets<OsSystem>, OsSystem>,
    OsSystem,
>;

/// The result of the composition.
#[derive(Debug)]
pub struct AwsComposition {
    /// Dependencies of the use cases.
    pub deps: AwsDeps,
    /// Secrets: credentials, the operators' token and the webhook master secrets.
    pub secrets: AwsSecrets<OsSystem>,
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
    Model(#[from] ClaudeError),
}

fn join_problems(problems: &[SettingError]) -> String {
    problems
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The settings read from the environment.
#[derive(Debug)]
struct LambdaEnvironment {
    settings: Settings,
    providers: ProviderConfig,
    anthropic_url: Option<String>,
    simulation: bool,
}

impl LambdaEnvironment {
    fn from_variables(variable: impl Fn(&str) -> Option<String>, problems: &mut Vec<SettingError>) -> Self {
        let get = |name: &str| {
            variable(name)
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        let settings = Settings::from_environment(get, problems);
        let mut providers = ProviderConfig::from_variables(get, problems);
        providers.timeout = settings.provider_timeout;
        let mut problem = |name: &str, what: &str| {
            problems.push(SettingError {
                name: name.to_owned(),
                what: what.to_owned(),
            });
        };
        let mut url = |name: &str| {
            let url = get(name).map(|url| url.trim_end_matches('/').to_owned());
            if url
                .as_deref()
                .is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://"))
            {
                problem(name, "must begin with http:// or https://");
            }
            url
        };
        let anthropic_url = url("ANTHROPIC_BASE_URL");
        let simulation = match get("RECADO_SIMULATION").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => {
                problem("RECADO_SIMULATION", "must be true or false");
                false
            }
        };
        Self {
            settings,
            providers,
            anthropic_url,
            simulation,
        }
    }

    fn provider_config(&self) -> ProviderConfig {
        ProviderConfig {
            simulation: if self.simulation {
                Simulation::WithoutCredentials(SimulatedOutbox::default())
            } else {
                Simulation::Off
            },
            ..self.providers.clone()
        }
    }

    fn claude_settings(&self) -> ClaudeSettings {
        let mut settings = ClaudeSettings::default();
        if let Some(url) = &self.anthropic_url {
            settings.base_url.clone_from(url);
        }
        settings
    }
}

/// Time that the simulated model takes for an answer, where simulation is allowed and there is no key.
const SIMULATED_LATENCY: Duration = Duration::from_millis(300);

/// Composes the dependencies of a function. `required` lists the variables (see [`recado_aws::variable`]) that the
/// function needs besides the table. The model's key is looked up here only if simulation is allowed.
pub async fn compose_aws_deps(required: &[&'static str]) -> Result<AwsComposition, ComposeError> {
    let mut problems = Vec::new();
    let environment = LambdaEnvironment::from_variables(|name| std::env::var(name).ok(), &mut problems);
    for (name, why) in list_ignored_variables(|name| std::env::var(name).ok()) {
        tracing::warn!(name, why, "this variable is ignored");
    }
    let required: Vec<&'static str> = [recado_aws::variable::TABLE]
        .into_iter()
        .chain(required.iter().copied())
        .collect();
    let config = AwsConfig::from_env(&required).unwrap_or_else(|missing| {
        let missing = missing.into_iter().map(|name| SettingError {
            name: name.to_owned(),
            what: "is not set".to_owned(),
        });
        problems.extend(missing);
        AwsConfig::default()
    });
    if !problems.is_empty() {
        return Err(ComposeError::Environment(problems));
    }
    let clients = Clients::load_from_env().await;
    let secrets = AwsSecrets::new(&clients, OsSystem);
    let http = build_http_client()?;
    let claude = Claude::new(
        http.clone(),
        environment.claude_settings(),
        secrets.clone(),
        OsSystem,
    )?;
    let llm = if environment.simulation {
        // If the store of secrets does not answer now, the function still starts, with the real model.
        match claude.has_key().await {
            Ok(false) => Model::Simulated(recado_ai::Simulated::new(OsSystem, SIMULATED_LATENCY)),
            Ok(true) | Err(_) => Model::Claude(claude),
        }
    } else {
        Model::Claude(claude)
    };
    let settings = environment.settings.clone();
    let table = config.table.clone().unwrap_or_default();
    let store = DynamoStore::new(
        clients.dynamodb.clone(),
        table,
        OsSystem,
        settings.config_ttl,
        settings.delivery_ttl,
    );
    let providers = ProviderConfig {
        aws_social: aws_social_client(&clients, config.bucket.as_deref()),
        ..environment.provider_config()
    };
    let providers = WhatsApp::new(http, secrets.clone(), OsSystem, providers);
    let queues = AwsQueues::new(clients, config, OsSystem);
    let deps = Components {
        store,
        queues,
        providers,
        llm,
        system: OsSystem,
        settings,
        retry_lock: recado_pipeline::RetryLock::default(),
    };
    Ok(AwsComposition { deps, secrets })
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

    fn read(variables: &[(&str, &str)]) -> (LambdaEnvironment, Vec<SettingError>) {
        let mut problems = Vec::new();
        let get = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        (LambdaEnvironment::from_variables(get, &mut problems), problems)
    }

    #[test]
    fn the_stack_passes_every_setting_that_is_read() {
        let template = include_str!("../../../template.yaml");
        let asked = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let variable = |name: &str| {
            asked.borrow_mut().insert(name.to_owned());
            None
        };
        let mut problems = Vec::new();
        Settings::from_environment(variable, &mut problems);
        let asked = asked.into_inner();
        let own: Vec<&String> = asked.iter().filter(|name| name.starts_with("RECADO_")).collect();
        assert!(own.len() > 15, "{own:?}");
        for name in own {
            assert!(template.contains(&format!("        {name}: !Ref ")), "{name}");
        }
    }

    #[test]
    fn nothing_is_simulated_unless_it_is_allowed() {
        assert!(matches!(
            read(&[]).0.provider_config().simulation,
            Simulation::Off
        ));
        assert!(matches!(
            read(&[("RECADO_SIMULATION", "false")])
                .0
                .provider_config()
                .simulation,
            Simulation::Off
        ));
        let allowed = read(&[("RECADO_SIMULATION", "true")])
            .0
            .provider_config()
            .simulation;
        assert!(matches!(allowed, Simulation::WithoutCredentials(_)));
    }

    #[test]
    fn empty_addresses_are_the_vendors_own_and_others_are_taken_without_their_last_slash() {
        let (environment, problems) = read(&[
            ("ANTHROPIC_BASE_URL", ""),
            ("META_BASE_URL", "https://graph.example/"),
        ]);
        assert!(problems.is_empty());
        assert_eq!(
            environment.claude_settings().base_url,
            "https://api.anthropic.com"
        );
        assert_eq!(
            environment.provider_config().meta_base_url,
            "https://graph.example"
        );
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let wrong = [
            ("RECADO_SIMULATION", "auto"),
            ("EVOLUTION_API_URL", "evo"),
            ("RECADO_STALE_SECONDS", "x"),
        ];
        let names: Vec<String> = read(&wrong).1.into_iter().map(|problem| problem.name).collect();
        assert_eq!(names.len(), 3);
        assert!(
            wrong
                .iter()
                .all(|(name, _)| names.iter().any(|known| known == name))
        );
    }
}
