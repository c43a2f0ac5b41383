//! An embedding model finds documents by meaning; where it fails, words find them, and the record of the turn says why.

use crate::knowledge::{answer, ask, run};
use crate::machine::Machine;
use recado_testkit::servers::scripted::{Does, StandIn};
use serde_json::{Value, json};
use std::fs;

/// A question of which no word stands in a document.
const BY_MEANING: &str = "Jabs: jab jab jab?";
const BY_WORDS: &str = "What does the vaccine cost?";

/// An answer with these vectors.
fn vectors(vectors: &[&[f32]]) -> Does {
    let data = vectors
        .iter()
        .enumerate()
        .map(|(index, vector)| json!({"index": index, "embedding": vector}));
    let body = json!({"data": data.collect::<Value>()}).to_string();
    Does::AnswersWith(200, Vec::new(), body)
}

fn serve_with(embeddings: &StandIn) -> Machine {
    Machine::serving(&[
        ("RECADO_EMBEDDINGS_URL", &embeddings.url),
        ("RECADO_EMBEDDINGS_MODEL", "meaning"),
        ("RECADO_EMBEDDINGS_QUESTION_SECONDS", "0.5"),
        ("RECADO_REWRITE", "off"),
    ])
}

fn write_prices(machine: &Machine) -> String {
    let folder = machine.data().join("../documents");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("prices.md");
    let text = "# Prices\nThe vaccine costs 90 euros.\n# Parking\nThere is a garage.";
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_by_meaning_and_by_words_alone_where_the_embedding_model_fails() {
    let embeddings = StandIn::start(vec![
        vectors(&[&[1.0, 0.0], &[0.0, 1.0]]),
        vectors(&[&[0.9, 0.1]]),
        vectors(&[&[0.9, 0.1, 0.2]]),
        Does::Answers(503, "{}"),
        Does::Answers(401, "{}"),
        Does::Hangs,
    ])
    .await;
    let machine = serve_with(&embeddings);
    answer(&machine, &["add", "ana", &write_prices(&machine)]);
    let sent = embeddings.requests();
    assert_eq!(
        (&sent[0].body["model"], &sent[0].body["input"]),
        (
            &json!("meaning"),
            &json!([
                "Prices\nThe vaccine costs 90 euros.",
                "Parking\nThere is a garage."
            ])
        )
    );
    let (asked, used) = ask(&machine, 1, BY_MEANING).await;
    assert!(asked.contains("The vaccine costs 90 euros."), "{asked}");
    assert_eq!(
        (&used["search"], &used["vectors"], &used["blocks"][0]["place"]),
        (&json!("hybrid"), &Value::Null, &json!("Prices")),
        "{used}"
    );
    for (number, reason) in [
        (2, "other_dimension"),
        (3, "unreachable"),
        (4, "no_key"),
        (5, "too_slow"),
    ] {
        let (asked, used) = ask(&machine, number, BY_WORDS).await;
        assert!(asked.contains("The vaccine costs 90 euros."), "{reason}: {asked}");
        assert_eq!(
            (&used["search"], &used["vectors"], &used["gap"]),
            (&json!("lexical"), &json!(reason), &Value::Null),
            "{used}"
        );
        assert_eq!(embeddings.requests().len(), number + 1, "{reason}: one attempt");
    }
    let found = answer(&machine, &["search", "ana", BY_WORDS]);
    assert_eq!(
        (&found["search"], &found["vectors"], &found["found"][0]["cosine"]),
        (&json!("lexical"), &json!("too_slow"), &Value::Null),
        "{found}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_goes_in_while_the_embedding_model_is_down_and_gets_its_vectors_by_a_command() {
    let embeddings = StandIn::start(vec![
        Does::Answers(503, "{}"),
        vectors(&[&[1.0, 0.0], &[0.0, 1.0]]),
        vectors(&[&[0.9, 0.1]]),
    ])
    .await;
    let machine = serve_with(&embeddings);
    let file = write_prices(&machine);
    let (succeeded, out, error) = run(&machine, &["add", "ana", &file]);
    assert!(succeeded && error.contains("unreachable"), "{error}");
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&told["added"], &told["without_vectors"][0]["reason"]),
        (&json!(1), &json!("unreachable"))
    );
    let listed = answer(&machine, &["list", "ana"]);
    assert_eq!(
        (
            &listed["search"],
            &listed["vectors"]["missing"],
            &listed["vectors"]["reason"]
        ),
        (&json!("lexical"), &json!(2), &json!("no_vectors")),
        "{listed}"
    );
    let state = answer(&machine, &["embed", "ana"]);
    assert_eq!(
        (
            &state["model"],
            &state["dimensions"],
            &state["blocks"],
            &state["missing"]
        ),
        (&json!("meaning"), &json!(2), &json!(2), &json!(0)),
        "{state}"
    );
    let found = answer(&machine, &["search", "ana", BY_MEANING]);
    assert_eq!(found["search"], "hybrid", "{found}");
    assert!(found["found"][0]["cosine"].as_f64().unwrap() > 0.9, "{found}");
    assert_eq!(found["found"][0]["lexical"], Value::Null, "{found}");
    // Nothing is missing: the model is not asked again.
    answer(&machine, &["embed", "ana"]);
    assert_eq!(embeddings.requests().len(), 3);
}
