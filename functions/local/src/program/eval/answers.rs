//! Has a model answer questions that no block answers, and measures how often its answer says so.

use anyhow::{Context, Result};
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::message::SIMULATED_MODEL;
use recado_knowledge_search::evaluation::{PromptedQuestion, QuestionKind};
use recado_pipeline::ports::{ChatTurn, Llm, LlmRequest, Speaker};
use serde::Serialize;
use std::time::Duration;

/// The kinds of questions that are asked: those without an answer, and those that a block answers in their own words.
pub(super) const ASKED_KINDS: [QuestionKind; 2] = [QuestionKind::Unanswerable, QuestionKind::Plain];

/// The word with which an answer begins that says that it does not know.
const UNKNOWN: &str = "NO_ANSWER";

/// The system prompt of the evaluation.
const SYSTEM: &str = "You answer customers of a business, in their language and in two sentences at most. If what you are given of the \
    documents of the business does not answer the question, write NO_ANSWER as the first word, and then tell the customer that you do not \
    know it.";

/// Longest time for an answer.
const ANSWER_TIME: Duration = Duration::from_mins(1);

/// Length of an answer at most, in tokens.
const TOKENS_MAX: u32 = 300;

/// Number of questions that are asked side by side.
const SIDE_BY_SIDE: usize = 4;

/// The numbers of answers that say that the model does not know. The fields are named as the report names them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct AnswerCounts {
    /// Name of the model that was asked.
    pub(super) model: String,
    /// Questions that no block answers.
    pub(super) unanswerable: usize,
    /// Those for which nothing was found.
    pub(super) nothing_found: usize,
    /// Those whose answer said so.
    pub(super) answer_said_so: usize,
    /// Those with one of both, at least.
    pub(super) either: usize,
    /// Questions that a block answers.
    pub(super) answerable: usize,
    /// Those whose answer said all the same that it does not know.
    pub(super) said_so_wrongly: usize,
}

impl AnswerCounts {
    fn count_answer(&mut self, question: &PromptedQuestion, says_so: bool) {
        if question.kind != QuestionKind::Unanswerable {
            self.answerable += 1;
            self.said_so_wrongly += usize::from(says_so);
            return;
        }
        let is_nothing = question.knowledge.is_none();
        self.unanswerable += 1;
        self.nothing_found += usize::from(is_nothing);
        self.answer_said_so += usize::from(says_so);
        self.either += usize::from(is_nothing || says_so);
    }

    /// Returns a sentence for the report.
    pub(super) fn describe_counts(&self) -> String {
        format!(
            "Of {} questions without an answer nothing was found for {}, and {} answers of {} said so: {} in all. So did {} of {} answers to \
             plain questions, wrongly.",
            self.unanswerable,
            self.nothing_found,
            self.answer_said_so,
            self.model,
            self.either,
            self.said_so_wrongly,
            self.answerable
        )
    }
}

/// Asks a model each question with what was found, and counts the answers that say that it does not know.
pub(super) async fn count_unknowing_answers(
    model: &dyn Llm,
    name: &str,
    questions: &[PromptedQuestion],
) -> Result<AnswerCounts> {
    let answers: Vec<bool> = stream::iter(questions)
        .map(|question| ask_for_answer(model, name, question))
        .buffered(SIDE_BY_SIDE)
        .try_collect()
        .await?;
    let mut counts = AnswerCounts {
        model: name.to_owned(),
        ..AnswerCounts::default()
    };
    for (question, says_so) in questions.iter().zip(answers) {
        counts.count_answer(question, says_so);
    }
    Ok(counts)
}

/// Asks a question. Returns `true` if the answer says that the model does not know.
async fn ask_for_answer(model: &dyn Llm, name: &str, question: &PromptedQuestion) -> Result<bool> {
    let request = LlmRequest {
        model: name.to_owned(),
        system: SYSTEM.to_owned(),
        knowledge: question.knowledge.clone(),
        turns: vec![ChatTurn::from_text(Speaker::User, question.text.as_str())],
        max_tokens: TOKENS_MAX,
        within: ANSWER_TIME,
        simulated: name == SIMULATED_MODEL,
        ..LlmRequest::default()
    };
    let reply = model.generate_reply(&request).await;
    let reply = reply.with_context(|| format!("the model {name} does not answer"))?;
    Ok(reply.text.trim_start().starts_with(UNKNOWN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use recado_domain::message::TokenUsage;
    use recado_pipeline::ports::{LlmError, LlmReply};

    /// A model that knows what it is shown, unless the question is a riddle.
    struct Knows;

    #[async_trait]
    impl Llm for Knows {
        async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
            let is_riddle = request.turns[0].text.contains("riddle");
            let is_known = request.knowledge.is_some() && !is_riddle;
            Ok(LlmReply {
                calls: Vec::new(),
                text: if is_known {
                    "It is 9."
                } else {
                    " NO_ANSWER\nI do not know."
                }
                .to_owned(),
                decision: None,
                ignored_calls: 0,
                usage: TokenUsage::default(),
                model: request.model.clone(),
            })
        }
    }

    #[tokio::test]
    async fn answers_that_say_so_are_counted_beside_those_for_which_nothing_was_found() {
        let question = |kind, text: &str, is_found: bool| PromptedQuestion {
            kind,
            text: text.to_owned(),
            knowledge: is_found.then(|| "<knowledge>".to_owned()),
        };
        let questions = [
            question(QuestionKind::Unanswerable, "a riddle", true),
            question(QuestionKind::Unanswerable, "a question", true),
            question(QuestionKind::Unanswerable, "a question", false),
            question(QuestionKind::Plain, "a question", true),
            question(QuestionKind::Plain, "a riddle", true),
        ];
        let counts = count_unknowing_answers(&Knows, "m", &questions)
            .await
            .expect("it answers");
        let expected = AnswerCounts {
            model: "m".to_owned(),
            unanswerable: 3,
            nothing_found: 1,
            answer_said_so: 2,
            either: 2,
            answerable: 2,
            said_so_wrongly: 1,
        };
        assert_eq!(counts, expected);
        let told = counts.describe_counts();
        assert!(
            told.starts_with("Of 3 questions") && told.contains("2 answers of m said so"),
            "{told}"
        );
    }
}
