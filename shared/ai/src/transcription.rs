//! Transcription of recordings, by a server with the interface of `OpenAI` (`POST {base}/v1/audio/transcriptions`): `OpenAI`
//! itself and many others, also on one's own machine. The answer's body is never logged, because it holds the contact's words.

#[cfg(test)]
mod tests;

use futures::future::{Either, select};
use recado_domain::config::CredentialRef;
use recado_domain::message::SIMULATED_MODEL;
use recado_http_client::{RequestFailure, url_origin};
use recado_pipeline::ports::{
    PortResult, Recording, Secrets, System, Transcriber, Transcript, TranscriptionError,
};
use recado_pipeline::settings::VariableReader;
use reqwest::header::RETRY_AFTER;
use reqwest::multipart::{Form, Part};
use reqwest::{Response, Url};
use serde::Deserialize;
use std::pin::pin;
use std::time::Duration;

/// Name of the environment variable that holds the key.
pub const TRANSCRIPTION_KEY: &str = "RECADO_TRANSCRIPTION_KEY";

/// Name of the variable that names the key's parameter on AWS.
pub const TRANSCRIPTION_KEY_PARAMETER: &str = "RECADO_TRANSCRIPTION_KEY_PARAMETER";

/// Largest answer that is read.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Longest wait that is read from `retry-after`.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(1);

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
    let base = base.trim().trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let url = Url::parse(&format!("{base}/v1/audio/transcriptions")).ok()?;
    let fine = matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none();
    fine.then_some(url)
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
    async fn request_transcript(&self, url: Url, recording: Recording) -> Result<String, TranscriptionError> {
        let key = read_resolved_key(self.secrets.resolve_secret(&self.settings.key).await)?;
        let form = self.build_request_form(recording)?;
        let request = self.http.post(url).multipart(form);
        let request = match &key {
            Some(key) => request.bearer_auth(key.expose_secret()),
            None => request,
        };
        let answer = request
            .send()
            .await
            .map_err(|error| self.describe_failure(&error))?;
        let status = answer.status().as_u16();
        if !answer.status().is_success() {
            if matches!(status, 401 | 403) {
                self.secrets.forget_secret(&self.settings.key).await;
            }
            return Err(classify_status(status, parse_retry_after(&answer)));
        }
        let body = self.read_answer_body(answer).await?;
        serde_json::from_slice::<TranscriptionAnswer>(&body)
            .map(|answer| answer.text.trim().to_owned())
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

    async fn read_answer_body(&self, mut answer: Response) -> Result<Vec<u8>, TranscriptionError> {
        let mut body = Vec::new();
        while let Some(chunk) = answer
            .chunk()
            .await
            .map_err(|error| self.describe_failure(&error))?
        {
            if body.len() + chunk.len() > ANSWER_BYTES_MAX {
                return Err(TranscriptionError::Refused("the answer is too long".to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// Describes a request without an answer, with the server: its URL may be wrong.
    fn describe_failure(&self, error: &reqwest::Error) -> TranscriptionError {
        let server = self.settings.url.as_deref().and_then(url_origin);
        let why = RequestFailure::from_error(error);
        unavailable(&server.map_or_else(|| why.to_string(), |server| format!("{server}: {why}")))
    }
}

fn read_resolved_key<K>(found: PortResult<Option<K>>) -> Result<Option<K>, TranscriptionError> {
    found.map_err(|error| unavailable(&format!("the key could not be read: {error}")))
}

fn unavailable(why: &str) -> TranscriptionError {
    TranscriptionError::Unavailable {
        why: why.to_owned(),
        after: None,
    }
}

/// Decides what a refusal means. 408, 409, 425, 429 and errors of the server may pass.
fn classify_status(status: u16, after: Option<Duration>) -> TranscriptionError {
    let why = format!("status {status}");
    match status {
        401 | 403 => TranscriptionError::Credentials(why),
        408 | 409 | 425 | 429 | 500.. => TranscriptionError::Unavailable { why, after },
        _ => TranscriptionError::Refused(why),
    }
}

/// Reads `retry-after` in seconds.
fn parse_retry_after(answer: &Response) -> Option<Duration> {
    let header = answer.headers().get(RETRY_AFTER)?;
    let seconds: u64 = header.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(RETRY_AFTER_MAX))
}

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
        let text = match select(call, alarm).await {
            Either::Left((answered, _)) => answered?,
            Either::Right(_) => return Err(unavailable("no answer came in time")),
        };
        Ok(Transcript {
            text,
            model: self.settings.model.clone(),
        })
    }
}

/// Makes the transcript of a simulated instance, which says that it is simulated.
pub(crate) fn simulate_transcript(recording: &Recording) -> Transcript {
    let (kind, bytes) = (recording.media_type.extension(), recording.bytes.len());
    Transcript {
        text: format!("[simulated] the words of a recording ({kind}) of {bytes} bytes"),
        model: SIMULATED_MODEL.to_owned(),
    }
}
