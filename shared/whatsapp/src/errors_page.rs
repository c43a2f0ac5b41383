//! `docs/providers/errors.md`, written from the tables that classify. The test fails when the page says something else;
//! with `UPDATE_DOCS=1` in the environment it writes the page.

use crate::aws_social::errors as aws_social;
use crate::dialog360::errors as dialog360;
use crate::evolution::errors as evolution;
use crate::meta::errors as meta;
use crate::wire::error_class::ErrorClass;
use crate::wire::error_table::{ErrorRow, StatusRow};
use crate::wire::http_exchange::HttpExchange;
use recado_ports::ports::SendOutcome;
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers/errors.md");

const HEAD: &str = "# What providers' errors mean

<!-- The tests of shared/whatsapp write this page from the tables that classify. To change it, change those and run:
UPDATE_DOCS=1 cargo test -p recado-whatsapp errors_page -->

This page is for people who look for what an error of a provider means. Each error is of a class:

| class | what follows |
| --- | --- |
| retryable | the next attempt after the outbound backoff, or later if the provider asks for it; after the last a dead letter, `max_retries_exceeded` |
| permanent | a dead letter at once, `whatsapp_permanent_error` |
| refused | a dead letter as a permanent one. From the third equal refusal in a row on, each of another conversation, all messages of the instance wait; one is tried after 30 seconds, then at least every 10 minutes |
| refuses everything | not an attempt; the instance is closed with this reason, its messages wait and it is probed |
| new chat refused | a dead letter as a permanent one; if the person never wrote, messages of the instance to such people stop for six hours |
| window | a dead letter at once, `window_closed`: until the contact writes again nothing but a template is taken |
| credentials | not an attempt; the instance is `needs_credentials` and its messages wait ([runbook](../runbooks/needs-credentials.md)) |
| disconnected | not an attempt; the instance is closed, its messages wait and it is probed |
| unreached | not an attempt; two in a row make the instance `unreachable`, its messages wait and it is probed |
| unknown | the message may have been sent: Recado looks for evidence, and without any repeats it, marked; after the last attempt a dead letter, `unknown_outcome`. Two in a row without an answer in time close the instance |

Whatever is not certainly \"not sent\" is unknown.
";

/// A class in words.
fn words(class: ErrorClass) -> String {
    match class {
        ErrorClass::Retry => "retryable".to_owned(),
        ErrorClass::RetryAfter(seconds) => format!("retryable after {seconds} s"),
        ErrorClass::Throttled => match class.into_send_outcome(String::new(), None, 1) {
            SendOutcome::Retryable {
                after: Some(after), ..
            } => format!("retryable after what it asks for, else {} s", after.as_secs()),
            other => format!("{other:?}"),
        },
        ErrorClass::PairRateLimit => {
            let waits =
                (1..=4).filter_map(
                    |attempt| match class.into_send_outcome(String::new(), None, attempt) {
                        SendOutcome::Retryable { after, .. } => {
                            after.map(|after| after.as_secs().to_string())
                        }
                        _ => None,
                    },
                );
            format!("retryable after {} s", waits.collect::<Vec<_>>().join(", "))
        }
        ErrorClass::RetryOnce => "retryable once, then permanent".to_owned(),
        ErrorClass::Permanent => "permanent".to_owned(),
        ErrorClass::Refused => "refused".to_owned(),
        ErrorClass::RefusesEverything => "refuses everything".to_owned(),
        ErrorClass::NewChatRefused => "new chat refused".to_owned(),
        ErrorClass::WindowClosed => "window".to_owned(),
        ErrorClass::Credentials => "credentials".to_owned(),
        ErrorClass::Disconnected => "disconnected".to_owned(),
        ErrorClass::Unknown { timed_out: true } => "unknown, no answer in time".to_owned(),
        ErrorClass::Unreached => "unreached".to_owned(),
        ErrorClass::Unknown { timed_out: false } => "unknown".to_owned(),
    }
}

fn render_range<T: PartialEq + Copy + std::fmt::Display>(first: T, last: T) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first}–{last}")
    }
}

fn status(first: u16, last: u16) -> String {
    if (first, last) == evolution::ANY_STATUS {
        "any".to_owned()
    } else {
        render_range(first, last)
    }
}

