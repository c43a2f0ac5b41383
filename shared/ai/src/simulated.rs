//! The simulated model, which needs no key.

use crate::transcription::simulate_transcript;
use async_trait::async_trait;
use recado_domain::decision::AgentDecision;
use recado_domain::knowledge::first_block_text;
use recado_domain::message::{SIMULATED_MODEL, TokenUsage};
use recado_domain::time_words::is_message_time;
use recado_domain::tools::tool_result_text;
use recado_ports::ports::{
    DocumentReader, Embedder, KnowledgeLibrary, Llm, LlmError, LlmReply, LlmRequest, ModelCall, Recording,
    Speaker, System, ToolExchange, Tools, Transcriber, Transcript, TranscriptionError,
};
use serde_json::{Value, json};
use std::time::Duration;

/// Number of characters of the contact's last message that the answer repeats.
const QUOTED_MAX: usize = 200;

/// A model that needs neither a key nor a network. The same request always gets the same answer, and the answer says that
/// it is simulated. It is a product feature (for trying Recado on one machine and for load tests), not a substitute in
/// tests.
#[derive(Debug, Clone)]
pub struct Simulated<A> {
    system: A,
    latency: Duration,
}

impl<A: System> Simulated<A> {
    /// Creates a model that takes `latency` for every answer.
    pub fn new(system: A, latency: Duration) -> Self {
        Self { system, latency }
    }
}

#[async_trait]
impl<A: System> Llm for Simulated<A> {
    /// Answers with the number of messages in the burst (the lines after the last answer), and repeats the last one. The first block
    /// of knowledge is repeated, too. If the latency is longer than [`LlmRequest::within`], the call fails after that time, as a
    /// slow real model would.
    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        self.system.sleep(self.latency.min(request.within)).await;
        if self.latency > request.within {
            return Err(LlmError::Unavailable(
                "the simulated model took too long".to_owned(),
            ));
        }
        let calls = call_by_words(request);
        let (text, decision) = if let Some(exchange) = request.exchanges.last() {
            (repeat_results(exchange), None)
        } else if calls.is_empty() {
            reply_by_words(request)
        } else {
            (String::new(), None)
        };
        let read = count_words(&request.system)
            + request
                .instructions
                .iter()
                .map(|text| count_words(text))
                .sum::<u64>()
            + request.present.as_deref().map_or(0, count_words)
            + request.knowledge.as_deref().map_or(0, count_words)
            + request
                .turns
                .iter()
                .map(|turn| count_words(&turn.text))
                .sum::<u64>();
        let usage = TokenUsage {
            input_tokens: read,
            output_tokens: count_words(&text),
            ..TokenUsage::default()
        };
        Ok(LlmReply {
            calls,
            text,
            decision,
            ignored_calls: 0,
            usage,
            model: SIMULATED_MODEL.to_owned(),
        })
    }
}

/// The simulated model makes no vectors: those of the setting do ([`crate::EmbeddingSource::Simulated`]).
#[async_trait]
impl<A: System> Embedder for Simulated<A> {}

#[async_trait]
impl<A: System> DocumentReader for Simulated<A> {}

#[async_trait]
impl<A: System> KnowledgeLibrary for Simulated<A> {}

/// The simulated model calls no tool itself: a turn does.
#[async_trait]
impl<A: System> Tools for Simulated<A> {}

#[async_trait]
impl<A: System> Transcriber for Simulated<A> {
    fn explain_refusal(&self, _: u64, _: bool) -> Option<TranscriptionError> {
        None
    }

    async fn transcribe_recording(&self, recording: Recording) -> Result<Transcript, TranscriptionError> {
        Ok(simulate_transcript(&recording))
    }
}

fn reply_by_words(request: &LlmRequest) -> (String, Option<AgentDecision>) {
    match decide_by_words(request) {
        Some((text, decision)) => (text, Some(decision)),
        None => (compose_answer(request), None),
    }
}

