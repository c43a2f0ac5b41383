use super::*;
use recado_domain::millis;

fn notice(field: &str, value: &Value) -> Notice {
    let entry = json!({"id": "200000000000001", "time": 1_772_442_900});
    match build_notice_item(Provider::Meta, &entry, field, value, millis::from_unix_millis(0)) {
        Some(WebhookItem::Notice { notice, .. }) => notice,
        other => panic!("not a notice: {other:?}"),
    }
}

fn tell(cases: &[(&str, Value, &str)]) {
    for (field, value, words) in cases {
        assert_eq!(notice(field, value).summary, *words, "{field}");
    }
}

#[test]
fn what_becomes_of_templates_is_told_in_a_few_words() {
    tell(&[
        (
            "message_template_status_update",
            json!({"event": "REJECTED", "message_template_id": 7, "message_template_name": "lembrete", "message_template_language": "pt_BR", "reason": "SCAM"}),
            "template lembrete (pt_BR): rejected, SCAM",
        ),
        (
            "message_template_status_update",
            json!({"event": "FLAGGED", "message_template_name": "lembrete", "reason": null, "disable_info": {"disable_date": "January 31, 2026"}}),
            "template lembrete: flagged, January 31, 2026",
        ),
        (
            "message_template_status_update",
            json!({"event": "APPROVED", "message_template_name": "lembrete", "reason": "NONE"}),
            "template lembrete: approved",
        ),
        (
            "message_template_status_update",
            json!({"previous_quality_score": "GREEN", "new_quality_score": "YELLOW", "message_template_name": "lembrete"}),
            "template lembrete: GREEN to YELLOW",
        ),
        (
            "template_category_update",
            json!({"message_template_name": "lembrete", "new_category": "UTILITY", "correct_category": "MARKETING"}),
            "template lembrete: UTILITY, becomes MARKETING",
        ),
        (
            "message_template_components_update",
            json!({"message_template_name": "lembrete", "message_template_element": "Oi, {{1}}"}),
            "template lembrete: changed",
        ),
    ]);
}

