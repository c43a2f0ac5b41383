mod knowledge;

use super::acting::done_effects;
use super::agenda::ActingTool;
use super::provider::TEXT_MAX;
use super::{FakeWorld, ModelAnswer, Shown};
use crate::fault_injector::FaultInjector;
use crate::mutation::Mutation;
use async_trait::async_trait;
use recado_domain::calendar::TimeSpan;
use recado_domain::config::Calendar;
use recado_domain::decision::AgentDecision;
use recado_domain::effects::EffectId;
use recado_domain::ids::TenantId;
use recado_domain::message::TokenUsage;
use recado_domain::time_words::is_message_time;
use recado_domain::tools::Tool;
use recado_pipeline::ports::{
    BookedEvent, EffectTool, HttpAgentRequest, Llm, LlmError, LlmReply, LlmRequest, ModelCall, Recording,
    RecordingUse, Speaker, ToolFailure, ToolLimits, Tools, Transcriber, Transcript, TranscriptionError,
};
use recado_testkit::text_library::TextLibrary;
use serde_json::Value;
use std::sync::atomic::Ordering;

/// A model that answers by naming what it was asked: `re m3 m4`. Now and then it says the same as always, or more than
/// one message holds.
#[derive(Debug, Clone)]
pub struct Model {
    fake_world: FakeWorld,
    injector: FaultInjector,
    library: TextLibrary,
}

impl Model {
    /// The model, as the function under `injector` has it.
    pub fn new(fake_world: FakeWorld, injector: FaultInjector) -> Self {
        Self {
            fake_world,
            injector,
            library: TextLibrary::default(),
        }
    }
}

impl Model {
    /// Notes what the model was shown, and of that what it was asked.
    fn note(&self, request: &LlmRequest, asked: &str) {
        if request.turns.last().map(|turn| turn.speaker) != Some(Speaker::User) {
            self.injector
                .common
                .broken("a model was asked nothing".to_owned());
        }
        let of_contact = request.turns.iter().filter(|turn| turn.speaker == Speaker::User);
        let words = of_contact.flat_map(|turn| list_words_of_contact(&turn.text));
        let shown = Shown {
            read_ms: self.injector.read_at.load(Ordering::Relaxed),
            words: words.collect(),
            system: request.system.clone(),
            knowledge: request.knowledge.clone(),
            tenant: self.injector.tenant(),
        };
        self.injector
            .common
            .note(|| format!("the model is shown {:?}", request.turns));
        let mut state = self.fake_world.state();
        state.read.extend(asked.split(' ').map(str::to_owned));
        state.shown.push(shown);
    }
}

/// Lists the words of the contact in a part of a conversation. Who is asked for a question by itself is shown what the business said, too.
fn list_words_of_contact(text: &str) -> Vec<String> {
    let (mut words, mut is_of_contact) = (Vec::new(), true);
    for line in text.lines() {
        if line.starts_with("Business: ") {
            is_of_contact = false;
        } else if line.starts_with("Customer: ") || line.starts_with("Last message of the customer: ") {
            is_of_contact = true;
        }
        if is_of_contact {
            words.extend(line.split_whitespace().map(str::to_owned));
        }
    }
    words
}

impl Model {
    /// Takes one of the decisions that are offered, now and then.
    fn decide(&self, request: &LlmRequest) -> Option<AgentDecision> {
        let (simulation, offered) = (&self.injector.common.simulation, &request.decisions);
        let chance = self.fake_world.state().model_decides;
        if offered.is_empty() || !simulation.chance(chance) {
            return None;
        }
        let mut decisions: Vec<AgentDecision> = offered
            .steps
            .iter()
            .cloned()
            .map(AgentDecision::MoveToStep)
            .collect();
        let note = "asks for a person".to_owned();
        decisions.extend(offered.hand_over.then_some(AgentDecision::HandOver { note }));
        decisions.extend(offered.resolve.then_some(AgentDecision::Resolve));
        Some(simulation.pick(&decisions))
    }

    /// The text with a number by which its answer is known again, in its first words.
    fn numbered(&self, text: &str, request: &LlmRequest, decision: Option<&AgentDecision>) -> String {
        let mut state = self.fake_world.state();
        let number = state.answers.len() as u64;
        let answer = ModelAnswer {
            instructions: request.instructions.first().cloned(),
            decision: decision.cloned(),
            done: done_effects(request),
        };
        state.answers.insert(number, answer);
        drop(state);
        // Behind the first word: a long answer is cut into several messages, and the first must have the number.
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        format!("{first} #{number} {rest}").trim_end().to_owned()
    }
}

/// One call of the model.
#[derive(Debug, Clone)]
pub struct ModelUse {
    /// The tenant whose turn called.
    pub tenant: Option<TenantId>,
    /// When the conversation had been read for it, in milliseconds since the start.
    pub read_ms: i64,
    /// When it began.
    pub began_ms: i64,
    /// When it ends; at a power cut, then. A worker that dies alone ends it before.
    pub ends_ms: i64,
}

