//! `recado eval`: measures how well the blocks that answer questions are found.

mod answers;

use answers::{ASKED_KINDS, AnswerCounts, count_unknowing_answers};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use recado_ai::{EmbeddingClient, EmbeddingSource, Model};
use recado_cli::dlq::tables::format_table;
use recado_domain::config::{RewritingModel, USUAL_REWRITING_MODEL};
use recado_domain::follow_up::needs_earlier_messages;
use recado_embedded::EmbeddedSystem;
use recado_http_client::build_http_client;
use recado_knowledge::question_rewriting::{AskedMessage, RewrittenBy, rewrite_question};
use recado_knowledge_search::evaluation::{
    EvaluationSet, Half, Measures, PromptSizes, Question, QuestionKind, Row, TextVectors, VectorSource, Way,
    evaluate, list_embedded_texts, list_prompted_questions, measure_prompts,
};
use recado_local::environment::LocalEnvironment;
use recado_local::keyring::EnvironmentSecrets;
use recado_pipeline::ports::{ChatTurn, Embedder, Speaker};
use recado_pipeline::settings::{RewriteSettings, RewriteWay};
use serde::Serialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time for all vectors of an evaluation.
const EMBEDDING_TIME: Duration = Duration::from_mins(10);

/// Measures how well the blocks that answer questions are found, on sets of blocks and questions.
#[derive(Debug, Args)]
pub(crate) struct EvaluationArguments {
    /// A folder with `blocks.jsonl` and `questions.jsonl`, or one with such folders.
    folder: PathBuf,
    /// Which half of the questions: constants were tuned on one.
    #[arg(long, value_enum, default_value_t = ChosenHalf::Reported)]
    half: ChosenHalf,
    /// Asks the embedding model of the settings (`RECADO_EMBEDDINGS_URL`) for vectors. Otherwise a stand-in makes them of letters.
    #[arg(long)]
    embeddings: bool,
    /// Rewrites follow-ups: rules, or the light model of the settings (`RECADO_REWRITE_MODEL`), which needs its key.
    #[arg(long, value_enum, default_value_t = Rewriter::Rules)]
    rewriter: Rewriter,
    /// Has this model answer the questions that no block answers, and counts the answers that say so: `simulated`, or a model whose key
    /// is in the environment, such as `claude-haiku-4-5`.
    #[arg(long, value_name = "MODEL")]
    answers: Option<String>,
    /// Prints the measures as JSON.
    #[arg(long)]
    json: bool,
}

/// A half of the questions, or both.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum ChosenHalf {
    Tuning,
    Reported,
    Both,
}

/// The rewriter of follow-ups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Rewriter {
    Rules,
    Model,
}

/// Reads the sets, measures and prints.
pub(crate) async fn run_evaluation(
    arguments: EvaluationArguments,
    environment: &LocalEnvironment,
) -> Result<()> {
    let mut sets = read_evaluation_sets(&arguments.folder)?;
    let half = match arguments.half {
        ChosenHalf::Tuning => Some(Half::Tuning),
        ChosenHalf::Reported => Some(Half::Reported),
        ChosenHalf::Both => None,
    };
    let rewriting = rewrite_follow_ups(&mut sets, half, arguments.rewriter, environment).await?;
    let (source, vectors) = if arguments.embeddings {
        let (model, vectors) = request_vectors(&sets, half, environment).await?;
        (
            format!("\"vectors\" are those of the model {model}."),
            Some(vectors),
        )
    } else {
        (STAND_IN.to_owned(), None)
    };
    let vectors = vectors
        .as_ref()
        .map_or(VectorSource::StandIn, VectorSource::Model);
    let rows = evaluate(&sets, half, vectors)?;
    let prompts = describe_prompts(measure_prompts(&sets, half, vectors)?);
    let answers = match &arguments.answers {
        Some(name) => Some(ask_model_for_answers(name, &sets, half, vectors, environment).await?),
        None => None,
    };
    if arguments.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&describe_report(&rows, answers))?
        );
    } else {
        let answers = answers.map_or(String::new(), |counts| format!(" {}", counts.describe_counts()));
        print!(
            "{}",
            format_evaluation(&sets, &rows, &format!("{source} {rewriting} {prompts}{answers}"))
        );
    }
    Ok(())
}

