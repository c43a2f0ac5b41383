//! Table exports of released formats. `tests/write_formats.sh` makes the one of the present format.

#![expect(clippy::unwrap_used, reason = "this is test code")]

use recado_aws::DynamoStore;
use recado_dynamo_simulation::{Dynamo, Hooks, Options};
use recado_pipeline::ports::System;
use recado_testkit::erasure_story::{ErasureClock, ErasureSite};
use recado_testkit::kept_answers::find_missing;
use recado_testkit::kept_queues::{KeptQueues, KillPoint};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FORMATS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats");

/// A table, and a clock that stands where the story begins.
struct Place {
    dynamo: Dynamo,
    clock: ErasureClock,
    queues: KeptQueues<ErasureClock>,
}

impl Place {
    fn new(clock: ErasureClock) -> Self {
        let time = clock.clone();
        let hooks = Hooks::new(move || time.now());
        Self {
            dynamo: Dynamo::new(hooks).unwrap(),
            queues: KeptQueues::new(clock.clone(), KillPoint::default(), KillPoint::default()),
            clock,
        }
    }

    fn store(&self) -> DynamoStore<ErasureClock> {
        let options = Options {
            config_ttl: Duration::ZERO,
            ..Options::default()
        };
        self.dynamo.store(self.clock.clone(), &options)
    }
}

/// The lines of an export of DynamoDB: `{"Item": {…}}`.
fn read_items(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|mut line| line["Item"].take()).collect()
}

#[tokio::test]
async fn a_table_of_each_released_format_is_opened_read_and_worked_on() {
    let releases = std::fs::read_dir(FORMATS).unwrap();
    let releases: Vec<PathBuf> = releases.map(|folder| folder.unwrap().path()).collect();
    assert!(!releases.is_empty());
    for release in releases {
        Box::pin(work_on_table(&release)).await;
    }
}

async fn work_on_table(release: &Path) {
    // The first clock of a process gives the random numbers that whoever wrote the table had.
    drop(ErasureClock::default());
    let place = Place::new(ErasureClock::default());
    let items = read_items(&release.join("table.jsonl"));
    place.dynamo.put_items(&items).unwrap();
    place.store().check_format().await.unwrap();
    // Files and large bodies lie in the bucket, which is not exported.
    let site = ErasureSite::reopen(place.store(), place.queues.clone(), place.clock.clone());
    let before = std::fs::read_to_string(release.join("table-answers.json")).unwrap();
    let before: Value = serde_json::from_str(&before).unwrap();
    assert_eq!(
        find_missing(&before, &read_all(&site).await, &["exported_at", "files", "body"]),
        None,
        "{}",
        release.display()
    );
    Box::pin(site.answer_contact()).await;
    place.clock.sleep(Duration::from_secs(3600)).await;
    assert!(site.redrive_letters().await > 0);
    for body in place.queues.take_inbound() {
        site.process(&body).await;
    }
    assert_eq!(site.list_letters().await, Vec::<String>::new());
}

/// Everything that is known of the contact, and the tenant's dead letters.
async fn read_all(site: &ErasureSite<DynamoStore<ErasureClock>, KeptQueues<ErasureClock>>) -> Value {
    json!({"contact": site.export().await, "dead_letters": site.list_letters().await})
}

/// Returns an error with its causes.
fn describe_error(error: &dyn std::error::Error) -> String {
    std::iter::successors(Some(error), |error| error.source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// A table of newer functions is refused, and so is one of before the first release.
#[tokio::test]
async fn a_table_of_another_format_is_refused() {
    let moving = "export the data with the recado-on-aws of the version that wrote it";
    for (format, told) in [("1", moving), ("5", moving), ("999", "newer functions wrote it")] {
        let place = Place::new(ErasureClock::default());
        let key = json!({"pk": {"S": "G#K"}, "sk": {"S": "identity"}, "key": {"S": "ab".repeat(32)}, "format": {"N": format}});
        place.dynamo.put_items(&[key]).unwrap();
        let refused = describe_error(&place.store().check_format().await.unwrap_err());
        assert!(
            refused.contains(&format!("the table is of format {format}")) && refused.contains(told),
            "{refused}"
        );
        assert_eq!(
            place.dynamo.records().unwrap()[0].attributes["format"]["N"],
            format
        );
    }
}

/// Writes the table of the present format, and what is read of it, into the folder that `RECADO_FORMAT_FOLDER` names.
#[tokio::test]
#[ignore = "writes a fixture: tests/write_formats.sh runs it"]
async fn write_the_table_of_the_present_format() {
    let to = PathBuf::from(std::env::var("RECADO_FORMAT_FOLDER").unwrap());
    let place = Place::new(ErasureClock::default());
    let filled = ErasureSite::fill_kept(place.store(), place.queues.clone(), place.clock.clone());
    let site = Box::pin(filled).await;
    let answers = serde_json::to_string_pretty(&read_all(&site).await).unwrap();
    std::fs::write(to.join("table-answers.json"), answers + "\n").unwrap();
    let lines = place.dynamo.records().unwrap().into_iter();
    let lines: Vec<String> = lines
        .map(|record| format!("{}\n", json!({"Item": record.attributes})))
        .collect();
    std::fs::write(to.join("table.jsonl"), lines.concat()).unwrap();
}
