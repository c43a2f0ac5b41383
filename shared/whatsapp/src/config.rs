use crate::aws_social;
use crate::simulation::SimulatedOutbox;
use std::time::Duration;

/// Where the providers are, and what to do without them.
#[derive(Debug, Clone)]
pub struct ProviderConfig {
    /// Evolution API's base URL, such as `https://evolution.example.org`; an instance may name its own.
    pub evolution_base_url: Option<String>,
    /// Meta's Graph API.
    pub meta_base_url: String,
    /// The Graph API's version.
    pub meta_api_version: String,
    /// 360dialog's API for Cloud numbers.
    pub dialog360_base_url: String,
    /// AWS End User Messaging Social. It needs no credential but AWS's own; without a client nothing is sent by it.
    pub aws_social: Option<aws_social::Client>,
    /// The Graph API's version that AWS is asked for: not every one that Meta has.
    pub aws_social_api_version: String,
    /// How long one request may take, from connecting to the last byte.
    pub timeout: Duration,
    /// What becomes of messages of instances that have no credential.
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
            timeout: Duration::from_secs(20),
            simulation: Simulation::Off,
        }
    }
}

/// What becomes of messages of instances that have no credential.
#[derive(Debug, Clone)]
pub enum Simulation {
    /// They wait until there is one.
    Off,
    /// They go to the simulated provider, which accepts everything and delivers nothing.
    WithoutCredentials(SimulatedOutbox),
}
