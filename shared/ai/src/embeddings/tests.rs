//! Against a stand-in of a server with an embedding model.

use super::*;
use crate::model_client::tests::{KeyBox, Time};
use recado_testkit::servers::scripted::{Does, StandIn};
use serde_json::{Value, json};
use std::sync::Arc;

const LONG: Duration = Duration::from_mins(1);

/// An answer with these vectors, by their index.
fn answer_vectors(vectors: &[(usize, &[f64])]) -> Does {
    let data: Vec<Value> = vectors
        .iter()
        .map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}))
        .collect();
    let body = json!({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 3, "total_tokens": 3}});
    Does::AnswersWith(200, Vec::new(), body.to_string())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

struct Trial {
    client: EmbeddingClient<KeyBox, Time>,
    stand_in: StandIn,
    keys: KeyBox,
}

async fn trial(script: Vec<Does>) -> Trial {
    let keys = KeyBox::named(EMBEDDINGS_KEY, Some("sk-vectors"));
    trial_with(script, keys, Time::default()).await
}

async fn trial_with(script: Vec<Does>, keys: KeyBox, time: Time) -> Trial {
    let stand_in = StandIn::start(script).await;
    let settings = EmbeddingSettings {
        source: EmbeddingSource::Server(format!("{}/v1/", stand_in.url)),
        batch: 2,
        ..EmbeddingSettings::default()
    };
    let client = client_of(settings, keys.clone(), time);
    Trial {
        client,
        stand_in,
        keys,
    }
}

fn client_of(settings: EmbeddingSettings, keys: KeyBox, time: Time) -> EmbeddingClient<KeyBox, Time> {
    let http = recado_http_client::build_http_client().unwrap();
    EmbeddingClient::new(http, settings, keys, time)
}

#[tokio::test]
async fn texts_go_out_in_batches_and_vectors_come_back_in_their_order() {
    let trial = trial(vec![
        answer_vectors(&[(1, &[0.0, 1.0]), (0, &[1.0, 0.5])]),
        answer_vectors(&[(0, &[-1.0, 2.0])]),
    ])
    .await;
    let asked = texts(&["um", "dois", "três"]);
    let made = trial.client.embed_texts(&asked, LONG).await.unwrap();
    assert_eq!(made.vectors, [[1.0, 0.5], [0.0, 1.0], [-1.0, 2.0]]);
    assert_eq!(
        (made.model.as_str(), made.dimensions),
        ("text-embedding-3-small", 2)
    );
    let requests = trial.stand_in.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].line, "POST /v1/embeddings");
    assert!(
        requests[0]
            .headers
            .contains(&"authorization: bearer sk-vectors".to_owned())
    );
    assert_eq!(
        requests[0].body,
        json!({"model": "text-embedding-3-small", "input": ["um", "dois"], "encoding_format": "float"})
    );
    assert_eq!(requests[1].body["input"], json!(["três"]));
}

#[test]
fn a_batch_ends_at_its_number_of_texts_and_of_bytes() {
    let lengths = |lengths: &[usize], most| {
        let texts: Vec<String> = lengths.iter().map(|length| "a".repeat(*length)).collect();
        let batches = split_batches(&texts, most);
        batches.iter().map(|batch| batch.len()).collect::<Vec<_>>()
    };
    assert_eq!(lengths(&[1, 1, 1, 1, 1], 2), [2, 2, 1]);
    assert_eq!(lengths(&[1, 1], 2), [2]);
    assert_eq!(lengths(&[], 2), [0_usize; 0]);
    assert_eq!(lengths(&[300_000, 100_000, 1, 400_001, 1], 9), [2, 1, 1, 1]);
}

#[tokio::test]
async fn a_server_without_a_key_is_asked_without_one() {
    let keys = KeyBox::named(EMBEDDINGS_KEY, None);
    let trial = trial_with(vec![answer_vectors(&[(0, &[1.0])])], keys, Time::default()).await;
    trial.client.embed_texts(&texts(&["a"]), LONG).await.unwrap();
    let headers = trial.stand_in.requests()[0].headers.join("\n");
    assert!(!headers.contains("authorization"), "{headers}");
}

