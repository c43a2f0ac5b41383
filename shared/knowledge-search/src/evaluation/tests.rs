use super::*;
use recado_domain::follow_up::{join_earlier_messages, needs_earlier_messages};
use std::path::Path;

/// The sets of this repository.
fn read_sets() -> Vec<EvaluationSet> {
    ["clinic", "school", "shop"]
        .map(|name| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../tests/knowledge")
                .join(name);
            let read = |file| std::fs::read_to_string(folder.join(file)).expect("the repository has it");
            EvaluationSet::parse(&read("blocks.jsonl"), &read("questions.jsonl")).expect("a valid set")
        })
        .into()
}

fn measures(rows: &[Row], group: Group, way: Way) -> Measures {
    let row = rows.iter().find(|row| row.group == group && row.way == way);
    row.expect("every group and way is measured").measures
}

#[test]
fn the_sets_have_the_questions_that_were_agreed() {
    let sets = read_sets();
    let count = |kinds: &[QuestionKind]| {
        let questions = sets.iter().flat_map(|set| &set.questions);
        questions
            .filter(|question| kinds.contains(&question.kind))
            .count()
    };
    assert!(sets.iter().all(|set| set.blocks.len() >= 60));
    assert!(
        count(&[
            QuestionKind::Plain,
            QuestionKind::Paraphrase,
            QuestionKind::Misspelling,
            QuestionKind::FollowUp
        ]) >= 300
    );
    assert!(count(&[QuestionKind::FollowUp]) * 3 >= 290);
    assert!(count(&[QuestionKind::Unanswerable]) >= 50);
    let has_lines = |block: &&SetBlock| block.text.contains('\n');
    assert!(
        sets.iter()
            .all(|set| set.blocks.iter().filter(has_lines).count() >= 3)
    );
}

#[test]
fn the_reported_half_is_found_as_promised() {
    let rows =
        evaluate(&read_sets(), Some(Half::Reported), VectorSource::StandIn).expect("vectors of one model");
    let lexical = measures(&rows, Group::OneLanguage, Way::Lexical);
    let hybrid = measures(&rows, Group::OneLanguage, Way::Hybrid);
    assert!(lexical.questions > 100, "{lexical:?}");
    assert!(lexical.recall_at_5 >= 0.89, "{lexical:?}");
    assert!(
        hybrid.recall_at_5 >= lexical.recall_at_5,
        "{hybrid:?} {lexical:?}"
    );
}

#[test]
fn a_prompt_with_what_is_found_is_a_tenth_of_one_with_all_blocks() {
    let sizes = measure_prompts(&read_sets(), Some(Half::Reported), VectorSource::StandIn)
        .expect("vectors of one model");
    assert!(sizes.with_found > 500.0, "{sizes:?}");
    assert!(sizes.saved_share() >= 0.9, "{sizes:?}");
}

#[test]
fn follow_ups_that_rules_rewrite_are_found_nearly_as_those_that_stand_alone() {
    let mut sets = read_sets();
    for question in sets.iter_mut().flat_map(|set| &mut set.questions) {
        if question.kind == QuestionKind::FollowUp {
            let earlier = question.history.iter().filter(|turn| turn.role == "user");
            let earlier = earlier.map(|turn| turn.text.as_str());
            question.rewritten = Some(if needs_earlier_messages(&question.text) {
                join_earlier_messages(&question.text, earlier)
            } else {
                question.text.clone()
            });
        }
    }
    for half in [Half::Tuning, Half::Reported] {
        let rows = evaluate(&sets, Some(half), VectorSource::StandIn).expect("vectors of one model");
        for way in [Way::Lexical, Way::Hybrid] {
            let alone = measures(&rows, Group::OfKind(QuestionKind::FollowUp), way);
            let rewritten = measures(&rows, Group::FollowUpsRewritten, way);
            assert_eq!(rewritten.questions, alone.questions);
            assert!(
                rewritten.recall_at_5 >= 0.85 * alone.recall_at_5,
                "{half:?} {way:?}: {rewritten:?} {alone:?}"
            );
        }
    }
}

