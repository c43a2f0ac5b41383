use super::*;

fn read(variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
    let mut reader = VariableReader::new(variables.iter().copied());
    let settings = Settings::from_environment(&mut reader);
    let problems = reader.into_problems().into_iter();
    (settings, problems.map(|problem| problem.name).collect())
}

#[test]
fn nothing_set_changes_nothing() {
    assert_eq!(read(&[]), (Settings::default(), vec![]));
}

#[test]
fn the_limits_of_what_the_model_sees_are_read() {
    let (settings, names) = read(&[
        ("RECADO_MODEL_FILES", "3"),
        ("RECADO_MODEL_FILE_BYTES", "1000000"),
    ]);
    assert!(names.is_empty(), "{names:?}");
    let limits = settings.model_files;
    assert_eq!((limits.files, limits.bytes), (3, 1_000_000));
    let (settings, names) = read(&[
        ("RECADO_MODEL_FILES", "101"),
        ("RECADO_MODEL_FILE_BYTES", "32000000"),
    ]);
    assert_eq!(names, ["RECADO_MODEL_FILES", "RECADO_MODEL_FILE_BYTES"]);
    assert_eq!(settings, Settings::default());
}

#[test]
fn times_that_nobody_can_set_are_these() {
    let settings = Settings::default();
    let seconds = SignedDuration::from_secs;
    assert_eq!(settings.delivery_ttl, seconds(30 * 86_400));
    assert_eq!(settings.config_ttl, seconds(30));
    assert_eq!(settings.llm_timeout, seconds(60));
    assert_eq!(
        (settings.turn_lease, settings.send_lease),
        (seconds(95), seconds(35))
    );
    assert_eq!(
        [
            VisibilityTimeouts::INBOUND,
            VisibilityTimeouts::TURNS,
            VisibilityTimeouts::OUTBOUND
        ],
        [30, 120, 60].map(Duration::from_secs)
    );
}

#[test]
fn every_setting_that_cannot_be_used_is_named_at_once() {
    let wrong = [
        ("RECADO_DEBOUNCE_SECONDS", "four"),
        ("RECADO_STALE_SECONDS", "-1"),
        ("RECADO_AUDIT_TTL_DAYS", "0"),
        ("RECADO_KEY_TTL_HOURS", "47"),
        ("RECADO_PARKED_MAX_HOURS", "0"),
        ("RECADO_WEBHOOK_DEADLINE_SECONDS", "0"),
        ("RECADO_PROVIDER_TIMEOUT_SECONDS", "21"),
        ("RECADO_TURN_ATTEMPTS", "0"),
        ("WA_MAX_DELIVERIES", "many"),
        ("RECADO_INBOUND_BACKOFF", "linear"),
        ("WA_BASE_BACKOFF", "90"),
        ("RECADO_RATE_PER_SECOND", "NaN"),
        ("WA_BUCKET_CAPACITY", "0"),
        ("RECADO_PRIVATE_MEDIA", "yes"),
    ];
    let fine = [
        ("RECADO_DEBOUNCE_MAX_SECONDS", "2.5"),
        ("RECADO_EVENT_TTL_DAYS", " "),
    ];
    let (settings, names) = read(&[&wrong[..], &fine[..]].concat());
    assert_eq!(names, wrong.map(|(name, _)| name));
    assert_eq!(settings.debounce_max, SignedDuration::from_millis(2500));
    assert_eq!(settings.event_ttl, Settings::default().event_ttl);
}

#[test]
fn each_queue_has_its_own_backoff_and_attempts() {
    let (settings, names) = read(&[
        ("RECADO_INBOUND_BACKOFF", "1,5"),
        ("RECADO_TURNS_BACKOFF", "7"),
        ("RECADO_OUTBOUND_BACKOFF", "exponential:base=1,cap=600,jitter=0"),
        ("RECADO_INBOUND_ATTEMPTS", "4"),
        ("RECADO_TURN_ATTEMPTS", "6"),
        ("RECADO_OUTBOUND_ATTEMPTS", "8"),
    ]);
    assert!(names.is_empty());
    let wait = |backoff: &Backoff| backoff.delay_for_attempt(2, 0).as_secs();
    assert_eq!(wait(&settings.inbound_backoff), 5);
    assert_eq!(wait(&settings.turns_backoff), 7);
    assert_eq!(settings.outbound_backoff.delay_for_attempt(20, 0).as_secs(), 600);
    assert_eq!(settings.delivery_backoff, Settings::default().delivery_backoff);
    let attempts = settings.attempts;
    assert_eq!((attempts.inbound, attempts.turn, attempts.outbound), (4, 6, 8));
}

