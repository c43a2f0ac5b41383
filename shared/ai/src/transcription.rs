//! Transcription of recordings, by a server with the interface of `OpenAI` (`POST {base}/v1/audio/transcriptions`): `OpenAI`
//! itself and many others, also on one's own machine. The answer's body is never logged, because it holds the contact's words.

#[cfg(test)]
mod tests;

use crate::openai_server::{ServerFailure, build_server_url, exchange_with_server};
use async_trait::async_trait;
use futures::future::{Either, select};
use recado_domain::config::CredentialRef;
use recado_domain::message::{SIMULATED_MODEL, TokenUsage};
use recado_ports::ports::{
    Recording, RecordingUse, Secrets, System, Transcriber, Transcript, TranscriptionError,
};
use recado_ports::settings::VariableReader;
use reqwest::Url;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use serde_json::Value;
use std::pin::pin;
use std::time::Duration;

/// Name of the environment variable that holds the key.
pub const TRANSCRIPTION_KEY: &str = "RECADO_TRANSCRIPTION_KEY";

/// Longest recording that a server is believed to have heard.
const RECORDING_MAX: Duration = Duration::from_hours(24);

/// Largest answer that is read.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;

/// The settings of transcriptions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptionSettings {
    /// Address of the server, with or without `/v1` (`RECADO_TRANSCRIPTION_URL`). `None`: nothing is transcribed.
    pub url: Option<String>,
    /// Name of the model (`RECADO_TRANSCRIPTION_MODEL`).
    pub model: String,
    /// Reference to the key. A server without a key is asked without one.
    pub key: CredentialRef,
    /// Language of the recordings, such as `pt` (`RECADO_TRANSCRIPTION_LANGUAGE`). `None`: the server finds it.
    pub language: Option<String>,
    /// Longest time for one transcription (`RECADO_TRANSCRIPTION_TIMEOUT_SECONDS`).
    pub timeout: Duration,
    /// Largest file that is transcribed (`RECADO_TRANSCRIPTION_MAX_BYTES`).
    pub max_bytes: usize,
}

impl Default for TranscriptionSettings {
    fn default() -> Self {
        Self {
            url: None,
            model: "whisper-1".to_owned(),
            key: CredentialRef::Env(TRANSCRIPTION_KEY.to_owned()),
            language: None,
            timeout: Duration::from_secs(20),
            // OpenAI takes 25 MiB at most; WhatsApp's recordings have 16 MB at most.
            max_bytes: 25_000_000,
        }
    }
}

impl TranscriptionSettings {
    /// Reads the settings from the environment. The key is read when it is needed.
    pub fn from_environment(reader: &mut VariableReader) -> Self {
        let usual = Self::default();
        reader.add_known_names(&[TRANSCRIPTION_KEY]);
        let seconds = reader.read_number(
            &["RECADO_TRANSCRIPTION_TIMEOUT_SECONDS"],
            (1.0, 60.0),
            usual.timeout.as_secs_f64(),
        );
        let address = "must be a URL that begins with http:// or https://";
        let language = "must be a language, such as pt";
        Self {
            url: reader.read_parsed("RECADO_TRANSCRIPTION_URL", None, address, |text| {
                build_endpoint_url(text).map(|_| Some(text.to_owned()))
            }),
            model: reader
                .read_text("RECADO_TRANSCRIPTION_MODEL")
                .unwrap_or(usual.model),
            language: reader.read_parsed("RECADO_TRANSCRIPTION_LANGUAGE", None, language, |text| {
                let fine = text.len() <= 16 && text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
                fine.then(|| Some(text.to_owned()))
            }),
            timeout: Duration::from_secs_f64(seconds),
            max_bytes: reader.read_number(
                &["RECADO_TRANSCRIPTION_MAX_BYTES"],
                (1_000, 100_000_000),
                usual.max_bytes,
            ),
            ..usual
        }
    }
}

/// Returns the URL of the transcriptions of a server.
fn build_endpoint_url(base: &str) -> Option<Url> {
    build_server_url(base, "audio/transcriptions")
}

/// A client of a server of transcriptions. It asks `S` for the key at every call, so a new key needs no restart.
#[derive(Debug, Clone)]
pub struct TranscriptionClient<S, A> {
    http: reqwest::Client,
    settings: TranscriptionSettings,
    secrets: S,
    system: A,
}

#[derive(Deserialize)]
struct TranscriptionAnswer {
    text: String,
    /// The charge, as newer servers tell it.
    #[serde(default)]
    usage: Option<Value>,
    /// Length of the recording in seconds, as others tell it.
    #[serde(default)]
    duration: Option<Value>,
}

