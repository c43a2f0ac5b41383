//! `recado knowledge`: the documents that an agent of a running installation answers from.

mod contents;
mod documents;
mod pages;

use crate::command_environment::{CommandEnvironment, ReadPdf};
use crate::dlq::tables::{collect_rows, format_fields, format_table};
use crate::installation::{InstallationArguments, InstallationClient};
use crate::instant::format_local_time;
use crate::progress::ProgressBar;
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use contents::read_local_document;
use documents::{DocumentPlace, FoundDocument, find_documents};
use pages::{build_page_client, fetch_page_content};
use recado_http_client::GuardedClient;
use recado_machine::output::print_answer;
use reqwest::Method;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The documents of the business that an agent answers from, of a running installation here or on AWS.
#[derive(Debug, Args)]
pub struct KnowledgeArguments {
    #[command(subcommand)]
    command: KnowledgeCommand,
    #[command(flatten)]
    there: InstallationArguments,
    /// Prints the answer as JSON.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum KnowledgeCommand {
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
    arguments: KnowledgeArguments,
    environment: &CommandEnvironment,
) -> Result<()> {
    let there = arguments.there.build_client(environment)?;
    let (answer, text) = match &arguments.command {
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
            return add_documents(&there, agent, documents, reading, arguments.json).await;
        }
        KnowledgeCommand::List { agent } => {
            let answer = list_sources(&there, agent).await?;
            let text = format_sources(&answer);
            (answer, text)
        }
        KnowledgeCommand::Show { agent, source } => show_source(&there, agent, source).await?,
        KnowledgeCommand::Remove { agent, sources } => remove_sources(&there, agent, sources).await?,
        KnowledgeCommand::Embed { agent, again } => {
            let answer = embed_blocks(&there, agent, *again).await?;
            let text = format_vectors(&answer);
            (answer, text)
        }
        KnowledgeCommand::Search {
            agent,
            question,
            limit,
        } => search_blocks(&there, agent, question, *limit).await?,
    };
    print_answer(&answer, arguments.json, |_| text)
}

/// Requests a source with its blocks. Returns the answer, and the text that shows it.
async fn show_source(there: &InstallationClient, agent: &str, source: &str) -> Result<(Value, String)> {
    let id = find_source_id(there, agent, source).await?;
    let request = there.build_request(Method::GET, &["v1", "agents", agent, "knowledge", &id])?;
    let answer = there.request_json(request).await?;
    let text = format_blocks(&answer["texts"]);
    Ok((answer, text))
}

/// Removes sources one by one. Returns the answer, and the text that shows it.
async fn remove_sources(
    there: &InstallationClient,
    agent: &str,
    sources: &[String],
) -> Result<(Value, String)> {
    for source in sources {
        let id = find_source_id(there, agent, source).await?;
        let request = there.build_request(Method::DELETE, &["v1", "agents", agent, "knowledge", &id])?;
        there
            .request_json(request)
            .await
            .with_context(|| format!("{source} was not removed"))?;
    }
    Ok((
        json!({"removed": sources}),
        format!("Removed {}.\n", sources.join(", ")),
    ))
}

