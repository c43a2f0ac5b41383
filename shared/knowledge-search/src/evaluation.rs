//! Measures the ways to find blocks on questions whose blocks are known.

mod measures;
mod prompt;
mod set;

pub use measures::{Answer, Measures, measure_answers};
pub use prompt::{PromptSizes, PromptedQuestion, list_prompted_questions, measure_prompts};
pub use set::{EvaluationSet, Half, Question, QuestionKind, SetBlock, SetError, Turn};

use crate::{Found, LexicalIndex, VectorIndex, detect_language, hash_ngrams, join_both_ways};
use recado_domain::knowledge::OtherDimension;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Ways to find blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By words.
    Lexical,
    /// By vectors.
    Vectors,
    /// By both.
    Hybrid,
}

impl Way {
    /// All ways, in the order of a report.
    pub const ALL: [Self; 3] = [Self::Lexical, Self::Vectors, Self::Hybrid];

    /// Returns the name in a report.
    pub fn report_name(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Vectors => "vectors",
            Self::Hybrid => "hybrid",
        }
    }
}

/// Which of a set's questions are measured together, and as what they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// All questions in the language of most, follow-ups as they stand alone.
    OneLanguage,
    /// Those of a kind, in the language of most, follow-ups as they stand alone.
    OfKind(QuestionKind),
    /// Follow-ups as the customer wrote them, without what came before.
    FollowUpsAsWritten,
    /// Follow-ups as they were rewritten with what came before ([`Question::rewritten`]).
    FollowUpsRewritten,
    /// Questions in another language than that of most.
    OtherLanguages,
}

impl Group {
    /// All groups, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::OneLanguage,
        Self::OfKind(QuestionKind::Plain),
        Self::OfKind(QuestionKind::Paraphrase),
        Self::OfKind(QuestionKind::Misspelling),
        Self::OfKind(QuestionKind::FollowUp),
        Self::FollowUpsAsWritten,
        Self::FollowUpsRewritten,
        Self::OtherLanguages,
    ];

    /// Returns the name in a report.
    pub fn report_name(self) -> &'static str {
        match self {
            Self::OneLanguage => "all in one language",
            Self::OfKind(QuestionKind::Plain) => "plain",
            Self::OfKind(QuestionKind::Paraphrase) => "in other words",
            Self::OfKind(QuestionKind::Misspelling) => "misspelled",
            Self::OfKind(QuestionKind::FollowUp) => "follow-ups that stand alone",
            Self::OfKind(QuestionKind::Unanswerable) => "without an answer",
            Self::FollowUpsAsWritten => "follow-ups as written",
            Self::FollowUpsRewritten => "follow-ups rewritten",
            Self::OtherLanguages => "in another language",
        }
    }

    fn asked_text(self, question: &Question, main: &str) -> Option<String> {
        let same = question.language == main;
        let asked = match self {
            Self::OneLanguage => same.then_some(&question.alone),
            Self::OfKind(kind) => (same && question.kind == kind).then_some(&question.alone),
            Self::FollowUpsAsWritten => {
                (same && question.kind == QuestionKind::FollowUp).then_some(&question.text)
            }
            Self::FollowUpsRewritten => question.rewritten.as_ref().filter(|_| same),
            Self::OtherLanguages => (!same).then_some(&question.alone),
        };
        asked.cloned()
    }
}

/// A group and a way, with what was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The questions.
    pub group: Group,
    /// The way to find blocks.
    pub way: Way,
    /// The measures.
    pub measures: Measures,
}

/// Dimensions of the stand-in's vectors.
const DIMENSIONS: usize = 512;
/// Blocks that are asked for; both lists of the hybrid way are longer.
const WANTED: usize = 10;
const CANDIDATES: usize = 50;

/// Vectors of an embedding model, by their text.
pub type TextVectors = BTreeMap<String, Vec<f32>>;

