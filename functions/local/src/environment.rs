//! The settings of one machine, read once at start.

mod variables;

use crate::record::RecordMode;
use crate::server::{ServerLimits, TrustedProxies};
use recado_domain::secret::Secret;
use recado_pipeline::Settings;
use recado_pipeline::settings::SettingError;
use recado_whatsapp::ProviderConfig;
use recado_whatsapp::webhook::WebhookKeys;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use variables::VariableReader;

/// The settings that are not in `recado.toml`.
#[derive(Debug, Clone)]
pub(crate) struct LocalEnvironment {
    /// `RECADO_ADDR`: the address to listen on.
    pub(crate) address: SocketAddr,
    /// `RECADO_DATA`: the data folder.
    pub(crate) data: PathBuf,
    /// `RECADO_CONFIG`: the configuration that is applied at start. `None`: `recado.toml` in the current folder, else
    /// the sample.
    pub(crate) config: Option<PathBuf>,
    /// `RECADO_PUBLIC_URL`: the base URL at which providers reach this machine.
    pub(crate) public_url: Option<String>,
    /// `RECADO_TOKEN`: the operators' token.
    pub(crate) token: Option<Secret>,
    /// `RECADO_WEBHOOK_SECRET`: the master that webhook secrets are derived from.
    pub(crate) master: Option<Secret>,
    /// `RECADO_WEBHOOK_SECRET_OLD`: the master before it, accepted while the master is being replaced.
    pub(crate) master_old: Option<Secret>,
    /// The other secrets that prove webhooks, from the settings that the providers name for them.
    pub(crate) webhook: WebhookKeys,
    /// The providers' settings, such as their base URLs and API versions.
    pub(crate) providers: ProviderConfig,
    /// `ANTHROPIC_BASE_URL`: the base URL of the model's API.
    pub(crate) anthropic_url: Option<String>,
    /// `RECADO_SIMULATION`: `auto` (`true`) simulates everything that has no credentials, `off` (`false`) nothing.
    pub(crate) simulation: bool,
    /// `RECADO_SIMULATED_LATENCY_MS`: the time that the simulated model takes.
    pub(crate) simulated_latency: Duration,
    /// `RECADO_WEBHOOK_MAX_BYTES`: the largest webhook.
    pub(crate) webhook_bytes_max: usize,
    /// The limits of connections.
    pub(crate) server: ServerLimits,
    /// `RECADO_RECORD`: the part of each webhook that is recorded.
    pub(crate) record: RecordMode,
    /// `RECADO_RECORD_DIR`: the folder of the recordings.
    pub(crate) record_folder: PathBuf,
    /// Times and limits of the use cases.
    pub(crate) settings: Settings,
}

/// The largest webhook that is accepted without a setting, in bytes. Meta sends up to 3 MB; AWS carries 6 MB.
const WEBHOOK_BYTES_MAX: usize = 6_000_000;

impl LocalEnvironment {
    /// Reads all settings from `variable`. The error lists all settings that are wrong.
    pub(crate) fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<SettingError>> {
        let mut problems = Vec::new();
        let settings = Settings::from_environment(&variable, &mut problems);
        let mut providers = ProviderConfig::from_variables(&variable, &mut problems);
        providers.timeout = settings.provider_timeout;
        let mut variables = VariableReader { variable, problems };
        let environment = Self {
            address: read_address(&mut variables),
            data: variables.read_path("RECADO_DATA", ".recado"),
            config: variables.read_text("RECADO_CONFIG").map(PathBuf::from),
            public_url: variables.read_base_url("RECADO_PUBLIC_URL"),
            token: variables.read_secret("RECADO_TOKEN"),
            master: variables.read_secret("RECADO_WEBHOOK_SECRET"),
            master_old: variables.read_secret("RECADO_WEBHOOK_SECRET_OLD"),
            webhook: variables.read_webhook_keys(),
            providers,
            anthropic_url: variables.read_base_url("ANTHROPIC_BASE_URL"),
            simulation: read_simulation(&mut variables),
            simulated_latency: read_simulated_latency(&mut variables),
            webhook_bytes_max: read_webhook_bytes_max(&mut variables),
            server: read_server_limits(&mut variables),
            record: read_record_mode(&mut variables),
            record_folder: variables.read_path("RECADO_RECORD_DIR", "recorded"),
            settings,
        };
        if variables.problems.is_empty() {
            Ok(environment)
        } else {
            Err(variables.problems)
        }
    }
}

fn read_address(variables: &mut VariableReader<impl Fn(&str) -> Option<String>>) -> SocketAddr {
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 8080));
    let what = "must be an address and a port, such as 127.0.0.1:8080";
    variables.read_parsed("RECADO_ADDR", local, what, |text| text.parse().ok())
}

fn read_simulation(variables: &mut VariableReader<impl Fn(&str) -> Option<String>>) -> bool {
    let what = "must be auto or off";
    variables.read_parsed("RECADO_SIMULATION", true, what, |text| match text {
        "auto" => Some(true),
        "off" => Some(false),
        _ => None,
    })
}

fn read_simulated_latency(variables: &mut VariableReader<impl Fn(&str) -> Option<String>>) -> Duration {
    let (usual, what) = (Duration::from_millis(300), "must be a number of milliseconds");
    variables.read_parsed("RECADO_SIMULATED_LATENCY_MS", usual, what, |text| {
        text.parse().ok().map(Duration::from_millis)
    })
}

fn read_webhook_bytes_max(variables: &mut VariableReader<impl Fn(&str) -> Option<String>>) -> usize {
    let what = "must be a number of bytes above 0";
    variables.read_parsed("RECADO_WEBHOOK_MAX_BYTES", WEBHOOK_BYTES_MAX, what, |text| {
        text.parse().ok().filter(|bytes| *bytes > 0)
    })
}

