//! Every payload of the repository, and of a folder of further real ones, can be posted and is answered 200.

use crate::machine::{APP_SECRET, INSTANCE, Machine, PATIENCE};
use recado_testkit::webhooks::meta_signature;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn payloads(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

/// A fragment of a message is put into an envelope first, as its name says.
fn whole(file: &Path, text: &str) -> Option<Value> {
    let body: Value = serde_json::from_str(text).ok()?;
    if !file.to_string_lossy().contains("fragment") {
        return Some(body);
    }
    let mut data = body;
    data["key"] = json!({"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "FRAGMENT"});
    Some(json!({"event": "messages.upsert", "instance": INSTANCE, "data": data}))
}

async fn post_all(machine: &Machine, folder: &Path) -> usize {
    let mut posted = 0;
    for file in payloads(&folder.join("evolution")) {
        let Some(mut body) = whole(&file, &std::fs::read_to_string(&file).unwrap()) else {
            println!("not JSON, left out: {}", file.display());
            continue;
        };
        // The proof belongs to the instance that the body names; a name that was masked is given one.
        let name = body["instance"]
            .as_str()
            .or(body["instanceName"].as_str())
            .unwrap_or_default()
            .to_owned();
        if recado_domain::ids::ExternalId::parse(&name).is_err() {
            body["instance"] = json!(INSTANCE);
        }
        let status = machine.evolution(&body).await;
        assert_eq!(status, 200, "{}", file.display());
        posted += 1;
    }
    // What other partners of Meta forward has Meta's form, more or less: authentic, it is acknowledged at least.
    let meta = ["meta", "360dialog", "aws-social"].map(|provider| payloads(&folder.join(provider)));
    for file in meta.into_iter().flatten() {
        let bytes = std::fs::read(&file).unwrap();
        let request = machine.http.post(machine.url("/webhooks/meta")).timeout(PATIENCE);
        let request = request.header("X-Hub-Signature-256", meta_signature(APP_SECRET, &bytes));
        assert_eq!(
            request.body(bytes).send().await.unwrap().status(),
            200,
            "{}",
            file.display()
        );
        posted += 1;
    }
    posted
}

#[tokio::test]
async fn every_payload_of_the_repository_is_acknowledged() {
    let machine = Machine::serving(&[]);
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures"));
    assert!(post_all(&machine, folder).await > 50);
    machine.quiet().await;
    assert_eq!(
        machine
            .http
            .get(machine.url("/health"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
}

#[tokio::test]
#[ignore = "needs a folder of further payloads: make extra"]
async fn every_payload_of_the_extra_folder_is_acknowledged() {
    let folder = std::env::var_os("RECADO_EXTRA_FIXTURES").unwrap();
    let machine = Machine::serving(&[]);
    assert!(post_all(&machine, Path::new(&folder)).await > 0);
    machine.quiet().await;
}
