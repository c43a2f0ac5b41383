//! Every command of the command line: what it prints, and what it does with a refused token, without a server, and into a
//! closed pipe.

use crate::command_table::{ALONE, ASKING, Printed};
use crate::commands::{Ran, run};
use crate::machine::{INSTANCE, Machine, PATIENCE};
use serde_json::Value;
use std::io::Read;
use std::process::Stdio;
use std::time::Instant;

/// A simulated installation, without a demonstration.
pub(crate) fn simulated() -> Machine {
    let mut machine = Machine::prepared(&[
        ("ANTHROPIC_API_KEY", ""),
        ("META_ACCESS_TOKEN", ""),
        ("RECADO_SIMULATION", "auto"),
        ("RECADO_SIMULATED_LATENCY_MS", "0"),
    ]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("serve");
    machine
}

/// Makes the arguments of a line of [`ASKING`].
fn split_line(machine: &Machine, line: &str, conversation: &str) -> Vec<String> {
    let beside = |name: &str| machine.data().with_file_name(name);
    let folder = beside("posted");
    if !folder.exists() {
        std::fs::create_dir_all(&folder).unwrap();
        let body =
            recado_testkit::webhooks::evolution_text(INSTANCE, "5511900000009@s.whatsapp.net", "P1", "Oi", 1);
        std::fs::write(folder.join("1.json"), body.to_string()).unwrap();
        std::fs::write(beside("guests.csv"), "id,name,phone\ng1,Bia,+5511900000009\n").unwrap();
        std::fs::write(beside("hours.md"), "# Hours\n\nOpen from 8 to 18.\n").unwrap();
    }
    let fill = |word: &str| match word {
        "CONVERSATION" => conversation.to_owned(),
        "FILE" => beside("recado.toml").display().to_string(),
        "GUESTS" => beside("guests.csv").display().to_string(),
        "DOCUMENT" => beside("hours.md").display().to_string(),
        "FOLDER" => folder.display().to_string(),
        other => other.to_owned(),
    };
    line.split(' ').map(fill).collect()
}

fn run_line(machine: &Machine, line: &str, conversation: &str, more: &[&str]) -> Ran {
    let arguments = split_line(machine, line, conversation);
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.extend(more);
    run(machine, &arguments)
}

/// An id that no conversation has.
const NOBODY: &str = "c_00000000000000000000000000000000-1";

/// Lists the commands that a help names, without `help` below another command.
fn list_named_commands(help: &str) -> Vec<&str> {
    let Some((_, commands)) = help.split_once("Commands:\n") else {
        return Vec::new();
    };
    let lines = commands.lines().take_while(|line| !line.is_empty());
    // A line that goes on below another begins further in.
    let named = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    named.filter_map(|line| line.split_whitespace().next()).collect()
}

/// Lists the commands below `words` that do something themselves.
fn list_last_commands(machine: &Machine, words: &[&str]) -> Vec<String> {
    let help = match words {
        ["help"] => String::new(),
        _ => run(machine, &[words, &["--help"]].concat()).out,
    };
    let below = list_named_commands(&help);
    if below.is_empty() {
        return vec![words.join(" ")];
    }
    let below = below
        .into_iter()
        .filter(|below| words.is_empty() || *below != "help");
    below
        .flat_map(|below| list_last_commands(machine, &[words, &[below]].concat()))
        .collect()
}

#[test]
fn every_command_is_in_these_tables() {
    let commands = list_last_commands(&Machine::prepared(&[]), &[]);
    assert!(
        commands.contains(&"dlq purge".to_owned()) && commands.contains(&"mcp".to_owned()),
        "{commands:?}"
    );
    let tested: Vec<&str> = ASKING.iter().map(|(line, ..)| *line).chain(ALONE).collect();
    let is_of = |line: &str, command: &str| {
        let rest = line.strip_prefix(command);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let missing: Vec<&String> = commands
        .iter()
        .filter(|command| !tested.iter().any(|line| is_of(line, command)))
        .collect();
    assert!(
        missing.is_empty(),
        "they need a line in ASKING or ALONE: {missing:?}"
    );
    // Some stand there without the command that runs where none is named.
    let without_last = ["conversations", "alerts", "alerts runbook", "webhooks"];
    let unknown: Vec<&&str> = tested
        .iter()
        .filter(|line| !commands.iter().any(|command| is_of(line, command)))
        .filter(|line| !without_last.contains(line))
        .collect();
    assert!(unknown.is_empty(), "there are no such commands: {unknown:?}");
}

#[tokio::test]
async fn where_all_is_well_each_command_prints_lines_for_people_or_json() {
    let machine = simulated();
    let mut conversation = NOBODY.to_owned();
    for &(line, printed, said) in ASKING {
        if printed == Printed::Elsewhere {
            continue;
        }
        let ran = run_line(&machine, line, &conversation, &[]);
        assert!(
            ran.success && ran.out.contains(said),
            "{line}: {}{}",
            ran.out,
            ran.err
        );
        assert!(!ran.out.contains('\u{1b}'), "{line} has colours: {:?}", ran.out);
        if printed == Printed::Narrow {
            let wide: Vec<&str> = ran.out.lines().filter(|line| line.chars().count() > 80).collect();
            assert!(wide.is_empty(), "{line}: {wide:?}");
        }
        if printed == Printed::Raw {
            continue;
        }
        if line.starts_with("token create") {
            assert!(run(&machine, &["token", "revoke", "desk"]).success);
        }
        let json = run_line(&machine, line, &conversation, &["--json"]);
        let parsed: Result<Value, _> = serde_json::from_str(&json.out);
        assert!(
            json.success && parsed.is_ok(),
            "{line} --json: {}{}",
            json.out,
            json.err
        );
        if conversation == NOBODY {
            conversation = machine.conversation().await;
        }
    }
}

#[tokio::test]
async fn a_refused_token_is_one_line_that_says_so() {
    let machine = simulated();
    let wrong = ["--token", "a-token-that-nobody-has-ever-made"];
    // After ten wrong tokens more are refused without a look.
    let is_refused = |told: &str| told.contains("401") || told.contains("429");
    for &(line, ..) in ASKING {
        let ran = run_line(&machine, line, NOBODY, &wrong);
        if line == "doctor" {
            assert!(!ran.success && is_refused(&ran.out), "{}{}", ran.out, ran.err);
            continue;
        }
        let prints = line.starts_with("api ") || line.starts_with("knowledge add");
        assert!(
            !ran.success && (prints || ran.out.is_empty()),
            "{line}: {}",
            ran.out
        );
        assert!(is_refused(&ran.err), "{line}: {}", ran.err);
        // It tells of each document, and then of all.
        let lines = if line.starts_with("knowledge add") { 2 } else { 1 };
        assert_eq!(ran.err.lines().count(), lines, "{line}: {}", ran.err);
    }
}

#[test]
fn without_a_server_one_line_says_how_to_start_it() {
    let machine = Machine::prepared(&[]);
    let nowhere = ["--url", "http://127.0.0.1:1"];
    for &(line, ..) in ASKING {
        let ran = run_line(&machine, line, NOBODY, &nowhere);
        let said = "No Recado at http://127.0.0.1:1. Start it (recado serve), or say where it is: --url.";
        if line == "doctor" {
            let told = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(!ran.success && told.contains(said), "{}{}", ran.out, ran.err);
            continue;
        }
        if line.starts_with("knowledge add") {
            assert!(!ran.success && ran.err.contains(said), "{line}: {}", ran.err);
            continue;
        }
        assert!(!ran.success && ran.out.is_empty(), "{line}: {}", ran.out);
        assert!(
            ran.err.starts_with("recado: ") && ran.err.ends_with(&format!("{said}\n")),
            "{line}: {}",
            ran.err
        );
        assert_eq!(ran.err.lines().count(), 1, "{line}: {}", ran.err);
    }
}

/// Runs a command whose output nobody reads. Returns its exit status and its errors.
fn run_unread(machine: &Machine, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = machine.command(arguments);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "{arguments:?} goes on though nobody reads"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let mut errors = String::new();
    child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    (status.code(), errors)
}

#[tokio::test]
async fn a_closed_pipe_ends_each_command_without_a_word() {
    let machine = simulated();
    for &(line, ..) in ASKING {
        let arguments = split_line(&machine, line, NOBODY);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, errors) = run_unread(&machine, &arguments);
        // Some find nothing here, which is their error. A panic ends with 101.
        assert!(matches!(code, Some(0 | 1 | 4)), "{line}: {code:?} {errors}");
        assert!(
            !errors.contains("panicked") && !errors.contains("pipe"),
            "{line}: {errors}"
        );
    }
    let beside = |name: &str| machine.data().with_file_name(name).display().to_string();
    let (posted, copy) = (beside("posted"), beside("copy"));
    for arguments in [
        &["--help"][..],
        &["completions", "zsh"],
        &["status", "--watch", "--json"],
        &["tail", "--json"],
        &["alerts", "runbook", "disconnected"],
        &["record", "redact", &posted, "--out", &beside("redacted")],
        &[
            "init",
            &beside("new.toml"),
            "--business",
            "Loja",
            "--provider",
            "evolution",
            "--number",
            "n",
            "--zone",
            "UTC",
            "--language",
            "en",
            "--vendor",
            "ollama",
        ],
        &["backup", &copy],
        &["backup", &copy, "--check"],
        &["restore", &copy, "--to", &beside("restored")],
        &[
            "eval",
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/knowledge/clinic"),
        ],
    ] {
        let (code, errors) = run_unread(&machine, arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {errors}");
    }
}

#[tokio::test]
async fn colours_and_the_time_of_this_place_are_for_terminals() {
    let machine = simulated();
    let with = |arguments: &[&str], variables: &[(&str, &str)]| {
        let output = machine
            .command(arguments)
            .envs(variables.iter().copied())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!with(&["status"], &[]).contains('\u{1b}'));
    assert!(with(&["status"], &[("CLICOLOR_FORCE", "1")]).contains("\u{1b}[32mopen"));
    assert!(!with(&["status"], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]).contains('\u{1b}'));
    // `script` gives a command a terminal.
    let on_terminal = |variables: &[(&str, &str)]| {
        let recado = env!("CARGO_BIN_EXE_recado");
        let status = machine.command(&["status"]);
        let mut command = std::process::Command::new("script");
        command
            .args(["-qec", &format!("{recado} status"), "/dev/null"])
            .env_clear()
            .stdin(Stdio::null());
        command.envs(status.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
            .env("TERM", "xterm")
            .env("PATH", "/usr/bin:/bin")
            .env("SHELL", "/bin/sh");
        let output = command.envs(variables.iter().copied()).output().expect("script");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(on_terminal(&[]).contains("\u{1b}[32mopen"));
    assert!(!on_terminal(&[("NO_COLOR", "1")]).contains('\u{1b}'));
    let said = run(&machine, &["say", "Oi", "--json"]);
    assert!(said.success, "{}", said.err);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let at = told["message"]["created_at"]
        .as_str()
        .unwrap()
        .parse::<jiff::Timestamp>()
        .unwrap();
    let conversation = machine.conversation().await;
    for (zone, hours) in [("UTC", 0), ("America/Sao_Paulo", -3)] {
        let shown = with(&["conversations", "show", &conversation], &[("TZ", zone)]);
        let local = at.to_zoned(jiff::tz::TimeZone::fixed(jiff::tz::offset(hours)));
        let told = format!("{} → Maria: Oi", local.strftime("%m-%d %H:%M:%S"));
        assert!(shown.contains(&told), "{told} is not in:\n{shown}");
    }
}

#[test]
fn the_version_names_the_commit_if_it_is_known() {
    let ran = run(&Machine::prepared(&[]), &["--version"]);
    let version = ran.out.trim().strip_prefix("recado ").unwrap();
    let (number, commit) = version.split_once(' ').unwrap_or((version, "(000000000000)"));
    assert_eq!(number, env!("CARGO_PKG_VERSION"));
    let commit = commit.strip_prefix('(').unwrap().strip_suffix(')').unwrap();
    assert!(
        commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{version}"
    );
}

#[test]
fn a_shell_completes_commands_by_the_script() {
    let machine = Machine::prepared(&[]);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = run(&machine, &["completions", shell]);
        assert!(
            ran.success && ran.out.contains("give-back"),
            "{shell}: {}",
            ran.err
        );
    }
    let complete = "source <(\"$0\" completions bash); COMP_WORDS=(recado conv); COMP_CWORD=1; _recado recado conv recado; \
        echo \"${COMPREPLY[@]}\"";
    let mut bash = std::process::Command::new("bash");
    let output = bash
        .args(["-c", complete, env!("CARGO_BIN_EXE_recado")])
        .output()
        .expect("bash");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "conversations\n");
    assert!(!run(&machine, &["completions", "tcsh"]).success);
}
