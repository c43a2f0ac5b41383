use super::Outside;
use super::provider::TEXT_MAX;
use crate::hand::Hand;
use recado_domain::message::Usage;
use recado_pipeline::ports::{Llm, LlmError, LlmReply, LlmRequest};

/// A model that answers by naming what it was asked: `re m3 m4`. Now and then it says the same as always, or more than
/// one message holds.
#[derive(Debug, Clone)]
pub struct Model {
    outside: Outside,
    hand: Hand,
}

impl Model {
    /// The model, as the function under `hand` has it.
    pub fn new(outside: Outside, hand: Hand) -> Self {
        Self { outside, hand }
    }
}

impl Llm for Model {
    async fn complete(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let simulation = &self.hand.common.simulation;
        self.hand.step("model").await;
        self.hand.common.count(|counters| counters.model_calls += 1);
        simulation
            .sleep(simulation.pick(&[300, 1_000, 3_000, 8_000, 30_000]))
            .await;
        self.hand.step("model").await;
        let (key_is_good, fails, goes_on) = {
            let state = self.outside.state();
            (state.model_key_is_good, state.model_fails, state.model_goes_on)
        };
        if !key_is_good {
            return Err(LlmError::Credentials("401".to_owned()));
        }
        if simulation.chance(fails) {
            return Err(LlmError::Unavailable("529".to_owned()));
        }
        let asked = request
            .turns
            .last()
            .map(|turn| turn.text.replace('\n', " "))
            .unwrap_or_default();
        self.outside
            .state()
            .read
            .extend(asked.split(' ').map(str::to_owned));
        let text = if simulation.chance(0.1) {
            "certo".to_owned()
        } else if simulation.chance(goes_on) {
            at_length(&asked, simulation.pick(&[1, 2, 4, 12]))
        } else {
            format!("re {asked}")
        };
        self.hand.common.note(|| format!("the model says: {text}"));
        Ok(LlmReply {
            text,
            usage: Usage::default(),
            model: request.model.clone(),
        })
    }
}

/// The same answer with so many paragraphs more, none of which shares a message with another.
fn at_length(asked: &str, paragraphs: usize) -> String {
    let more = (1..=paragraphs).map(|number| format!("\n\n{number} {}", ".".repeat(TEXT_MAX / 2)));
    format!("re {asked}{}", more.collect::<String>())
}
