use super::*;
use crate::millis::from_unix_millis;

const LIMITS: KnowledgeLimits = KnowledgeLimits {
    blocks: 50,
    vectors: 50,
};

/// The room for vectors, in bytes.
const ROOM: usize = 1_000;

fn agent() -> AgentId {
    AgentId::parse("clara").unwrap()
}

fn record() -> AgentKnowledge {
    let (tenant, born) = (TenantId::parse("clinic").unwrap(), Nonce::parse("n").unwrap());
    AgentKnowledge::begin(tenant, agent(), born)
}

fn name(bits: u128) -> SnapshotName {
    SnapshotName::from_random_bits(bits)
}

fn source(title: &str, texts: &[&str]) -> (KnowledgeSource, Vec<KnowledgeBlock>) {
    let id = SourceId::of_title(&agent(), title);
    let blocks = texts.iter().map(|text| KnowledgeBlock {
        source: id.clone(),
        place: String::new(),
        text: (*text).to_owned(),
        language: "en".to_owned(),
        stems: (*text).to_owned(),
    });
    let source = KnowledgeSource {
        id: id.clone(),
        title: title.to_owned(),
        content_hash: texts.concat(),
        bytes: 1,
        added_at: from_unix_millis(0),
        blocks: texts.len(),
        is_cut: false,
        words: Vec::new(),
        analysis: 1,
    };
    (source, blocks.collect())
}

