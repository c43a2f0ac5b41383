use super::*;
use crate::{SplitSettings, analyze_document, hash_ngrams};
use recado_domain::Timestamp;
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{KnowledgeLimits, KnowledgeSource, MadeVectors};

pub(crate) fn file_of(title: &str, blocks: &[(&str, &str)]) -> Vec<u8> {
    snapshot_with(title, blocks).to_bytes().unwrap()
}

fn snapshot_with(title: &str, blocks: &[(&str, &str)]) -> KnowledgeSnapshot {
    let id = SourceId::of_title(&AgentId::parse("clara").unwrap(), title);
    let texts = blocks.iter().map(|(place, text)| format!("# {place}\n{text}"));
    let text = texts.collect::<Vec<_>>().join("\n");
    let document = analyze_document(title, &text, SplitSettings::default());
    let source = KnowledgeSource {
        id: id.clone(),
        title: title.to_owned(),
        content_hash: String::new(),
        bytes: 1,
        added_at: Timestamp::UNIX_EPOCH,
        blocks: document.blocks.len(),
        is_cut: false,
        words: document.words,
        analysis: document.analysis,
    };
    let blocks = document.blocks.into_iter();
    let blocks = blocks.map(|block| block.into_block_of(&id));
    let snapshot = KnowledgeSnapshot::default().with_changes(
        KnowledgeLimits::default(),
        &[],
        vec![(source, blocks.collect())],
    );
    let mut snapshot = snapshot.unwrap();
    let mut made = MadeVectors::begin_for_model("letters");
    for (hash, text) in snapshot.list_unembedded(None) {
        made.add_made_vector(hash, &hash_ngrams(&text, 256)).unwrap();
    }
    snapshot.add_made_vectors(&made, 1_000_000).unwrap();
    snapshot
}

#[test]
fn a_block_is_found_with_the_title_of_its_source_and_by_its_headings_too() {
    let blocks = [
        ("Prices › Vaccines", "They cost 90 euros."),
        ("Parking", "There is none."),
    ];
    let index = KnowledgeIndex::from_bytes(&file_of("clinic.md", &blocks)).unwrap();
    let found = index.search("What does a vaccine cost?", None, 5);
    assert_eq!(
        (found[0].title.as_str(), found[0].text.as_str()),
        ("clinic.md", "They cost 90 euros.")
    );
    assert_eq!(found[0].place, "Prices › Vaccines");
    assert_eq!(
        index.search("vacines", None, 5)[0].text,
        found[0].text,
        "a misspelled word"
    );
    assert!(found[0].score > 0.0);
    assert!(index.search("zzz", None, 5).is_empty());
}

#[test]
fn a_question_whose_words_stand_nowhere_is_answered_by_vectors_and_each_way_shows_its_score() {
    let blocks = [
        ("Prices", "Vaccination costs 90 euros."),
        ("Parking", "There is none."),
    ];
    let index = KnowledgeIndex::from_bytes(&file_of("clinic.md", &blocks)).unwrap();
    assert!(index.search("revaccinations", None, 5).is_empty());
    let vector = hash_ngrams("revaccinations", 256);
    let found = index.search("revaccinations", Some(&vector), 5);
    assert_eq!(found[0].text, "Vaccination costs 90 euros.");
    assert!(
        found[0].cosine.unwrap() > 0.2 && found[0].lexical.is_none(),
        "{found:?}"
    );
    let found = index.search("vaccination", Some(&hash_ngrams("vaccination", 256)), 5);
    assert!(
        found[0].cosine.is_some() && found[0].lexical.is_some(),
        "{found:?}"
    );
    let words = index.search("vaccination", Some(&[1.0]), 5);
    assert_eq!(
        words,
        index.search("vaccination", None, 5),
        "a vector of other dimensions"
    );
    assert_eq!((words[0].lexical, words[0].cosine), (Some(words[0].score), None));
}

#[test]
fn a_stored_snapshot_whose_words_were_found_in_another_way_is_searched_by_words_of_the_present_one() {
    let blocks = [("", "A recepção abre às nove\nObturação custa cento e dez")];
    let mut snapshot = snapshot_with("precos.txt", &blocks);
    // As an earlier version wrote it: the words of two lines were one, and the source names no analysis.
    snapshot.blocks[0].stems = snapshot.blocks[0].stems.replace("nov obtur", "noveobtur");
    assert!(
        snapshot.blocks[0].stems.contains("noveobtur"),
        "{:?}",
        snapshot.blocks
    );
    let words = std::mem::take(&mut snapshot.sources[0].words).into_iter();
    snapshot.sources[0].words = words.filter(|word| word != "obturacao").collect();
    snapshot.sources[0].analysis = 0;
    let stored = snapshot.to_bytes().unwrap();
    assert!(!String::from_utf8_lossy(&stored).contains("analysis"));
    let index = KnowledgeIndex::from_bytes(&stored).unwrap();
    for question in ["obturação", "Quanto custa a obturaçao?"] {
        assert_eq!(index.search(question, None, 5).len(), 1, "{question}");
    }
    let read = KnowledgeSnapshot::from_bytes(&stored).unwrap();
    let mut renewed = read.clone();
    renew_analysis(&mut renewed);
    assert_ne!(renewed.blocks[0].stems, read.blocks[0].stems);
    let again = renewed.clone();
    renew_analysis(&mut renewed);
    assert_eq!(renewed, again, "what is of the present way stays");
}

#[test]
fn a_small_knowledge_is_shown_whole_the_found_blocks_first_and_a_larger_one_is_not() {
    let blocks = [
        ("Parking", "There is none."),
        ("Prices", "Vaccination costs 90 euros."),
        ("Times", "9 to 5."),
    ];
    let index = KnowledgeIndex::from_bytes(&file_of("clinic.md", &blocks)).unwrap();
    for (question, best, rest) in [
        ("vaccination", &["Prices"][..], &["Parking", "Times"][..]),
        ("zzz", &[], &["Parking", "Prices", "Times"]),
    ] {
        let found = index.find_shown_blocks(question, None, 5);
        assert_eq!(places(&found.blocks), best);
        assert_eq!(places(&found.rest), rest);
        assert_eq!(found.whole, Some(3), "{question}");
    }
    let vector = hash_ngrams("vaccination", 256);
    let near = index.find_shown_blocks("vaccination", Some(&vector), 1);
    assert_eq!(near.blocks.len() + near.rest.len(), 3, "{near:?}");
    assert_eq!(near.blocks[0].place, "Prices");
    let long = "The lighthouse shines. ".repeat(300);
    let larger = [blocks[0], blocks[1], ("Way", long.as_str())];
    let index = KnowledgeIndex::from_bytes(&file_of("clinic.md", &larger)).unwrap();
    let found = index.find_shown_blocks("zzz", None, 5);
    assert_eq!(found, FoundBlocks::default());
    let found = index.find_shown_blocks("lighthouse", None, 2);
    assert_eq!((found.blocks.len(), found.rest.len(), found.whole), (2, 0, None));
}

fn places(blocks: &[FoundBlock]) -> Vec<&str> {
    blocks.iter().map(|block| block.place.as_str()).collect()
}

#[test]
fn a_damaged_file_is_no_index() {
    assert!(KnowledgeIndex::from_bytes(b"no snapshot").is_err());
}
