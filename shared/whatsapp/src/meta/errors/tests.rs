use super::*;
use serde_json::json;
use std::time::Duration;

fn outcome(status: u16, code: i64) -> SendOutcome {
    let body =
        json!({"error": {"message": format!("(#{code}) Title"), "code": code, "type": "OAuthException"}});
    classify_answer(
        &HttpResponse {
            status,
            body,
            retry_after: None,
        },
        1,
    )
}

#[test]
fn every_row_is_reached_by_its_code_whatever_the_http_status() {
    for (first, last, class, title, _) in &TABLE {
        for code in [*first, *last] {
            for status in [400, 403, 429, 500] {
                let outcome = outcome(status, code);
                let why = format!("{code} {title}");
                let expected = class.into_send_outcome(why, None, 1);
                assert_eq!(outcome, expected);
            }
        }
    }
}

#[test]
fn the_codes_that_decide_most_are_classed_as_meta_documents_them() {
    let retry = |code, seconds: Option<u64>| {
        let after = seconds.map(Duration::from_secs);
        assert!(
            matches!(outcome(400, code), SendOutcome::Retryable { after: wait, .. } if wait == after),
            "{code}"
        );
    };
    for (code, timed_out) in [
        (1, false),
        (2, true),
        (131_000, false),
        (131_016, true),
        (133_004, true),
    ] {
        let expected =
            |outcome| matches!(outcome, SendOutcome::Unknown { timed_out: found, .. } if found == timed_out);
        assert!(expected(outcome(500, code)), "{code}: it may have been taken");
    }
    for (code, seconds) in [(130_429, 1), (131_057, 60), (4, 300), (613, 300), (80_007, 300)] {
        retry(code, Some(seconds));
    }
    for code in [0, 3, 10, 190, 200, 250, 299, 131_005] {
        assert!(
            matches!(outcome(400, code), SendOutcome::Credentials { .. }),
            "{code}"
        );
    }
    for code in [100, 131_008, 131_009, 131_026, 131_030, 131_050, 132_001, 135_000] {
        assert!(matches!(
            outcome(500, code),
            SendOutcome::Permanent {
                reason: Reason::WhatsappPermanentError,
                ..
            }
        ));
    }
    assert!(matches!(
        outcome(400, 131_047),
        SendOutcome::Permanent {
            reason: Reason::WindowClosed,
            ..
        }
    ));
}

#[test]
fn what_the_owner_of_an_account_can_mend_keeps_its_messages_waiting() {
    for code in [
        368, 131_031, 131_037, 131_042, 131_045, 133_005, 133_006, 133_008, 133_009, 133_010,
    ] {
        let found = outcome(400, code);
        assert!(
            matches!(found, SendOutcome::Credentials { .. }),
            "{code}: {found:?}"
        );
    }
    // These are about one message, or one recipient.
    for code in [
        131_021, 131_030, 131_049, 130_472, 130_403, 131_063, 131_064, 132_018, 139_200,
    ] {
        let found = outcome(400, code);
        assert!(
            matches!(found, SendOutcome::Permanent { .. }),
            "{code}: {found:?}"
        );
    }
}

#[test]
fn a_number_that_the_token_has_no_right_to_is_no_bad_parameter() {
    let classed = |subcode: Value| {
        let body =
            json!({"error": {"code": 100, "error_subcode": subcode, "message": "Unsupported post request."}});
        let answer = HttpResponse {
            status: 400,
            body,
            retry_after: None,
        };
        classify_answer(&answer, 1)
    };
    let why = "100 number unknown, or no right to it".to_owned();
    assert_eq!(classed(json!(33)), SendOutcome::Credentials { why });
    for other in [json!(2_494_010), json!(null)] {
        assert!(matches!(classed(other), SendOutcome::Permanent { why, .. } if why == "100 bad parameter"));
    }
}

#[test]
fn a_file_that_could_not_be_fetched_is_tried_once_more() {
    let attempt = |attempt| {
        let answer = HttpResponse {
            status: 400,
            body: json!({"error": {"code": 131_053}}),
            retry_after: None,
        };
        classify_answer(&answer, attempt)
    };
    assert!(matches!(attempt(1), SendOutcome::Retryable { after: None, .. }));
    assert!(matches!(attempt(2), SendOutcome::Permanent { .. }));
}

