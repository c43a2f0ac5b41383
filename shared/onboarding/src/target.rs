use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::secret::Secret;
use recado_whatsapp::ProviderConfig;
use reqwest::Client;

/// An instance, with the tools to call its provider.
#[derive(Debug, Clone, Copy)]
pub struct OnboardingTarget<'a> {
    /// HTTP client that follows no redirects, because a redirect would carry the key to another host.
    pub http: &'a Client,
    /// Settings of the providers, with their base URLs.
    pub config: &'a ProviderConfig,
    /// Instance to connect or check.
    pub instance: &'a Instance,
    /// Function that returns a secret of this machine by the name of its setting.
    pub lookup_secret: fn(&str) -> Option<Secret>,
    /// Function that returns this machine's time.
    pub now: fn() -> Timestamp,
}

impl OnboardingTarget<'_> {
    /// Returns the instance's id, to be shown to people.
    pub(crate) fn instance_name(&self) -> &str {
        self.instance.id.as_str()
    }
}
