use super::*;
use proptest::prelude::*;

fn step(id: &str) -> StepId {
    StepId::parse(id).unwrap()
}

fn all() -> OfferedDecisions {
    OfferedDecisions {
        hand_over: true,
        resolve: true,
        steps: vec![step("pay"), step("ship")],
    }
}

fn hand_over(note: &str) -> AgentDecision {
    let note = note.to_owned();
    AgentDecision::HandOver { note }
}

#[test]
fn only_what_is_offered_has_a_tool_and_is_read() {
    assert!(OfferedDecisions::default().is_empty() && OfferedDecisions::default().list_tools().is_empty());
    let names: Vec<&str> = all().list_tools().iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["hand_over", "resolve", "move_to_step"]);
    let moves = &all().list_tools()[2].arguments["properties"]["step"]["enum"];
    assert_eq!(*moves, json!(["pay", "ship"]));
    let none = OfferedDecisions::default();
    for (name, arguments) in [
        (
            "hand_over",
            json!({"reason": "asks for a person", "message": "a"}),
        ),
        ("resolve", json!({"message": "a"})),
        ("move_to_step", json!({"step": "pay", "message": "a"})),
    ] {
        let (offered, refused) = (
            all().read_calls([(name, &arguments)]),
            none.read_calls([(name, &arguments)]),
        );
        assert_eq!(offered.decision.map(|decision| decision.tool_name()), Some(name));
        assert_eq!((offered.message.as_deref(), offered.ignored), (Some("a"), 0));
        assert_eq!((refused.decision, refused.ignored), (None, 1), "{name}");
    }
}

#[test]
fn a_malformed_call_decides_nothing_and_its_message_is_kept_for_need() {
    let sayings = json!({"message": " Bom dia "});
    for (name, arguments) in [
        ("hand_over", &sayings),
        ("hand_over", &json!({"reason": "  ", "message": "Bom dia"})),
        ("hand_over", &json!({"reason": 7, "message": "Bom dia"})),
        ("move_to_step", &json!({"step": "nowhere", "message": "Bom dia"})),
        ("move_to_step", &json!({"step": ["pay"], "message": "Bom dia"})),
        ("send_money", &sayings),
    ] {
        let reading = all().read_calls([(name, arguments)]);
        assert_eq!(
            (reading.decision, reading.message, reading.ignored),
            (None, None, 1)
        );
        assert_eq!(reading.ignored_message.as_deref(), Some("Bom dia"), "{name}");
    }
    for arguments in [json!(null), json!("text"), json!([1]), json!({"message": {}})] {
        let reading = all().read_calls([("hand_over", &arguments)]);
        assert_eq!((reading.decision, reading.ignored_message), (None, None));
    }
    let reading = all().read_calls([("resolve", &json!([]))]);
    assert_eq!(reading.decision, None, "arguments are an object");
}

#[test]
fn of_several_calls_a_person_comes_first() {
    let (pay, bye) = (json!({"step": "pay", "message": "a"}), json!({"message": "b"}));
    let person = json!({"reason": "upset", "message": "c"});
    let calls = [("move_to_step", &pay), ("hand_over", &person), ("resolve", &bye)];
    let reading = all().read_calls(calls);
    assert_eq!((reading.decision, reading.ignored), (Some(hand_over("upset")), 2));
    assert_eq!(reading.message.as_deref(), Some("c"));
    let reading = all().read_calls([("resolve", &bye), ("move_to_step", &pay)]);
    assert_eq!(
        (reading.decision, reading.ignored),
        (Some(AgentDecision::Resolve), 1)
    );
}

#[test]
fn a_note_is_one_line_and_bounded() {
    let long = format!(" a\n\nb \t{}", "x".repeat(900));
    let reading = all().read_calls([("hand_over", &json!({"reason": long}))]);
    let Some(AgentDecision::HandOver { note }) = reading.decision else {
        panic!("a hand-over");
    };
    assert!(note.starts_with("a b xxx") && note.chars().count() == 500);
    assert_eq!(reading.message, None, "the words may stand beside the call");
}

proptest! {
    #[test]
    fn no_call_panics_and_each_is_counted(name in "(hand_over|resolve|move_to_step|[a-z_]{0,9})", text in ".{0,40}", kind in 0u8..6) {
        let arguments = match kind {
            0 => json!({"reason": text, "message": text}),
            1 => json!({"step": text}),
            2 => json!(text),
            3 => json!([text]),
            4 => json!({"message": [text]}),
            _ => json!(null),
        };
        let reading = all().read_calls([(name.as_str(), &arguments)]);
        prop_assert_eq!(reading.ignored, u32::from(reading.decision.is_none()));
    }
}
