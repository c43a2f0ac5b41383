//! `docs/providers/errors.md`, written from the tables that classify. The test fails when the page says something else;
//! with `UPDATE_DOCS=1` in the environment it writes the page.

use crate::aws_social::errors as aws_social;
use crate::class::Class;
use crate::dialog360::errors as dialog360;
use crate::evolution::errors as evolution;
use crate::exchange::Exchange;
use crate::meta::errors as meta;
use recado_pipeline::ports::SendOutcome;
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/providers/errors.md");

const HEAD: &str = "# What providers' errors mean

Written by the tests of `shared/whatsapp` from the tables that classify; to change it, change those and run
`UPDATE_DOCS=1 cargo test -p recado-whatsapp errors_page`.

| class | what follows |
| --- | --- |
| retryable | the next attempt after the outbound backoff, or after what is asked for if that is longer; when the attempts are used up, a dead letter, `max_retries_exceeded` |
| permanent | a dead letter at once, `whatsapp_permanent_error` |
| window | a dead letter at once, `window_closed`: until the contact writes again nothing but a template is taken |
| credentials | not an attempt; the instance is marked `needs_credentials` and its messages wait until the key or the account is mended ([runbook](../runbooks/needs-credentials.md)) |
| disconnected | not an attempt; the instance is closed, its messages wait and it is probed |
| unknown | the message may have left: evidence is looked for before a repeat; two time-outs in a row close the instance |
";

/// A class in words.
fn words(class: Class) -> String {
    match class {
        Class::Retry => "retryable".to_owned(),
        Class::RetryAfter(seconds) => format!("retryable after {seconds} s"),
        Class::Throttled => match class.outcome(String::new(), None, 1) {
            SendOutcome::Retryable {
                after: Some(after), ..
            } => format!("retryable after what it asks for, else {} s", after.as_secs()),
            other => format!("{other:?}"),
        },
        Class::Pair => {
            let waits = (1..=4).filter_map(|attempt| match class.outcome(String::new(), None, attempt) {
                SendOutcome::Retryable { after, .. } => after.map(|after| after.as_secs().to_string()),
                _ => None,
            });
            format!("retryable after {} s", waits.collect::<Vec<_>>().join(", "))
        }
        Class::Once => "retryable once, then permanent".to_owned(),
        Class::Permanent => "permanent".to_owned(),
        Class::Window => "window".to_owned(),
        Class::Credentials => "credentials".to_owned(),
        Class::Disconnected => "disconnected".to_owned(),
        Class::Unknown { timed_out: true } => "unknown, a time-out".to_owned(),
        Class::Unknown { timed_out: false } => "unknown".to_owned(),
    }
}

fn span<T: PartialEq + Copy + std::fmt::Display>(first: T, last: T) -> String {
    if first == last {
        first.to_string()
    } else {
        format!("{first}–{last}")
    }
}

fn status(first: u16, last: u16) -> String {
    if (first, last) == evolution::ANY {
        "any".to_owned()
    } else {
        span(first, last)
    }
}

fn says(words: &[&str]) -> String {
    let word = |word: &&str| match *word {
        evolution::NOT_THERE => "the number check's `\"exists\": false`".to_owned(),
        evolution::SCHEMA => "the schema check's list".to_owned(),
        other => format!("`{other}`"),
    };
    words.iter().map(word).collect::<Vec<_>>().join(", ")
}

fn by_status(page: &mut String, rows: &[(u16, u16, Class)]) {
    page.push_str("\n| status | class |\n| --- | --- |\n");
    for (first, last, class) in rows {
        writeln!(page, "| {} | {} |", status(*first, *last), words(*class)).unwrap();
    }
}

