//! The choice of the model that an installation uses.

use crate::claude::Claude;
use crate::simulated::Simulated;
use recado_pipeline::ports::{Llm, LlmError, LlmReply, LlmRequest, PortResult, Secrets, System};
use std::time::Duration;

/// The model that was chosen at start. The list is closed: a new model is a new variant.
#[derive(Debug, Clone)]
pub enum Model<S, A> {
    /// Claude. Without a key, every call fails with [`LlmError::Credentials`], and turns wait until a key is set.
    Claude(Claude<S, A>),
    /// The simulated model.
    Simulated(Simulated<A>),
}

impl<S: Secrets, A: System> Model<S, A> {
    /// Chooses the model for an installation on one machine: `claude` if its key exists, else the simulated model with
    /// `latency`.
    pub async fn claude_or_simulated(claude: Claude<S, A>, latency: Duration) -> PortResult<Self> {
        if claude.has_key().await? {
            return Ok(Self::Claude(claude));
        }
        Ok(Self::Simulated(Simulated::new(claude.into_system(), latency)))
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
    use crate::ClaudeSettings;
    use crate::claude::tests::{KeyBox, Time, request};

    fn claude(keys: KeyBox) -> Claude<KeyBox, Time> {
        let settings = ClaudeSettings {
            base_url: "http://127.0.0.1:9".to_owned(),
            ..ClaudeSettings::default()
        };
        Claude::new(
            recado_http_client::build_http_client().unwrap(),
            settings,
            keys,
            Time::default(),
        )
        .unwrap()
    }

    #[tokio::test]
    async fn one_machine_simulates_until_there_is_a_key() {
        let without = Model::claude_or_simulated(claude(KeyBox::empty()), Duration::ZERO)
            .await
            .unwrap();
        assert_eq!(without.model_name(), "simulated");
        assert!(
            without
                .generate_reply(&request())
                .await
                .unwrap()
                .text
                .starts_with("[simulated]")
        );
        let with = Model::claude_or_simulated(claude(KeyBox::with("k")), Duration::ZERO)
            .await
            .unwrap();
        assert_eq!(with.model_name(), "claude");
    }

    #[tokio::test]
    async fn claude_without_a_key_says_so_and_nothing_is_sent() {
        let model = Model::Claude(claude(KeyBox::empty()));
        assert!(matches!(
            model.generate_reply(&request()).await,
            Err(LlmError::Credentials(_))
        ));
    }
}
