//! Sets `PROGRAM_VERSION`, which `recado --version` prints: the version of the workspace, and the commit if it is known. `cargo run` gives it
//! to the program, too, so it is not named as a setting is.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RECADO_COMMIT");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = std::env::var("RECADO_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty());
    let commit = given.or_else(find_commit_hash);
    let commit = commit.map_or_else(String::new, |commit| format!(" ({commit})"));
    println!("cargo::rustc-env=PROGRAM_VERSION={version}{commit}");
    warn_of_left_out_parts();
}

/// Warns whoever builds a release without the parts that only a demonstration does without.
fn warn_of_left_out_parts() {
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if is_release && std::env::var_os("CARGO_FEATURE_FULL").is_none() {
        println!(
            "cargo::warning=this program leaves parts out (PDF and office documents, MCP, SMTP, traces, jemalloc): add --features full"
        );
    }
}

/// Returns the commit that is checked out. `None`: this is no clone, or there is no git. The next build looks again only if
/// another commit is checked out.
fn find_commit_hash() -> Option<String> {
    let commit = ask_git(&["rev-parse", "--short=12", "HEAD"])?;
    watch_file_changes("HEAD");
    if let Some(branch) = ask_git(&["symbolic-ref", "--quiet", "HEAD"]) {
        watch_file_changes(&branch);
        // A branch without a file of its own stands here.
        watch_file_changes("packed-refs");
    }
    Some(commit)
}

/// Has the next build look again if a file of the repository changed. A file that is not there would have it look each time.
fn watch_file_changes(name: &str) {
    let path = ask_git(&["rev-parse", "--git-path", name]);
    if let Some(path) = path.filter(|path| Path::new(path).exists()) {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn ask_git(arguments: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(answer.stdout).ok()?;
    (answer.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