/// Calls the tool that the last message asks for in so many words: `call TOOL: {"argument": …}`. It calls once, and none that is
/// not offered. So the tools of an agent can be tried without a key.
fn call_by_words(request: &LlmRequest) -> Vec<ModelCall> {
    let last = request.turns.last().filter(|turn| turn.speaker == Speaker::User);
    let words = last
        .and_then(|turn| turn.text.lines().next_back())
        .unwrap_or_default();
    let Some(asked) = words.trim().strip_prefix("call ") else {
        return Vec::new();
    };
    let (name, arguments) = asked.split_once(':').unwrap_or((asked, "{}"));
    let name = name.trim();
    let is_offered = request.tools.iter().any(|tool| tool.name == name);
    if !is_offered || !request.exchanges.is_empty() {
        return Vec::new();
    }
    vec![ModelCall {
        id: "call-1".to_owned(),
        name: name.to_owned(),
        arguments: serde_json::from_str(arguments).unwrap_or(Value::Null),
        marks: Vec::new(),
    }]
}

/// Repeats what the tools said, up to 200 characters of each.
fn repeat_results(exchange: &ToolExchange) -> String {
    let said = exchange
        .calls
        .iter()
        .zip(&exchange.results)
        .map(|(call, result)| {
            let text: String = tool_result_text(result)
                .unwrap_or(result)
                .chars()
                .take(QUOTED_MAX)
                .collect();
            format!("{} says: \"{text}\"", call.name)
        });
    format!("[simulated] {}", said.collect::<Vec<_>>().join(" "))
}

/// Takes the decision that the last message asks for in so many words: `hand over: REASON`, `resolve`, `go to STEP`.
/// `None`: it asks for none, or for one that is not offered. So the decisions of an agent can be tried without a key.
fn decide_by_words(request: &LlmRequest) -> Option<(String, AgentDecision)> {
    let last = request
        .turns
        .last()
        .filter(|turn| turn.speaker == Speaker::User)?;
    let words = last.text.lines().next_back()?.trim();
    let (verb, rest) = words.split_once(':').unwrap_or((words, ""));
    let (verb, rest) = (verb.trim().to_lowercase(), rest.trim());
    let call = |name: &str, arguments: Value| request.decisions.read_calls([(name, &arguments)]).decision;
    let decision = match verb.as_str() {
        "hand over" => call(
            "hand_over",
            json!({"reason": if rest.is_empty() { "no reason" } else { rest }}),
        ),
        "resolve" => call("resolve", json!({})),
        _ => call(
            "move_to_step",
            json!({"step": words.strip_prefix("go to ")?.trim()}),
        ),
    }?;
    let said = match &decision {
        AgentDecision::HandOver { .. } => "A person continues here.".to_owned(),
        AgentDecision::Resolve => "Goodbye.".to_owned(),
        AgentDecision::MoveToStep(step) => format!("Now at step {step}."),
    };
    Some((format!("[simulated] {said}"), decision))
}

fn compose_answer(request: &LlmRequest) -> String {
    let from = request
        .turns
        .iter()
        .rposition(|turn| turn.speaker == Speaker::Assistant)
        .map_or(0, |at| at + 1);
    let burst: Vec<&str> = request.turns[from..]
        .iter()
        .flat_map(|turn| turn.text.lines())
        .map(str::trim)
        .filter(|line| !line.is_empty() && !is_message_time(line))
        .collect();
    let (count, plural) = (burst.len(), if burst.len() == 1 { "" } else { "s" });
    let last: String = burst
        .last()
        .copied()
        .unwrap_or_default()
        .chars()
        .take(QUOTED_MAX)
        .collect();
    let files = &request.turns[from..];
    let seen = files
        .iter()
        .flat_map(|turn| &turn.files)
        .filter(|file| file.content.is_ok());
    let seen = match seen.count() {
        0 => String::new(),
        1 => " and saw 1 file".to_owned(),
        files => format!(" and saw {files} files"),
    };
    let known: String = request
        .knowledge
        .as_deref()
        .and_then(first_block_text)
        .unwrap_or_default()
        .chars()
        .take(QUOTED_MAX)
        .collect();
    let known = if known.is_empty() {
        known
    } else {
        format!(" I know: \"{known}\"")
    };
    format!("[simulated] I read {count} message{plural}{seen}. You said: \"{last}\"{known}")
}

fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

#[cfg(test)]
mod tests;
