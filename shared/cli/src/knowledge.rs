//! `recado knowledge`: the documents that an agent of a running installation answers from.

mod contents;
mod documents;
mod pages;

use crate::api_command::{ApiCommand, CommandGroup};
use crate::command_environment::{CommandEnvironment, ReadPdf};
use crate::dlq::tables::{AnswerTable, format_fields};
use crate::installation::InstallationClient;
use crate::json_fields::{find_text, list_items, number_or_zero};
use crate::progress::ProgressBar;
use anyhow::{Context, Result, bail};
use clap::Subcommand;
use contents::read_local_document;
use documents::{DocumentPlace, FoundDocument, find_documents};
use pages::{build_page_client, fetch_page_content};
use recado_http_client::GuardedClient;
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The subcommands about documents.
#[derive(Debug, Subcommand)]
pub enum KnowledgeCommand {
    /// Adds files, the files of folders, and web pages: Markdown, text, HTML, CSV, Word, Excel, `PowerPoint`, PDF. What was added
    /// before is replaced if it changed.
    Add {
        /// The agent's id.
        agent: String,
        /// Files, folders, and URLs of pages.
        #[arg(required_unless_present = "urls")]
        documents: Vec<String>,
        /// A file with URLs of pages, one on each line.
        #[arg(long, value_name = "FILE")]
        urls: Option<PathBuf>,
        /// Also fetches pages of this machine and of private networks.
        #[arg(long)]
        allow_private: bool,
    },
    /// Lists the sources of an agent.
    List {
        /// The agent's id.
        agent: String,
    },
    /// Shows a source with its blocks.
    Show {
        /// The agent's id.
        agent: String,
        /// The source's id or title.
        source: String,
    },
    /// Removes sources.
    Remove {
        /// The agent's id.
        agent: String,
        /// The sources' ids or titles.
        #[arg(required = true)]
        sources: Vec<String>,
    },
    /// Makes the vectors that blocks lack, by the embedding model of the installation.
    Embed {
        /// The agent's id.
        agent: String,
        /// Drops the present vectors and makes all again.
        #[arg(long)]
        again: bool,
    },
    /// Finds the blocks that answer a question best.
    Search {
        /// The agent's id.
        agent: String,
        /// The question.
        question: String,
        /// Number of blocks at most.
        #[arg(long, default_value_t = 5)]
        limit: usize,
    },
}

/// Runs the subcommand and prints its result.
pub(crate) async fn run_knowledge_command(
    group: CommandGroup<KnowledgeCommand>,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = &group.asked.there.build_client(environment)?;
    let as_json = group.asked.json;
    let command = match &group.command {
        KnowledgeCommand::Add {
            agent,
            documents,
            urls,
            allow_private,
        } => {
            let documents = find_documents(documents, urls.as_deref())?;
            let pages = build_page_client(*allow_private)?;
            let reading = DocumentReading {
                pages: &pages,
                read_pdf: environment.read_pdf,
            };
            return add_documents(there, agent, documents, reading, as_json).await;
        }
        KnowledgeCommand::List { agent } => {
            ApiCommand::get(&["v1", "agents", agent, "knowledge"]).show(format_sources)
        }
        KnowledgeCommand::Show { agent, source } => {
            let id = find_source_id(there, agent, source).await?;
            ApiCommand::get(&["v1", "agents", agent, "knowledge", &id]).show(format_blocks)
        }
        KnowledgeCommand::Remove { agent, sources } => {
            for source in sources {
                let id = find_source_id(there, agent, source).await?;
                let remove = ApiCommand::delete(&["v1", "agents", agent, "knowledge", &id]);
                remove
                    .or_fail(format!("{source} was not removed"))
                    .ask(there)
                    .await?;
            }
            let removed = json!({ "removed": sources });
            return print_answer(&removed, as_json, |_| {
                format!("Removed {}.\n", sources.join(", "))
            });
        }
        KnowledgeCommand::Embed { agent, again } => {
            let answer = embed_blocks(there, agent, *again).await?;
            return print_answer(&answer, as_json, format_vectors);
        }
        KnowledgeCommand::Search {
            agent,
            question,
            limit,
        } => {
            let path = ["v1", "agents", agent, "knowledge", "search"];
            ApiCommand::post(&path, json!({"question": question, "limit": limit})).show(format_found)
        }
    };
    command.run(there, as_json).await
}

/// The means of reading the contents of documents.
#[derive(Debug, Clone, Copy)]
struct DocumentReading<'a> {
    /// The client for pages.
    pages: &'a GuardedClient,
    /// Reads the text of PDF documents.
    read_pdf: ReadPdf,
}

/// Adds documents one by one. A bad one is told of by its name with the reason; the rest goes in.
async fn add_documents(
    there: &InstallationClient,
    agent: &str,
    documents: Vec<FoundDocument>,
    reading: DocumentReading<'_>,
    as_json: bool,
) -> Result<()> {
    let mut bar = ProgressBar::start(documents.len());
    let (mut counts, mut refused) = (std::collections::BTreeMap::<String, usize>::new(), Vec::new());
    let mut without_vectors = Vec::new();
    for document in documents {
        bar.show_step(&document.title);
        match add_document(there, agent, &document, reading).await {
            Ok((added, left_out)) => {
                let outcome = find_text(&added, "outcome").unwrap_or("added");
                *counts.entry(outcome.to_owned()).or_default() += 1;
                let vectors = &added["vectors"];
                // An installation without an embedding model has no vectors at all.
                let lack = find_text(vectors, "reason").filter(|reason| *reason != "not_set_up");
                let told = lack.map(|reason| {
                    let missing = &vectors["missing"];
                    format!("{missing} blocks are found by their words alone, since they have no vectors: {reason}")
                });
                for warning in left_out.into_iter().chain(told) {
                    bar.clear_line();
                    eprintln!("{}: {warning}", document.place);
                }
                let place = document.place.to_string();
                without_vectors.extend(lack.map(|reason| json!({"file": place, "reason": reason})));
            }
            Err(error) => {
                bar.clear_line();
                eprintln!("{}: {error:#}", document.place);
                refused.push(json!({"document": document.place.to_string(), "reason": format!("{error:#}")}));
            }
        }
    }
    bar.clear_line();
    let failed = refused.len();
    let mut answer = json!(counts);
    answer["refused"] = json!(refused);
    answer["without_vectors"] = json!(without_vectors);
    if !as_json {
        answer["refused"] = json!(failed);
        answer["without_vectors"] = json!(without_vectors.len());
    }
    print_answer(&answer, as_json, |answer| format_fields(answer) + "\n")?;
    match failed {
        0 => Ok(()),
        1 => bail!("1 document was not added"),
        _ => bail!("{failed} documents were not added"),
    }
}

