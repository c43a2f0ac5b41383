use super::*;
use anstream::adapter::strip_str;
use serde_json::json;

/// An installation in which everything is at its worst.
fn worst() -> Value {
    let long = "a-name-that-is-longer-than-its-column".to_owned();
    let instance = |id: &str, connection: &str| {
        json!({"id": id, "provider": "evolution", "connection": connection, "since": "2026-03-01T08:00:00Z",
            "silent_since": "2026-03-01T08:00:00Z", "simulated": true, "llm_needs_credentials": true, "queue_depth": 12345,
            "dead_letters": 12345})
    };
    let mut instances = vec![instance("open-01", "open"), instance(&long, "closed")];
    instances.extend((0..30).map(|number| instance(&format!("more-{number}"), "open")));
    json!({
        "url": "http://127.0.0.1:8080", "version": "0.1.0", "status": "unhealthy",
        "service": {"status": "unhealthy", "problem": "the disk is full"},
        "health": {"status": "unhealthy", "instances": instances, "dlq_depth": 7, "open": 12345, "at_least": true, "unknown": 3,
            "parked_conversations": 1, "oldest_message_age_seconds": 90,
            "queues": {"inbound": {"waiting": 3, "in_flight": 2, "delayed": 1, "oldest_message_age_seconds": 12},
                "turns": {"waiting": 0, "in_flight": 0, "delayed": 0}}},
        "waiting_for_a_person": {"conversations": 200, "at_least": true, "since": "2026-03-01T08:00:00Z"},
        "alerts": [{"kind": "disconnected", "severity": "critical", "summary": long.repeat(9)}],
        "last_24_hours": {"minutes": 900, "depth_average": 1.25, "depth_max": 12345, "dead_letters_added": 1,
            "instances": [{"id": "b", "disconnected_minutes": 1}, {"id": "c", "disconnected_minutes": 0}]},
        "replies": {"today": 12, "p50_seconds": 4.1, "p95_seconds": 8.2},
    })
}

#[test]
fn the_screen_fits_eighty_columns_and_tells_the_worst_first() {
    let screen = strip_str(&format_status(&worst())).to_string();
    assert!(screen.lines().all(|line| line.chars().count() <= 80), "{screen}");
    assert!(screen.lines().count() <= 31, "{screen}");
    assert!(screen.starts_with("Recado 0.1.0 at http://127.0.0.1:8080: unhealthy\nthe disk is full\n\n"));
    let first = screen.lines().find(|line| line.starts_with("Instances")).unwrap();
    assert!(
        first.contains("a-name-that-is-long…") && first.contains("closed"),
        "{screen}"
    );
    for told in [
        "  the model's key is missing or refused, since ",
        "and 26 more: recado status --json",
        "inbound: 3 waiting, 2 in work, 1 for later",
        "12345 or more open",
        "200 or more conversations wait for a person, since 2026-0",
        "7 (recado dlq list)",
        "critical disconnected: ",
        "12 written today (UTC); half within 4.1 s, 95 % within 8.2 s",
        "1.2 messages waited on average, 12345 at most; 1 new dead letter",
        "b was not connected for 1 minute",
    ] {
        assert!(screen.contains(told), "{told} is not in:\n{screen}");
    }
    assert!(
        !screen.contains("turns:") && !screen.contains("c was not"),
        "{screen}"
    );
}

#[test]
fn a_quiet_installation_says_so_in_a_line_for_each_subject() {
    let quiet = json!({
        "url": "http://127.0.0.1:8080", "version": "0.1.0", "status": "healthy",
        "health": {"status": "healthy", "dlq_depth": 0, "open": 0, "queues": {"inbound": {"waiting": 0}},
            "instances": [{"id": "suporte-01", "provider": "evolution", "connection": "open", "simulated": false}]},
        "waiting_for_a_person": {"conversations": 0}, "alerts": [], "last_24_hours": {"minutes": 0}, "replies": {"today": 0},
    });
    let screen = strip_str(&format_status(&quiet)).to_string();
    let expected = "\
Recado 0.1.0 at http://127.0.0.1:8080: healthy

Instances      suporte-01           evolution  open
Queues         empty
Messages       none is open
People         nobody waits for a person
Dead letters   none
Alerts         none
Replies        0 written today (UTC)
Last 24 hours  no minute was sampled yet
";
    assert_eq!(screen, expected);
}

#[test]
fn an_instance_whose_model_fails_says_since_when() {
    let failing = json!({"id": "suporte-01", "provider": "evolution", "connection": "open", "model_fails_since": "2026-03-01T08:00:00Z"});
    let told = format_instance(&failing).join("\n");
    assert!(told.contains("the model fails since 2026-0"), "{told}");
}