fn render_phrases(words: &[&str]) -> String {
    let word = |word: &&str| match *word {
        evolution::NUMBER_NOT_FOUND => "the number check's `\"exists\": false`".to_owned(),
        evolution::SCHEMA_CHECK_FAILED => "the schema check's list".to_owned(),
        other => format!("`{other}`"),
    };
    words.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Returns a class in words, after it checked that rows of the class unknown alone have no reason.
fn certain_words(class: ErrorClass, certain: &str) -> String {
    let is_unknown = matches!(class, ErrorClass::Unknown { .. });
    assert_eq!(is_unknown, certain.is_empty(), "{class:?}: {certain:?}");
    words(class)
}

fn by_status(page: &mut String, rows: &[StatusRow]) {
    page.push_str("\n| status | class |\n| --- | --- |\n");
    for (first, last, class, certain) in rows {
        let (status, class) = (status(*first, *last), certain_words(*class, certain));
        writeln!(page, "| {status} | {class} |").unwrap();
    }
}

fn by_words(page: &mut String, rows: &[ErrorRow]) {
    page.push_str("\n| status | says | class | in our words |\n| --- | --- | --- | --- |\n");
    for row in rows {
        let (first, last) = row.status;
        let (status, says) = (status(first, last), render_phrases(row.phrases));
        let class = certain_words(row.class, row.not_sent_reason);
        writeln!(page, "| {status} | {says} | {class} | {} |", row.title).unwrap();
    }
}

/// Writes the section on requests that got no answer.
fn no_answer(page: &mut String) {
    page.push_str("\n## No answer\n\n| what happened | class |\n| --- | --- |\n");
    let lost = |timed_out| HttpExchange::ResponseLost { why: "", timed_out };
    for (what, exchange) in [
        (
            "no connection, no such host, not a URL",
            HttpExchange::NotSent(""),
        ),
        ("a time-out after the request left", lost(true)),
        ("the connection broke after the request left", lost(false)),
    ] {
        let class = match exchange.into_response() {
            Err(SendOutcome::Unreached { .. }) => words(ErrorClass::Unreached),
            Err(SendOutcome::Unknown { timed_out, .. }) => words(ErrorClass::Unknown { timed_out }),
            other => panic!("{what}: {other:?}"),
        };
        writeln!(page, "| {what} | {class} |").unwrap();
    }
}

fn dialog360_section(page: &mut String) {
    page.push_str(
        "\n## 360dialog\n\nThe first row that fits counts. What it says is compared in lower case.\n",
    );
    by_words(page, &dialog360::OWN_ERRORS);
    page.push_str(
        "\nElse [Meta's](#meta) code counts, where one is there that is not just the HTTP status again. Without one:\n",
    );
    by_words(page, &dialog360::BY_STATUS);
}

fn aws_section(page: &mut String) {
    page.push_str(
        "\n## AWS End User Messaging Social\n\n| exception | class | in our words |\n| --- | --- | --- |\n",
    );
    for (name, class, title, certain) in &aws_social::TABLE {
        let class = certain_words(*class, certain);
        writeln!(page, "| `{name}` | {class} | {title} |").unwrap();
    }
    writeln!(
        page,
        "\nA `{}` that says `(#code)` is judged by [Meta's](#meta) code. Any other exception is, by its HTTP status:",
        aws_social::DEPENDENCY
    )
    .unwrap();
    by_status(page, &aws_social::BY_STATUS);
}

fn meta_section(page: &mut String) {
    page.push_str(
        "\n## Meta\n\nThe code decides, not the HTTP status. A `failed` status that comes later is a dead letter \
         whatever its code: `window_closed` for a window, else `whatsapp_permanent_error`.\n\n\
         | code | class | in our words |\n| --- | --- | --- |\n",
    );
    for (first, last, class, title, certain) in &meta::TABLE {
        let (codes, class) = (render_range(*first, *last), certain_words(*class, certain));
        writeln!(page, "| {codes} | {class} | {title} |").unwrap();
    }
    let (code, subcode, class, title, certain) = meta::UNKNOWN_NUMBER;
    writeln!(
        page,
        "\nCode {code} with the subcode {subcode} ({title}): {}.",
        certain_words(class, certain)
    )
    .unwrap();
    page.push_str(
        "\nAny other code, by its HTTP status; what would be permanent is retryable if Meta says `is_transient`.\n",
    );
    by_status(page, &meta::UNKNOWN_CODE);
    page.push_str("\nAn answer without a code comes from something in between.\n");
    by_status(page, &meta::WITHOUT_CODE);
}

fn render_page() -> String {
    let mut page = HEAD.to_owned();
    no_answer(&mut page);
    page.push_str(
        "\n## Evolution API\n\nThe first row that fits counts. What it says is compared in lower case.\n",
    );
    by_words(&mut page, &evolution::ERROR_TABLE);
    meta_section(&mut page);
    dialog360_section(&mut page);
    aws_section(&mut page);
    page
}

#[test]
fn the_page_of_errors_says_what_the_code_does() {
    let expected = render_page();
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(Path::new(PAGE), &expected).unwrap();
    }
    let found = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        found == expected,
        "docs/providers/errors.md is not what the tables say. Run: UPDATE_DOCS=1 cargo test -p recado-whatsapp errors_page"
    );
}
