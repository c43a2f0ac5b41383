use crate::aws_social;
use crate::simulation::SimulatedOutbox;
use recado_ports::settings::VariableReader;
use std::time::Duration;

/// The settings of all providers: URLs, versions, time-out, and the simulation.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Base URL of Evolution API, such as `https://evolution.example.org`. An instance may have its own.
    pub evolution_base_url: Option<String>,
    /// Base URL of Meta's Graph API.
    pub meta_base_url: String,
    /// Version of Meta's Graph API, such as `v24.0`.
    pub meta_api_version: String,
    /// Base URL of 360dialog's API for Cloud numbers.
    pub dialog360_base_url: String,
    /// Client of AWS End User Messaging Social. It needs no credential except AWS's own. `None`: nothing is sent through
    /// AWS.
    pub aws_social: Option<aws_social::AwsSocialClient>,
    /// Version of the Graph API that AWS is asked to use. AWS does not accept every version that Meta has.
    pub aws_social_api_version: String,
    /// Hosts that tenants may name as base URLs besides public ones (`RECADO_ONBOARDING_HOSTS`): `evo.example`, or with `http://`
    /// and a port.
    pub listed_hosts: Vec<String>,
    /// Longest time of one request, from connecting to the last byte.
    pub timeout: Duration,
    /// Treatment of messages whose instance has no credential.
    pub simulation: Simulation,
}

impl Default for ProviderConfig {
    fn default() -> Self {
        Self {
            evolution_base_url: None,
            meta_base_url: "https://graph.facebook.com".to_owned(),
            meta_api_version: "v24.0".to_owned(),
            dialog360_base_url: "https://waba-v2.360dialog.io".to_owned(),
            aws_social: None,
            aws_social_api_version: "v24.0".to_owned(),
            listed_hosts: Vec::new(),
            timeout: Duration::from_secs(20),
            simulation: Simulation::Off,
        }
    }
}

impl ProviderConfig {
    /// Returns the installation's base URLs, to which keys are sent. Base URLs of single instances are not included.
    pub fn base_urls(&self) -> impl Iterator<Item = &str> {
        let own = [&self.meta_base_url, &self.dialog360_base_url];
        self.evolution_base_url.iter().chain(own).map(String::as_str)
    }

    /// Reads the provider settings, on AWS and on one machine alike. The simulation and the client for AWS are not
    /// settings of the environment: the caller sets them.
    pub fn from_environment(reader: &mut VariableReader, timeout: Duration) -> Self {
        let defaults = Self::default();
        let evolution_base_url = reader.read_base_url("EVOLUTION_API_URL");
        let mut url = |name: &str, default| reader.read_base_url(name).unwrap_or(default);
        // The name of an earlier delivery service.
        let earlier_dialog360 = url("WA_API_BASE", defaults.dialog360_base_url);
        Self {
            meta_base_url: url("META_BASE_URL", defaults.meta_base_url),
            dialog360_base_url: url("D360_BASE_URL", earlier_dialog360),
            evolution_base_url,
            meta_api_version: reader
                .read_text("META_API_VERSION")
                .unwrap_or(defaults.meta_api_version),
            aws_social_api_version: reader
                .read_text("RECADO_AWS_SOCIAL_API_VERSION")
                .unwrap_or(defaults.aws_social_api_version),
            aws_social: defaults.aws_social,
            listed_hosts: read_listed_hosts(reader),
            timeout,
            simulation: defaults.simulation,
        }
    }
}

/// Reads the hosts that tenants may name.
fn read_listed_hosts(reader: &mut VariableReader) -> Vec<String> {
    let hosts = reader.read_text("RECADO_ONBOARDING_HOSTS").unwrap_or_default();
    let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty());
    hosts.map(str::to_owned).collect()
}

/// The treatment of messages whose instance has no credential.
#[derive(Debug, Clone)]
pub enum Simulation {
    /// The messages wait until there is a credential.
    Off,
    /// The messages go to the simulated provider, which accepts every message and delivers none.
    WithoutCredentials(SimulatedOutbox),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (ProviderConfig, Vec<String>) {
        let mut reader = VariableReader::new(variables.iter().copied());
        let config = ProviderConfig::from_environment(&mut reader, Duration::from_secs(20));
        let problems = reader.into_problems().into_iter();
        (config, problems.map(|problem| problem.name).collect())
    }

    #[test]
    fn addresses_are_taken_without_their_last_slash_and_empty_ones_are_the_defaults() {
        let (config, problems) = read(&[
            ("EVOLUTION_API_URL", " http://evolution.example/ "),
            ("META_BASE_URL", ""),
            ("META_API_VERSION", "v25.0"),
        ]);
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(
            config.evolution_base_url.as_deref(),
            Some("http://evolution.example")
        );
        assert_eq!(config.meta_base_url, ProviderConfig::default().meta_base_url);
        assert_eq!(config.meta_api_version, "v25.0");
    }

    #[test]
    fn the_earlier_name_of_360dialogs_address_is_read_and_recados_own_wins() {
        let earlier = ("WA_API_BASE", "https://earlier.example/");
        let (config, _) = read(&[earlier]);
        assert_eq!(config.dialog360_base_url, "https://earlier.example");
        let (config, _) = read(&[earlier, ("D360_BASE_URL", "https://own.example")]);
        assert_eq!(config.dialog360_base_url, "https://own.example");
    }

    #[test]
    fn every_address_that_is_none_is_named() {
        let names = [
            "EVOLUTION_API_URL",
            "WA_API_BASE",
            "META_BASE_URL",
            "D360_BASE_URL",
        ];
        let (_, problems) = read(&names.map(|name| (name, "ftp://example.org")));
        assert_eq!(problems, names);
    }
}
