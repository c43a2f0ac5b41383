use super::*;
use crate::millis::from_unix_millis;

fn agent() -> AgentId {
    AgentId::parse("clara").unwrap()
}

fn record() -> AgentKnowledge {
    AgentKnowledge::new(TenantId::parse("clinic").unwrap(), agent())
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
    let next = KnowledgeSnapshot::default().with_changes(&[], vec![source("a.md", &["one", "two"])]);
    let next = next.unwrap();
    let bytes = next.to_bytes().unwrap();
    assert_eq!(KnowledgeSnapshot::from_bytes(&bytes).unwrap(), next);
    let cut = KnowledgeSnapshot::from_bytes(&bytes[..bytes.len() - 1]);
    assert!(matches!(cut, Err(SnapshotError::Damaged(_))));
    let other = KnowledgeSnapshot::from_bytes(b"recado-knowledge-3\n{}");
    assert!(matches!(other, Err(SnapshotError::OtherFormat)));
}

#[test]
fn a_source_takes_the_place_of_the_one_with_its_title() {
    let first = KnowledgeSnapshot::default()
        .with_changes(&[], vec![source("b.md", &["old"]), source("a.md", &["kept"])])
        .unwrap();
    let second = first
        .with_changes(&[], vec![source("b.md", &["new", "newer"])])
        .unwrap();
    let texts: Vec<&str> = second.blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!((second.version, texts), (2, vec!["kept", "new", "newer"]));
    let third = second
        .with_changes(&[second.sources[0].id.clone()], Vec::new())
        .unwrap();
    assert_eq!((third.sources.len(), third.blocks.len()), (1, 2));
}

#[test]
fn an_agent_has_bounded_sources_and_blocks() {
    let many = (0..=SOURCES_MAX)
        .map(|number| source(&number.to_string(), &[]))
        .collect();
    let refused = KnowledgeSnapshot::default().with_changes(&[], many);
    assert!(matches!(refused, Err(SnapshotError::TooManySources)));
    let long = source("long", &vec!["x"; BLOCKS_MAX + 1]);
    let refused = KnowledgeSnapshot::default().with_changes(&[], vec![long]);
    assert!(matches!(refused, Err(SnapshotError::TooManyBlocks)));
}

#[test]
fn of_two_writers_of_one_version_the_first_wins() {
    let (mut known, now) = (record(), from_unix_millis(0));
    let next = KnowledgeSnapshot::default()
        .with_changes(&[], vec![source("a.md", &["x"])])
        .unwrap();
    known.begin_snapshot(name(1), now, &[]);
    known.begin_snapshot(name(2), now, &[]);
    assert!(known.switch_snapshot(&name(2), &next, now));
    assert!(!known.switch_snapshot(&name(1), &next, now));
    assert_eq!(
        (known.version, known.rev, &known.snapshot),
        (1, 3, &Some(name(2)))
    );
    assert_eq!((known.sources, known.blocks), (1, 1));
    assert!(known.list_file_keys().contains(&name(1).file_key()));
}

#[test]
fn a_replaced_snapshot_is_deletable_at_once_and_one_that_is_written_after_an_hour() {
    let (mut known, now) = (record(), from_unix_millis(0));
    let first = KnowledgeSnapshot::default()
        .with_changes(&[], Vec::new())
        .unwrap();
    known.begin_snapshot(name(1), now, &[]);
    assert!(known.switch_snapshot(&name(1), &first, now));
    known.begin_snapshot(name(2), now, &[]);
    assert_eq!(known.list_deletable(now), []);
    known.begin_snapshot(name(3), now, &[]);
    let second = first.with_changes(&[], Vec::new()).unwrap();
    assert!(known.switch_snapshot(&name(3), &second, now));
    assert_eq!(known.list_deletable(now), [name(1)]);
    let later = millis::add_duration(now, ABANDONED_AFTER);
    assert_eq!(known.list_deletable(later), [name(2), name(1)]);
    known.begin_snapshot(name(4), later, &[name(2), name(1)]);
    assert_eq!(known.list_file_keys(), [name(3).file_key(), name(4).file_key()]);
}
