//! Against a stand-in of a server of transcriptions.

use super::*;
use crate::model_client::tests::{KeyBox, Time};
use recado_domain::media_type::MediaType;
use recado_testkit::servers::scripted::{Does, StandIn};
use std::sync::Arc;

const FINE: &str = r#"{"text":" Oi, quero marcar uma consulta. ","usage":{"type":"duration","seconds":3}}"#;

fn voice() -> Recording {
    Recording {
        bytes: b"OggS and so on".to_vec(),
        media_type: MediaType::Ogg,
        simulated: false,
    }
}

struct Trial {
    client: TranscriptionClient<KeyBox, Time>,
    stand_in: StandIn,
    keys: KeyBox,
}

async fn trial(does: Does) -> Trial {
    trial_with(
        does,
        KeyBox::named(TRANSCRIPTION_KEY, Some("sk-voice")),
        Time::default(),
    )
    .await
}

async fn trial_with(does: Does, keys: KeyBox, time: Time) -> Trial {
    let stand_in = StandIn::start(vec![does]).await;
    let settings = TranscriptionSettings {
        url: Some(format!("{}/v1/", stand_in.url)),
        language: Some("pt".to_owned()),
        max_bytes: 100,
        ..TranscriptionSettings::default()
    };
    let http = recado_http_client::build_http_client().unwrap();
    Trial {
        client: TranscriptionClient::new(http, settings, keys.clone(), time),
        stand_in,
        keys,
    }
}

#[tokio::test]
async fn a_recording_is_sent_as_a_file_with_model_language_and_key() {
    let trial = trial(Does::Answers(200, FINE)).await;
    let transcript = trial.client.transcribe_recording(voice()).await.unwrap();
    assert_eq!(transcript.text, "Oi, quero marcar uma consulta.");
    assert_eq!(transcript.model, "whisper-1");
    assert_eq!(transcript.used.audio_millis, 3_000);
    let requests = trial.stand_in.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(request.line, "POST /v1/audio/transcriptions");
    assert!(
        request
            .headers
            .contains(&"authorization: bearer sk-voice".to_owned())
    );
    for part in [
        "name=\"model\"\r\n\r\nwhisper-1\r\n",
        "name=\"language\"\r\n\r\npt\r\n",
        "name=\"response_format\"\r\n\r\njson\r\n",
        "name=\"file\"; filename=\"recording.ogg\"\r\nContent-Type: audio/ogg\r\n\r\nOggS and so on\r\n",
    ] {
        assert!(request.text.contains(part), "{part} in {}", request.text);
    }
}

#[tokio::test]
async fn a_server_without_a_key_is_asked_without_one() {
    let keys = KeyBox::named(TRANSCRIPTION_KEY, None);
    let trial = trial_with(Does::Answers(200, FINE), keys, Time::default()).await;
    trial.client.transcribe_recording(voice()).await.unwrap();
    let headers = trial.stand_in.requests()[0].headers.join("\n");
    assert!(!headers.contains("authorization"), "{headers}");
}

