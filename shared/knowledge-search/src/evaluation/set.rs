//! A set of blocks and questions, as JSON Lines: `blocks.jsonl` and `questions.jsonl`.

use recado_domain::knowledge::write_embedded_text;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A block of a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetBlock {
    /// The name, unique in the set.
    pub id: String,
    /// The title of the document.
    pub source: String,
    /// The heading above it.
    pub place: String,
    /// The text.
    pub text: String,
}

impl SetBlock {
    /// Returns the text of which a vector is made, as of a block of an agent.
    pub fn embedded_text(&self) -> String {
        write_embedded_text(&self.place, &self.text)
    }

    /// Returns the text that is searched by words: title and heading belong to it.
    pub fn indexed_text(&self) -> String {
        format!("{}. {}. {}", self.source, self.place, self.text)
    }
}

/// Kinds of questions, by the way in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// In ordinary words.
    Plain,
    /// In other words than those of the block.
    Paraphrase,
    /// As people type on a phone.
    Misspelling,
    /// Needs the messages before it.
    FollowUp,
    /// No block answers it.
    Unanswerable,
}

/// The two halves of the questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// To tune constants.
    Tuning,
    /// To report only.
    Reported,
}

/// An earlier message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// `user` or `assistant`.
    pub role: String,
    /// The text.
    pub text: String,
}

/// A question of a set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The name, unique in the set.
    pub id: String,
    /// The language, such as `pt`.
    pub language: String,
    /// The way in which it is asked.
    pub kind: QuestionKind,
    /// The messages before it, oldest first.
    #[serde(default)]
    pub history: Vec<Turn>,
    /// The question as it was written.
    pub text: String,
    /// The same question, complete without the messages before it.
    pub alone: String,
    /// A follow-up as it was rewritten with the messages before it; not in the file.
    #[serde(skip)]
    pub rewritten: Option<String>,
    /// The names of the blocks that answer it, each by itself.
    pub blocks: Vec<String>,
    /// The half to which it belongs.
    pub half: Half,
}

/// Why a set cannot be used.
#[derive(Debug, Error)]
pub enum SetError {
    /// A line is no JSON of the right form.
    #[error("{file}, line {line}: {error}")]
    Line {
        /// The file.
        file: &'static str,
        /// The line, from 1.
        line: usize,
        /// The reason.
        error: serde_json::Error,
    },
    /// A question names a block that the set lacks.
    #[error("question {question} names the block {block}, which is not in blocks.jsonl")]
    UnknownBlock {
        /// The question.
        question: String,
        /// The block.
        block: String,
    },
    /// Two blocks have the same name.
    #[error("two blocks are named {0}")]
    SameName(String),
    /// There are no blocks.
    #[error("blocks.jsonl holds no block")]
    NoBlocks,
}

/// Blocks of one business, and questions to it.
#[derive(Debug, Clone)]
pub struct EvaluationSet {
    /// The blocks.
    pub blocks: Vec<SetBlock>,
    /// The questions.
    pub questions: Vec<Question>,
}

impl EvaluationSet {
    /// Reads a set from the text of its two files. Empty lines are left out.
    pub fn parse(blocks: &str, questions: &str) -> Result<Self, SetError> {
        let set = Self {
            blocks: parse_json_lines("blocks.jsonl", blocks)?,
            questions: parse_json_lines("questions.jsonl", questions)?,
        };
        let mut names = BTreeSet::new();
        for block in &set.blocks {
            if !names.insert(block.id.as_str()) {
                return Err(SetError::SameName(block.id.clone()));
            }
        }
        if names.is_empty() {
            return Err(SetError::NoBlocks);
        }
        for question in &set.questions {
            if let Some(block) = question
                .blocks
                .iter()
                .find(|block| !names.contains(block.as_str()))
            {
                return Err(SetError::UnknownBlock {
                    question: question.id.clone(),
                    block: block.clone(),
                });
            }
        }
        Ok(set)
    }

    /// Returns the language of most questions.
    pub fn find_main_language(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for question in &self.questions {
            *counts.entry(&question.language).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.map(|(language, _)| language.to_owned()).unwrap_or_default()
    }

    /// Returns the questions of a half, or all.
    pub fn list_questions(&self, half: Option<Half>) -> impl Iterator<Item = &Question> {
        let is_chosen = move |question: &&Question| half.is_none_or(|half| question.half == half);
        self.questions.iter().filter(is_chosen)
    }

    /// Returns the places of a question's blocks among the blocks.
    pub fn find_block_numbers(&self, question: &Question) -> Vec<usize> {
        let numbered = self.blocks.iter().enumerate();
        numbered
            .filter(|(_, block)| question.blocks.contains(&block.id))
            .map(|(number, _)| number)
            .collect()
    }
}

fn parse_json_lines<T: for<'a> Deserialize<'a>>(file: &'static str, text: &str) -> Result<Vec<T>, SetError> {
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| SetError::Line {
                file,
                line: number + 1,
                error,
            })
        })
        .collect()
}