#[test]
fn the_names_of_the_earlier_worker_are_read_and_recados_own_win() {
    let earlier = [
        ("WA_MAX_DELIVERIES", "9"),
        ("WA_BASE_BACKOFF", "3.0"),
        ("WA_MAX_BACKOFF", "40.0"),
        ("WA_TOKENS_PER_SECOND", "0.5"),
        ("WA_BUCKET_CAPACITY", "7"),
        ("WA_EVOLUTION_HTTP_TIMEOUT", "15.0"),
        ("DELIVERY_DEDUPE_WINDOW_MIN", "90"),
    ];
    let (settings, names) = read(&earlier);
    assert!(names.is_empty());
    assert_eq!(settings.attempts.outbound, 9);
    assert_eq!(settings.invitation_window, SignedDuration::from_mins(90));
    assert_eq!(
        settings.outbound_backoff,
        Backoff::Exponential {
            base: 3.0,
            cap: 40.0,
            jitter: 0.5
        }
    );
    assert_eq!(
        settings.rate,
        Rate {
            per_second: 0.5,
            burst: 7
        }
    );
    assert_eq!(settings.provider_timeout, SignedDuration::from_secs(15));

    let own = [
        ("RECADO_OUTBOUND_ATTEMPTS", "2"),
        ("RECADO_OUTBOUND_BACKOFF", "4"),
        ("RECADO_RATE_PER_SECOND", "2"),
        ("RECADO_RATE_BURST", "3"),
        ("RECADO_PROVIDER_TIMEOUT_SECONDS", "10"),
        ("RECADO_INVITATION_WINDOW_MINUTES", "30"),
    ];
    assert_eq!(read(&[&own[..], &earlier[..]].concat()), read(&own));
}

#[test]
fn the_names_of_the_earlier_delivery_service_are_read_and_recados_own_win() {
    let earlier = [
        ("DELIVERY_MAX_RETRIES", "7"),
        ("DELIVERY_BACKOFF_SEQUENCE_MS", "1000, 5000,20000,60000"),
    ];
    let (settings, names) = read(&earlier);
    assert!(names.is_empty());
    assert_eq!((settings.attempts.inbound, settings.attempts.outbound), (7, 7));
    let seconds = vec![1.0, 5.0, 20.0, 60.0];
    let sequence = Backoff::Sequence { seconds };
    assert_eq!(settings.inbound_backoff, sequence);
    assert_eq!(settings.outbound_backoff, sequence);
    assert_eq!(Settings::default().delivery_backoff, sequence);
    assert_eq!(settings.turns_backoff, Settings::default().turns_backoff);
    let own = [
        ("RECADO_INBOUND_ATTEMPTS", "2"),
        ("RECADO_OUTBOUND_ATTEMPTS", "3"),
        ("RECADO_INBOUND_BACKOFF", "4"),
        ("RECADO_OUTBOUND_BACKOFF", "5"),
    ];
    assert_eq!(read(&[&own[..], &earlier[..]].concat()), read(&own));
    let (slower, _) = read(&[("DELIVERY_BACKOFF_SEQUENCE_MS", "2000")]);
    assert_eq!(slower.delivery_backoff, Backoff::Sequence { seconds: vec![2.0] });
    let worker = [("WA_MAX_DELIVERIES", "9"), ("WA_BASE_BACKOFF", "3.0")];
    let (both, _) = read(&[&worker[..], &earlier[..]].concat());
    assert_eq!((both.attempts.inbound, both.attempts.outbound), (7, 9));
    assert_eq!(both.outbound_backoff, read(&worker).0.outbound_backoff);
    for wrong in ["soon", "1000,", "600001", "-1"] {
        let (settings, names) = read(&[("DELIVERY_BACKOFF_SEQUENCE_MS", wrong)]);
        assert!(
            names.contains(&"DELIVERY_BACKOFF_SEQUENCE_MS".to_owned()),
            "{wrong}"
        );
        assert_eq!(settings.outbound_backoff, Settings::default().outbound_backoff);
    }
}

