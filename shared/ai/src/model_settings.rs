//! The settings of the models.

use crate::model_provider::OTHER_PROVIDERS;
use crate::{
    DocumentSettings, EmbeddingSettings, GoogleCalendarConfig, ModelClientSettings, TranscriptionSettings,
};
use recado_ports::settings::VariableReader;
use std::time::Duration;

/// The settings of the models.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Base URL of Claude's API (`ANTHROPIC_BASE_URL`).
    pub base_url: String,
    /// Base URLs of the other providers, in the order of [`OTHER_PROVIDERS`].
    pub other_base_urls: [String; 4],
    /// Time that the simulated model takes for an answer (`RECADO_SIMULATED_LATENCY_MS`).
    pub simulated_latency: Duration,
    /// The server that transcribes recordings.
    pub transcription: TranscriptionSettings,
    /// The embedding model.
    pub embeddings: EmbeddingSettings,
    /// Google Calendar.
    pub calendar: GoogleCalendarConfig,
    /// The way in which the text of documents is read.
    pub documents: DocumentSettings,
    /// Size of the knowledge that a process keeps ready, in bytes of its files (`RECADO_KNOWLEDGE_KEPT_MIB`).
    pub knowledge_kept_bytes: usize,
}

/// The usual size of the knowledge that a process keeps ready, in MiB.
const KNOWLEDGE_KEPT_MIB: usize = 64;

impl ModelSettings {
    /// Reads the settings from the environment.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let base_url = reader.read_base_url("ANTHROPIC_BASE_URL");
        let other_base_urls = OTHER_PROVIDERS.each_ref().map(|provider| {
            reader.add_known_names(provider.key_variable.as_slice());
            let set = reader.read_base_url(provider.url_variable);
            set.unwrap_or_else(|| provider.base_url.to_owned())
        });
        let (default, what) = (Duration::from_millis(300), "must be a number of milliseconds");
        let parse = |text: &str| text.parse().ok().map(Duration::from_millis);
        Self {
            base_url: base_url.unwrap_or_else(|| ModelClientSettings::default().base_url),
            other_base_urls,
            simulated_latency: reader.read_parsed("RECADO_SIMULATED_LATENCY_MS", default, what, parse),
            transcription: TranscriptionSettings::from_environment(reader),
            embeddings: EmbeddingSettings::from_environment(reader),
            calendar: GoogleCalendarConfig::from_environment(reader),
            documents: DocumentSettings::default(),
            knowledge_kept_bytes: read_kept_mib(reader) * 1024 * 1024,
        }
    }
}

/// Reads the size of the knowledge that a process keeps ready, in MiB.
fn read_kept_mib(reader: &mut VariableReader) -> usize {
    reader.read_number(&["RECADO_KNOWLEDGE_KEPT_MIB"], (1, 65_536), KNOWLEDGE_KEPT_MIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_the_knowledge_that_is_kept_ready_is_read() {
        let read = |mib: &str| {
            let mut reader = VariableReader::new([("RECADO_KNOWLEDGE_KEPT_MIB", mib)]);
            let kept = ModelSettings::from_environment(&mut reader).knowledge_kept_bytes;
            (kept, reader.into_problems().len())
        };
        assert_eq!(read("512"), (512 * 1024 * 1024, 0));
        assert_eq!(read("0"), (64 * 1024 * 1024, 1));
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
}
