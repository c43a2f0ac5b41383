//! Reads what others write. Which reader is meant `RECADO_FUZZ_TARGET` says: the name of a provider, or one of those in `find_target`.
//! What must not happen: a panic, a hang (libFuzzer's own limit), or a record that takes far more memory than the input.

#![no_main]

#[path = "../../kit/src/any_cursor.rs"]
mod any_cursor;
mod texts;
mod webhooks;

use libfuzzer_sys::fuzz_target;
use peak_alloc::PeakAlloc;
use recado_domain::provider::Provider;
use std::sync::LazyLock;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What an input may take at most, in bytes for each of its own. JSON of many small values takes most: `[0,0,0…` makes a
/// value of 72 bytes out of two characters, which are then held as the body, as a payload and as content.
const PER_BYTE: usize = 400;

/// What is allowed for whatever the input.
const ALWAYS: usize = 512 * 1024;

/// What is allowed where regular expressions are compiled, or pages of a database are read.
const ALWAYS_LARGE: usize = 64 * 1024 * 1024;

/// A reader, and the memory that it may take for whatever the input.
type Target = (Box<dyn Fn(&[u8]) + Send + Sync>, usize);

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("RECADO_FUZZ_TARGET").unwrap_or_else(|_| "evolution".to_owned());
    find_target(&name)
});

/// Finds the reader of a name.
fn find_target(name: &str) -> Target {
    match name {
        "console-form" => (Box::new(texts::read_form), ALWAYS),
        "tool-schema" => (Box::new(texts::check_schema), ALWAYS_LARGE),
        "cursor" => (Box::new(texts::read_cursor), ALWAYS_LARGE),
        "markdown" => (Box::new(texts::format_text), ALWAYS),
        "vcard" => (Box::new(webhooks::read_vcard), ALWAYS),
        provider => {
            let provider: Provider = serde_json::from_value(provider.into())
                .expect("RECADO_FUZZ_TARGET is a provider's name or another reader's");
            (Box::new(move |body| webhooks::read_body(provider, body)), ALWAYS)
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let (read, always) = &*TARGET;
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    read(input);
    let taken = MEMORY.peak_usage().saturating_sub(before);
    let allowed = always + PER_BYTE * input.len();
    assert!(taken <= allowed, "{taken} bytes for an input of {}", input.len());
});
