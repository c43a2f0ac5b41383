//! Records of the table move by the declarations of their kinds, and exports from before the table are imported as they are.

use super::{empty_store, new_folder, silent};
use async_trait::async_trait;
use futures::executor::block_on;
use jiff::Timestamp;
use recado_domain::access::Token;
use recado_domain::audit::AuditEntry;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_domain::ids::TenantId;
use recado_domain::moving::{Dated, MovedRecord, RecordKind, TableRecord};
use recado_domain::opt_out::OptOut;
use recado_embedded::{Clock, Embedded};
use recado_moving::{ExportOptions, MovingError, check_export, export_installation, import_installation};
use recado_ports::ports::{ImportBegin, MovableRecords, MovedPage, Page, PageRequest, PortError, PortResult};
use recado_ports::records::audit::{AuditFilter, list_audit};
use recado_ports::records::dead_letters::{DeadLetterFilter, find_dead_letter, list_dead_letters};
use recado_ports::records::opt_outs::list_opt_outs;
use recado_ports::records::tokens::{find_token, list_tokens};
use recado_ports::records::{KINDS, find_kind};
use recado_ports::table::{Kind, Record};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// The records of a kind in an export: the name, the lines, and the sum of their hashes.
type ExportedLines = (&'static str, &'static str, &'static str);

/// The sum of no hashes.
const NONE: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What the build before the table wrote of these kinds, with all fields and with those alone that must be there. The last entry of the
/// audit expires before [`now`].
const TOKENS: ExportedLines = (
    "tokens",
    r#"{"created_at":1795815013083,"created_by":"installation","hash":"27f0d3ab712a112d04a9015f4e75ac40fddf758203ee412ac6ba2f49ed906830","name":"dashboard","role":"admin"}
{"created_at":1795815013084,"created_by":"dashboard","expires_at":4102444800500,"hash":"5b1f0c4b7a0e4f2d9c8a6e3b1d7f5a9028c46e1b3d5f79a0c2e4861b3d5f7a9c","name":"front desk","role":"operator","tenant":"clinic"}
"#,
    "bd2551dcee317d28b7f8c6adbcf4a3e3f78aa198d0fc3d56bf752226a565290d",
);
const OPT_OUTS: ExportedLines = (
    "opt-outs",
    r#"{"address":"5511987654321","at":1795815013085,"is_stopped":true,"recipient":"00112233445566778899aabbccddeeff","source":"message","tenant":"clinic"}
{"at":1795815013086,"is_stopped":false,"recipient":"ffeeddccbbaa99887766554433221100","source":{"person":"front desk"},"tenant":"clinic"}
"#,
    "8562936444abe59733aca920ee3c1fb0109d81b93275d4862acc8fc32cfd0b0d",
);
const AUDIT: ExportedLines = (
    "audit",
    r#"{"expires":4102444800000,"record":{"action":"conversation_taken_over","actor":"front desk","actor_tenant":"clinic","after":"human","at":1795815013087,"before":"ai","correlation":"request-1","id":"0f2c6a5c1d3e4b7f8091a2b3c4d5e6f7","kind":"conversation","object":"c_0123456789abcdef0123456789abcdef-1","role":"operator","tenant":"clinic"}}
{"expires":4102444800000,"record":{"action":"webhook_secrets_read","actor":"installation","at":1795815013088,"id":"1f2c6a5c1d3e4b7f8091a2b3c4d5e6f7","kind":"installation","object":"all","role":"admin"}}
{"expires":1827351005000,"record":{"action":"caught_up","actor":"installation","at":1795815005000,"id":"2f2c6a5c1d3e4b7f8091a2b3c4d5e6f7","kind":"installation","object":"all","role":"admin"}}
"#,
    "74eaac6a60f71d3ecd8f90a0aaf56e060d645a7c8568f34d3428457aebabbe55",
);
const DEAD_LETTERS: ExportedLines = (
    "dead-letters",
    r#"{"at":1795815012984,"attempts":0,"correlation":"01a21eea79576b8a1afedadaa8ce08d8","id":"c_4bcfd1862e1042738db2b69f51c03aac-1.1","instance":"desk","last_error":"window_closed: the contact has never written","queue":"outbound","reason":"window_closed","tenant":"clinic","what":{"message":{"message":"c_4bcfd1862e1042738db2b69f51c03aac-1.1"}}}
{"at":1795815016610,"attempts":1,"correlation":"01a21eea88447c77af6be2fd04225b2e","id":"1ccf257c7d93a70e859b8e40c7e42a0db548eaf99d1ed64bcbb3a5555bb341e6","last_error":"Syntax error in column 2","queue":"inbound","reason":"poison","what":{"unreadable":{"body":"{ poison"}}}
"#,
    "8e5d240a58a9172623854bb18520439fd60932ce83ecd9e437004f8078e27d00",
);
const EXPIRED: &str = "caught_up";

fn now() -> Timestamp {
    Timestamp::from_second(1_900_000_000).unwrap()
}

fn options() -> ExportOptions {
    ExportOptions {
        now: now(),
        quiet_for: None,
    }
}

/// Writes an export as the build before the table did: a file for each kind, also for one without records.
fn write_export(folder: &Path, records: &[ExportedLines]) {
    let hash = |text: &str| hex::encode(Sha256::digest(text));
    for part in ["records", "files"] {
        fs::create_dir_all(folder.join(part)).unwrap();
    }
    let mut kinds = Map::new();
    let others = RecordKind::ALL.iter().map(|kind| (kind.as_str(), "", NONE));
    for (name, lines, digest) in others.chain(records.iter().copied()) {
        fs::write(folder.join(format!("records/{name}.jsonl")), lines).unwrap();
        let kind = json!({"count": lines.lines().count(), "digest": digest, "sha256": hash(lines)});
        kinds.insert(name.to_owned(), kind);
    }
    fs::write(folder.join("files/files.jsonl"), "").unwrap();
    let manifest = json!({
        "format": 1, "records": 5, "recado": "0.2.0", "taken_at": "2026-11-27T21:30:18.508814442Z", "kinds": kinds,
        "files": {"count": 0, "bytes": 0, "sha256": hash("")},
    });
    let manifest = serde_json::to_vec_pretty(&manifest).unwrap();
    fs::write(folder.join("manifest.json"), manifest).unwrap();
}

/// Reads the lines of the records that are kept.
fn parse_kept<T: DeserializeOwned>((_, lines, _): ExportedLines) -> Vec<T> {
    let kept = lines.lines().filter(|line| !line.contains(EXPIRED));
    kept.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the items of a list whose first page holds them all.
fn whole_list<T>(page: PortResult<Page<T>>) -> Vec<T> {
    let page = page.unwrap();
    assert_eq!(page.next_cursor, None);
    page.items
}

#[test]
fn an_export_from_before_the_table_is_imported_and_comes_out_as_it_was() {
    let to = Embedded::in_memory(Clock::new(now)).unwrap();
    let (folder, again) = (new_folder(), new_folder());
    write_export(&folder, &[TOKENS, OPT_OUTS, AUDIT, DEAD_LETTERS]);
    block_on(async {
        check_export(&KINDS, &folder).unwrap();
        let report = import_installation(&to, &to, &KINDS, &folder, now(), &silent)
            .await
            .unwrap();
        assert_eq!((report.records, report.expired), (8, 1));

        let page = PageRequest::first(10);
        let clinic = TenantId::parse("clinic").unwrap();
        let tokens: Vec<Token> = parse_kept(TOKENS);
        for token in &tokens {
            let found = find_token(&to, &token.hash).await.unwrap();
            assert_eq!(found.as_ref(), Some(token));
        }
        assert_eq!(whole_list(list_tokens(&to, None, &page).await), tokens);
        assert_eq!(
            whole_list(list_tokens(&to, Some(&clinic), &page).await),
            tokens[1..]
        );
        let opt_outs: Vec<OptOut> = parse_kept(OPT_OUTS);
        assert_eq!(whole_list(list_opt_outs(&to, &clinic, &page).await), opt_outs);
        let entries: Vec<Dated<AuditEntry>> = parse_kept(AUDIT);
        let newest_first: Vec<AuditEntry> = entries.into_iter().map(|entry| entry.record).rev().collect();
        let all = list_audit(&to, &AuditFilter::default(), &page).await;
        assert_eq!(whole_list(all), newest_first);
        let letters: Vec<DeadLetter> = parse_kept(DEAD_LETTERS);
        for letter in &letters {
            let found = find_dead_letter(&to, &letter.id).await.unwrap();
            assert_eq!(found.as_ref(), Some(letter));
        }
        let all = list_dead_letters(&to, &DeadLetterFilter::default(), &page).await;
        assert!(whole_list(all).iter().eq(letters.iter().rev()));
        let of_clinic = AuditFilter {
            tenant: Some(clinic),
            ..AuditFilter::default()
        };
        let listed = list_audit(&to, &of_clinic, &page).await;
        assert_eq!(whole_list(listed), newest_first[1..]);

        export_installation(&to, &to, &KINDS, &again, options(), &silent)
            .await
            .unwrap();
        for (name, lines, _) in [TOKENS, OPT_OUTS, AUDIT, DEAD_LETTERS] {
            let written = fs::read_to_string(again.join(format!("records/{name}.jsonl"))).unwrap();
            let kept = lines.lines().filter(|line| !line.contains(EXPIRED));
            let kept: BTreeSet<&str> = kept.collect();
            assert_eq!(written.lines().collect::<BTreeSet<_>>(), kept, "{name}");
        }
    });
}

#[test]
fn a_dead_letter_of_a_job_from_before_jobs_named_their_kinds_is_imported() {
    let to = Embedded::in_memory(Clock::new(now)).unwrap();
    let folder = new_folder();
    let letter = r#"{"at":1795815016610,"attempts":0,"correlation":"k","id":"turn-1","queue":"turns","reason":"poison","tenant":"clinic","what":{"turn":{"conversation":"c_4bcfd1862e1042738db2b69f51c03aac-1","correlation":"k","ordinal":3,"tenant":"clinic"}}}
"#;
    write_export(&folder, &[("dead-letters", letter, NONE)]);
    block_on(async {
        import_installation(&to, &to, &KINDS, &folder, now(), &silent)
            .await
            .unwrap();
        let found = find_dead_letter(&to, "turn-1").await.unwrap().unwrap();
        assert!(matches!(found.what, DeadLetterContent::Turns(_)), "{found:?}");
        assert_eq!(found.kind_name(), "turn");
    });
}

/// A record of a kind that the program does not have.
#[derive(Serialize, Deserialize)]
struct Reminder {
    id: String,
    #[serde(default)]
    note: String,
    until: i64,
}

impl Record for Reminder {
    const KIND: &'static str = "reminders";

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        self.id.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Timestamp::from_second(self.until).ok()
    }
}

const REMINDERS: &[Kind] = &[Kind::of::<Reminder>()];

fn reminder(json: &str) -> MovedRecord {
    MovedRecord::OfTable(TableRecord {
        kind: Reminder::KIND,
        body: json.to_owned(),
    })
}

/// A store that holds what is put, and knows no kind.
#[derive(Default)]
struct ListStore(Mutex<Vec<MovedRecord>>);

#[async_trait]
impl MovableRecords for ListStore {
    fn keeps_kind(&self, _: RecordKind) -> bool {
        true
    }

    async fn read_moved_records(&self, _: Option<&str>) -> PortResult<MovedPage> {
        Ok(MovedPage {
            records: self.0.lock().unwrap().clone(),
            next: None,
        })
    }

    async fn put_moved_records(&self, records: &[MovedRecord]) -> PortResult<()> {
        self.0.lock().unwrap().extend_from_slice(records);
        Ok(())
    }

    async fn begin_import(&self, _: &str) -> PortResult<ImportBegin> {
        Ok(ImportBegin::Ready)
    }

    async fn finish_import(&self, _: &str, _: Timestamp) -> PortResult<()> {
        Ok(())
    }
}

#[test]
fn a_kind_of_the_table_moves_by_its_declaration_and_what_expired_is_left_out() {
    assert!(find_kind(Reminder::KIND).is_none());
    let (from, to, files) = (ListStore::default(), ListStore::default(), empty_store());
    let (folder, older) = (new_folder(), new_folder());
    block_on(async {
        let stored = [
            reminder(r#"{"until":1900000000,"id":"expired"}"#),
            reminder(r#"{"until":1900000009,"id":"kept"}"#),
        ];
        from.put_moved_records(&stored).await.unwrap();
        let made = export_installation(&from, &files, REMINDERS, &folder, options(), &silent)
            .await
            .unwrap();
        assert_eq!(made.count_records(), 1);
        let written = fs::read_to_string(folder.join("records/reminders.jsonl")).unwrap();
        assert_eq!(written, "{\"id\":\"kept\",\"note\":\"\",\"until\":1900000009}\n");

        // Of an export whose records lack a field that is new, too.
        let lines = "{\"id\":\"expired\",\"until\":1900000000}\n{\"id\":\"kept\",\"until\":1900000009}\n";
        write_export(&older, &[(Reminder::KIND, lines, NONE)]);
        let report = import_installation(&to, &files, REMINDERS, &older, now(), &silent)
            .await
            .unwrap();
        assert_eq!((report.records, report.expired), (1, 1));
        let kept = reminder(r#"{"id":"kept","note":"","until":1900000009}"#);
        assert_eq!(*to.0.lock().unwrap(), [kept]);
    });
}

#[test]
fn a_record_of_an_unlisted_kind_of_the_table_or_that_cannot_be_read_is_refused() {
    let (from, to, files) = (ListStore::default(), ListStore::default(), empty_store());
    let (folder, damaged) = (new_folder(), new_folder());
    write_export(&folder, &[(Reminder::KIND, "", NONE)]);
    let two_lines = "{\"id\":\"kept\",\"until\":1900000009}\n{\"id\":\"damaged\"}\n";
    write_export(&damaged, &[(Reminder::KIND, two_lines, NONE)]);
    block_on(async {
        let refused = check_export(&[], &folder).unwrap_err();
        assert!(
            refused.to_string().contains("names the kind reminders"),
            "{refused}"
        );
        let refused = import_installation(&to, &files, &[], &folder, now(), &silent).await;
        assert!(matches!(refused, Err(MovingError::Damaged { .. })));

        let refused = import_installation(&to, &files, REMINDERS, &damaged, now(), &silent)
            .await
            .unwrap_err();
        let told = "reminders has a line 2 that cannot be read (missing field `until`";
        assert!(refused.to_string().contains(told), "{refused}");

        from.put_moved_records(&[reminder(r#"{"id":"damaged"}"#)])
            .await
            .unwrap();
        for kinds in [REMINDERS, &[]] {
            let refused = export_installation(&from, &files, kinds, &new_folder(), options(), &silent).await;
            let is_named = matches!(
                refused,
                Err(MovingError::Store(PortError::Invalid {
                    what: "reminders",
                    ..
                }))
            );
            assert!(is_named, "{refused:?}");
        }
    });
}
