//! Asks a model, or an agent that the user runs, whether it would answer.

use recado_domain::config::{Agent, CredentialRef, HttpAgent};
use recado_domain::decision::OfferedDecisions;
use recado_domain::media_type::MediaType;
use recado_pipeline::Deps;
use recado_ports::ports::{
    ChatTurn, EmbeddingError, HttpAgentRequest, LlmError, LlmRequest, Recording, Speaker, TranscriptionError,
};
use recado_ports::random_id::generate_nonce;
use recado_ports::time_limit::run_within;
use serde_json::json;
use std::time::Duration;

/// Maximum time for a model to answer.
const MODEL_TIMEOUT: Duration = Duration::from_secs(15);

/// Asks a model for one token, which proves the key and the model's name. `key` is the tenant's own, if the agent has one.
pub async fn ask_model(deps: &Deps, model: &str, key: Option<&CredentialRef>) -> Result<(), LlmError> {
    let turn = ChatTurn::from_text(Speaker::User, "Answer with one word.");
    let request = LlmRequest {
        instructions: Vec::new(),
        present: None,
        knowledge: None,
        tools: Vec::new(),
        exchanges: Vec::new(),
        must_reply: false,
        decisions: OfferedDecisions::default(),
        model: model.to_owned(),
        key: key.cloned(),
        system: String::new(),
        turns: vec![turn],
        max_tokens: 1,
        within: MODEL_TIMEOUT,
        simulated: false,
    };
    deps.llm().generate_reply(&request).await.map(drop)
}

/// Asks the embedding model for the vector of one text.
pub async fn ask_embedding_model(deps: &Deps) -> Result<(), LlmError> {
    let texts = ["one word".to_owned()];
    let asked = deps.llm().embed_texts(&texts, MODEL_TIMEOUT).await;
    asked.map(drop).map_err(|error| match error {
        EmbeddingError::Credentials(why) => LlmError::Credentials(why),
        EmbeddingError::Refused(why) => LlmError::Refused(why),
        EmbeddingError::Unavailable { why, .. } => LlmError::Unavailable(why),
        EmbeddingError::NotConfigured | EmbeddingError::TooSlow => LlmError::Unavailable(error.to_string()),
    })
}

/// Asks the model that transcribes for the words of a second of silence.
pub async fn ask_transcription_model(deps: &Deps) -> Result<(), LlmError> {
    let recording = Recording {
        bytes: make_silent_recording(),
        media_type: MediaType::Wav,
        simulated: false,
    };
    let asks = deps.llm().transcribe_recording(recording);
    let asked = run_within(deps.system(), MODEL_TIMEOUT, asks).await;
    let slow = || LlmError::Unavailable("it did not answer in time".to_owned());
    asked.ok_or_else(slow)?.map(drop).map_err(|error| match error {
        TranscriptionError::Credentials(why) => LlmError::Credentials(why),
        TranscriptionError::Refused(why) => LlmError::Refused(why),
        TranscriptionError::Unavailable { why, .. } => LlmError::Unavailable(why),
        TranscriptionError::NotConfigured | TranscriptionError::TooLarge { .. } => {
            LlmError::Unavailable(error.to_string())
        }
    })
}

/// Makes a second of silence in WAV: one channel of 8,000 samples of 16 bits.
fn make_silent_recording() -> Vec<u8> {
    const SAMPLES_PER_SECOND: u32 = 8_000;
    const DATA_BYTES: u32 = SAMPLES_PER_SECOND * 2;
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"RIFF");
    bytes.extend_from_slice(&(DATA_BYTES + 36).to_le_bytes());
    bytes.extend_from_slice(b"WAVEfmt ");
    bytes.extend_from_slice(&16_u32.to_le_bytes());
    // Samples as they are, in one channel.
    bytes.extend_from_slice(&1_u16.to_le_bytes());
    bytes.extend_from_slice(&1_u16.to_le_bytes());
    bytes.extend_from_slice(&SAMPLES_PER_SECOND.to_le_bytes());
    bytes.extend_from_slice(&DATA_BYTES.to_le_bytes());
    // Bytes and bits of one sample.
    bytes.extend_from_slice(&2_u16.to_le_bytes());
    bytes.extend_from_slice(&16_u16.to_le_bytes());
    bytes.extend_from_slice(b"data");
    bytes.extend_from_slice(&DATA_BYTES.to_le_bytes());
    bytes.resize(bytes.len() + DATA_BYTES as usize, 0);
    bytes
}

/// Asks an agent that the user runs whether it takes requests, with a body that holds nothing of a contact.
pub async fn ask_http_agent(deps: &Deps, agent: &Agent, endpoint: &HttpAgent) -> Result<(), LlmError> {
    let data = json!({"tenant_id": agent.tenant, "agent_id": agent.id});
    let request = HttpAgentRequest {
        agent: endpoint,
        id: format!("check_{}", generate_nonce(deps.system()).as_str()),
        body: json!({"type": "agent.check", "timestamp": deps.system().now(), "data": data}),
        decisions: OfferedDecisions::default(),
        within: MODEL_TIMEOUT,
        private_hosts: deps.settings().private_tools,
    };
    deps.llm().check_http_agent(&request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silent_recording_is_one_second_of_wav() {
        let bytes = make_silent_recording();
        assert_eq!(MediaType::from_file(&bytes, None), Some(MediaType::Wav));
        assert_eq!(bytes.len(), 44 + 16_000);
        assert_eq!(bytes[4..8], (16_000_u32 + 36).to_le_bytes());
    }
}