/// Where the vectors of an evaluation come from.
#[derive(Debug, Clone, Copy)]
pub enum VectorSource<'a> {
    /// From the stand-in, [`hash_ngrams`].
    StandIn,
    /// From an embedding model, which made one of each text of [`list_embedded_texts`].
    Model(&'a TextVectors),
}

impl<'a> VectorSource<'a> {
    fn vector_of(self, text: &str) -> Result<Cow<'a, [f32]>, EvaluationError> {
        match self {
            Self::StandIn => Ok(hash_ngrams(text, DIMENSIONS).into()),
            Self::Model(vectors) => match vectors.get(text) {
                Some(vector) => Ok(vector.into()),
                None => Err(EvaluationError::NoVector),
            },
        }
    }
}

/// Why an evaluation was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EvaluationError {
    /// Vectors do not belong together.
    #[error(transparent)]
    Vector(#[from] OtherDimension),
    /// The embedding model made no vector of a text.
    #[error("a text has no vector")]
    NoVector,
}

/// The indexes of one set.
#[derive(Debug)]
struct Indexes<'a> {
    words: LexicalIndex,
    vectors: VectorIndex,
    source: VectorSource<'a>,
}

impl<'a> Indexes<'a> {
    fn of_blocks(blocks: &[SetBlock], source: VectorSource<'a>) -> Result<Self, EvaluationError> {
        let texts: Vec<String> = blocks.iter().map(SetBlock::indexed_text).collect();
        let vectors: Vec<_> = blocks
            .iter()
            .map(|block| source.vector_of(&block.embedded_text()))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            words: LexicalIndex::of_texts(texts.iter().map(|text| (text.as_str(), detect_language(text)))),
            vectors: VectorIndex::of_vectors(vectors.iter().map(AsRef::as_ref))?,
            source,
        })
    }

    fn search(&self, way: Way, question: &str) -> Result<Vec<Found>, EvaluationError> {
        let by_vectors = || -> Result<_, EvaluationError> {
            let vector = self.source.vector_of(question)?;
            Ok(self.vectors.search(&vector, CANDIDATES)?)
        };
        Ok(match way {
            Way::Lexical => self.words.search(question, WANTED),
            Way::Vectors => by_vectors()?.into_iter().take(WANTED).collect(),
            Way::Hybrid => {
                let words = self.words.search(question, CANDIDATES);
                join_both_ways(&words, &by_vectors()?, WANTED)
            }
        })
    }
}

/// Returns the texts of which an evaluation needs vectors.
pub fn list_embedded_texts(sets: &[EvaluationSet], half: Option<Half>) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for set in sets {
        texts.extend(set.blocks.iter().map(SetBlock::embedded_text));
        let main = set.find_main_language();
        for question in set.list_questions(half) {
            texts.extend(
                Group::ALL
                    .iter()
                    .filter_map(|group| group.asked_text(question, &main)),
            );
        }
    }
    texts
}

/// Measures all groups and ways over sets, each with indexes of its own. Of their questions those of `half`, or all.
pub fn evaluate(
    sets: &[EvaluationSet],
    half: Option<Half>,
    source: VectorSource<'_>,
) -> Result<Vec<Row>, EvaluationError> {
    let mut indexes = Vec::new();
    for set in sets {
        indexes.push(Indexes::of_blocks(&set.blocks, source)?);
    }
    let mut rows = Vec::new();
    for group in Group::ALL {
        for way in Way::ALL {
            let mut answers = Vec::new();
            for (set, indexes) in sets.iter().zip(&indexes) {
                let main = set.find_main_language();
                for question in set.list_questions(half) {
                    if let Some(text) = group.asked_text(question, &main) {
                        answers.push((set.find_block_numbers(question), indexes.search(way, &text)?));
                    }
                }
            }
            let measures =
                measure_answers(answers.iter().map(|(expected, found)| Answer { expected, found }));
            rows.push(Row { group, way, measures });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