/// What it means for a send that there is no answer.
fn no_answer(page: &mut String) {
    page.push_str("\n## No answer\n\n| what happened | class |\n| --- | --- |\n");
    let lost = |timed_out| Exchange::Lost { why: "", timed_out };
    for (what, exchange) in [
        ("no connection, no such host, not a URL", Exchange::NeverLeft("")),
        ("a time-out after the request left", lost(true)),
        ("the connection broke after the request left", lost(false)),
    ] {
        let class = match exchange.answer() {
            Err(SendOutcome::Retryable { .. }) => words(Class::Retry),
            Err(SendOutcome::Unknown { timed_out, .. }) => words(Class::Unknown { timed_out }),
            other => panic!("{what}: {other:?}"),
        };
        writeln!(page, "| {what} | {class} |").unwrap();
    }
}

fn dialog360_section(page: &mut String) {
    page.push_str(
        "\n## 360dialog\n\nThe first row that fits counts. What it says is compared in lower case.\n\n\
         | status | says | class | in our words |\n| --- | --- | --- | --- |\n",
    );
    let write = |page: &mut String, rows: &[crate::refusals::Row]| {
        for row in rows {
            let (first, last) = row.status;
            let (status, says, class) = (status(first, last), says(row.says), words(row.class));
            writeln!(page, "| {status} | {says} | {class} | {} |", row.title).unwrap();
        }
    };
    write(page, &dialog360::OWN);
    page.push_str(
        "\nElse [Meta's](#meta) code counts, where one is there that is not just the HTTP status again. Without one:\n\n\
         | status | says | class | in our words |\n| --- | --- | --- | --- |\n",
    );
    write(page, &dialog360::BY_STATUS);
}

fn aws_section(page: &mut String) {
    page.push_str(
        "\n## AWS End User Messaging Social\n\n| exception | class | in our words |\n| --- | --- | --- |\n",
    );
    for (name, class, title) in &aws_social::TABLE {
        writeln!(page, "| `{name}` | {} | {title} |", words(*class)).unwrap();
    }
    writeln!(
        page,
        "\nA `{}` that says `(#code)` is judged by [Meta's](#meta) code. Any other exception is, by its HTTP status:",
        aws_social::DEPENDENCY
    )
    .unwrap();
    by_status(page, &aws_social::BY_STATUS);
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    no_answer(&mut page);
    page.push_str(
        "\n## Evolution API\n\nThe first row that fits counts. What it says is compared in lower case.\n\n\
         | status | says | class | in our words |\n| --- | --- | --- | --- |\n",
    );
    for row in &evolution::TABLE {
        let (first, last) = row.status;
        let (status, says, class) = (status(first, last), says(row.says), words(row.class));
        writeln!(page, "| {status} | {says} | {class} | {} |", row.title).unwrap();
    }
    page.push_str(
        "\n## Meta\n\nThe code decides, not the HTTP status. A `failed` status that comes later is a dead letter \
         whatever its code: `window_closed` for a window, else `whatsapp_permanent_error`.\n\n| code | class | in our words |\n| --- | --- | --- |\n",
    );
    for (first, last, class, title) in &meta::TABLE {
        writeln!(page, "| {} | {} | {title} |", span(*first, *last), words(*class)).unwrap();
    }
    let (code, subcode, class, title) = meta::OBJECT;
    writeln!(
        page,
        "\nCode {code} with the subcode {subcode} ({title}): {}.",
        words(class)
    )
    .unwrap();
    page.push_str("\nAny other code: retryable if Meta says `is_transient`, else by its HTTP status.\n");
    by_status(&mut page, &meta::UNKNOWN_CODE);
    page.push_str("\nAn answer without a code comes from something in between.\n");
    by_status(&mut page, &meta::WITHOUT_CODE);
    dialog360_section(&mut page);
    aws_section(&mut page);
    page
}

#[test]
fn the_page_of_errors_says_what_the_code_does() {
    let expected = page();
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        std::fs::write(Path::new(PAGE), &expected).unwrap();
    }
    let found = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        found == expected,
        "docs/providers/errors.md is not what the tables say. Run: UPDATE_DOCS=1 cargo test -p recado-whatsapp errors_page"
    );
}