/// Has a model answer questions with the blocks that are found: by words, with an embedding model also by vectors.
async fn ask_model_for_answers(
    name: &str,
    sets: &[EvaluationSet],
    half: Option<Half>,
    vectors: VectorSource<'_>,
    environment: &LocalEnvironment,
) -> Result<AnswerCounts> {
    let way = match vectors {
        VectorSource::StandIn => Way::Lexical,
        VectorSource::Model(_) => Way::Hybrid,
    };
    let questions = list_prompted_questions(sets, half, &ASKED_KINDS, way, vectors)?;
    let http = build_http_client()?;
    let model = Model::new(http, &environment.model, EnvironmentSecrets, EmbeddedSystem)?;
    count_unknowing_answers(&model, name, &questions).await
}

/// The report as JSON: the rows, with the answers beside them if a model was asked.
fn describe_report(rows: &[Row], answers: Option<AnswerCounts>) -> Value {
    let rows: Vec<_> = rows.iter().map(describe_measures).collect();
    match answers {
        Some(answers) => json!({"rows": rows, "answers": answers}),
        None => json!(rows),
    }
}

fn describe_prompts(sizes: PromptSizes) -> String {
    format!(
        "A prompt with the found blocks holds {:.0} characters of knowledge, one with all blocks {:.0}: {:.1} % fewer.",
        sizes.with_found,
        sizes.with_all,
        100.0 * sizes.saved_share()
    )
}

/// Rewrites the follow-ups, as a turn would. Returns what a report says of it.
async fn rewrite_follow_ups(
    sets: &mut [EvaluationSet],
    half: Option<Half>,
    rewriter: Rewriter,
    environment: &LocalEnvironment,
) -> Result<String> {
    let http = build_http_client()?;
    let model = Model::new(http, &environment.model, EnvironmentSecrets, EmbeddedSystem)?;
    let settings = RewriteSettings {
        way: match rewriter {
            Rewriter::Rules => RewriteWay::Rules,
            Rewriter::Model => RewriteWay::Model,
        },
        ..environment.settings.rewriting.clone()
    };
    let name = settings.model.as_deref().unwrap_or(USUAL_REWRITING_MODEL);
    let is_chosen = |question: &&mut Question| half.is_none_or(|half| question.half == half);
    let (mut follow_ups, mut by_rules, mut by_model) = (0, 0, 0);
    let (mut others, mut others_changed) = (0, 0);
    for question in sets
        .iter_mut()
        .flat_map(|set| &mut set.questions)
        .filter(is_chosen)
    {
        if question.kind != QuestionKind::FollowUp {
            others += 1;
            others_changed += usize::from(needs_earlier_messages(&question.text));
            continue;
        }
        let earlier = list_earlier_turns(question);
        let asked = AskedMessage {
            text: &question.text,
            earlier: &earlier,
            model: Some(RewritingModel { name, key: None }),
        };
        let rewritten = rewrite_question(&model, &EmbeddedSystem, &settings, &asked).await;
        follow_ups += 1;
        match rewritten.by {
            RewrittenBy::Nobody => {}
            RewrittenBy::Rules => by_rules += 1,
            RewrittenBy::Model => by_model += 1,
        }
        question.rewritten = Some(rewritten.text);
    }
    if rewriter == Rewriter::Model && by_model == 0 && by_rules > 0 {
        bail!("the model {name} rewrote nothing: is its key there?");
    }
    Ok(format!(
        "Of {follow_ups} follow-ups rules rewrote {by_rules} and a model {by_model}; {others_changed} of {others} other questions look like \
         follow-ups."
    ))
}

fn list_earlier_turns(question: &Question) -> Vec<ChatTurn> {
    let turns = question.history.iter().map(|turn| {
        let speaker = if turn.role == "user" {
            Speaker::User
        } else {
            Speaker::Assistant
        };
        ChatTurn::from_text(speaker, turn.text.as_str())
    });
    turns.collect()
}

/// The words of a report without an embedding model.
const STAND_IN: &str = "\"vectors\" are a stand-in made of letters, no embedding model.";