/// Searches an agent's documents. Returns the answer, and the text that shows it.
async fn search_blocks(
    there: &InstallationClient,
    agent: &str,
    question: &str,
    limit: usize,
) -> Result<(Value, String)> {
    let request = there.build_request(Method::POST, &["v1", "agents", agent, "knowledge", "search"])?;
    let asked = request.json(&json!({"question": question, "limit": limit}));
    let answer = there.request_json(asked).await?;
    let text = format_found(&answer);
    Ok((answer, text))
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
            Ok(added) => {
                *counts.entry(added.outcome).or_default() += 1;
                for warning in &added.warnings {
                    bar.clear_line();
                    eprintln!("{}: {warning}", document.place);
                }
                if let Some(reason) = added.vector_reason {
                    without_vectors.push(json!({"file": document.place.to_string(), "reason": reason}));
                }
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
    if as_json {
        println!("{}", serde_json::to_string_pretty(&answer)?);
    } else {
        answer["refused"] = json!(failed);
        answer["without_vectors"] = json!(without_vectors.len());
        println!("{}", format_fields(&answer));
    }
    if failed > 0 {
        match failed {
            1 => bail!("1 document was not added"),
            _ => bail!("{failed} documents were not added"),
        }
    }
    Ok(())
}

/// A document that was added.
struct AddedDocument {
    outcome: String,
    /// Words about what was left out of it, and about missing vectors.
    warnings: Vec<String>,
    /// The reason why blocks have no vectors, where there is an embedding model.
    vector_reason: Option<String>,
}

/// Adds a document and returns what became of it, with warnings if something of it was left out.
async fn add_document(
    there: &InstallationClient,
    agent: &str,
    document: &FoundDocument,
    reading: DocumentReading<'_>,
) -> Result<AddedDocument> {
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
    let answer = there.request_json(request).await?;
    let outcome = answer["outcome"].as_str().unwrap_or("added").to_owned();
    let vectors = &answer["vectors"];
    let vector_reason = vectors["reason"]
        .as_str()
        .filter(|reason| *reason != "not_set_up");
    let mut warnings: Vec<String> = content.warning.into_iter().collect();
    warnings.extend(vector_reason.map(|reason| {
        let missing = &vectors["missing"];
        format!("{missing} blocks are found by their words alone, since they have no vectors: {reason}")
    }));
    Ok(AddedDocument {
        outcome,
        warnings,
        vector_reason: vector_reason.map(str::to_owned),
    })
}

async fn list_sources(there: &InstallationClient, agent: &str) -> Result<Value> {
    let request = there.build_request(Method::GET, &["v1", "agents", agent, "knowledge"])?;
    there.request_json(request).await
}

/// Asks for the missing vectors of blocks, request by request, until none is missing or a request makes none.
async fn embed_blocks(there: &InstallationClient, agent: &str, again: bool) -> Result<Value> {
    let ask = async |again: bool| {
        let request = there.build_request(Method::POST, &["v1", "agents", agent, "knowledge", "vectors"])?;
        there.request_json(request.json(&json!({"again": again}))).await
    };
    let mut state = ask(again).await?;
    let count = |state: &Value, name: &str| state[name].as_u64().unwrap_or(0);
    let all = count(&state, "missing") + count(&state, "blocks");
    let mut bar = ProgressBar::start(usize::try_from(all).unwrap_or(usize::MAX));
    loop {
        let missing = count(&state, "missing");
        if missing == 0 || state["blocks"] == 0 {
            bar.clear_line();
            return Ok(state);
        }
        let done = all.saturating_sub(missing);
        bar.show_amount(done, "blocks with vectors");
        let next = ask(false).await?;
        let is_stuck = next["missing"].as_u64().unwrap_or(0) >= missing;
        state = next;
        if is_stuck {
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
    let known = list_sources(there, agent).await?;
    let known = known["sources"].as_array().cloned().unwrap_or_default();
    let is_named = |source: &&Value| source["id"] == *named || source["title"] == *named;
    let found = known
        .iter()
        .find(is_named)
        .and_then(|source| source["id"].as_str());
    let found = found.with_context(|| {
        format!("agent {agent} has no source {named}; `recado knowledge list {agent}` lists them")
    })?;
    Ok(found.to_owned())
}

fn format_sources(answer: &Value) -> String {
    let columns = ["id", "title", "blocks", "bytes", "added_at"];
    let mut rows: Vec<Vec<String>> = answer["sources"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|source| collect_rows(&json!({"items": [source]}), &columns).concat())
        .collect();
    for cell in rows.iter_mut().filter_map(|row| row.last_mut()) {
        *cell = format_local_time(cell);
    }
    if rows.is_empty() {
        return "No sources.\n".to_owned();
    }
    format!(
        "{}{}",
        format_table(&columns, rows),
        format_vectors(&answer["vectors"])
    )
}

fn format_blocks(blocks: &Value) -> String {
    let blocks = blocks.as_array().into_iter().flatten();
    let format = |block: &Value| {
        let (place, text) = (
            block["place"].as_str().unwrap_or(""),
            block["text"].as_str().unwrap_or(""),
        );
        format!("[{place}]\n{text}\n\n")
    };
    blocks.map(format).collect()
}

fn format_found(answer: &Value) -> String {
    let found = answer["found"].as_array().into_iter().flatten();
    let format = |block: &Value| {
        let text = |name: &str| block[name].as_str().unwrap_or("").to_owned();
        let score = block["score"].as_f64().unwrap_or(0.0);
        format!(
            "{score:.2}  {} [{}]\n{}\n\n",
            text("title"),
            text("place"),
            text("text")
        )
    };
    let listed: String = found.map(format).collect();
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
