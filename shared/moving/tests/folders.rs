//! An installation moves by way of a folder: whole, resumed after each cut, and refused where it would lose or mix something.

#![expect(clippy::unwrap_used, reason = "this is test code")]

#[path = "folders/table.rs"]
mod table;

use async_trait::async_trait;
use futures::executor::block_on;
use jiff::{SignedDuration, Timestamp};
use recado_domain::event::{EventPayload, EventRecord};
use recado_domain::millis::add_duration;
use recado_domain::moving::{MovedEvent, MovedRecord, RecordKind};
use recado_domain::sample::MinuteSample;
use recado_domain::{OLDEST_EXPORT_FORMAT, RECORD_FORMAT};
use recado_embedded::{Clock, Embedded};
use recado_moving::{
    ExportOptions, MovingError, MovingStep, check_export, export_installation, import_installation,
};
use recado_ports::ports::{ImportBegin, MovableRecords, MovedPage, PortError, PortResult, Queues};
use recado_ports::records::KINDS;
use recado_ports::records::samples::put_samples;
use recado_testkit::builders::{Fixture, fresh};
use recado_testkit::contract;
use recado_testkit::moved_records::{read_records, read_sorted_records};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An export of the last build before 0.2.0, whose records are of format 5.
const EXPORT_OF_FORMAT_5: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/format-5.tar.gz");

fn empty_store() -> Embedded {
    Embedded::in_memory(Clock::from_system()).unwrap()
}

/// Returns a path in the build's own folder for what tests write.
fn new_folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(fresh("export"))
}

/// Returns a store with records of many kinds, a file and a large body.
async fn used_store() -> Embedded {
    let store = empty_store();
    contract::outbox::open_messages_come_by_ordinal(&store).await;
    contract::audit::entries_come_back_as_they_were_appended_the_newest_first_by_pages(&store).await;
    contract::guests::occasions_and_guests_are_listed_page_by_page_without_those_of_others(&store).await;
    contract::effects::an_effect_begins_with_its_journal_and_its_cells(&store).await;
    let answered = contract::published_events::an_answered_message_is_published_step_by_step(&store);
    Box::pin(answered).await;
    let mut event = pending_event();
    event.record.job.payload = EventPayload::Stored("large".to_owned());
    store
        .put_moved_records(&[MovedRecord::Event(Box::new(event))])
        .await
        .unwrap();
    store
        .put_payload("large", &json!({"text": "x".repeat(200_000)}))
        .await
        .unwrap();
    store
}

fn pending_event() -> MovedEvent {
    let job = Fixture::new().job();
    MovedEvent::new(EventRecord::new_pending(job), None)
}

fn options() -> ExportOptions {
    ExportOptions {
        now: Timestamp::now(),
        quiet_for: None,
    }
}

fn silent(_: MovingStep, _: usize) {}

/// A store that fails at its operation number `left` and after it.
struct BreakingStore<'a> {
    inner: &'a Embedded,
    left: AtomicUsize,
}

impl BreakingStore<'_> {
    fn check(&self) -> PortResult<()> {
        let used = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        used.map(drop)
            .map_err(|_| PortError::unavailable("the store", "it is cut off"))
    }
}

#[async_trait]
impl MovableRecords for BreakingStore<'_> {
    fn keeps_kind(&self, kind: RecordKind) -> bool {
        self.inner.keeps_kind(kind)
    }

    async fn read_moved_records(&self, place: Option<&str>) -> PortResult<MovedPage> {
        self.check()?;
        self.inner.read_moved_records(place).await
    }

    async fn put_moved_records(&self, records: &[MovedRecord]) -> PortResult<()> {
        // The store has taken them, but nobody hears of it.
        self.inner.put_moved_records(records).await?;
        self.check()
    }

    async fn begin_import(&self, export: &str) -> PortResult<ImportBegin> {
        self.check()?;
        self.inner.begin_import(export).await
    }

    async fn finish_import(&self, export: &str, now: Timestamp) -> PortResult<()> {
        self.check()?;
        self.inner.finish_import(export, now).await
    }
}

#[test]
fn an_installation_comes_out_of_its_folder_as_it_went_in() {
    block_on(async {
        let (from, to, folder) = (Box::pin(used_store()).await, empty_store(), new_folder());
        let made = export_installation(&from, &from, &KINDS, &folder, options(), &silent)
            .await
            .unwrap();
        assert_eq!(made.count_records(), read_records(&from).await.len() as u64);
        assert_eq!(made.files.count, 1);
        assert_eq!(check_export(&KINDS, &folder).unwrap(), made);
        let report = import_installation(&to, &to, &KINDS, &folder, Timestamp::now(), &silent)
            .await
            .unwrap();
        assert_eq!((report.records, report.expired), (made.count_records(), 0));
        assert_eq!(read_sorted_records(&to).await, read_sorted_records(&from).await);
        assert_eq!(
            to.find_payload("large").await.unwrap(),
            from.find_payload("large").await.unwrap()
        );
        let again = import_installation(&to, &to, &KINDS, &folder, Timestamp::now(), &silent)
            .await
            .unwrap();
        assert!(again.was_finished);
    });
}