#[test]
fn a_message_refused_late_for_the_window_says_so() {
    assert_eq!(reason_of_failure(&json!({"code": 131_047})), Reason::WindowClosed);
    for other in [json!({"code": 131_026}), json!({"code": 1}), json!({})] {
        assert_eq!(reason_of_failure(&other), Reason::WhatsappPermanentError);
    }
}

#[test]
fn the_limit_per_contact_asks_for_longer_after_each_attempt() {
    let body = json!({"error": {"code": 131_056}});
    let waits = (1..=5).map(|attempt| {
        let answer = HttpResponse {
            status: 400,
            body: body.clone(),
            retry_after: None,
        };
        match classify_answer(&answer, attempt) {
            SendOutcome::Retryable { after, .. } => after.unwrap().as_secs(),
            other => panic!("{other:?}"),
        }
    });
    assert_eq!(waits.collect::<Vec<_>>(), [6, 16, 64, 256, 1024]);
}

#[test]
fn an_unknown_code_is_judged_by_status_and_by_what_meta_says_of_it() {
    assert!(matches!(
        outcome(400, 999_999),
        SendOutcome::Refused {
            everything: false,
            ..
        }
    ));
    assert!(matches!(
        outcome(500, 999_999),
        SendOutcome::Unknown { timed_out: false, .. }
    ));
    assert!(matches!(
        outcome(429, 999_999),
        SendOutcome::Retryable { after: Some(_), .. }
    ));
    let transient = |status| {
        let body = json!({"error": {"code": 999_999, "is_transient": true}});
        let answer = HttpResponse {
            status,
            body,
            retry_after: None,
        };
        classify_answer(&answer, 1)
    };
    assert!(matches!(transient(400), SendOutcome::Retryable { .. }));
    assert!(matches!(transient(503), SendOutcome::Unknown { .. }));
}

#[test]
fn an_answer_without_a_code_is_judged_by_its_status() {
    let plain = |status| {
        classify_answer(
            &HttpResponse {
                status,
                body: Value::Null,
                retry_after: None,
            },
            1,
        )
    };
    assert!(matches!(plain(401), SendOutcome::Credentials { .. }));
    assert!(matches!(plain(404), SendOutcome::Retryable { .. }));
    assert!(matches!(
        plain(400),
        SendOutcome::Refused {
            everything: false,
            ..
        }
    ));
    assert!(matches!(
        plain(503),
        SendOutcome::Unknown { timed_out: false, .. }
    ));
    assert!(matches!(plain(502), SendOutcome::Unknown { timed_out: true, .. }));
    assert!(matches!(plain(504), SendOutcome::Unknown { timed_out: true, .. }));
    assert!(matches!(
        plain(500),
        SendOutcome::Unknown { timed_out: false, .. }
    ));
}

/// The codes of the objects in `errors` or `error`, at whatever depth.
fn codes(value: &Value, found: &mut Vec<i64>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if ["error", "errors"].contains(&name.as_str()) {
                    let errors = crate::wire::json::list_members(Some(value)).iter();
                    found.extend(
                        errors.filter_map(|error| crate::wire::json::parse_integer(error.get("code")?)),
                    );
                }
                codes(value, found);
            }
        }
        Value::Array(members) => members.iter().for_each(|member| codes(member, found)),
        _ => {}
    }
}

#[test]
#[ignore = "needs a folder of further payloads: make extra"]
fn every_code_of_the_extra_folder_is_in_the_table() {
    let folder = std::env::var_os("RECADO_EXTRA_FIXTURES").unwrap();
    let folder = std::path::PathBuf::from(folder);
    let mut found = Vec::new();
    for part in ["meta", "meta/responses"] {
        for file in std::fs::read_dir(folder.join(part)).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            codes(&serde_json::from_str(&text).unwrap_or_default(), &mut found);
        }
    }
    assert!(!found.is_empty());
    found.retain(|code| find_error(*code).is_none());
    assert_eq!(found, [0; 0]);
}

#[test]
fn titles_of_unknown_codes_are_masked_and_details_left_out() {
    let error = json!({"code": 424_242, "message": "(#424242) No 5511900000001 at https://x.example/y",
        "error_data": {"details": "Maria"}});
    assert_eq!(describe_error(&error), "424242 No *** at ***");
    assert_eq!(describe_error(&json!({})), "no code");
    assert_eq!(
        describe_error(&json!({"code": 131_026, "title": "Maria"})),
        "131026 undeliverable"
    );
}
