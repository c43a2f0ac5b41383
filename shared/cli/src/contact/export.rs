//! `recado contact export`: fetches everything that is stored of a contact, and writes it into a folder.

use super::WhichContact;
use crate::installation::InstallationClient;
use crate::json_fields::text_or_dash;
use crate::progress::ProgressBar;
use crate::record::create_private_file;
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs::{DirBuilder, File};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Requests all parts of the export. Returns them as one.
pub(super) async fn export_parts(there: &InstallationClient, which: &WhichContact) -> Result<Value> {
    let mut whole = which.post(there, "export").await?;
    loop {
        let fields = whole.as_object_mut();
        let cursor = fields.and_then(|fields| fields.remove("next_cursor"));
        let Some(cursor) = cursor.as_ref().and_then(Value::as_str) else {
            return Ok(whole);
        };
        let part = which.post_from(there, "export", Some(cursor)).await?;
        join_parts(&mut whole, part);
    }
}

/// Adds the next part of an export to those before it. What goes on in it is joined: an instance, a conversation.
fn join_parts(whole: &mut Value, mut part: Value) {
    let key = |instance: &Value| instance.get("instance").cloned();
    let id = |told: &Value| told.pointer("/conversation/id").cloned();
    let source = |file: &Value| file.get("source").cloned();
    for mut instance in take_list(&mut part, "instances") {
        let known = take_list(whole, "instances");
        let (mut same, mut others): (Vec<Value>, Vec<Value>) =
            known.into_iter().partition(|known| key(known) == key(&instance));
        if let Some(mut before) = same.pop() {
            let mut conversations = take_list(&mut before, "conversations");
            for mut told in take_list(&mut instance, "conversations") {
                match conversations.last_mut().filter(|last| id(last) == id(&told)) {
                    Some(last) => append_list(last, &mut told, "messages"),
                    None => conversations.push(told),
                }
            }
            before["conversations"] = Value::Array(conversations);
            for name in ["events", "scheduled"] {
                append_list(&mut before, &mut instance, name);
            }
            instance = before;
        }
        others.push(instance);
        whole["instances"] = Value::Array(others);
    }
    let mut files = take_list(whole, "files");
    let new = take_list(&mut part, "files");
    files.extend(new.into_iter().filter(|file| source(file).is_some()));
    files.sort_by_key(|file| text_or_dash(file, "source").to_owned());
    files.dedup_by_key(|file| source(file));
    whole["files"] = Value::Array(files);
    append_list(whole, &mut part, "message_files");
    if let Some(cursor) = part.get("next_cursor") {
        whole["next_cursor"] = cursor.clone();
    }
}

/// Moves a list of a part behind that of the whole.
fn append_list(whole: &mut Value, part: &mut Value, name: &str) {
    let mut records = take_list(whole, name);
    records.extend(take_list(part, name));
    whole[name] = Value::Array(records);
}