fn read_server_limits(variables: &mut VariableReader<impl Fn(&str) -> Option<String>>) -> ServerLimits {
    let usual = ServerLimits::default();
    let count = |text: &str| text.parse().ok().filter(|count| *count > 0);
    let above = "must be a number above 0";
    let time = |text: &str| {
        let seconds = text
            .parse()
            .ok()
            .filter(|seconds| (0.1..=3600.0).contains(seconds));
        seconds.map(Duration::from_secs_f64)
    };
    let seconds = "must be a number of seconds from 0.1 to 3600";
    let networks = "must be addresses or networks, separated by commas, such as 10.0.0.7,192.0.2.0/24";
    ServerLimits {
        connections: variables.read_parsed("RECADO_CONNECTIONS_MAX", usual.connections, above, count),
        per_address: variables.read_parsed("RECADO_CONNECTIONS_PER_ADDRESS", usual.per_address, above, count),
        header_time: variables.read_parsed("RECADO_HEADER_TIMEOUT_SECONDS", usual.header_time, seconds, time),
        body_time: variables.read_parsed("RECADO_BODY_TIMEOUT_SECONDS", usual.body_time, seconds, time),
        proxies: variables.read_parsed(
            "RECADO_TRUSTED_PROXIES",
            usual.proxies,
            networks,
            TrustedProxies::parse_networks,
        ),
    }
}

fn read_record_mode(variables: &mut VariableReader<impl Fn(&str) -> Option<String>>) -> RecordMode {
    let what = "must be off, redacted or full";
    variables.read_parsed("RECADO_RECORD", RecordMode::Off, what, |text| match text {
        "off" => Some(RecordMode::Off),
        "redacted" => Some(RecordMode::Redacted),
        "full" => Some(RecordMode::Full),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: &str = include_str!("../../../docs/settings.md");

    #[test]
    fn the_settings_page_names_every_setting_that_is_read() {
        let asked = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let variable = |name: &str| {
            asked.borrow_mut().insert(name.to_owned());
            None
        };
        LocalEnvironment::from_variables(variable).unwrap();
        let asked = asked.into_inner();
        assert!(asked.contains("RECADO_ADDR") && asked.contains("RECADO_TURNS_BACKOFF"));
        let (own, earlier): (Vec<&String>, Vec<&String>) =
            asked.iter().partition(|name| !name.starts_with("WA_"));
        let table = SETTINGS.split("## Settings on one machine").nth(1).unwrap();
        let table = table.split("## Parameters on AWS").next().unwrap();
        let rows: String = table.lines().filter(|line| line.starts_with('|')).collect();
        for name in own {
            assert!(rows.contains(&format!("`{name}`")), "{name} has no row");
        }
        for name in earlier {
            assert!(table.contains(&format!("`{name}`")), "{name} is not explained");
        }
    }

    /// What the settings page says is the default of each setting, where that is a value.
    fn said() -> std::collections::BTreeMap<String, String> {
        let table = SETTINGS.split("## Settings on one machine").nth(1).unwrap();
        let table = table.split("## Parameters on AWS").next().unwrap();
        let mut said = std::collections::BTreeMap::new();
        for row in table.lines().filter(|line| line.starts_with("| `")) {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let names: Vec<&str> = cells[0].split('`').skip(1).step_by(2).collect();
            let is_one =
                cells[1].starts_with('`') && cells[1].ends_with('`') && cells[1].matches('`').count() == 2;
            let values: Vec<&str> = if is_one {
                vec![cells[1]; names.len()]
            } else {
                cells[1].split(", ").collect()
            };
            for (name, value) in names.into_iter().zip(values) {
                let is_value =
                    value.starts_with('`') && value.ends_with('`') && value.matches('`').count() == 2;
                if is_value || value.parse::<f64>().is_ok() {
                    said.insert(name.to_owned(), value.trim_matches('`').to_owned());
                }
            }
        }
        said
    }

    #[test]
    fn the_settings_page_says_each_default_as_it_is() {
        let said = said();
        assert!(said.len() > 25, "{said:?}");
        let told = LocalEnvironment::from_variables(|name| said.get(name).cloned()).unwrap();
        let usual = LocalEnvironment::from_variables(|_| None).unwrap();
        assert_eq!(told.settings, usual.settings);
        assert_eq!(format!("{told:?}"), format!("{usual:?}"));
    }

    #[test]
    fn an_empty_environment_is_enough() {
        let environment = LocalEnvironment::from_variables(|_| None).unwrap();
        assert!(environment.address.ip().is_loopback());
        assert!(environment.simulation);
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let variable = |name: &str| {
            let wrong = [
                "RECADO_ADDR",
                "META_BASE_URL",
                "D360_BASE_URL",
                "RECADO_SIMULATION",
                "RECADO_STALE_SECONDS",
            ];
            wrong.contains(&name).then(|| "nonsense".to_owned())
        };
        let mut names: Vec<String> = LocalEnvironment::from_variables(variable)
            .unwrap_err()
            .into_iter()
            .map(|problem| problem.name)
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
                "D360_BASE_URL",
                "META_BASE_URL",
                "RECADO_ADDR",
                "RECADO_SIMULATION",
                "RECADO_STALE_SECONDS"
            ]
        );
    }

    #[test]
    fn several_app_secrets_are_accepted_at_once() {
        let variable = |name: &str| (name == "META_APP_SECRET").then(|| "old, new,".to_owned());
        let read = LocalEnvironment::from_variables(variable).unwrap();
        assert_eq!(read.webhook.named_secrets("META_APP_SECRET").len(), 2);
    }
}