#[tokio::test]
async fn each_refusal_says_whether_it_may_pass_and_repeats_no_words() {
    for (status, retryable) in [
        (400, false),
        (404, false),
        (413, false),
        (307, false),
        (401, true),
        (403, true),
        (408, true),
        (429, true),
        (500, true),
        (529, true),
    ] {
        let body = r#"{"error":{"message":"PRIVATE words"}}"#.to_owned();
        let does = Does::AnswersWith(status, vec![("retry-after", "7")], body);
        let trial = trial(vec![does]).await;
        let error = trial.client.embed_texts(&texts(&["a"]), LONG).await.unwrap_err();
        assert_eq!(error.is_retryable(), retryable, "{error}");
        assert!(error.to_string().contains(&status.to_string()), "{error}");
        assert!(!error.to_string().contains("PRIVATE"));
        let refused_key = matches!(status, 401 | 403);
        assert_eq!(trial.keys.forgotten(), u32::from(refused_key));
        if let EmbeddingError::Unavailable { .. } = error {
            assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_texts_is_no_answer() {
    let infinite = r#"{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1.0]}]}"#;
    for does in [
        Does::Breaks,
        Does::BreaksHalfway,
        Does::Answers(200, "<html>"),
        Does::Answers(200, r#"{"data":[{"embedding":[1.0]}]}"#),
        Does::Answers(200, infinite),
        answer_vectors(&[(0, &[1.0])]),
        answer_vectors(&[(0, &[1.0]), (1, &[1.0]), (2, &[1.0])]),
        answer_vectors(&[(0, &[1.0]), (0, &[1.0])]),
        answer_vectors(&[(0, &[1.0]), (2, &[1.0])]),
        answer_vectors(&[(0, &[1.0]), (1, &[1.0, 2.0])]),
        answer_vectors(&[(0, &[]), (1, &[])]),
    ] {
        let trial = trial(vec![does.clone()]).await;
        let error = trial.client.embed_texts(&texts(&["a", "b"]), LONG).await;
        let error = error.unwrap_err();
        assert!(
            matches!(error, EmbeddingError::Unavailable { .. }),
            "{does:?}: {error}"
        );
    }
    let long = " ".repeat(usize::try_from(ANSWER_BYTES_MAX + 1).unwrap());
    let long = Does::AnswersWith(200, Vec::new(), long);
    let trial = trial(vec![long]).await;
    let error = trial.client.embed_texts(&texts(&["a"]), LONG).await.unwrap_err();
    assert_eq!(
        error,
        EmbeddingError::Refused("the answer is too long".to_owned())
    );
}

#[tokio::test]
async fn batches_of_different_dimensions_are_no_answer() {
    let trial = trial(vec![
        answer_vectors(&[(0, &[1.0]), (1, &[1.0])]),
        answer_vectors(&[(0, &[1.0, 2.0])]),
    ])
    .await;
    let error = trial.client.embed_texts(&texts(&["a", "b", "c"]), LONG).await;
    assert!(error.unwrap_err().to_string().contains("different dimensions"));
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_as_long_as_is_set() {
    let time = Time::default();
    let hangs = Does::HangsAndTells(Arc::clone(&time.hangs));
    let keys = KeyBox::named(EMBEDDINGS_KEY, Some("k"));
    let trial = trial_with(vec![hangs], keys, time.clone()).await;
    let error = trial.client.embed_texts(&texts(&["a"]), LONG).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    assert_eq!(error, EmbeddingError::TooSlow);
    // The fake clock lets a wait of less than 13 seconds pass at once.
    let error = trial
        .client
        .embed_texts(&texts(&["a"]), Duration::from_secs(2))
        .await;
    assert_eq!(error, Err(EmbeddingError::TooSlow));
}

#[tokio::test]
async fn what_no_server_takes_is_not_sent() {
    let trial = trial(vec![answer_vectors(&[(0, &[1.0])])]).await;
    for bad in ["", " \n", "a".repeat(TEXT_BYTES_MAX + 1).as_str()] {
        let error = trial
            .client
            .embed_texts(&texts(&["a", bad]), LONG)
            .await
            .unwrap_err();
        assert!(!error.is_retryable(), "{error}");
    }
    let made = trial.client.embed_texts(&[], LONG).await.unwrap();
    assert_eq!((made.vectors.len(), made.dimensions), (0, 0));
    assert!(trial.stand_in.requests().is_empty());
}

#[tokio::test]
async fn vectors_are_simulated_only_where_the_setting_says_so() {
    let keys = || KeyBox::named(EMBEDDINGS_KEY, None);
    let off = client_of(EmbeddingSettings::default(), keys(), Time::default());
    assert_eq!(off.embedding_model(), None);
    let error = off.embed_texts(&texts(&["a"]), LONG).await.unwrap_err();
    assert_eq!(error, EmbeddingError::NotConfigured);
    let settings = EmbeddingSettings {
        source: EmbeddingSource::Simulated,
        ..EmbeddingSettings::default()
    };
    let simulated = client_of(settings, keys(), Time::default());
    assert_eq!(simulated.embedding_model(), Some("simulated"));
    let made = simulated
        .embed_texts(&texts(&["vacina", "preço"]), LONG)
        .await
        .unwrap();
    assert_eq!((made.model.as_str(), made.dimensions), ("simulated", 512));
    assert_ne!(made.vectors[0], made.vectors[1]);
}

#[test]
fn the_settings_are_read_and_what_is_wrong_is_named() {
    let read = |variables: &[(&str, &str)]| {
        let mut reader = VariableReader::new(variables.iter().copied());
        let settings = EmbeddingSettings::from_environment(&mut reader);
        assert_eq!(reader.list_warnings(), []);
        let problems = reader.into_problems().into_iter();
        (settings, problems.map(|problem| problem.name).collect::<Vec<_>>())
    };
    let (settings, problems) = read(&[
        ("RECADO_EMBEDDINGS_URL", "http://127.0.0.1:8000/v1"),
        ("RECADO_EMBEDDINGS_MODEL", "bge-m3"),
        ("RECADO_EMBEDDINGS_KEY", "k"),
        ("RECADO_EMBEDDINGS_BATCH", "16"),
        ("RECADO_EMBEDDINGS_TIMEOUT_SECONDS", "30"),
    ]);
    assert!(problems.is_empty());
    let server = EmbeddingSource::Server("http://127.0.0.1:8000/v1".to_owned());
    assert_eq!((settings.source, settings.model.as_str()), (server, "bge-m3"));
    assert_eq!((settings.batch, settings.timeout.as_secs()), (16, 30));
    let (settings, _) = read(&[("RECADO_EMBEDDINGS_URL", "simulated")]);
    assert_eq!(settings.source, EmbeddingSource::Simulated);
    let (settings, problems) = read(&[
        ("RECADO_EMBEDDINGS_URL", "vectors:9000"),
        ("RECADO_EMBEDDINGS_BATCH", "0"),
        ("RECADO_EMBEDDINGS_TIMEOUT_SECONDS", "600"),
    ]);
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(settings, EmbeddingSettings::default());
}