/// Asks the embedding model for the vectors of all texts. Returns its name with them.
async fn request_vectors(
    sets: &[EvaluationSet],
    half: Option<Half>,
    environment: &LocalEnvironment,
) -> Result<(String, TextVectors)> {
    let settings = environment.model.embeddings.clone();
    if !matches!(settings.source, EmbeddingSource::Server(_)) {
        bail!("RECADO_EMBEDDINGS_URL names no server with an embedding model");
    }
    let client = EmbeddingClient::new(build_http_client()?, settings, EnvironmentSecrets, EmbeddedSystem);
    let texts: Vec<String> = list_embedded_texts(sets, half).into_iter().collect();
    let made = client.embed_texts(&texts, EMBEDDING_TIME).await?;
    Ok((made.model, texts.into_iter().zip(made.vectors).collect()))
}

fn read_evaluation_sets(folder: &Path) -> Result<Vec<EvaluationSet>> {
    let mut folders = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries {
        folders.push(entry?.path());
    }
    folders.push(folder.to_owned());
    folders.retain(|folder| folder.join("questions.jsonl").is_file());
    folders.sort();
    if folders.is_empty() {
        bail!(
            "neither {} nor a folder in it holds blocks.jsonl and questions.jsonl",
            folder.display()
        );
    }
    let read = |folder: &PathBuf| {
        let text = |file: &str| {
            let path = folder.join(file);
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        EvaluationSet::parse(&text("blocks.jsonl")?, &text("questions.jsonl")?)
            .with_context(|| format!("the set {} cannot be used", folder.display()))
    };
    folders.iter().map(read).collect()
}

/// A row of the report as JSON.
#[derive(Debug, Serialize)]
struct ReportedRow {
    questions_are: &'static str,
    way: &'static str,
    #[serde(flatten)]
    measures: Measures,
}

fn describe_measures(row: &Row) -> ReportedRow {
    ReportedRow {
        questions_are: row.group.report_name(),
        way: row.way.report_name(),
        measures: row.measures,
    }
}

fn format_evaluation(sets: &[EvaluationSet], rows: &[Row], source: &str) -> String {
    let blocks: usize = sets.iter().map(|set| set.blocks.len()).sum();
    let unanswerable = sets
        .iter()
        .flat_map(|set| &set.questions)
        .filter(|question| question.kind == QuestionKind::Unanswerable);
    let summary = format!(
        "{} sets, {blocks} blocks, {} questions without an answer. {source}\n",
        sets.len(),
        unanswerable.count(),
    );
    let cells = |row: &Row| {
        let measures = row.measures;
        let of_unanswerable = if measures.unanswerable == 0 {
            "-".to_owned()
        } else {
            format!("{:.3}", measures.nothing_found)
        };
        vec![
            row.group.report_name().to_owned(),
            row.way.report_name().to_owned(),
            measures.questions.to_string(),
            format!("{:.3}", measures.recall_at_1),
            format!("{:.3}", measures.recall_at_5),
            format!("{:.3}", measures.mean_reciprocal_rank),
            of_unanswerable,
        ]
    };
    let headings = [
        "questions",
        "way",
        "number",
        "recall@1",
        "recall@5",
        "MRR",
        "nothing found",
    ];
    let table = format_table(
        &headings,
        rows.iter()
            .filter(|row| row.measures.questions > 0)
            .map(cells)
            .collect(),
    );
    format!("{summary}\n{table}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_knowledge_search::evaluation::Group;

    #[test]
    fn a_folder_without_sets_is_refused_with_its_name() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = read_evaluation_sets(folder)
            .expect_err("no set lies there")
            .to_string();
        assert!(
            error.contains(&folder.display().to_string()) && error.contains("questions.jsonl"),
            "{error}"
        );
    }

    #[test]
    fn groups_without_questions_have_no_line() {
        let row = |group, questions| Row {
            group,
            way: Way::Lexical,
            measures: Measures {
                questions,
                recall_at_1: 0.5,
                ..Measures::default()
            },
        };
        let text = format_evaluation(
            &[],
            &[row(Group::OneLanguage, 4), row(Group::OtherLanguages, 0)],
            STAND_IN,
        );
        let line = text
            .lines()
            .find(|line| line.starts_with("all in one language"))
            .expect("its line");
        let cells: Vec<&str> = line.split_whitespace().skip(4).collect();
        assert_eq!(cells, ["lexical", "4", "0.500", "0.000", "0.000", "-"]);
        assert!(!text.contains("in another language"), "{text}");
    }
}