#[test]
fn most_follow_ups_are_known_and_most_other_questions_left_alone() {
    for half in [Half::Tuning, Half::Reported] {
        let (mut follow_ups, mut known, mut others, mut changed) = (0, 0, 0, 0);
        for question in read_sets()
            .iter()
            .flat_map(|set| set.list_questions(Some(half)).cloned().collect::<Vec<_>>())
        {
            let needs = usize::from(needs_earlier_messages(&question.text));
            if question.kind == QuestionKind::FollowUp {
                follow_ups += 1;
                known += needs;
            } else {
                others += 1;
                changed += needs;
            }
        }
        assert!(
            known * 100 >= follow_ups * 70,
            "{half:?}: {known} of {follow_ups}"
        );
        assert!(changed * 100 <= others * 20, "{half:?}: {changed} of {others}");
    }
}

#[test]
fn a_models_vectors_take_the_place_of_the_stand_in() {
    let sets = read_sets();
    let texts = list_embedded_texts(&sets, Some(Half::Reported));
    // As if the model knew the answer of every question: the vector is the number of the block.
    let vectors = |of_question: &dyn Fn(&Question) -> usize| -> TextVectors {
        let mut vectors: TextVectors = texts.iter().map(|text| (text.clone(), vec![0.0; 400])).collect();
        for set in &sets {
            let blocks = set.blocks.iter().map(SetBlock::embedded_text).enumerate();
            let questions = set
                .questions
                .iter()
                .map(|question| (of_question(question), question.alone.clone()));
            for (place, text) in blocks.chain(questions.collect::<Vec<_>>()) {
                if let Some(vector) = vectors.get_mut(&text) {
                    vector[place] = 1.0;
                }
            }
        }
        vectors
    };
    let find = |question: &Question| {
        let set = sets
            .iter()
            .find(|set| set.questions.contains(question))
            .expect("its set");
        set.find_block_numbers(question).first().copied().unwrap_or(399)
    };
    let known = vectors(&find);
    let rows =
        evaluate(&sets, Some(Half::Reported), VectorSource::Model(&known)).expect("a vector of each text");
    assert!(measures(&rows, Group::OneLanguage, Way::Vectors).recall_at_1 > 0.99);
    let one = TextVectors::new();
    assert_eq!(
        evaluate(&sets, None, VectorSource::Model(&one)),
        Err(EvaluationError::NoVector)
    );
}

#[test]
fn a_set_with_a_fault_says_where() {
    let block = r#"{"id":"a","source":"s","place":"p","text":"t"}"#;
    let question = |block: &str| {
        format!(
            r#"{{"id":"q","language":"en","kind":"plain","text":"t","alone":"t","blocks":["{block}"],"half":"tuning"}}"#
        )
    };
    let error = |blocks: &str, questions: &str| {
        EvaluationSet::parse(blocks, questions)
            .expect_err("a fault")
            .to_string()
    };
    assert!(EvaluationSet::parse(block, &question("a")).is_ok());
    assert_eq!(
        error(block, &question("b")),
        "question q names the block b, which is not in blocks.jsonl"
    );
    assert_eq!(error(&format!("{block}\n{block}"), ""), "two blocks are named a");
    assert_eq!(error("", ""), "blocks.jsonl holds no block");
    assert!(
        error("\n{", "").starts_with("blocks.jsonl, line 2: EOF"),
        "{}",
        error("\n{", "")
    );
}

#[test]
fn questions_are_listed_with_what_is_found_for_them_and_without_it_where_nothing_is() {
    let sets = read_sets();
    let list = |kinds: &[QuestionKind], way| {
        list_prompted_questions(&sets, Some(Half::Reported), kinds, way, VectorSource::StandIn)
            .expect("vectors of one model")
    };
    let unanswerable = list(&[QuestionKind::Unanswerable], Way::Lexical);
    let rows = evaluate(&sets, Some(Half::Reported), VectorSource::StandIn).expect("vectors of one model");
    let measured = measures(&rows, Group::OneLanguage, Way::Lexical);
    assert_eq!(unanswerable.len(), measured.unanswerable);
    let without = unanswerable
        .iter()
        .filter(|question| question.knowledge.is_none());
    let number = |count: usize| f64::from(u32::try_from(count).expect("a small number"));
    let expected = measured.nothing_found * number(unanswerable.len());
    assert!((number(without.count()) - expected).abs() < 1e-9, "{expected}");
    let plain = list(&[QuestionKind::Plain], Way::Hybrid);
    assert!(plain.iter().all(|question| question.kind == QuestionKind::Plain));
    let is_shown = |question: &PromptedQuestion| {
        question
            .knowledge
            .as_deref()
            .is_some_and(|known| known.contains("<knowledge source="))
    };
    assert!(plain.iter().all(is_shown));
}