#[test]
fn what_becomes_of_the_account_is_told_in_a_few_words() {
    tell(&[
        (
            "account_update",
            json!({"event": "ACCOUNT_VIOLATION", "violation_info": {"violation_type": "ADULT"}}),
            "account: account violation, ADULT",
        ),
        (
            "account_update",
            json!({"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "SCHEDULE_FOR_DISABLE", "waba_ban_date": "January 31, 2026"}}),
            "account: disabled update, SCHEDULE_FOR_DISABLE, January 31, 2026",
        ),
        (
            "account_update",
            json!({"phone_number": "5511900000099", "event": "ACCOUNT_RESTRICTION", "restriction_info": [{"restriction_type": "RESTRICTED_BIZ_INITIATED_MESSAGING"}]}),
            "account, number …0099: account restriction, RESTRICTED_BIZ_INITIATED_MESSAGING",
        ),
        (
            "account_alerts",
            json!({"alert_info": {"alert_severity": "WARNING", "alert_status": "ACTIVE", "alert_type": "LIMITS", "alert_description": "Clínica Exemplo"}}),
            "alert: LIMITS, WARNING, ACTIVE",
        ),
        (
            "account_review_update",
            json!({"decision": "APPROVED"}),
            "review: approved",
        ),
        (
            "account_settings_update",
            json!({"type": "phone_number_settings"}),
            "settings: phone_number_settings",
        ),
        (
            "business_capability_update",
            json!({"max_daily_conversations_per_business": 2000, "max_phone_numbers_per_waba": 25}),
            "limits: max_daily_conversations_per_business 2000, max_phone_numbers_per_waba 25",
        ),
    ]);
}

#[test]
fn what_becomes_of_numbers_and_of_what_hangs_on_them_is_told_in_a_few_words() {
    tell(&[
        (
            "phone_number_quality_update",
            json!({"display_phone_number": "+55 11 90000-0099", "event": "THROUGHPUT_UPGRADE", "current_limit": "TIER_UNLIMITED"}),
            "number …0099: throughput upgrade, limit TIER_UNLIMITED",
        ),
        (
            "phone_number_name_update",
            json!({"display_phone_number": "5511900000099", "decision": "REJECTED", "requested_verified_name": "Maria Exemplo", "rejection_reason": "NAME_EMPLOYEE_NAME"}),
            "number …0099: name rejected, NAME_EMPLOYEE_NAME",
        ),
        (
            "security",
            json!({"display_phone_number": "5511900000099", "event": "PIN_RESET_REQUEST", "requester": "100000000000077"}),
            "number …0099: pin reset request",
        ),
        (
            "business_username_updates",
            json!({"status": "APPROVED", "username": "clinica"}),
            "user name: approved",
        ),
        (
            "flows",
            json!({"event": "FLOW_STATUS_CHANGE", "old_status": "DRAFT", "new_status": "PUBLISHED"}),
            "flow: flow status change, DRAFT to PUBLISHED",
        ),
        (
            "partner_solutions",
            json!({"event": "SOLUTION_CREATED", "solution_status": "INITIATED"}),
            "partner: solution created, INITIATED",
        ),
        (
            "payment_configuration_update",
            json!({"configuration_name": "pix", "status": "Needs Testing"}),
            "payment configuration pix: needs testing",
        ),
    ]);
}

#[test]
fn no_text_name_or_number_of_a_person_is_kept() {
    let told = notice(
        "security",
        &json!({"display_phone_number": "5511900000099", "event": "PIN_RESET_REQUEST", "requester": "5511900000001",
            "requested_verified_name": "Maria", "waba_info": {"waba_id": "77", "owner_business_id": "5511900000001"},
            "alert_info": {"alert_description": "Maria", "alert_type": "X"}}),
    );
    let kept = serde_json::to_string(&told).unwrap();
    for private in ["Maria", "5511900000001", "5511900000099"] {
        assert!(!kept.contains(private), "{kept}");
    }
    let expected =
        json!({"event": "PIN_RESET_REQUEST", "number": "…0099", "alert_info": {"alert_type": "X"}});
    assert_eq!(told.details, expected);
    let masked = notice("account_update", &json!({"event": "CALL 5511900000001 NOW"}));
    assert_eq!(masked.summary, "account: call *** now");
}

#[test]
fn what_a_partner_is_told_of_a_clients_account_is_the_clients() {
    let value = json!({"event": "PARTNER_ADDED", "waba_info": {"waba_id": "200000000000009", "owner_business_id": "1"}});
    assert_eq!(notice("account_update", &value).account, "200000000000009");
    assert_eq!(notice("account_update", &json!({})).account, "200000000000001");
}

#[test]
fn an_account_that_is_not_named_is_left_alone_by_the_fields_name() {
    for entry in [
        json!({}),
        json!({"id": "<account>"}),
        json!({"id": "x".repeat(65)}),
    ] {
        let found = build_notice_item(
            Provider::Meta,
            &entry,
            "security",
            &json!({}),
            millis::from_unix_millis(0),
        );
        assert!(matches!(found, Some(WebhookItem::Ignored { what }) if what == "security"));
    }
    for other in ["messages", "calls", "group_lifecycle_update", "unknown"] {
        assert!(
            build_notice_item(
                Provider::Meta,
                &json!({"id": "1"}),
                other,
                &json!({}),
                millis::from_unix_millis(0)
            )
            .is_none()
        );
    }
}

#[test]
fn a_repetition_is_the_same_notice_and_its_size_is_bounded() {
    let entry = json!({"id": "1"});
    let value = json!({"event": "X".repeat(5_000), "rejection_reasons": vec!["Y".repeat(5_000); 500], "other": "Z".repeat(5_000)});
    let read = |received_at| match build_notice_item(
        Provider::Meta,
        &entry,
        "account_update",
        &value,
        millis::from_unix_millis(received_at),
    ) {
        Some(WebhookItem::Notice { notice, .. }) => notice,
        other => panic!("{other:?}"),
    };
    assert_eq!(read(1).id, read(2).id);
    assert!(read(1).details.to_string().len() < 5_000 && read(1).summary.len() < 200);
}