/// Takes a list out of an object.
fn take_list(of: &mut Value, name: &str) -> Vec<Value> {
    match of.get_mut(name).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Writes the export into the new folder `to`, for its owner only: `contact.json`, and beside it the files that were uploaded
/// and those of messages, which are fetched one by one. Returns the number of files.
pub(super) async fn write_export(there: &InstallationClient, to: &Path, mut export: Value) -> Result<usize> {
    let mut folder = DirBuilder::new();
    let made = folder.mode(0o700).create(to);
    made.with_context(|| format!("cannot create {}", to.display()))?;
    let mut uploads = take_list(&mut export, "files");
    for (number, file) in (1..).zip(&mut uploads) {
        write_upload(to, number, file)?;
    }
    let mut count = uploads.len();
    export["files"] = Value::Array(uploads);
    let mut message_files = take_list(&mut export, "message_files");
    let mut bar = ProgressBar::start(message_files.len());
    for (number, file) in (1..).zip(&mut message_files) {
        bar.show_step("fetching files");
        count += usize::from(write_message_file(there, to, number, file).await?);
    }
    export["message_files"] = Value::Array(message_files);
    let mut json = create_file(&to.join("contact.json"))?;
    json.write_all(serde_json::to_string_pretty(&export)?.as_bytes())?;
    json.sync_all()?;
    Ok(count)
}

/// Writes an uploaded file, whose content stands in the export, and names it there.
fn write_upload(to: &Path, number: usize, file: &mut Value) -> Result<()> {
    let ending = extension(text_or_dash(file, "file_name"), text_or_dash(file, "mime_type"));
    let name = format!("file-{number}{ending}");
    let Some(fields) = file.as_object_mut() else {
        bail!("the installation's answer is not an export");
    };
    let content = fields.remove("base64");
    let bytes = STANDARD
        .decode(content.as_ref().and_then(Value::as_str).unwrap_or_default())
        .context("a file of the export is unreadable")?;
    fields.insert("file".to_owned(), json!(name));
    let mut written = create_file(&to.join(&name))?;
    written.write_all(&bytes)?;
    Ok(written.sync_all()?)
}

/// Fetches the file of a message and names it in the export. `false`: it was deleted since the export began.
async fn write_message_file(
    there: &InstallationClient,
    to: &Path,
    number: usize,
    file: &mut Value,
) -> Result<bool> {
    let ending = extension(text_or_dash(file, "file_name"), text_or_dash(file, "mime_type"));
    let name = format!("message-file-{number}{ending}");
    let id = text_or_dash(file, "message_id").to_owned();
    let Some(mut answer) = there.open_media(&id).await? else {
        file["file"] = Value::Null;
        return Ok(false);
    };
    let mut written = create_file(&to.join(&name))?;
    while let Some(bytes) = answer
        .chunk()
        .await
        .with_context(|| format!("the file of the message {id} ended early"))?
    {
        written.write_all(&bytes)?;
    }
    written.sync_all()?;
    file["file"] = json!(name);
    Ok(true)
}

/// Returns the ending for a file: that of its name, if it is a plain one, or that of its media type.
fn extension(file_name: &str, mime_type: &str) -> String {
    let of_name = file_name.rsplit_once('.').map(|(_, ending)| ending);
    let plain =
        |ending: &&str| (1..=8).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    let of_type = mime_type.rsplit_once('/').map(|(_, kind)| kind);
    of_name
        .filter(plain)
        .or(of_type.filter(plain))
        .map_or_else(String::new, |ending| format!(".{ending}"))
}

fn create_file(path: &Path) -> Result<File> {
    create_private_file(path).with_context(|| format!("cannot create {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exported_file_gets_a_plain_ending() {
        assert_eq!(extension("a.PDF", "application/pdf"), ".PDF");
        assert_eq!(extension("-", "image/png"), ".png");
        assert_eq!(extension("a.p/../x", "a/b c"), "");
    }

    #[test]
    fn parts_of_an_export_are_joined_where_they_go_on() {
        let told = |id: &str, messages: &[u32]| json!({"conversation": {"id": id}, "messages": messages});
        let part = |conversations: Value, files: &[&str], next: Value| {
            let files: Vec<Value> = files.iter().map(|source| json!({"source": source})).collect();
            let instance = json!({"instance": "loja", "conversations": conversations, "scheduled": []});
            json!({"tenant": "demo", "instances": [instance], "files": files, "next_cursor": next})
        };
        let mut whole = part(json!([told("a", &[1, 2])]), &["u:1"], Value::Null);
        join_parts(
            &mut whole,
            part(
                json!([told("a", &[3]), told("b", &[1])]),
                &["u:1", "u:2"],
                json!("more"),
            ),
        );
        let other =
            json!({"instances": [{"instance": "casa", "conversations": [], "scheduled": [7]}], "files": []});
        join_parts(&mut whole, other);
        let loja = &whole["instances"][0]["conversations"];
        assert_eq!(*loja, json!([told("a", &[1, 2, 3]), told("b", &[1])]));
        assert_eq!(whole["instances"][1]["scheduled"], json!([7]));
        assert_eq!(whole["files"].as_array().map(Vec::len), Some(2));
        assert_eq!(whole["next_cursor"], "more");
    }
}