impl FakeWorld {
    /// The calls of the model by turns of a tenant.
    pub fn model_calls_of(&self, tenant: &TenantId) -> Vec<ModelUse> {
        let calls = self.state().calls.clone();
        calls
            .into_iter()
            .filter(|call| call.tenant.as_ref() == Some(tenant))
            .collect()
    }

    /// Returns the number of answers that turns of a tenant got from the model, also those that came to nothing.
    pub fn model_answers_of(&self, tenant: &TenantId) -> u64 {
        let state = self.state();
        state.model_answers.get(tenant).copied().unwrap_or_default()
    }

    fn note_model_answer(&self, tenant: Option<TenantId>) {
        if let Some(tenant) = tenant {
            *self.state().model_answers.entry(tenant).or_default() += 1;
        }
    }

    /// Ends the calls that are under way: those who made them are gone.
    pub(crate) fn end_model_calls(&self, now_ms: i64) {
        for call in &mut self.state().calls {
            call.ends_ms = call.ends_ms.min(now_ms.max(call.began_ms));
        }
    }
}

/// A call of the model that is under way. It ends at once where nobody waits for it any more.
struct CallUnderWay<'a> {
    model: &'a Model,
    number: usize,
}

impl Drop for CallUnderWay<'_> {
    fn drop(&mut self) {
        let now_ms = self.model.injector.common.simulation.elapsed_ms();
        if let Some(call) = self.model.fake_world.state().calls.get_mut(self.number) {
            call.ends_ms = call.ends_ms.min(now_ms);
        }
    }
}

impl Model {
    /// Notes a call that takes so many milliseconds.
    fn note_call(&self, thinks: i64) -> CallUnderWay<'_> {
        let began_ms = self.injector.common.simulation.elapsed_ms();
        let call = ModelUse {
            tenant: self.injector.tenant(),
            read_ms: self.injector.read_at.load(Ordering::Relaxed),
            began_ms,
            ends_ms: began_ms + thinks,
        };
        let calls = &mut self.fake_world.state().calls;
        calls.push(call);
        CallUnderWay {
            model: self,
            number: calls.len() - 1,
        }
    }
}

#[async_trait]
impl Transcriber for Model {
    fn explain_refusal(&self, _: u64, _: bool) -> Option<TranscriptionError> {
        None
    }

    async fn transcribe_recording(&self, recording: Recording) -> Result<Transcript, TranscriptionError> {
        self.injector.step("transcription").await;
        self.injector.common.simulation.sleep(2_000).await;
        let fails = {
            let mut state = self.fake_world.state();
            let fails = state.transcriptions_fail > 0;
            state.transcriptions_fail = state.transcriptions_fail.saturating_sub(1);
            fails
        };
        self.injector.step("transcription").await;
        if fails {
            return Err(TranscriptionError::Unavailable {
                why: "503".to_owned(),
                after: None,
            });
        }
        Ok(Transcript {
            text: format!("said-in-{}-bytes", recording.bytes.len()),
            model: "transcriber".to_owned(),
            used: RecordingUse {
                audio_millis: recording.bytes.len() as u64,
                ..RecordingUse::default()
            },
        })
    }
}

/// The tokens that each reply uses.
pub const TOKENS_PER_REPLY: u64 = 110;

#[async_trait]
impl Tools for Model {
    async fn call_tool(&self, _: &Tool, _: &Value, _: ToolLimits) -> Result<String, ToolFailure> {
        self.fake_world.look_up(&self.injector).await
    }

    async fn query_busy_times(&self, _: &Calendar, _: TimeSpan) -> Result<Vec<TimeSpan>, ToolFailure> {
        self.injector.step("calendar").await;
        Ok(self.fake_world.busy_times())
    }

    async fn look_at_event(&self, _: &Calendar, event: &EffectId) -> Result<BookedEvent, ToolFailure> {
        self.injector.step("calendar").await;
        if self.injector.lacks(Mutation::ChangedEventsIgnored) {
            return Err(ToolFailure::TimedOut);
        }
        if self.injector.function == "reconcile" && self.injector.lacks(Mutation::RemindedUnasked) {
            let version = "as booked".to_owned();
            return Ok(BookedEvent::Present { version, time: None });
        }
        Ok(self.fake_world.look_at(event))
    }

    async fn has_other_event(
        &self,
        _: &Calendar,
        own: &EffectId,
        time: TimeSpan,
    ) -> Result<bool, ToolFailure> {
        self.injector.step("calendar").await;
        Ok(self.fake_world.has_other_event(own, time))
    }

    async fn mark_event_confirmed(
        &self,
        _: &Calendar,
        event: &EffectId,
        is_confirmed: bool,
    ) -> Result<(), ToolFailure> {
        self.injector.step("calendar").await;
        self.fake_world.show_confirmed(event, is_confirmed);
        self.injector.step("calendar").await;
        Ok(())
    }

