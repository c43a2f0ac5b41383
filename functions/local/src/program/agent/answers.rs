//! Shows what an agent answers with each of two prompts.

use super::request_text;
use anyhow::{Context, Result, bail};
use recado_domain::config::Agent;
use recado_pipeline::ports::Llm;
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// Largest number of questions that are asked.
const QUESTIONS_MAX: usize = 50;

/// A question as an evaluation set has it.
#[derive(Debug, Deserialize)]
struct WrittenQuestion {
    text: String,
    /// The same question, complete without the messages before it.
    alone: Option<String>,
}

/// Reads questions: a line each, or JSON Lines as in an evaluation set.
pub(super) fn read_questions(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let questions = parse_questions(&text);
    if questions.is_empty() {
        bail!("{} holds no question", file.display());
    }
    Ok(questions)
}

fn parse_questions(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let question = |line: &str| match serde_json::from_str::<WrittenQuestion>(line) {
        Ok(written) => written.alone.unwrap_or(written.text),
        Err(_) => line.to_owned(),
    };
    lines.map(question).take(QUESTIONS_MAX).collect()
}

/// Asks the agent's model a question with each of two prompts.
pub(super) async fn ask_both_prompts(
    model: &dyn Llm,
    agent: &Agent,
    (full, shorter): (&str, &str),
    question: &str,
) -> Result<[String; 2]> {
    let of_full = request_text(model, agent, full, question, agent.max_tokens).await?;
    let of_shorter = request_text(model, agent, shorter, question, agent.max_tokens).await?;
    Ok([of_full.text, of_shorter.text])
}

pub(super) fn format_answers(question: &str, [full, shorter]: &[String; 2]) -> String {
    let (full, shorter) = (full.trim(), shorter.trim());
    format!("question: {question}\n  with system_prompt: {full}\n  with the shorter one: {shorter}\n\n")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Writes, agent};
    use super::*;

    #[test]
    fn questions_stand_on_lines_of_text_or_of_an_evaluation_set() {
        let text = "\nQuanto custa?\n{\"text\": \"E o outro?\", \"alone\": \"Quanto custa o outro?\"}\n{\"text\": \"Onde?\"}\n";
        assert_eq!(
            parse_questions(text),
            ["Quanto custa?", "Quanto custa o outro?", "Onde?"]
        );
        assert_eq!(parse_questions(&"a\n".repeat(60)).len(), QUESTIONS_MAX);
    }

    #[tokio::test]
    async fn both_prompts_are_asked_and_their_answers_stand_beside_each_other() {
        let prompts = ("Please be short.", "Be short.");
        let answers = ask_both_prompts(&Writes(""), &agent(), prompts, "Onde?")
            .await
            .expect("the model answers");
        assert_eq!(
            format_answers("Onde?", &answers),
            "question: Onde?\n  with system_prompt: Please be short. / Onde?\n  with the shorter one: Be short. / Onde?\n\n"
        );
    }
}
