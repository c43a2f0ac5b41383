//! `recado contact`: finds, exports and erases a contact of a running installation, here or on AWS.

use crate::confirm::confirm_action;
use crate::environment::LocalEnvironment;
use crate::installation::{InstallationArguments, InstallationClient, add_part};
use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a person may ask for: to be found, to get a copy of everything, to be erased.
#[derive(Debug, Args)]
pub(crate) struct ContactArguments {
    #[command(subcommand)]
    command: ContactCommand,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ContactCommand {
    /// Shows the contact's addresses, names and conversations.
    Find {
        #[command(flatten)]
        which: WhichContact,
    },
    /// Writes everything that is stored of the contact into a folder: `contact.json`, and the files that were uploaded.
    Export {
        #[command(flatten)]
        which: WhichContact,
        /// The folder. It must not exist yet.
        #[arg(long, value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Erases everything that is stored of the contact, for good. Shows what there is, and asks.
    Erase {
        #[command(flatten)]
        which: WhichContact,
        /// Erases without a question.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
struct WhichContact {
    /// The phone number in any spelling, or an identity without a number (`…@lid`).
    contact: String,
    /// The tenant whose contact it is.
    #[arg(long)]
    tenant: String,
    /// Only on this instance.
    #[arg(long)]
    instance: Option<String>,
}

impl WhichContact {
    async fn post(&self, there: &InstallationClient, what: &str) -> Result<Value> {
        self.post_from(there, what, None).await
    }

    /// Posts the request for the part that begins at `cursor`.
    async fn post_from(&self, there: &InstallationClient, what: &str, cursor: Option<&str>) -> Result<Value> {
        let mut body = json!({"tenant": self.tenant, "contact": self.contact, "instance": self.instance});
        if let Some(cursor) = cursor {
            body["cursor"] = json!(cursor);
        }
        let request = there.build_request(Method::POST, &["v1", "contacts", what])?;
        there.request_json(request.json(&body)).await
    }
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_contact_command(
    arguments: ContactArguments,
    environment: &LocalEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let answer = match &arguments.command {
        ContactCommand::Find { which } => {
            let found = which.post(&there, "find").await?;
            if !arguments.json {
                print!("{}", format_found(&found));
                return Ok(());
            }
            found
        }
        ContactCommand::Export { which, to } => {
            let export = export_parts(&there, which).await?;
            json!({"folder": to, "files": write_export(to, export)?})
        }
        ContactCommand::Erase { which, yes } => {
            let found = which.post(&there, "find").await?;
            eprint!("{}", format_found(&found));
            confirm_action("Erase everything of this contact, for good?", *yes)?;
            erase(&there, which).await?
        }
    };
    if arguments.json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        print!("{}", format_counts(&answer));
    }
    Ok(())
}

/// Requests all parts of the export. Returns them as one.
async fn export_parts(there: &InstallationClient, which: &WhichContact) -> Result<Value> {
    let mut whole = which.post(there, "export").await?;
    loop {
        let cursor = whole
            .as_object_mut()
            .and_then(|fields| fields.remove("next_cursor"));
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
                    Some(last) => {
                        let mut messages = take_list(last, "messages");
                        messages.extend(take_list(&mut told, "messages"));
                        last["messages"] = Value::Array(messages);
                    }
                    None => conversations.push(told),
                }
            }
            let mut scheduled = take_list(&mut before, "scheduled");
            scheduled.extend(take_list(&mut instance, "scheduled"));
            before["conversations"] = Value::Array(conversations);
            before["scheduled"] = Value::Array(scheduled);
            instance = before;
        }
        others.push(instance);
        whole["instances"] = Value::Array(others);
    }
    let mut files = take_list(whole, "files");
    let new = take_list(&mut part, "files");
    files.extend(new.into_iter().filter(|file| source(file).is_some()));
    files.sort_by_key(|file| text_at(file, "source").to_owned());
    files.dedup_by_key(|file| source(file));
    whole["files"] = Value::Array(files);
    if let Some(cursor) = part.get("next_cursor") {
        whole["next_cursor"] = cursor.clone();
    }
}

/// Takes a list out of an object.
fn take_list(of: &mut Value, name: &str) -> Vec<Value> {
    match of.get_mut(name).map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Requests the erasure until nothing of it has to wait any more. Returns the sum of the counts.
async fn erase(there: &InstallationClient, which: &WhichContact) -> Result<Value> {
    let mut total = Map::new();
    loop {
        let part = which.post(there, "erase").await?;
        add_part(&mut total, &part);
        let until = part.get("waits_until").and_then(Value::as_str);
        let Some(until) = until.map(str::parse::<Timestamp>).transpose()? else {
            total.remove("waits_until");
            total.insert("done".to_owned(), json!(true));
            return Ok(Value::Object(total));
        };
        eprintln!("A message is being sent; the rest is erased after {until}.");
        let wait = until.duration_since(Timestamp::now()).as_secs().clamp(1, 60);
        tokio::time::sleep(Duration::from_secs(wait.unsigned_abs())).await;
    }
}

fn format_found(found: &Value) -> String {
    let items = found
        .get("items")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    if items.is_empty() {
        return "Nothing is stored of this contact but what is not yet in a conversation.\n".to_owned();
    }
    items.iter().map(format_instance).collect()
}

/// Formats the person as it is known on one instance.
fn format_instance(item: &Value) -> String {
    let list = |name: &str| {
        let texts = item.get(name).and_then(Value::as_array).into_iter().flatten();
        texts.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let mut lines = vec![
        format!("instance {}", text_at(item, "instance_id")),
        format!("  addresses: {}", list("addresses")),
        format!("  names: {}", list("names")),
    ];
    let conversations = item.get("conversations").and_then(Value::as_array);
    lines.extend(conversations.into_iter().flatten().map(|conversation| {
        let (id, status) = (text_at(conversation, "id"), text_at(conversation, "status"));
        match conversation.get("erased_at").and_then(Value::as_str) {
            Some(at) => format!("  {id}  erased {at}"),
            None => format!(
                "  {id}  {status}, last message {}",
                text_at(conversation, "last_message_at")
            ),
        }
    }));
    lines.join("\n") + "\n"
}

fn text_at<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("-")
}

fn format_counts(answer: &Value) -> String {
    let fields = answer.as_object().into_iter().flatten();
    let lines = fields.map(|(name, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{}: {text}", name.replace('_', " "))
    });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Writes the export into the new folder `to`, for its owner only. Returns the number of files beside `contact.json`.
fn write_export(to: &Path, mut export: Value) -> Result<usize> {
    let mut folder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder
        .create(to)
        .with_context(|| format!("cannot create {}", to.display()))?;
    let files = export.get_mut("files").and_then(Value::as_array_mut);
    let mut count = 0;
    for (number, file) in files.into_iter().flatten().enumerate() {
        let name = format!(
            "file-{}{}",
            number + 1,
            extension(text_at(file, "file_name"), text_at(file, "mime_type"))
        );
        let Some(fields) = file.as_object_mut() else {
            bail!("the installation's answer is not an export");
        };
        let content = fields.insert("base64".to_owned(), Value::Null);
        let bytes = STANDARD
            .decode(content.as_ref().and_then(Value::as_str).unwrap_or_default())
            .context("a file of the export is unreadable")?;
        fields.remove("base64");
        fields.insert("file".to_owned(), json!(name));
        write_private_file(&to.join(&name), &bytes)?;
        count += 1;
    }
    write_private_file(
        &to.join("contact.json"),
        serde_json::to_string_pretty(&export)?.as_bytes(),
    )?;
    Ok(count)
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

fn write_private_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options
        .open(path)
        .with_context(|| format!("cannot create {}", path.display()))?;
    file.write_all(bytes)?;
    Ok(file.sync_all()?)
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

    #[test]
    fn what_is_found_is_shown_with_what_was_erased() {
        let found = json!({"items": [{"instance_id": "loja", "addresses": ["+55"], "names": ["Bia"], "conversations": [
            {"id": "c_1-2", "status": "active", "last_message_at": "t", "erased_at": null},
            {"id": "c_1-1", "status": "resolved", "last_message_at": "t", "erased_at": "u"},
        ]}]});
        let text = format_found(&found);
        assert!(
            text.contains("names: Bia") && text.contains("c_1-2  active, last message t"),
            "{text}"
        );
        assert!(text.contains("c_1-1  erased u"), "{text}");
        assert!(format_found(&json!({"items": []})).contains("Nothing"));
    }
}
