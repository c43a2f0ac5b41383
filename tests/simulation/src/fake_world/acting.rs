//! A model with tools that act: it does what each word of the contact wishes, once, and says what it was told is done.

use super::FakeWorld;
use recado_domain::calendar::TimeSpan;
use recado_domain::effects::EffectId;
use recado_pipeline::ports::{LlmRequest, ModelCall};
use serde_json::json;
use std::collections::BTreeSet;

/// The words in which a model is told that an effect is done.
const DONE: &str = " is done. Do not do it again";

/// The ends of words that say what a contact wishes.
const MOVE: &str = "-move";
const CANCEL: &str = "-cancel";
const NEVER_MIND: &str = "-nevermind";

impl FakeWorld {
    /// The call that the model makes next, if any: for the first wish of which it was told nothing that holds.
    pub(super) fn next_call(&self, request: &LlmRequest, asked: &str) -> Option<ModelCall> {
        if request.tools.is_empty() || !request.exchanges.is_empty() || asked.contains(NEVER_MIND) {
            return None;
        }
        let (same_slot, heedless) = {
            let state = self.state();
            (state.agenda.same_slot, state.agenda.heedless)
        };
        // What a heedless model booked is busy: it takes another time.
        let others = i64::try_from(self.happened().len()).unwrap_or_default();
        let slot = |number: i64| match (same_slot, heedless) {
            (true, _) => self.slot_start(0),
            (_, true) => self.slot_start(number + others),
            _ => self.slot_start(number),
        };
        let mut wishes = asked.split(' ').filter_map(|word| wish_of(request, word, slot));
        wishes.find(|wish| heedless || !was_told(request, wish))
    }
}

impl FakeWorld {
    /// Returns `true` if an event other than `own` takes some of a time.
    pub(super) fn has_other_event(&self, own: &EffectId, time: TimeSpan) -> bool {
        self.events().iter().any(|(id, event)| {
            let is_live = !event.is_deleted && !event.is_fence && id != own;
            let mut span = event.span.iter().filter(|_| is_live);
            span.any(|span| span.start < time.to && time.from < span.end)
        })
    }
}

/// The call for what a word wishes.
fn wish_of(request: &LlmRequest, word: &str, slot: impl Fn(i64) -> String) -> Option<ModelCall> {
    let number: i64 = word.strip_prefix('m')?.split('-').next()?.parse().ok()?;
    let start = slot(number);
    let (name, arguments) = if word.ends_with(MOVE) {
        ("agenda_move", json!({"start": start}))
    } else if word.ends_with(CANCEL) {
        ("agenda_cancel", json!({}))
    } else if request.tools.iter().any(|tool| tool.name == "order") {
        ("order", json!({"title": word}))
    } else {
        ("agenda_book", json!({"start": start, "title": word}))
    };
    Some(ModelCall {
        id: format!("call-{word}"),
        name: name.to_owned(),
        arguments,
        marks: Vec::new(),
    })
}

/// Returns `true` if the model was told of an effect for the same wish that happened, may have happened, or is void.
fn was_told(request: &LlmRequest, wish: &ModelCall) -> bool {
    let of_wish = format!(": {} with {} ", wish.name, wish.arguments);
    let lines = request.instructions.iter().flat_map(|told| told.lines());
    let mut of_wish = lines.filter(|line| line.contains(&of_wish));
    of_wish.any(|line| !line.contains("and will not"))
}

/// The numbers of the effects that the model was told are done.
pub(super) fn done_effects(request: &LlmRequest) -> BTreeSet<u64> {
    let results = request.exchanges.iter().flat_map(|exchange| &exchange.results);
    let told = request.instructions.iter().chain(results);
    let lines = told
        .flat_map(|told| told.lines())
        .filter(|line| line.contains(DONE));
    lines
        .filter_map(|line| {
            let (_, after) = line.split_once("action ")?;
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        })
        .collect()
}
