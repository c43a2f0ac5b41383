//! The settings of one machine, read once at start.

use recado_domain::secret::Secret;
use recado_pipeline::Settings;
use recado_pipeline::settings::Problem;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Every setting that is not in `recado.toml`.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    /// `RECADO_ADDR`: where to listen.
    pub(crate) address: SocketAddr,
    /// `RECADO_DATA`: the data folder.
    pub(crate) data: PathBuf,
    /// `RECADO_CONFIG`: the configuration that is applied at start; absent: `recado.toml` here, else the sample.
    pub(crate) config: Option<PathBuf>,
    /// `RECADO_PUBLIC_URL`: how providers reach this machine.
    pub(crate) public_url: Option<String>,
    /// `RECADO_TOKEN`: the operators' token.
    pub(crate) token: Option<Secret>,
    /// `RECADO_WEBHOOK_SECRET`: the master that webhook secrets are derived from.
    pub(crate) master: Option<Secret>,
    /// `RECADO_WEBHOOK_SECRET_OLD`: the one before it, accepted while it is being replaced.
    pub(crate) master_old: Option<Secret>,
    /// `META_APP_SECRET`: one or more, separated by commas.
    pub(crate) meta_app_secrets: Vec<Secret>,
    /// `META_VERIFY_TOKEN`.
    pub(crate) meta_verify_token: Option<Secret>,
    /// `EVOLUTION_API_URL`.
    pub(crate) evolution_url: Option<String>,
    /// `META_BASE_URL`.
    pub(crate) meta_url: Option<String>,
    /// `META_API_VERSION`.
    pub(crate) meta_version: Option<String>,
    /// `ANTHROPIC_BASE_URL`.
    pub(crate) anthropic_url: Option<String>,
    /// `RECADO_SIMULATION`: `auto` simulates what has no credentials, `off` nothing.
    pub(crate) simulation: bool,
    /// `RECADO_SIMULATED_LATENCY_MS`: how long the simulated model takes.
    pub(crate) simulated_latency: Duration,
    /// `RECADO_WEBHOOK_MAX_BYTES`.
    pub(crate) webhook_bytes_max: usize,
    /// Times and limits.
    pub(crate) settings: Settings,
}

/// The largest webhook that is taken unless a setting says otherwise. Meta sends up to 3 MB; AWS carries 6 MB.
const WEBHOOK_BYTES_MAX: usize = 6_000_000;

impl Environment {
    /// Reads everything from `variable`; names everything that is wrong.
    pub(crate) fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<Problem>> {
        let get = |name: &str| {
            variable(name)
                .map(|text| text.trim().to_owned())
                .filter(|text| !text.is_empty())
        };
        let mut problems = Vec::new();
        let settings = Settings::read(get, &mut problems);
        let mut problem = |name: &str, what: &str| {
            problems.push(Problem {
                name: name.to_owned(),
                what: what.to_owned(),
            });
        };
        let number = |name: &str, default: u64| match get(name) {
            None => Some(default),
            Some(text) => text.parse::<u64>().ok(),
        };
        let address = get("RECADO_ADDR")
            .unwrap_or_else(|| "127.0.0.1:8080".to_owned())
            .parse();
        if address.is_err() {
            problem(
                "RECADO_ADDR",
                "must be an address and a port, such as 127.0.0.1:8080",
            );
        }
        let url = |name: &str| get(name).map(|url| url.trim_end_matches('/').to_owned());
        for name in [
            "RECADO_PUBLIC_URL",
            "EVOLUTION_API_URL",
            "META_BASE_URL",
            "ANTHROPIC_BASE_URL",
        ] {
            if url(name).is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
                problem(name, "must begin with http:// or https://");
            }
        }
        let simulation = get("RECADO_SIMULATION").unwrap_or_else(|| "auto".to_owned());
        if !["auto", "off"].contains(&simulation.as_str()) {
            problem("RECADO_SIMULATION", "must be auto or off");
        }
        let latency = number("RECADO_SIMULATED_LATENCY_MS", 300);
        if latency.is_none() {
            problem("RECADO_SIMULATED_LATENCY_MS", "must be a number of milliseconds");
        }
        let bytes = number("RECADO_WEBHOOK_MAX_BYTES", WEBHOOK_BYTES_MAX as u64);
        let bytes = bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|bytes| *bytes > 0);
        if bytes.is_none() {
            problem("RECADO_WEBHOOK_MAX_BYTES", "must be a number of bytes above 0");
        }
        let secret = |name: &str| get(name).and_then(|text| Secret::new(&text));
        let several = |name: &str| get(name).map(|text| text.split(',').filter_map(Secret::new).collect());
        let (Ok(address), true) = (address, problems.is_empty()) else {
            return Err(problems);
        };
        Ok(Self {
            address,
            data: get("RECADO_DATA").map_or_else(|| PathBuf::from(".recado"), PathBuf::from),
            config: get("RECADO_CONFIG").map(PathBuf::from),
            public_url: url("RECADO_PUBLIC_URL"),
            token: secret("RECADO_TOKEN"),
            master: secret("RECADO_WEBHOOK_SECRET"),
            master_old: secret("RECADO_WEBHOOK_SECRET_OLD"),
            meta_app_secrets: several("META_APP_SECRET").unwrap_or_default(),
            meta_verify_token: secret("META_VERIFY_TOKEN"),
            evolution_url: url("EVOLUTION_API_URL"),
            meta_url: url("META_BASE_URL"),
            meta_version: get("META_API_VERSION"),
            anthropic_url: url("ANTHROPIC_BASE_URL"),
            simulation: simulation == "auto",
            simulated_latency: Duration::from_millis(latency.unwrap_or_default()),
            webhook_bytes_max: bytes.unwrap_or(WEBHOOK_BYTES_MAX),
            settings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_environment_is_enough() {
        let environment = Environment::read(|_| None).unwrap();
        assert!(environment.address.ip().is_loopback());
        assert!(environment.simulation);
    }

    #[test]
    fn everything_that_is_wrong_is_named_at_once() {
        let variable = |name: &str| {
            let wrong = [
                "RECADO_ADDR",
                "META_BASE_URL",
                "RECADO_SIMULATION",
                "RECADO_STALE_SECONDS",
            ];
            wrong.contains(&name).then(|| "nonsense".to_owned())
        };
        let mut names: Vec<String> = Environment::read(variable)
            .unwrap_err()
            .into_iter()
            .map(|problem| problem.name)
            .collect();
        names.sort();
        assert_eq!(
            names,
            [
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
        assert_eq!(Environment::read(variable).unwrap().meta_app_secrets.len(), 2);
    }
}