#[test]
fn the_id_of_a_source_is_that_of_its_title() {
    let id = SourceId::of_title(&agent(), "prices.md");
    assert_eq!(SourceId::parse(id.as_str()), Ok(id.clone()));
    assert_ne!(SourceId::of_title(&agent(), "prices2.md"), id);
    for bad in ["", "k_", "k_123", "k_0123456789abcdeg", "x_0123456789abcdef"] {
        assert!(SourceId::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_snapshot_is_read_as_it_was_written_and_a_damaged_one_is_refused() {
    let next = KnowledgeSnapshot::default().with_changes(LIMITS, &[], vec![source("a.md", &["one", "two"])]);
    let next = next.unwrap();
    let bytes = next.to_bytes().unwrap();
    assert_eq!(KnowledgeSnapshot::from_bytes(&bytes).unwrap(), next);
    let cut = KnowledgeSnapshot::from_bytes(&bytes[..bytes.len() - 1]);
    assert!(matches!(cut, Err(SnapshotError::Damaged(_))));
    let other = KnowledgeSnapshot::from_bytes(b"recado-knowledge-4\n{}");
    assert!(matches!(other, Err(SnapshotError::OtherFormat)));
}

#[test]
fn a_source_takes_the_place_of_the_one_with_its_title() {
    let first = KnowledgeSnapshot::default()
        .with_changes(
            LIMITS,
            &[],
            vec![source("b.md", &["old"]), source("a.md", &["kept"])],
        )
        .unwrap();
    let second = first
        .with_changes(LIMITS, &[], vec![source("b.md", &["new", "newer"])])
        .unwrap();
    let texts: Vec<&str> = second.blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!((second.version, texts), (2, vec!["kept", "new", "newer"]));
    let third = second
        .with_changes(LIMITS, &[second.sources[0].id.clone()], Vec::new())
        .unwrap();
    assert_eq!((third.sources.len(), third.blocks.len()), (1, 2));
}

#[test]
fn an_agent_has_bounded_sources_and_blocks() {
    let many = (0..=SOURCES_MAX)
        .map(|number| source(&number.to_string(), &[]))
        .collect();
    let refused = KnowledgeSnapshot::default().with_changes(LIMITS, &[], many);
    assert!(matches!(refused, Err(SnapshotError::TooManySources)));
    let long = source("long", &["x"; 51]);
    let refused = KnowledgeSnapshot::default().with_changes(LIMITS, &[], vec![long]);
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("50 blocks at most") && refused.contains("51"),
        "{refused}"
    );
}

#[test]
fn what_is_above_a_limit_that_was_lowered_can_become_smaller() {
    let full = snapshot_of(vec![source("a.md", &["x"; 30]), source("b.md", &["y"; 20])]);
    let lowered = KnowledgeLimits { blocks: 10, ..LIMITS };
    let smaller = full.with_changes(lowered, &[full.sources[1].id.clone()], Vec::new());
    assert_eq!(smaller.unwrap().blocks.len(), 30);
    let larger = full.with_changes(lowered, &[], vec![source("c.md", &["z"])]);
    assert!(matches!(
        larger,
        Err(SnapshotError::TooManyBlocks { blocks: 51, most: 10 })
    ));
}

#[test]
fn of_two_writers_of_one_version_the_first_wins() {
    let (mut known, now) = (record(), from_unix_millis(0));
    let next = KnowledgeSnapshot::default()
        .with_changes(LIMITS, &[], vec![source("a.md", &["x"])])
        .unwrap();
    known.begin_snapshot(name(1), now, &[]);
    known.begin_snapshot(name(2), now, &[]);
    assert!(known.switch_snapshot(&name(2), &next, now));
    assert!(!known.switch_snapshot(&name(1), &next, now));
    assert_eq!((known.version, &known.snapshot), (1, &Some(name(2))));
    assert_eq!((known.sources, known.blocks), (1, 1));
    assert!(known.list_file_keys().contains(&name(1).file_key()));
}

#[test]
fn a_replaced_snapshot_is_deletable_at_once_and_one_that_is_written_after_an_hour() {
    let (mut known, now) = (record(), from_unix_millis(0));
    let first = KnowledgeSnapshot::default()
        .with_changes(LIMITS, &[], Vec::new())
        .unwrap();
    known.begin_snapshot(name(1), now, &[]);
    assert!(known.switch_snapshot(&name(1), &first, now));
    known.begin_snapshot(name(2), now, &[]);
    assert_eq!(known.list_deletable(now), []);
    known.begin_snapshot(name(3), now, &[]);
    let second = first.with_changes(LIMITS, &[], Vec::new()).unwrap();
    assert!(known.switch_snapshot(&name(3), &second, now));
    assert_eq!(known.list_deletable(now), [name(1)]);
    let later = millis::add_duration(now, ABANDONED_AFTER);
    assert_eq!(known.list_deletable(later), [name(2), name(1)]);
    known.begin_snapshot(name(4), later, &[name(2), name(1)]);
    assert_eq!(known.list_file_keys(), [name(3).file_key(), name(4).file_key()]);
}

/// Returns the vectors of texts: `[their length, 1]`.
fn made(model: &str, snapshot: &KnowledgeSnapshot) -> MadeVectors {
    let mut made = MadeVectors::begin_for_model(model);
    for (hash, text) in snapshot.list_unembedded(None) {
        let length = u16::try_from(text.len()).unwrap();
        made.add_made_vector(hash, &[f32::from(length), 1.0]).unwrap();
    }
    made
}

fn snapshot_of(parts: Vec<(KnowledgeSource, Vec<KnowledgeBlock>)>) -> KnowledgeSnapshot {
    KnowledgeSnapshot::default()
        .with_changes(LIMITS, &[], parts)
        .unwrap()
}

fn unembedded(snapshot: &KnowledgeSnapshot) -> Vec<String> {
    let texts = snapshot.list_unembedded(None).into_iter();
    texts.map(|(_, text)| text).collect()
}

#[test]
fn a_block_keeps_its_vector_in_the_next_snapshot_and_in_another_source() {
    let mut first = snapshot_of(vec![source("a.md", &["one", "three", "one"])]);
    assert_eq!(unembedded(&first), ["one", "three"]);
    first.add_made_vectors(&made("m", &first), ROOM).unwrap();
    assert_eq!((unembedded(&first), first.count_embedded(None)), (vec![], 3));
    let mut second = first
        .with_changes(
            LIMITS,
            &[first.sources[0].id.clone()],
            vec![source("b.md", &["three", "seven"]), source("c.md", &["three"])],
        )
        .unwrap();
    assert_eq!(unembedded(&second), ["seven"]);
    second.add_made_vectors(&made("m", &second), ROOM).unwrap();
    let vectors = second.vectors.as_ref().unwrap();
    assert_eq!(vectors.blocks, [0, 1, 2]);
    let three = normalize_length(&[5.0, 1.0]);
    for row in [0, 1, 2] {
        assert!((vectors.rows.compute_cosine(row, &three) - 1.0).abs() < 1e-4);
    }
    let empty = second
        .with_changes(
            LIMITS,
            &[second.sources[0].id.clone(), second.sources[1].id.clone()],
            Vec::new(),
        )
        .unwrap();
    assert_eq!(empty.vectors, None);
}

#[test]
fn blocks_of_one_place_and_text_have_one_hash() {
    let block = |place: &str, text: &str| KnowledgeBlock {
        place: place.to_owned(),
        ..source("a.md", &[text]).1.remove(0)
    };
    assert_eq!(block("a", "b").content_hash(), block("a", "b").content_hash());
    assert_ne!(block("a", "b").content_hash(), block("ab", "").content_hash());
    assert_eq!(block("Prices", "90").embedded_text(), "Prices\n90");
}

#[test]
fn a_snapshot_with_vectors_is_read_as_it_was_written_and_never_half() {
    let mut snapshot = snapshot_of(vec![source("a.md", &["one", "three"])]);
    snapshot.add_made_vectors(&made("m", &snapshot), ROOM).unwrap();
    let bytes = snapshot.to_bytes().unwrap();
    assert_eq!(KnowledgeSnapshot::from_bytes(&bytes).unwrap(), snapshot);
    for end in 0..bytes.len() {
        assert!(KnowledgeSnapshot::from_bytes(&bytes[..end]).is_err(), "{end}");
    }
    let longer = [bytes, vec![0]].concat();
    assert!(matches!(
        KnowledgeSnapshot::from_bytes(&longer),
        Err(SnapshotError::CutOff)
    ));
}

#[test]
fn vectors_of_another_model_or_dimension_do_not_mix_with_the_present_ones() {
    let mut snapshot = snapshot_of(vec![source("a.md", &["one"])]);
    snapshot.add_made_vectors(&made("m", &snapshot), ROOM).unwrap();
    let mut next = snapshot
        .with_changes(LIMITS, &[], vec![source("b.md", &["two"])])
        .unwrap();
    let before = next.clone();
    let refused = next.add_made_vectors(&made("other", &next), ROOM);
    assert_eq!(refused, Err(VectorGap::OtherModel));
    let mut longer = MadeVectors::begin_for_model("m");
    for (hash, _) in next.list_unembedded(None) {
        longer.add_made_vector(hash, &[1.0, 2.0, 3.0]).unwrap();
    }
    assert_eq!(
        next.add_made_vectors(&longer, ROOM),
        Err(VectorGap::OtherDimension)
    );
    assert_eq!(next, before);
}

#[test]
fn the_vectors_of_a_snapshot_are_bounded() {
    let mut snapshot = snapshot_of(vec![source("a.md", &["one", "two"])]);
    let mut large = MadeVectors::begin_for_model("m");
    let vector = vec![1.0; ROOM / 3];
    for (hash, _) in snapshot.list_unembedded(None) {
        large.add_made_vector(hash, &vector).unwrap();
    }
    assert_eq!(snapshot.add_made_vectors(&large, ROOM), Err(VectorGap::TooLarge));
    assert_eq!(snapshot.count_embedded(None), 1);
}

#[test]
fn vectors_that_an_earlier_build_kept_outside_of_the_file_are_left_out() {
    let snapshot = snapshot_of(vec![source("a.md", &["one", "three"])]);
    let part = |text: &[u8]| [&(text.len() as u64).to_le_bytes()[..], text].concat();
    let read = |rows: u8, rest: &[u8]| {
        let described = format!(r#"{{"model":"m","dimensions":2,"rows":{rows},"stored":1}}"#);
        let sources = serde_json::to_vec(&snapshot).unwrap();
        let parts = [part(&sources), part(described.as_bytes()), rest.to_vec()].concat();
        KnowledgeSnapshot::from_bytes(&[b"recado-knowledge-3\n".to_vec(), parts].concat())
    };
    assert_eq!(read(0, &[7; 12]).unwrap(), snapshot);
    assert!(matches!(read(0, &[7; 11]), Err(SnapshotError::CutOff)));
    let row = [
        vec![0; 4],
        1.0_f32.to_le_bytes().to_vec(),
        vec![1; 4],
        vec![7; 12],
    ]
    .concat();
    let one = read(1, &row).unwrap();
    assert_eq!(
        (one.count_embedded(None), unembedded(&one)),
        (1, vec!["three".to_owned()])
    );
}
