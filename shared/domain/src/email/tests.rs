use super::*;
use crate::config::{EmailSender, EmailSenderKind, RepeatRule};
use crate::ids::{CorrelationId, EmailSenderId, Nonce};
use crate::millis::{add_duration, from_unix_millis};
use jiff::SignedDuration;
use serde_json::{Value, json};

#[test]
fn an_address_is_what_every_mail_server_takes() {
    for (text, parsed) in [
        (" Ana.Silva+rsvp@Clinic.Example ", "Ana.Silva+rsvp@clinic.example"),
        ("o'neil@sub.clinic.example", "o'neil@sub.clinic.example"),
        ("ana@münchen.example", "ana@xn--mnchen-3ya.example"),
        ("ana@点看.example", "ana@xn--3pxu8k.example"),
    ] {
        assert_eq!(EmailAddress::parse(text).unwrap().as_str(), parsed);
    }
    assert_eq!(
        EmailAddress::parse("Ana@Clinic.Example").unwrap().comparable(),
        "ana@clinic.example"
    );
}

#[test]
fn what_is_no_address_or_could_begin_something_else_is_refused() {
    for (text, why) in [
        ("ana", AddressError::Form),
        ("", AddressError::Form),
        ("@clinic.example", AddressError::LocalPart),
        ("ana@@clinic.example", AddressError::LocalPart),
        ("ana..b@clinic.example", AddressError::LocalPart),
        (".ana@clinic.example", AddressError::LocalPart),
        ("a na@clinic.example", AddressError::LocalPart),
        ("ana>@clinic.example", AddressError::LocalPart),
        ("ana\r\nBcc: x@clinic.example", AddressError::LocalPart),
        ("joão@clinic.example", AddressError::LocalPart),
        ("a,b@clinic.example", AddressError::LocalPart),
        ("ana@clinic", AddressError::Host),
        ("ana@", AddressError::Host),
        ("ana@clinic.example\r\nBcc: x@y.example", AddressError::LocalPart),
        ("ana@clinic.example\r\nRCPT TO:x", AddressError::Host),
        ("ana@10.0.0.1", AddressError::Host),
        ("ana@[10.0.0.1]", AddressError::Host),
        ("ana@clinic..example", AddressError::Host),
        ("ana@-clinic.example", AddressError::Host),
    ] {
        assert_eq!(EmailAddress::parse(text), Err(why), "{text:?}");
    }
    let long = format!("{}@clinic.example", "a".repeat(65));
    assert_eq!(EmailAddress::parse(&long), Err(AddressError::LocalPart));
    let long = format!("ana@{}.example", vec!["a".repeat(60); 5].join("."));
    assert_eq!(EmailAddress::parse(&long), Err(AddressError::Host));
}

#[test]
fn a_name_beside_an_address_ends_neither_the_line_nor_its_quotation() {
    let parsed = Mailbox::parse("  Clínica São João, Centro <hello@clinic.example>").unwrap();
    assert_eq!(parsed.name.as_deref(), Some("Clínica São João, Centro"));
    assert_eq!(
        parsed.to_string(),
        "\"Clínica São João, Centro\" <hello@clinic.example>"
    );
    assert_eq!(Mailbox::parse(&parsed.to_string()).unwrap(), parsed);
    let bare = Mailbox::parse("hello@clinic.example").unwrap();
    assert_eq!(
        (bare.name.as_deref(), bare.to_string().as_str()),
        (None, "hello@clinic.example")
    );
    assert_eq!(Mailbox::parse("<hello@clinic.example>").unwrap(), bare);
    for bad in [
        "A\r\nBcc: b <a@b.example>",
        "A\\ <a@b.example>",
        "A\" <x <a@b.example>",
        "A <a@b.example> B",
    ] {
        assert!(Mailbox::parse(bad).is_err(), "{bad:?}");
    }
    let long = format!("{} <a@b.example>", "n".repeat(101));
    assert_eq!(Mailbox::parse(&long), Err(AddressError::Name));
}

fn email() -> Email {
    Email {
        id: "d-1_a".to_owned(),
        to: EmailAddress::parse("ana@clinic.example").unwrap(),
        from: Mailbox::parse("hello@clinic.example").unwrap(),
        reply_to: None,
        subject: "Convite ✉".to_owned(),
        text: "Olá".to_owned(),
        html: None,
        unsubscribe_url: None,
    }
}

#[test]
fn an_email_holds_nothing_that_begins_another_header() {
    assert_eq!(email().check_content(), Ok(()));
    let check = |change: fn(&mut Email)| {
        let mut changed = email();
        change(&mut changed);
        changed.check_content()
    };
    assert_eq!(
        check(|e| e.subject = "a\r\nBcc: b@c.example".to_owned()),
        Err(EmailProblem::Subject)
    );
    assert_eq!(
        check(|e| e.subject = "a\u{2028}b".to_owned()),
        Err(EmailProblem::Subject)
    );
    assert_eq!(check(|e| e.subject = " ".to_owned()), Err(EmailProblem::Subject));
    assert_eq!(check(|e| e.subject = "é".repeat(251)), Err(EmailProblem::Subject));
    assert_eq!(check(|e| e.id = "a b".to_owned()), Err(EmailProblem::Id));
    assert_eq!(check(|e| e.id = "a\r\nX: y".to_owned()), Err(EmailProblem::Id));
    assert_eq!(check(|e| e.text = "\n".to_owned()), Err(EmailProblem::Text));
    assert_eq!(
        check(|e| e.text = "a".repeat(BODY_BYTES_MAX + 1)),
        Err(EmailProblem::Text)
    );
    assert_eq!(check(|e| e.html = Some(String::new())), Err(EmailProblem::Html));
    for link in [
        "https://a.example/u?t=1>\r\nX: y",
        "mailto:a@b.example",
        "https://a.example/a b",
        "https://a.example/ü",
    ] {
        let mut changed = email();
        changed.unsubscribe_url = Some(link.to_owned());
        assert_eq!(
            changed.check_content(),
            Err(EmailProblem::UnsubscribeLink),
            "{link}"
        );
    }
}