impl TranscriptionAnswer {
    /// Returns the tokens if the answer tells them, else the length of the recording if it tells that. What cannot be read
    /// counts as not told.
    fn read_use(&self) -> RecordingUse {
        let usage = self.usage.as_ref();
        let count = |name: &str| usage.and_then(|usage| usage[name].as_u64());
        if let Some(input_tokens) = count("input_tokens") {
            let tokens = TokenUsage {
                input_tokens,
                output_tokens: count("output_tokens").unwrap_or_default(),
                ..TokenUsage::default()
            };
            return RecordingUse {
                audio_millis: 0,
                tokens,
            };
        }
        let charged = usage.map(|usage| &usage["seconds"]).and_then(read_seconds);
        let told = charged.or_else(|| self.duration.as_ref().and_then(read_seconds));
        RecordingUse {
            audio_millis: told.map_or(0, |length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX)),
            tokens: TokenUsage::default(),
        }
    }
}

/// Reads a number of seconds, which some servers write as a text.
fn read_seconds(value: &Value) -> Option<Duration> {
    let seconds = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    let length = Duration::try_from_secs_f64(seconds).ok()?;
    (length <= RECORDING_MAX).then_some(length)
}

impl<S: Secrets, A: System> TranscriptionClient<S, A> {
    /// Creates a client that sends through `http`, which should follow no redirects (as `recado_http_client` makes it).
    pub fn new(http: reqwest::Client, settings: TranscriptionSettings, secrets: S, system: A) -> Self {
        Self {
            http,
            settings,
            secrets,
            system,
        }
    }

    /// Sends the recording and reads the answer.
    async fn request_transcript(
        &self,
        url: Url,
        recording: Recording,
    ) -> Result<Transcript, TranscriptionError> {
        let form = self.build_request_form(recording)?;
        let request = self.http.post(url.clone()).multipart(form);
        let key = &self.settings.key;
        let body = exchange_with_server(&url, request, &self.secrets, key, ANSWER_BYTES_MAX).await?;
        serde_json::from_slice::<TranscriptionAnswer>(&body)
            .map(|answer| Transcript {
                text: answer.text.trim().to_owned(),
                model: self.settings.model.clone(),
                used: answer.read_use(),
            })
            .map_err(|_| unavailable("an answer that could not be read"))
    }

    fn build_request_form(&self, recording: Recording) -> Result<Form, TranscriptionError> {
        let file = Part::bytes(recording.bytes)
            .file_name(format!("recording.{}", recording.media_type.extension()))
            .mime_str(recording.media_type.mime_type())
            .map_err(|_| TranscriptionError::Refused("the request could not be made".to_owned()))?;
        let form = Form::new()
            .text("model", self.settings.model.clone())
            .text("response_format", "json");
        let form = match &self.settings.language {
            Some(language) => form.text("language", language.clone()),
            None => form,
        };
        Ok(form.part("file", file))
    }
}

impl From<ServerFailure> for TranscriptionError {
    fn from(failure: ServerFailure) -> Self {
        match failure {
            ServerFailure::Credentials(why) => Self::Credentials(why),
            ServerFailure::Unavailable { why, after } => Self::Unavailable { why, after },
            ServerFailure::Refused(why) => Self::Refused(why),
        }
    }
}

fn unavailable(why: &str) -> TranscriptionError {
    TranscriptionError::Unavailable {
        why: why.to_owned(),
        after: None,
    }
}

#[async_trait]
impl<S: Secrets, A: System> Transcriber for TranscriptionClient<S, A> {
    fn explain_refusal(&self, bytes: u64, _: bool) -> Option<TranscriptionError> {
        if self.settings.url.is_none() {
            return Some(TranscriptionError::NotConfigured);
        }
        let (bytes, max) = (
            usize::try_from(bytes).unwrap_or(usize::MAX),
            self.settings.max_bytes,
        );
        (bytes > max).then_some(TranscriptionError::TooLarge { bytes, max })
    }

    fn transcription_model(&self) -> Option<&str> {
        self.settings.url.as_ref().map(|_| self.settings.model.as_str())
    }

    async fn transcribe_recording(&self, recording: Recording) -> Result<Transcript, TranscriptionError> {
        let bytes = recording.bytes.len();
        if let Some(refused) = self.explain_refusal(bytes as u64, recording.simulated) {
            return Err(refused);
        }
        let url = self.settings.url.as_deref().and_then(build_endpoint_url);
        let Some(url) = url else {
            return Err(unavailable("the server's URL cannot be used"));
        };
        if bytes == 0 || !recording.media_type.is_transcribable() {
            return Err(TranscriptionError::Refused("it is no recording".to_owned()));
        }
        let call = pin!(self.request_transcript(url, recording));
        let alarm = pin!(self.system.sleep(self.settings.timeout));
        match select(call, alarm).await {
            Either::Left((answered, _)) => answered,
            Either::Right(_) => Err(unavailable("no answer came in time")),
        }
    }
}

/// Makes the transcript of a simulated instance, which says that it is simulated.
pub(crate) fn simulate_transcript(recording: &Recording) -> Transcript {
    let (kind, bytes) = (recording.media_type.extension(), recording.bytes.len());
    Transcript {
        text: format!("[simulated] the words of a recording ({kind}) of {bytes} bytes"),
        model: SIMULATED_MODEL.to_owned(),
        used: RecordingUse::default(),
    }
}