#[test]
fn names_of_the_earlier_worker_without_a_meaning_are_told_and_no_problem() {
    let set = [
        ("WA_CONSUMER_GROUP", "x"),
        ("REDIS_URL", "x"),
        ("RESEND_API_KEY", "x"),
        ("DELIVERY_STATUS_CACHE_TTL_SECONDS", "30"),
        ("INSTANCE_NAME", " "),
    ];
    let mut reader = VariableReader::new(set);
    assert_eq!(Settings::from_environment(&mut reader), Settings::default());
    let warnings = reader.list_warnings().into_iter();
    let names: Vec<&str> = warnings.map(|(name, _)| name).collect();
    assert_eq!(
        names,
        [
            "DELIVERY_STATUS_CACHE_TTL_SECONDS",
            "RESEND_API_KEY",
            "REDIS_URL",
            "WA_CONSUMER_GROUP"
        ]
    );
    assert!(reader.into_problems().is_empty());
}

#[test]
fn a_name_that_nothing_reads_is_told_with_the_nearest_one() {
    let set = [
        ("RECADO_DEBOUNCE_SECOND", "1"),
        ("RECADO_STALE_SECONDS", "60"),
        ("RECADO_URLS", "x"),
        ("RECADO_URL", "x"),
        ("RECADO_CREDENTIAL_CLINIC_KEY", "x"),
        ("RECADO_EMPTY", ""),
        ("PATH", "x"),
    ];
    let mut reader = VariableReader::new(set);
    Settings::from_environment(&mut reader);
    reader.add_known_names(&["RECADO_URL"]);
    let nearest = |name: &str| format!("there is no such setting; the nearest is {name}");
    assert_eq!(
        reader.list_warnings(),
        [
            ("RECADO_DEBOUNCE_SECOND", nearest("RECADO_DEBOUNCE_SECONDS")),
            ("RECADO_URLS", nearest("RECADO_URL")),
        ]
    );
}

#[test]
fn the_times_are_in_their_order() {
    let s = Settings::default();
    let (turn_function, send_function) = (SignedDuration::from_secs(90), SignedDuration::from_secs(30));
    assert!(
        s.llm_timeout + s.file_work_wait + SignedDuration::from_secs(4) < turn_function
            && s.file_wait < s.file_work_wait
            && s.file_timeout + s.file_work_wait < turn_function
            && turn_function < s.turn_lease
            && s.turn_lease.unsigned_abs() < VisibilityTimeouts::TURNS
    );
    assert!(s.provider_timeout + SignedDuration::from_secs(5) < send_function);
    assert!(send_function < s.send_lease && s.send_lease.unsigned_abs() < VisibilityTimeouts::OUTBOUND);
    assert!(s.debounce_bounds.long * 2 < s.debounce_max && s.debounce_max < SignedDuration::from_secs(900));
}

#[test]
fn the_debounce_is_adaptive_or_the_same_after_every_message() {
    let seconds = SignedDuration::from_secs;
    let (settings, names) = read(&[("RECADO_DEBOUNCE_SECONDS", "11")]);
    assert_eq!(
        (settings.debounce, names.len()),
        (Debounce::Fixed(seconds(11)), 0)
    );
    let (settings, names) = read(&[
        ("RECADO_DEBOUNCE_SECONDS", "adaptive"),
        ("RECADO_DEBOUNCE_SHORT_SECONDS", "2"),
    ]);
    let bounds = DebounceBounds {
        short: seconds(2),
        long: seconds(8),
    };
    assert_eq!((settings.debounce, names.len()), (Debounce::Adaptive(bounds), 0));
    let (_, names) = read(&[("RECADO_DEBOUNCE_LONG_SECONDS", "0.5")]);
    assert_eq!(names, ["RECADO_DEBOUNCE_SHORT_SECONDS"]);
}