    fn open_effect_tool<'a>(&'a self, tool: &'a Tool, _: bool) -> Option<Box<dyn EffectTool + 'a>> {
        if !tool.acts() {
            return None;
        }
        Some(Box::new(ActingTool {
            fake_world: &self.fake_world,
            injector: &self.injector,
            is_blind: tool.function.is_none(),
        }))
    }
}

#[async_trait]
impl Llm for Model {
    async fn ask_http_agent(&self, request: &HttpAgentRequest<'_>) -> Result<Option<LlmReply>, LlmError> {
        self.injector.step("agent").await;
        self.injector.common.count(|counters| counters.model_calls += 1);
        self.injector.common.simulation.sleep(1_000).await;
        self.injector.step("agent").await;
        let read_ms = self.injector.read_at.load(Ordering::Relaxed);
        let text = self.fake_world.answer_as_http_agent(&request.body, read_ms);
        self.injector.common.note(|| format!("the agent says: {text:?}"));
        Ok(text.map(|text| LlmReply {
            calls: Vec::new(),
            decision: None,
            ignored_calls: 0,
            text,
            usage: TokenUsage::default(),
            model: "http".to_owned(),
        }))
    }

    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let simulation = &self.injector.common.simulation;
        self.injector.step("model").await;
        self.injector.common.count(|counters| counters.model_calls += 1);
        let thinks = self.fake_world.state().model_thinks_ms;
        let thinks = thinks.unwrap_or_else(|| simulation.pick(&[300, 1_000, 3_000, 8_000, 30_000]));
        let under_way = self.note_call(thinks);
        simulation.sleep(thinks).await;
        drop(under_way);
        self.injector.step("model").await;
        let (key_is_good, fails, goes_on, is_plain) = {
            let state = self.fake_world.state();
            let goes_on = state.model_goes_on;
            (
                state.model_key_is_good,
                state.model_fails,
                goes_on,
                state.model_is_plain,
            )
        };
        if !key_is_good {
            return Err(LlmError::Credentials("401".to_owned()));
        }
        if simulation.chance(fails) {
            return Err(LlmError::Unavailable("529".to_owned()));
        }
        let asked = request.turns.last().map(|turn| leave_times_out(&turn.text));
        let asked = asked.unwrap_or_default();
        let lookup = FakeWorld::next_lookup(request, &asked);
        if let Some(call) = lookup.or_else(|| self.fake_world.next_call(request, &asked)) {
            return Ok(ask_for_call(request, call));
        }
        self.note(request, &asked);
        let asked = leave_files_out(&asked);
        let text = if !is_plain && simulation.chance(0.1) {
            "certo".to_owned()
        } else if simulation.chance(goes_on) {
            at_length(&asked, simulation.pick(&[1, 2, 4, 12]))
        } else {
            format!("re {asked}")
        };
        let decision = self.decide(request);
        // A script or a decision is told by the number of the answer; the others say no number.
        let is_told_nothing = request.instructions.is_empty() && request.exchanges.is_empty();
        let text = if is_told_nothing && decision.is_none() {
            text
        } else {
            self.numbered(&text, request, decision.as_ref())
        };
        self.injector.common.note(|| format!("the model says: {text}"));
        self.fake_world.note_model_answer(self.injector.tenant());
        Ok(LlmReply {
            calls: Vec::new(),
            decision,
            ignored_calls: 0,
            text,
            usage: TokenUsage {
                input_tokens: TOKENS_PER_REPLY - 10,
                output_tokens: 10,
                ..TokenUsage::default()
            },
            model: request.model.clone(),
        })
    }
}

/// An answer that calls a tool before it replies.
fn ask_for_call(request: &LlmRequest, call: ModelCall) -> LlmReply {
    LlmReply {
        calls: vec![call],
        decision: None,
        ignored_calls: 0,
        text: String::new(),
        usage: TokenUsage::default(),
        model: request.model.clone(),
    }
}

/// What was asked, in one line and without the lines that tell when messages were written.
fn leave_times_out(text: &str) -> String {
    let lines = text.lines().filter(|line| !is_message_time(line));
    lines.collect::<Vec<_>>().join(" ")
}

/// What was asked, without the texts of files. With them the number of an answer could lie behind its first message.
fn leave_files_out(asked: &str) -> String {
    let (mut named, mut rest) = (String::new(), asked);
    while let Some((before, file)) = rest.split_once("<file ") {
        named.push_str(before);
        rest = file.split_once("</file>").map_or("", |(_, after)| after);
    }
    named.push_str(rest);
    named.trim_end().to_owned()
}

/// The same answer with so many paragraphs more, none of which shares a message with another.
fn at_length(asked: &str, paragraphs: usize) -> String {
    let more = (1..=paragraphs).map(|number| format!("\n\n{number} {}", ".".repeat(TEXT_MAX / 2)));
    format!("re {asked}{}", more.collect::<String>())
}
