//! Measures how much of a prompt the found blocks take, and lists questions with their blocks.

use super::{EvaluationError, EvaluationSet, Group, Half, Indexes, QuestionKind, VectorSource, Way};
use recado_domain::knowledge::render_texts_of_blocks;

/// Number of blocks that a turn shows its model.
const SHOWN: usize = 5;

/// How much a prompt holds of what stands between the marks of knowledge, in characters. Tokens are in proportion to them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PromptSizes {
    /// The mean with the blocks that are found for a question.
    pub with_found: f64,
    /// The mean with all blocks of the business.
    pub with_all: f64,
}

impl PromptSizes {
    /// Returns the share of the characters that a prompt with the found blocks does without.
    pub fn saved_share(self) -> f64 {
        if self.with_all > 0.0 {
            1.0 - self.with_found / self.with_all
        } else {
            0.0
        }
    }
}

/// Measures the prompts of the questions of `half`, or of all, as they are asked.
pub fn measure_prompts(
    sets: &[EvaluationSet],
    half: Option<Half>,
    source: VectorSource<'_>,
) -> Result<PromptSizes, EvaluationError> {
    let (mut found_sum, mut all_sum, mut questions) = (0.0, 0.0, 0_u32);
    for set in sets {
        let indexes = Indexes::of_blocks(&set.blocks, source)?;
        let all = count_characters_of(set, 0..set.blocks.len());
        for question in set.list_questions(half) {
            let found = indexes.search(Way::Hybrid, &question.alone)?;
            let shown = found.iter().take(SHOWN).map(|found| found.block);
            found_sum += count_characters_of(set, shown);
            all_sum += all;
            questions += 1;
        }
    }
    let questions = f64::from(questions.max(1));
    Ok(PromptSizes {
        with_found: found_sum / questions,
        with_all: all_sum / questions,
    })
}

/// A question as a turn would ask it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptedQuestion {
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The question.
    pub text: String,
    /// The blocks that were found, as the model reads them; `None` if nothing was found.
    pub knowledge: Option<String>,
}

/// Lists the questions of these kinds in the language of most, each with what `way` finds for it.
pub fn list_prompted_questions(
    sets: &[EvaluationSet],
    half: Option<Half>,
    kinds: &[QuestionKind],
    way: Way,
    source: VectorSource<'_>,
) -> Result<Vec<PromptedQuestion>, EvaluationError> {
    let mut prompted = Vec::new();
    for set in sets {
        let indexes = Indexes::of_blocks(&set.blocks, source)?;
        let main = set.find_main_language();
        let asked = set
            .list_questions(half)
            .filter(|question| kinds.contains(&question.kind));
        for question in asked {
            let Some(text) = Group::OfKind(question.kind).asked_text(question, &main) else {
                continue;
            };
            let found = indexes.search(way, &text)?;
            let shown = found.iter().take(SHOWN).map(|found| found.block);
            prompted.push(PromptedQuestion {
                kind: question.kind,
                knowledge: render_set_blocks(set, shown),
                text,
            });
        }
    }
    Ok(prompted)
}

/// Renders blocks of a set as the model reads them; `None` if there are none.
fn render_set_blocks(set: &EvaluationSet, numbers: impl IntoIterator<Item = usize>) -> Option<String> {
    let blocks = numbers.into_iter().filter_map(|number| set.blocks.get(number));
    render_texts_of_blocks(blocks.map(|block| (&*block.source, &*block.place, &*block.text)))
}

/// Counts the characters of blocks of a set as the model reads them.
#[expect(clippy::cast_precision_loss, reason = "texts are far shorter")]
fn count_characters_of(set: &EvaluationSet, numbers: impl IntoIterator<Item = usize>) -> f64 {
    let rendered = render_set_blocks(set, numbers);
    rendered.map_or(0.0, |rendered| rendered.chars().count() as f64)
}