#[test]
fn the_rewriting_of_follow_ups_is_read() {
    let read = |variables: &[(&str, &str)]| {
        let mut reader = VariableReader::new(variables.iter().copied());
        let rewriting = Settings::from_environment(&mut reader).rewriting;
        (rewriting, reader.into_problems().len())
    };
    let (rewriting, problems) = read(&[
        ("RECADO_REWRITE", "rules"),
        ("RECADO_REWRITE_MODEL", "light"),
        ("RECADO_REWRITE_SECONDS", "0.5"),
    ]);
    assert_eq!(
        (rewriting.way, rewriting.model.as_deref(), problems),
        (RewriteWay::Rules, Some("light"), 0)
    );
    assert_eq!(rewriting.timeout, SignedDuration::from_millis(500));
    let (rewriting, problems) = read(&[("RECADO_REWRITE", "on"), ("RECADO_REWRITE_SECONDS", "60")]);
    assert_eq!((rewriting, problems), (RewriteSettings::default(), 2));
}

#[test]
fn the_time_for_the_vector_of_a_question_is_read() {
    let read = |seconds: &str| {
        let mut reader = VariableReader::new([("RECADO_EMBEDDINGS_QUESTION_SECONDS", seconds)]);
        let timeout = Settings::from_environment(&mut reader).question_vector_timeout;
        (timeout.as_millis(), reader.into_problems().len())
    };
    assert_eq!(read("0.25"), (250, 0));
    assert_eq!(read("30"), (1_000, 1));
}

#[test]
fn the_size_of_blocks_of_knowledge_is_read() {
    let read = |characters: &str| {
        let mut reader = VariableReader::new([("RECADO_KNOWLEDGE_BLOCK_CHARACTERS", characters)]);
        let characters = Settings::from_environment(&mut reader).knowledge_block_characters;
        (characters, reader.into_problems().len())
    };
    assert_eq!(read("400"), (400, 0));
    assert_eq!(read("100"), (1_000, 1));
}

#[test]
fn the_number_of_blocks_of_an_agent_is_read() {
    let read = |blocks: &str| {
        let mut reader = VariableReader::new([("RECADO_KNOWLEDGE_BLOCKS", blocks)]);
        let limits = Settings::from_environment(&mut reader).knowledge;
        (limits.blocks, reader.into_problems().len())
    };
    assert_eq!(read("100000"), (100_000, 0));
    assert_eq!(read("100001"), (20_000, 1));
}

#[test]
fn the_vectors_that_stay_in_memory_are_those_of_all_blocks_unless_fewer_are_named() {
    let read = |variables: &[(&str, &str)]| {
        let mut reader = VariableReader::new(variables.iter().copied());
        let limits = Settings::from_environment(&mut reader).knowledge;
        (limits.vectors, reader.into_problems().len())
    };
    let (blocks, vectors) = ("RECADO_KNOWLEDGE_BLOCKS", "RECADO_KNOWLEDGE_VECTORS_IN_MEMORY");
    assert_eq!(read(&[]), (20_000, 0));
    assert_eq!(read(&[(blocks, "50000")]), (50_000, 0));
    assert_eq!(read(&[(blocks, "50000"), (vectors, "0")]), (0, 0));
    assert_eq!(read(&[(vectors, "100001")]), (20_000, 1));
}

#[test]
fn a_setting_that_is_read_for_several_uses_is_named_once() {
    let wrong = [
        ("DELIVERY_MAX_RETRIES", "0"),
        ("DELIVERY_BACKOFF_SEQUENCE_MS", "soon"),
        ("DELIVERY_DEDUPE_WINDOW_MIN", "43201"),
    ];
    let mut reader = VariableReader::new(wrong);
    Settings::from_environment(&mut reader);
    let problems: Vec<String> = reader.into_problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    let window = "DELIVERY_DEDUPE_WINDOW_MIN: must be a number from 0 to 43200";
    assert!(problems.iter().any(|problem| problem == window), "{problems:?}");
}
