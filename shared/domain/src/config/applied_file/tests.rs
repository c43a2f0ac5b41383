use super::*;
use serde_json::json;

/// A file with an agent of this prompt, and what is stored of it.
fn configuration(prompt: &str) -> ConfigDocument {
    serde_json::from_value(json!({
        "tenants": [{"id": "clinic"}],
        "agents": [{"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": prompt}],
        "instances": [{"id": "desk", "tenant": "clinic", "agent": "ana", "provider": "evolution"}],
    }))
    .unwrap()
}

/// What a start noted that read this file and stored it as it is.
fn started_with(file: &ConfigDocument) -> AppliedFile {
    let mut applied = AppliedFile::default();
    applied.note_applied(file, file, &[], true);
    applied
}

fn names(kept: &[KeptEntry]) -> Vec<&str> {
    kept.iter().map(|kept| kept.name.as_str()).collect()
}

#[test]
fn a_file_that_was_not_edited_is_not_applied_over_what_people_changed() {
    let file = configuration("as the file says");
    let applied = started_with(&file);
    assert_eq!(
        applied.split_document(&file, &file),
        (ConfigDocument::default(), Vec::new())
    );
    let changed = configuration("as a person says");
    let (edited, kept) = applied.split_document(&file, &changed);
    assert_eq!(edited, ConfigDocument::default());
    assert_eq!(names(&kept), ["agent ana"]);
    assert_eq!(applied.find_source(&changed.agents[0]), EntrySource::ChangedSince);
    assert_eq!(applied.find_source(&changed.instances[0]), EntrySource::File);
    let mut removed = file.clone();
    removed.instances.clear();
    let (_, kept) = applied.split_document(&file, &removed);
    assert!(kept[0].is_removed && kept[0].name == "instance desk");
}

#[test]
fn an_edited_entry_is_told_from_one_that_was_changed_otherwise_as_well() {
    let file = configuration("first");
    let applied = started_with(&file);
    let (edited, kept) = applied.split_document(&configuration("second"), &file);
    assert_eq!(
        (edited.agents.len(), edited.instances.len(), kept.len()),
        (1, 0, 0)
    );
    let changed = |applied: &AppliedFile, stored: &ConfigDocument| {
        applied.list_changed_otherwise(["agent ana".to_owned()], stored)
    };
    assert!(changed(&applied, &file).is_empty());
    assert_eq!(names(&changed(&applied, &configuration("third"))), ["agent ana"]);
    assert!(changed(&applied, &ConfigDocument::default())[0].is_removed);
    let unknown = AppliedFile::default();
    assert_eq!(
        names(&changed(&unknown, &file)),
        ["agent ana"],
        "it is not from the file"
    );
    assert!(
        changed(&unknown, &ConfigDocument::default()).is_empty(),
        "it is new"
    );
}

#[test]
fn what_another_file_said_of_an_entry_since_stays() {
    let file = configuration("of the start's file");
    let mut applied = started_with(&file);
    let other = configuration("of another file");
    applied.note_applied(&other, &other, &[], false);
    let (edited, kept) = applied.split_document(&file, &other);
    assert_eq!(edited, ConfigDocument::default());
    assert_eq!(names(&kept), ["agent ana"]);
    assert!(applied.split_document(&other, &other).1.is_empty());
}

#[test]
fn what_no_document_says_is_no_change() {
    let file = configuration("p");
    let applied = started_with(&file);
    let mut stored = serde_json::to_value(&file).unwrap();
    stored["instances"][0]["secret_version"] = json!(2);
    stored["tenants"][0]["webhooks"] = json!([{"id": "crm", "url": "https://crm.example/in"}]);
    let stored: ConfigDocument = serde_json::from_value(stored).unwrap();
    assert!(applied.split_document(&file, &stored).1.is_empty());
    let mut named = file.clone();
    named.tenants[0].webhooks = Some(Vec::new());
    let applied = started_with(&named);
    assert_eq!(
        names(&applied.split_document(&named, &stored).1),
        ["tenant clinic"]
    );
}

#[test]
fn an_entry_that_was_kept_is_told_again_at_the_next_start() {
    let file = configuration("p");
    let mut applied = started_with(&file);
    let changed = configuration("as a person says");
    let (_, kept) = applied.split_document(&file, &changed);
    applied.note_applied(&file, &changed, &kept, true);
    assert_eq!(names(&applied.split_document(&file, &changed).1), ["agent ana"]);
    // Once the file says what is stored, there is nothing to tell.
    applied.note_applied(&changed, &changed, &[], true);
    assert!(applied.split_document(&changed, &changed).1.is_empty());
}