#[test]
fn the_unsubscribe_headers_are_those_of_one_click() {
    let mut linked = email();
    assert!(linked.unsubscribe_headers().is_empty());
    linked.unsubscribe_url = Some("https://recado.example/u/abc".to_owned());
    assert_eq!(linked.check_content(), Ok(()));
    let expected = [
        ("List-Unsubscribe", "<https://recado.example/u/abc>".to_owned()),
        ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()),
    ];
    assert_eq!(linked.unsubscribe_headers(), expected);
}

fn check_sender(change: &Value) -> Result<(), String> {
    let mut sender = json!({"id": "mail", "from": "Clinic <hello@clinic.example>"});
    for (name, value) in change.as_object().unwrap() {
        sender[name] = value.clone();
    }
    let sender: EmailSender = serde_json::from_value(sender).map_err(|error| error.to_string())?;
    sender.check_sender(&crate::ids::TenantId::parse("clinic").unwrap())
}

#[test]
fn a_sender_has_the_fields_of_its_kind_and_no_others() {
    let key = "env:RECADO_CREDENTIAL_CLINIC_MAIL";
    let fine = [
        json!({"kind": "simulated"}),
        json!({"kind": "resend", "credential": key, "reply_to": "a@b.example"}),
        json!({"kind": "smtp", "server": "smtp://localhost:2525"}),
        json!({"kind": "smtp", "server": "smtps://mail.clinic.example", "user": "clinic", "credential": key}),
    ];
    for sender in fine {
        assert_eq!(check_sender(&sender), Ok(()), "{sender}");
    }
    let wrong = [
        (json!({"kind": "resend"}), "needs `credential`"),
        (json!({"kind": "ses", "credential": key}), "write `smtp`"),
        (
            json!({"kind": "ses", "credential": key, "region": "sa-east-1"}),
            "smtp://email-smtp.<region>.amazonaws.com:587",
        ),
        (json!({"kind": "smtp"}), "needs `server`"),
        (
            json!({"kind": "simulated", "credential": key}),
            "takes no `credential`",
        ),
        (
            json!({"kind": "resend", "credential": key, "region": "sa-east-1"}),
            "unknown field `region`",
        ),
        (
            json!({"kind": "resend", "credential": "env:RECADO_CREDENTIAL_OTHER_MAIL"}),
            "RECADO_CREDENTIAL_CLINIC_NAME",
        ),
        (
            json!({"kind": "smtp", "server": "https://mail.example"}),
            "server must be",
        ),
        (
            json!({"kind": "smtp", "server": "smtp://mail.example", "user": "clinic"}),
            "goes with a credential",
        ),
        (
            json!({"kind": "pigeon"}),
            "unknown variant `pigeon`, expected one of `resend`, `smtp`, `simulated`",
        ),
        (json!({"kind": "simulated", "from": "clinic"}), "form name@host"),
        (json!({"kind": "simulated", "host": "x"}), "unknown field"),
    ];
    for (sender, why) in wrong {
        let told = check_sender(&sender).unwrap_err();
        assert!(told.contains(why), "{sender}: {told}");
    }
}

#[test]
fn only_a_carrier_that_recognizes_a_repeat_is_given_one() {
    assert_eq!(EmailSenderKind::Smtp.repeat_rule(), RepeatRule::Never);
    let RepeatRule::Within(window) = EmailSenderKind::Resend.repeat_rule() else {
        panic!("Resend recognizes repeats");
    };
    assert!(window < SignedDuration::from_hours(24));
}

#[test]
fn the_pauses_of_a_carrier_that_names_none_grow_up_to_ten_minutes() {
    let limits = EmailLimits {
        attempts: 5,
        patience: SignedDuration::from_hours(72),
    };
    let mut now = from_unix_millis(0);
    let sender = EmailSenderId::parse("news").unwrap();
    let correlation = CorrelationId::parse("trace-1").unwrap();
    let mut outbox = EmailOutbox::queue_email(sender, email(), correlation, now);
    let mut pauses = Vec::new();
    for _ in 0..10 {
        outbox.begin_attempt(Nonce::parse("nonce").unwrap(), now).unwrap();
        let pause = outbox.choose_throttle_pause(now, u64::MAX / 2);
        pauses.push(pause.as_millis());
        let failed = FailedAttempt::Waits {
            why: "asked too often".to_owned(),
            next: add_duration(now, pause),
        };
        outbox.record_failure(failed, None, limits, now).unwrap();
        now = add_duration(now, pause);
    }
    let seconds: Vec<i128> = pauses.iter().map(|pause| (pause + 500) / 1_000).collect();
    assert_eq!(seconds, [10, 10, 20, 40, 80, 160, 320, 480, 480, 480]);
    let (least, most) = (
        outbox.choose_throttle_pause(now, 0),
        outbox.choose_throttle_pause(now, u64::MAX),
    );
    assert_eq!((least.as_secs(), most.as_secs()), (360, 600));
}
