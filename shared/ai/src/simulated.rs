//! The simulated model, which needs no key.

use recado_domain::message::{SIMULATED_MODEL, TokenUsage};
use recado_pipeline::ports::{Llm, LlmError, LlmReply, LlmRequest, Speaker, System};
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

impl<A: System> Llm for Simulated<A> {
    /// Answers with the number of messages in the burst (the lines after the last answer) and repeats the last one. If
    /// the latency is longer than [`LlmRequest::within`], the call fails after that time, as a slow real model would.
    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        self.system.sleep(self.latency.min(request.within)).await;
        if self.latency > request.within {
            return Err(LlmError::Unavailable(
                "the simulated model took too long".to_owned(),
            ));
        }
        let text = compose_answer(request);
        let read = count_words(&request.system)
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
            text,
            usage,
            model: SIMULATED_MODEL.to_owned(),
        })
    }
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
        .filter(|line| !line.is_empty())
        .collect();
    let (count, plural) = (burst.len(), if burst.len() == 1 { "" } else { "s" });
    let last: String = burst
        .last()
        .copied()
        .unwrap_or_default()
        .chars()
        .take(QUOTED_MAX)
        .collect();
    format!("[simulated] I read {count} message{plural}. You said: \"{last}\"")
}

fn count_words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claude::tests::{Time, request, said};

    fn model(latency: Duration) -> Simulated<Time> {
        Simulated::new(Time::default(), latency)
    }

    #[tokio::test]
    async fn a_burst_is_counted_and_its_last_message_repeated() {
        let mut asked = request();
        asked.turns = vec![
            said(Speaker::User, "old"),
            said(Speaker::Assistant, "answered"),
            said(Speaker::User, "oi\n\ntudo bem?\nquero marcar uma consulta"),
        ];
        let reply = model(Duration::ZERO).generate_reply(&asked).await.unwrap();
        assert_eq!(
            reply.text,
            "[simulated] I read 3 messages. You said: \"quero marcar uma consulta\""
        );
        assert_eq!(reply.model, "simulated");
        assert_eq!(reply.usage.output_tokens, count_words(&reply.text));
        assert_eq!(reply, model(Duration::ZERO).generate_reply(&asked).await.unwrap());
    }

    #[tokio::test]
    async fn one_message_is_not_called_messages() {
        let reply = model(Duration::ZERO).generate_reply(&request()).await.unwrap();
        assert_eq!(
            reply.text,
            "[simulated] I read 1 message. You said: \"good morning\""
        );
    }

    #[tokio::test]
    async fn it_takes_its_latency_and_no_longer_than_it_may() {
        let slow = model(Duration::from_secs(3));
        slow.generate_reply(&request()).await.unwrap();
        assert_eq!(slow.system.passed(), 3_000);
        let mut asked = request();
        asked.within = Duration::from_secs(1);
        assert!(matches!(
            slow.generate_reply(&asked).await,
            Err(LlmError::Unavailable(_))
        ));
    }
}
