//! What comes as a text: forms of the console, schemas of tools, cursors of lists, Markdown of models.

use crate::any_cursor::ask_every_list;
use futures::executor::block_on;
use recado_console::parse_console_form;
use recado_domain::config::ReplyFormat;
use recado_domain::formatting::format_for_whatsapp;
use recado_domain::ids::TenantId;
use recado_domain::published_event::EventCursor;
use recado_domain::split::split_text;
use recado_domain::tools::ArgumentSchema;
use recado_embedded::{Clock, Embedded};
use recado_actions::appointments::AppointmentPlace;
use std::sync::LazyLock;

/// Length of a part in UTF-16 code units, and number of parts.
const PART_MAX: usize = 120;
const PARTS_MAX: usize = 8;

/// Reads a form of the console.
pub(crate) fn read_form(body: &[u8]) {
    let _ = parse_console_form(body);
}

/// Reads a schema from the first line, and checks the arguments in the others.
pub(crate) fn check_schema(text: &[u8]) {
    let middle = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let (schema, arguments) = text.split_at(middle);
    let Ok(schema) = serde_json::from_slice(schema) else {
        return;
    };
    if let Ok(schema) = ArgumentSchema::compile(&schema)
        && let Ok(arguments) = serde_json::from_slice(arguments)
    {
        let _ = schema.check_arguments(&arguments);
    }
}

/// Asks every list for the page at a cursor.
pub(crate) fn read_cursor(cursor: &[u8]) {
    static STORE: LazyLock<Embedded> =
        LazyLock::new(|| Embedded::in_memory(Clock::from_system()).expect("a store"));
    let cursor = String::from_utf8_lossy(cursor);
    let tenant = TenantId::parse("nobody").expect("an id");
    for (list, answer) in block_on(ask_every_list(&*STORE, &tenant, &cursor)) {
        assert!(answer.is_err() || answer.is_ok_and(|found| found == 0), "{list} shows something");
    }
    let _ = (AppointmentPlace::parse(&cursor), cursor.parse::<EventCursor>());
}

/// Formats Markdown and splits what becomes of it.
pub(crate) fn format_text(markdown: &[u8]) {
    let formatted = format_for_whatsapp(&String::from_utf8_lossy(markdown), ReplyFormat::Markdown);
    let split = split_text(&formatted, PART_MAX, PARTS_MAX);
    assert!((1..=PARTS_MAX).contains(&split.parts.len()), "{} parts", split.parts.len());
    for part in &split.parts {
        assert!(part.encode_utf16().count() <= PART_MAX, "a part is too long");
    }
}
