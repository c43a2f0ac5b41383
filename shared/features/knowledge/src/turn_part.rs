//! The step [`recado_domain::turn::TurnStep::Knowledge`]: finds the blocks of the agent's documents that answer the contact.

use crate::knowledge_reading::{
    ReadingError, SnapshotReading, ensure_snapshot_loaded, search_loaded_snapshot,
};
use crate::question_rewriting::{AskedMessage, needs_rewriting, rewrite_question};
use async_trait::async_trait;
use recado_domain::knowledge::{
    FoundBlocks, KnowledgeGap, NOTHING_FOUND, SnapshotName, TurnKnowledge, render_knowledge,
};
use recado_domain::turn::TurnStep;
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::TurnPart;
use recado_pipeline::steps::turn::transcript::{ShownFiles, build_transcript, list_owed_words};
use recado_pipeline::steps::turn::turn_end::TurnStop;
use recado_pipeline::steps::turn::{LeasedTurn, StepTimes};
use recado_ports::ports::LlmRequest;
use recado_ports::time_limit::run_within;
use std::time::Duration;

/// Number of blocks that the model is shown at most, where it is not shown all.
const BLOCKS_MAX: usize = 5;

/// Maximum time to read the snapshot and to search it, beside that for the question's vector.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(4);

/// Maximum number of characters of the contact's messages that are searched for.
const QUESTION_MAX: usize = 2_000;

/// The knowledge of agents.
#[derive(Debug)]
pub struct Knowledge;

/// The blocks that were found, as the model reads them.
#[derive(Debug)]
pub struct FoundKnowledge(pub String);

#[async_trait]
impl TurnPart for Knowledge {
    async fn prepare_draft(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        times: &mut StepTimes,
    ) -> Result<(), TurnStop> {
        let finds = find_knowledge(deps, turn);
        if let Some(found) = times.run(deps, TurnStep::Knowledge, finds).await? {
            turn.state.keep(FoundKnowledge(found));
        }
        Ok(())
    }

    async fn add_to_request(&self, _deps: &Deps, turn: &mut LeasedTurn<'_>, request: &mut LlmRequest) {
        let found = turn.state.take::<FoundKnowledge>().map(|found| found.0);
        let has_searched = turn.draft.turn.knowledge.is_some();
        let nothing_found = has_searched.then(|| NOTHING_FOUND.to_owned());
        request.knowledge = found.or(nothing_found);
    }
}

/// Finds the blocks that answer the contact's messages, and returns them as the model reads them. If all the agent's documents are short,
/// those that were not found stand behind. The turn goes on without them if
/// the snapshot cannot be read, is damaged or takes too long; its record says so.
async fn find_knowledge(deps: &Deps, turn: &mut LeasedTurn<'_>) -> Result<Option<String>, TurnStop> {
    let Some(name) = turn.bound.knowledge.clone() else {
        return Ok(None);
    };
    let question = compose_question(turn);
    if question.trim().is_empty() {
        return Ok(None);
    }
    let question = make_standalone(deps, turn, question).await;
    let found = search_within(deps, turn, &name, &question).await;
    let (record, text) = match found {
        Ok(found) => (
            TurnKnowledge::from_found(&found),
            render_knowledge(&found.blocks, &found.rest),
        ),
        Err(gap) => (TurnKnowledge::from_gap(gap), None),
    };
    turn.draft.turn.knowledge = Some(record);
    Ok(text)
}

/// Returns the texts of the messages that the reply answers, as the model reads them, with the texts of recordings. The newest count
/// if they are long.
fn compose_question(turn: &LeasedTurn<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (message, words) in list_owed_words(&turn.reading) {
        parts.push(words);
        let text = message.file.as_ref().and_then(|file| file.found_text());
        parts.extend(text.map(|found| found.text.clone()));
    }
    let question = parts.join("\n");
    let all = question.chars().count();
    question.chars().skip(all.saturating_sub(QUESTION_MAX)).collect()
}

/// Returns the question complete without the messages before it, where it needs them. The turn's record says which model
/// was asked to write it.
async fn make_standalone(deps: &Deps, turn: &mut LeasedTurn<'_>, question: String) -> String {
    let settings = &deps.settings().rewriting;
    if !needs_rewriting(settings, &question) {
        return question;
    }
    let mut earlier = build_transcript(&turn.reading, ShownFiles::default(), None);
    // The last part is the question itself.
    earlier.pop();
    let simulated = deps.providers().is_simulated(&turn.bound.instance).await;
    let agent = &turn.bound.agent;
    let asked = AskedMessage {
        text: &question,
        earlier: &earlier,
        model: agent
            .rewriting_model(settings.model.as_deref())
            .filter(|_| !simulated),
    };
    let question = rewrite_question(deps.llm(), deps.system(), settings, &asked).await;
    turn.draft.turn.rewriting = question.used.map(Box::new);
    question.text
}

async fn search_within(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    name: &SnapshotName,
    question: &str,
) -> Result<FoundBlocks, KnowledgeGap> {
    let searches = search_snapshot(deps, turn, name, question);
    let within = SEARCH_TIMEOUT + deps.settings().question_vector_timeout.unsigned_abs();
    match run_within(deps.system(), within, searches).await {
        Some(Ok(found)) => Ok(found),
        Some(Err(error)) => {
            tracing::warn!(%error, agent = %turn.bound.agent.id, "the turn goes on without the agent's knowledge");
            Err(match error {
                ReadingError::Port(_) => KnowledgeGap::NotRead,
                ReadingError::Library(_) => KnowledgeGap::Damaged,
            })
        }
        None => {
            tracing::warn!(agent = %turn.bound.agent.id, "the agent's knowledge took too long: the turn goes on without it");
            Err(KnowledgeGap::TooSlow)
        }
    }
}

async fn search_snapshot(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    name: &SnapshotName,
    question: &str,
) -> Result<FoundBlocks, ReadingError> {
    let (tenant, agent) = (&turn.bound.tenant.id, &turn.bound.agent.id);
    let name = match ensure_snapshot_loaded(deps, tenant, agent, name).await? {
        SnapshotReading::Ready(name) => name,
        SnapshotReading::Removed => return Ok(FoundBlocks::default()),
    };
    let found = search_loaded_snapshot(deps, &name, question, BLOCKS_MAX).await;
    Ok(found.unwrap_or_default())
}
