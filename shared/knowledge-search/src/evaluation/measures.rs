//! The measures of a way to find blocks.

use crate::Found;
use serde::Serialize;

/// The blocks that a way found for one question.
#[derive(Debug, Clone, Copy)]
pub struct Answer<'a> {
    /// The numbers of the blocks that answer the question; none if no block does.
    pub expected: &'a [usize],
    /// The blocks that were found, best first.
    pub found: &'a [Found],
}

/// The measures of a way over questions. Shares are between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Measures {
    /// Questions that a block answers.
    pub questions: usize,
    /// The share for which the first block answers.
    pub recall_at_1: f64,
    /// The share for which one of the first five answers.
    pub recall_at_5: f64,
    /// The mean of 1 divided by the rank of the first that answers.
    pub mean_reciprocal_rank: f64,
    /// Questions that no block answers.
    pub unanswerable: usize,
    /// The share of these for which nothing was found.
    pub nothing_found: f64,
}

/// Measures answers.
pub fn measure_answers<'a>(answers: impl IntoIterator<Item = Answer<'a>>) -> Measures {
    let mut measures = Measures::default();
    let (mut first, mut five, mut reciprocal, mut nothing) = (0.0, 0.0, 0.0, 0.0);
    for answer in answers {
        if answer.expected.is_empty() {
            measures.unanswerable += 1;
            nothing += f64::from(u8::from(answer.found.is_empty()));
            continue;
        }
        measures.questions += 1;
        let mut rank = 0_u32;
        for found in answer.found {
            rank += 1;
            if answer.expected.contains(&found.block) {
                first += f64::from(u8::from(rank == 1));
                five += f64::from(u8::from(rank <= 5));
                reciprocal += 1.0 / f64::from(rank);
                break;
            }
        }
    }
    measures.recall_at_1 = share(first, measures.questions);
    measures.recall_at_5 = share(five, measures.questions);
    measures.mean_reciprocal_rank = share(reciprocal, measures.questions);
    measures.nothing_found = share(nothing, measures.unanswerable);
    measures
}

#[expect(clippy::cast_precision_loss, reason = "counts of questions are small")]
fn share(part: f64, of: usize) -> f64 {
    if of == 0 { 0.0 } else { part / of as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(blocks: &[usize]) -> Vec<Found> {
        blocks
            .iter()
            .map(|block| Found {
                block: *block,
                score: 1.0,
            })
            .collect()
    }

    #[test]
    fn ranks_and_empty_answers_are_counted() {
        let lists = [
            found(&[3, 1]),
            found(&[1, 3]),
            found(&[2]),
            found(&[]),
            found(&[9]),
        ];
        let expected: [&[usize]; 5] = [&[3], &[3, 4], &[5], &[], &[]];
        let answers = lists
            .iter()
            .zip(expected)
            .map(|(found, expected)| Answer { expected, found });
        let measures = measure_answers(answers);
        assert_eq!((measures.questions, measures.unanswerable), (3, 2));
        assert!((measures.recall_at_1 - 1.0 / 3.0).abs() < 1e-9);
        assert!((measures.recall_at_5 - 2.0 / 3.0).abs() < 1e-9);
        assert!((measures.mean_reciprocal_rank - 0.5).abs() < 1e-9);
        assert!((measures.nothing_found - 0.5).abs() < 1e-9);
    }

    #[test]
    fn no_questions_measure_nothing() {
        assert_eq!(measure_answers([]), Measures::default());
    }
}