#[test]
fn an_import_that_is_cut_off_at_any_operation_is_run_again() {
    block_on(async {
        let (from, folder) = (Box::pin(used_store()).await, new_folder());
        export_installation(&from, &from, &KINDS, &folder, options(), &silent)
            .await
            .unwrap();
        let expected = read_sorted_records(&from).await;
        for operations in 0.. {
            let to = empty_store();
            let breaking = BreakingStore {
                inner: &to,
                left: AtomicUsize::new(operations),
            };
            let first = import_installation(&breaking, &to, &KINDS, &folder, Timestamp::now(), &silent).await;
            if first.is_ok() {
                assert!(operations > 40, "it was cut off at {operations} places only");
                return;
            }
            import_installation(&to, &to, &KINDS, &folder, Timestamp::now(), &silent)
                .await
                .unwrap();
            assert_eq!(
                read_sorted_records(&to).await,
                expected,
                "cut off at {operations}"
            );
        }
    });
}

#[test]
fn an_export_that_is_cut_off_at_any_operation_is_no_export_and_is_run_again() {
    block_on(async {
        let from = Box::pin(used_store()).await;
        let now = options();
        let whole = export_installation(&from, &from, &KINDS, &new_folder(), now, &silent)
            .await
            .unwrap();
        for operations in (0..).step_by(13) {
            let folder = new_folder();
            let breaking = BreakingStore {
                inner: &from,
                left: AtomicUsize::new(operations),
            };
            let first = export_installation(&breaking, &from, &KINDS, &folder, now, &silent).await;
            if first.is_ok() {
                return;
            }
            let refused = check_export(&KINDS, &folder).unwrap_err();
            assert!(matches!(refused, MovingError::NoManifest(_)), "{refused}");
            let again = export_installation(&from, &from, &KINDS, &folder, now, &silent)
                .await
                .unwrap();
            assert_eq!(again, whole, "cut off at {operations}");
        }
    });
}

#[test]
fn a_changed_file_another_store_and_a_running_installation_are_refused() {
    block_on(async {
        let (from, folder) = (Box::pin(used_store()).await, new_folder());
        export_installation(&from, &from, &KINDS, &folder, options(), &silent)
            .await
            .unwrap();
        // Into a store that is used.
        let used = Box::pin(used_store()).await;
        let refused = import_installation(&used, &used, &KINDS, &folder, Timestamp::now(), &silent).await;
        assert!(matches!(refused, Err(MovingError::NotEmpty(_))));
        // Over an export.
        let refused = export_installation(&from, &from, &KINDS, &folder, options(), &silent).await;
        assert!(matches!(refused, Err(MovingError::FolderInUse(_))));
        // A record more.
        let path = folder.join("records/tenants.jsonl");
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("{}\n");
        std::fs::write(&path, text).unwrap();
        let to = empty_store();
        let refused = import_installation(&to, &to, &KINDS, &folder, Timestamp::now(), &silent).await;
        assert!(matches!(refused, Err(MovingError::Damaged { .. })));
        assert!(read_records(&to).await.is_empty());
        // An installation that ran a minute ago.
        let sample: MinuteSample = serde_json::from_value(json!({
            "at": add_duration(Timestamp::now(), -SignedDuration::from_mins(1)).as_millisecond(),
            "depth": 0, "parked": 0, "dead_letters": 0, "disconnected": 0, "configured": 0,
        }))
        .unwrap();
        let expires = add_duration(Timestamp::now(), SignedDuration::from_hours(1));
        put_samples(&from, &[sample], expires).await.unwrap();
        let asked = ExportOptions {
            quiet_for: Some(SignedDuration::from_mins(3)),
            ..options()
        };
        let refused = export_installation(&from, &from, &KINDS, &new_folder(), asked, &silent).await;
        assert!(matches!(refused, Err(MovingError::Running(_))));
    });
}

#[test]
fn an_export_of_format_5_is_imported_whole() {
    let folder = new_folder();
    std::fs::create_dir_all(&folder).unwrap();
    let mut unpack = Command::new("tar");
    unpack.arg("-xzf").arg(EXPORT_OF_FORMAT_5).arg("--no-same-owner");
    assert!(unpack.arg("-C").arg(&folder).status().unwrap().success());
    block_on(async {
        let manifest = check_export(&KINDS, &folder).unwrap();
        assert_eq!(manifest.records, 5);
        // At the time of the export: later, some of its records have expired.
        let now = manifest.taken_at;
        let to = Embedded::in_memory(Clock::new(move || now)).unwrap();
        let report = import_installation(&to, &to, &KINDS, &folder, now, &silent)
            .await
            .unwrap();
        assert_eq!((report.records, report.expired), (181, 0));
        assert_eq!(report.records, manifest.count_records());
        // Since format 7 the fields of a conversation lie in parts.
        let named = read_records(&to).await.into_iter().filter(
            |record| matches!(record, MovedRecord::Conversation(found) if found.contact.name.is_some()),
        );
        assert_eq!(named.count(), 3);
    });
}

#[test]
fn an_export_of_an_older_or_a_newer_format_is_refused() {
    block_on(async {
        let (from, folder) = (empty_store(), new_folder());
        export_installation(&from, &from, &KINDS, &folder, options(), &silent)
            .await
            .unwrap();
        let path = folder.join("manifest.json");
        let text = std::fs::read_to_string(&path).unwrap();
        for records in [OLDEST_EXPORT_FORMAT - 1, RECORD_FORMAT + 1] {
            let mut manifest: Value = serde_json::from_str(&text).unwrap();
            manifest["records"] = json!(records);
            std::fs::write(&path, manifest.to_string()).unwrap();
            let to = empty_store();
            let refused = import_installation(&to, &to, &KINDS, &folder, Timestamp::now(), &silent)
                .await
                .unwrap_err();
            assert!(matches!(refused, MovingError::OtherFormat { .. }), "{refused}");
            assert!(read_records(&to).await.is_empty());
        }
    });
}