#[tokio::test]
async fn each_refusal_says_whether_it_may_pass_and_repeats_no_words() {
    for (status, retryable) in [
        (400, false),
        (404, false),
        (413, false),
        (415, false),
        (307, false),
        (401, true),
        (403, true),
        (408, true),
        (429, true),
        (500, true),
        (529, true),
    ] {
        let body = r#"{"error":{"message":"PRIVATE words","type":"invalid_request_error"}}"#.to_owned();
        let trial = trial(Does::AnswersWith(status, vec![("retry-after", "7")], body)).await;
        let error = trial.client.transcribe_recording(voice()).await.unwrap_err();
        assert_eq!(error.is_retryable(), retryable, "{error}");
        assert!(error.to_string().contains(&status.to_string()), "{error}");
        assert!(!error.to_string().contains("PRIVATE"));
        let refused_key = matches!(status, 401 | 403);
        assert_eq!(trial.keys.forgotten(), u32::from(refused_key));
        if let TranscriptionError::Unavailable { after, .. } = error {
            assert_eq!(after, Some(Duration::from_secs(7)));
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_cannot_be_read_may_pass() {
    for does in [
        Does::Breaks,
        Does::BreaksHalfway,
        Does::Answers(200, "<html>"),
        Does::Answers(200, r#"{"words":[]}"#),
    ] {
        let trial = trial(does.clone()).await;
        let error = trial.client.transcribe_recording(voice()).await.unwrap_err();
        assert!(
            matches!(error, TranscriptionError::Unavailable { .. }),
            "{does:?}: {error}"
        );
    }
    let long = format!(
        "{{\"text\":\"{}\"}}",
        "a".repeat(usize::try_from(ANSWER_BYTES_MAX).unwrap())
    );
    let trial = trial(Does::AnswersWith(200, Vec::new(), long)).await;
    let error = trial.client.transcribe_recording(voice()).await.unwrap_err();
    assert!(matches!(error, TranscriptionError::Refused(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_as_long_as_is_set() {
    let time = Time::default();
    let hangs = Arc::clone(&time.hangs);
    let keys = KeyBox::named(TRANSCRIPTION_KEY, Some("k"));
    let trial = trial_with(Does::HangsAndTells(hangs), keys, time.clone()).await;
    let error = trial.client.transcribe_recording(voice()).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(time.passed(), 20_000);
}

#[tokio::test]
async fn what_is_too_large_or_no_recording_is_not_sent() {
    let trial = trial(Does::Answers(200, FINE)).await;
    let large = Recording {
        bytes: vec![b'a'; 101],
        ..voice()
    };
    assert_eq!(
        trial.client.transcribe_recording(large).await,
        Err(TranscriptionError::TooLarge { bytes: 101, max: 100 })
    );
    for (bytes, media_type) in [(b"x".to_vec(), MediaType::Pdf), (Vec::new(), MediaType::Ogg)] {
        let other = Recording {
            bytes,
            media_type,
            simulated: false,
        };
        let error = trial.client.transcribe_recording(other).await.unwrap_err();
        assert!(!error.is_retryable(), "{error}");
    }
    assert!(trial.stand_in.requests().is_empty());
}

#[tokio::test]
async fn without_a_server_nothing_is_transcribed_and_the_placeholder_says_so() {
    let http = recado_http_client::build_http_client().unwrap();
    let settings = TranscriptionSettings::from_environment(&mut VariableReader::default());
    assert_eq!(settings, TranscriptionSettings::default());
    let keys = KeyBox::named(TRANSCRIPTION_KEY, None);
    let client = TranscriptionClient::new(http, settings, keys, Time::default());
    let error = client.transcribe_recording(voice()).await.unwrap_err();
    assert_eq!(error, TranscriptionError::NotConfigured);
    assert_eq!(client.explain_refusal(1, false), Some(error.clone()));
    let words = error.text_gap().unwrap().describe_gap();
    assert_eq!(words, "not transcribed: no transcription is set up");
}

#[test]
fn the_settings_are_read_and_what_is_wrong_is_named() {
    let read = |variables: &[(&str, &str)]| {
        let mut reader = VariableReader::new(variables.iter().copied());
        let settings = TranscriptionSettings::from_environment(&mut reader);
        assert_eq!(reader.list_warnings(), []);
        let problems = reader.into_problems().into_iter();
        (settings, problems.map(|problem| problem.name).collect::<Vec<_>>())
    };
    let (settings, problems) = read(&[
        ("RECADO_TRANSCRIPTION_URL", "http://127.0.0.1:8000/v1"),
        ("RECADO_TRANSCRIPTION_MODEL", "large-v3"),
        ("RECADO_TRANSCRIPTION_KEY", "k"),
        ("RECADO_TRANSCRIPTION_LANGUAGE", "pt-BR"),
        ("RECADO_TRANSCRIPTION_TIMEOUT_SECONDS", "30"),
        ("RECADO_TRANSCRIPTION_MAX_BYTES", "1000000"),
    ]);
    assert!(problems.is_empty());
    assert_eq!(settings.model, "large-v3");
    assert_eq!(settings.language.as_deref(), Some("pt-BR"));
    assert_eq!((settings.timeout.as_secs(), settings.max_bytes), (30, 1_000_000));
    let (settings, problems) = read(&[
        ("RECADO_TRANSCRIPTION_URL", "whisper:9000"),
        ("RECADO_TRANSCRIPTION_LANGUAGE", "portuguese, please"),
        ("RECADO_TRANSCRIPTION_TIMEOUT_SECONDS", "600"),
        ("RECADO_TRANSCRIPTION_MAX_BYTES", "0"),
    ]);
    assert_eq!(problems.len(), 4, "{problems:?}");
    assert_eq!(settings, TranscriptionSettings::default());
}

#[test]
fn an_address_may_end_with_its_version() {
    for base in ["https://api.groq.com/openai", "https://api.groq.com/openai/v1/"] {
        let url = build_endpoint_url(base).unwrap();
        assert_eq!(
            url.as_str(),
            "https://api.groq.com/openai/v1/audio/transcriptions"
        );
    }
    for base in ["ftp://a", "a b", "https://a?b=c", ""] {
        assert_eq!(build_endpoint_url(base), None, "{base}");
    }
}

#[tokio::test]
async fn what_a_transcription_is_charged_by_is_read_as_the_server_tells_it() {
    for (answer, audio_millis, input_tokens) in [
        (
            r#"{"text":"a","usage":{"type":"duration","seconds":9}}"#,
            9_000,
            0,
        ),
        (r#"{"text":"a","duration":8.47}"#, 8_470, 0),
        (r#"{"text":"a","duration":"2.5"}"#, 2_500, 0),
        (
            r#"{"text":"a","duration":4,"usage":{"type":"tokens","input_tokens":14,"output_tokens":5,"total_tokens":19}}"#,
            0,
            14,
        ),
        (r#"{"text":"a"}"#, 0, 0),
        (r#"{"text":"a","usage":"free","duration":-3}"#, 0, 0),
        (r#"{"text":"a","usage":[],"duration":1e300}"#, 0, 0),
    ] {
        let trial = trial(Does::Answers(200, answer)).await;
        let transcript = trial.client.transcribe_recording(voice()).await.unwrap();
        let used = transcript.used;
        assert_eq!(
            (used.audio_millis, used.tokens.input_tokens),
            (audio_millis, input_tokens),
            "{answer}"
        );
        assert_eq!(used.tokens.output_tokens, if input_tokens > 0 { 5 } else { 0 });
    }
}
