//! The choice of the model that an installation uses.

use crate::claude::{Claude, ClaudeError, ClaudeSettings};
use crate::simulated::Simulated;
use recado_pipeline::ports::{Llm, LlmError, LlmReply, LlmRequest, Secrets, System};
use recado_pipeline::settings::VariableReader;
use std::time::Duration;

/// The settings of the models.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Base URL of Claude's API (`ANTHROPIC_BASE_URL`).
    pub base_url: String,
    /// Time that the simulated model takes for an answer (`RECADO_SIMULATED_LATENCY_MS`).
    pub simulated_latency: Duration,
}

impl ModelSettings {
    /// Reads the settings from the environment.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let base_url = reader.read_base_url("ANTHROPIC_BASE_URL");
        let (default, what) = (Duration::from_millis(300), "must be a number of milliseconds");
        let parse = |text: &str| text.parse().ok().map(Duration::from_millis);
        Self {
            base_url: base_url.unwrap_or_else(|| ClaudeSettings::default().base_url),
            simulated_latency: reader.read_parsed("RECADO_SIMULATED_LATENCY_MS", default, what, parse),
        }
    }
}

/// The model that was chosen at start. The list is closed: a new model is a new variant.
#[derive(Debug, Clone)]
pub enum Model<S, A> {
    /// Claude. Without a key, every call fails with [`LlmError::Credentials`], and turns wait until a key is set.
    Claude(Claude<S, A>),
    /// The simulated model.
    Simulated(Simulated<A>),
}

impl<S: Secrets, A: System> Model<S, A> {
    /// Chooses the model of an installation: the simulated one if `simulate` is `true` and Claude's key does not exist,
    /// else Claude. If the store of secrets does not answer now, Claude is chosen.
    pub async fn choose_model(
        http: reqwest::Client,
        settings: &ModelSettings,
        simulate: bool,
        secrets: S,
        system: A,
    ) -> Result<Self, ClaudeError> {
        let of_claude = ClaudeSettings {
            base_url: settings.base_url.clone(),
            ..ClaudeSettings::default()
        };
        let claude = Claude::new(http, of_claude, secrets, system)?;
        if simulate && matches!(claude.has_key().await, Ok(false)) {
            let latency = settings.simulated_latency;
            return Ok(Self::Simulated(Simulated::new(claude.into_system(), latency)));
        }
        Ok(Self::Claude(claude))
    }

    /// Returns the name of the model for the log line at start.
    pub fn model_name(&self) -> &'static str {
        match self {
            Self::Claude(_) => "claude",
            Self::Simulated(_) => Simulated::<A>::NAME,
        }
    }
}

impl<S: Secrets, A: System> Llm for Model<S, A> {
    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        match self {
            Self::Claude(claude) => claude.generate_reply(request).await,
            Self::Simulated(simulated) => simulated.generate_reply(request).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::tests::{KeyBox, Time, request};

    async fn choose(keys: KeyBox, simulate: bool) -> Model<KeyBox, Time> {
        let http = recado_http_client::build_http_client().unwrap();
        let settings = ModelSettings {
            base_url: "http://127.0.0.1:9".to_owned(),
            simulated_latency: Duration::ZERO,
        };
        Model::choose_model(http, &settings, simulate, keys, Time::default())
            .await
            .unwrap()
    }

    #[tokio::test]
    async fn one_machine_simulates_until_there_is_a_key() {
        let without = choose(KeyBox::empty(), true).await;
        assert_eq!(without.model_name(), "simulated");
        assert!(
            without
                .generate_reply(&request())
                .await
                .unwrap()
                .text
                .starts_with("[simulated]")
        );
        let with = choose(KeyBox::with("k"), true).await;
        assert_eq!(with.model_name(), "claude");
    }

    #[test]
    fn an_empty_address_is_the_vendors_own() {
        let read = |url: &str| {
            let mut reader = VariableReader::new([("ANTHROPIC_BASE_URL", url)]);
            ModelSettings::from_environment(&mut reader).base_url
        };
        assert_eq!(read(""), "https://api.anthropic.com");
        assert_eq!(read("http://model.example/"), "http://model.example");
    }

    #[tokio::test]
    async fn claude_without_a_key_says_so_and_nothing_is_sent() {
        let model = choose(KeyBox::empty(), false).await;
        assert!(matches!(
            model.generate_reply(&request()).await,
            Err(LlmError::Credentials(_))
        ));
    }
}