/// Adds a document. Returns the answer, and words about what of the document is left out.
async fn add_document(
    there: &InstallationClient,
    agent: &str,
    document: &FoundDocument,
    reading: DocumentReading<'_>,
) -> Result<(Value, Option<String>)> {
    let content = match &document.place {
        DocumentPlace::File(path) => read_local_document(path, reading.read_pdf).await?,
        DocumentPlace::Page(url) => fetch_page_content(reading.pages, url, reading.read_pdf).await?,
    };
    let content_type = content.content_type.as_deref();
    let request = there.build_request(Method::POST, &["v1", "agents", agent, "knowledge"])?;
    let request = request
        .query(&[("title", &document.title)])
        .header("content-type", content_type.unwrap_or("application/octet-stream"))
        .body(content.bytes);
    Ok((there.request_json(request).await?, content.warning))
}

/// Asks for the missing vectors of blocks, request by request, until none is missing or a request makes none.
async fn embed_blocks(there: &InstallationClient, agent: &str, again: bool) -> Result<Value> {
    let path = ["v1", "agents", agent, "knowledge", "vectors"];
    let mut state = there.post_json(&path, &json!({ "again": again })).await?;
    let all = number_or_zero(&state, "missing") + number_or_zero(&state, "blocks");
    let mut bar = ProgressBar::start(usize::try_from(all).unwrap_or(usize::MAX));
    loop {
        let missing = number_or_zero(&state, "missing");
        if missing == 0 || state["blocks"] == 0 {
            bar.clear_line();
            return Ok(state);
        }
        bar.show_amount(all.saturating_sub(missing), "blocks with vectors");
        state = there.post_json(&path, &json!({"again": false})).await?;
        if number_or_zero(&state, "missing") >= missing {
            bar.clear_line();
            return Ok(state);
        }
    }
}

/// Returns a line about the vectors of blocks.
fn format_vectors(state: &Value) -> String {
    let (blocks, missing) = (&state["blocks"], &state["missing"]);
    let model = state["model"].as_str();
    let model = model.map_or(String::new(), |model| format!(", model {model}"));
    let reason = state["reason"].as_str();
    let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
    format!("Vectors: {blocks} blocks have one, {missing} have none{reason}{model}.\n")
}

/// Returns the id of a source that is named by its id or its title.
async fn find_source_id(there: &InstallationClient, agent: &str, named: &str) -> Result<String> {
    let known = there.get_json(&["v1", "agents", agent, "knowledge"], &[]).await?;
    let mut known = list_items(&known, "sources").iter();
    let found = known.find(|source| source["id"] == *named || source["title"] == *named);
    let found = found
        .and_then(|source| find_text(source, "id"))
        .with_context(|| {
            format!("agent {agent} has no source {named}; `recado knowledge list {agent}` lists them")
        })?;
    Ok(found.to_owned())
}

/// The list of the sources of an agent.
const SOURCES: AnswerTable = AnswerTable {
    nothing: "No sources.",
    fields: &["id", "title", "blocks", "bytes", "added_at"],
    times: &["added_at"],
    ..AnswerTable::EMPTY
};

fn format_sources(answer: &Value) -> String {
    let sources = list_items(answer, "sources");
    let table = SOURCES.format(&json!({ "items": sources }));
    if sources.is_empty() {
        return table;
    }
    table + &format_vectors(&answer["vectors"])
}

fn format_blocks(answer: &Value) -> String {
    let blocks = list_items(answer, "texts").iter();
    let blocks = blocks.map(|block| format!("[{}]\n{}\n\n", text_of(block, "place"), text_of(block, "text")));
    blocks.collect()
}

fn text_of<'a>(block: &'a Value, name: &str) -> &'a str {
    find_text(block, name).unwrap_or_default()
}

fn format_found(answer: &Value) -> String {
    let listed = list_items(answer, "found").iter().map(|block| {
        let score = block["score"].as_f64().unwrap_or(0.0);
        let [title, place, text] = ["title", "place", "text"].map(|name| text_of(block, name));
        format!("{score:.2}  {title} [{place}]\n{text}\n\n")
    });
    let listed: String = listed.collect();
    let search = answer["search"].as_str().unwrap_or("lexical");
    let vectors = answer["vectors"].as_str();
    let vectors = vectors.map_or(String::new(), |reason| format!(", vectors: {reason}"));
    let whole = answer["whole"].as_u64().map_or(String::new(), |blocks| {
        format!("The documents are short: the model is shown all {blocks} blocks, found or not.\n")
    });
    if listed.is_empty() {
        return format!("Nothing was found (search: {search}{vectors}).\n{whole}");
    }
    format!("{listed}(search: {search}{vectors})\n{whole}")
}
