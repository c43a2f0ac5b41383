//! `recado deliver` and `recado guests`: guests are added, invited, looked up and exported.

use crate::commands::{Ran, run};
use crate::machine::{Machine, eventually};
use serde_json::Value;

fn json_of(ran: &Ran) -> Value {
    assert!(ran.success, "{}{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// A machine with two guests of the sample's occasion.
fn with_guests() -> Machine {
    let machine = Machine::serving(&[]);
    let file = machine.data().with_file_name("guests.csv");
    std::fs::write(
        &file,
        "id,name,phone\ng1,Ana,+55 11 90000-0081\ng2,\"Bia, a irmã\",+55 11 90000-0082\n",
    )
    .unwrap();
    let path = file.display().to_string();
    let ran = run(&machine, &["guests", "import", "ev_demo", &path]);
    assert!(ran.success, "{}", ran.err);
    assert_eq!(ran.out, "2 added, 0 changed, 0 unchanged\n");
    machine
}

#[tokio::test]
async fn guests_are_imported_listed_and_shown() {
    let machine = with_guests();
    let file = machine.data().with_file_name("guests.csv");
    std::fs::write(
        &file,
        "id,name,phone\ng1,Ana Maria,+55 11 90000-0081\ng2,,\ng3,Caio,12\n",
    )
    .unwrap();
    let path = file.display().to_string();
    let ran = run(&machine, &["guests", "import", "ev_demo", &path]);
    assert!(
        !ran.success && ran.err.contains("some rows were refused"),
        "{}",
        ran.err
    );
    assert!(
        ran.out
            .starts_with("0 added, 1 changed, 1 unchanged\nline 4 refused: "),
        "{}",
        ran.out
    );
    let listed = run(&machine, &["guests", "list", "ev_demo"]);
    let lines: Vec<Vec<&str>> = listed
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[0], ["id", "name", "phone", "status"]);
    assert_eq!(lines[1], ["g1", "Ana", "Maria", "+5511900000081", "pending"]);
    assert_eq!(lines[2].last(), Some(&"pending"));
    assert_eq!(lines.len(), 3);
    let all = json_of(&run(&machine, &["guests", "list", "ev_demo", "--json"]));
    assert_eq!(all["items"][1]["name"], "Bia, a irmã");
    let shown = run(&machine, &["guests", "show", "ev_demo", "g1"]);
    assert!(
        shown.out.contains("Ana Maria") && shown.out.contains("pending"),
        "{}",
        shown.out
    );
    let one = json_of(&run(&machine, &["guests", "show", "ev_demo", "g2", "--json"]));
    assert_eq!(one["phone"], "+5511900000082");
    let nobody = run(&machine, &["guests", "show", "ev_demo", "g9"]);
    assert!(
        !nobody.success && nobody.err.contains("there is no such guest"),
        "{}",
        nobody.err
    );
}

/// The command that sends the sample's invitation to whom these arguments name.
fn invite<'a>(whom: &[&'a str]) -> Vec<&'a str> {
    let command = ["deliver", "send", "--event", "ev_demo", "--template", "invite"];
    [&command[..], whom].concat()
}

#[tokio::test]
async fn an_invitation_is_sent_looked_up_and_exported() {
    let machine = with_guests();
    let by_guest = invite(&["--guest", "g1", "--key", "k1", "--json"]);
    let taken = json_of(&run(&machine, &by_guest));
    assert_eq!(taken["status"], "queued");
    assert_eq!(taken["guestId"], "g1");
    let id = taken["id"].as_str().unwrap().to_owned();
    let again = json_of(&run(&machine, &by_guest));
    assert_eq!(again["id"], taken["id"], "one key is one invitation");
    let told = eventually("the invitation to be sent", || async {
        let ran = run(&machine, &["deliver", "status", &id]);
        assert!(ran.success, "{}", ran.err);
        let is_sent = ran.out.lines().any(|line| line.starts_with("sent "));
        is_sent.then_some(ran.out)
    })
    .await;
    for status in ["queued ", "processing ", "sent "] {
        assert!(
            told.lines().any(|line| line.starts_with(status)),
            "{status}: {told}"
        );
    }
    let phone = ["--phone", "+5215550011223"];
    assert!(run(&machine, &invite(&phone)).success);
    check_refusals(&machine);
    check_parquet(&machine);
    check_exports(&machine, &id).await;
}

fn check_refusals(machine: &Machine) {
    let mut unknown = invite(&["--phone", "+5215550011223"]);
    unknown[5] = "nothing";
    let refused = run(machine, &unknown);
    assert!(
        !refused.success && refused.err.contains("there is no template"),
        "{}",
        refused.err
    );
    let nobody = run(machine, &invite(&[]));
    assert!(
        !nobody.success && nobody.err.contains("--guest"),
        "{}",
        nobody.err
    );
}

/// Checks that Parquet is refused, by its name and by that of the file, and that no file is made.
fn check_parquet(machine: &Machine) {
    let file = machine.data().with_file_name("log.parquet");
    let path = file.display().to_string();
    for (option, value) in [("--format", "parquet"), ("-o", path.as_str())] {
        let refused = run(machine, &["deliver", "export", option, value]);
        let told = ["CSV", "JSON lines", "duckdb"];
        assert!(
            !refused.success && told.iter().all(|word| refused.err.contains(word)),
            "{}",
            refused.err
        );
    }
    assert!(!file.exists());
}

async fn check_exports(machine: &Machine, id: &str) {
    let printed = run(machine, &["deliver", "export"]);
    assert!(printed.success, "{}", printed.err);
    let rows: Vec<&str> = printed.out.lines().collect();
    assert_eq!(rows.len(), 3, "{}", printed.out);
    assert!(rows[0].starts_with("id,created_at,eventId,guestId,channel,template,"));
    assert!(
        rows[1].starts_with(id) && rows[1].contains(",ev_demo,g1,whatsapp,invite,"),
        "{}",
        rows[1]
    );
    let file = machine.data().with_file_name("log.jsonl");
    let path = file.display().to_string();
    let filtered = [
        "deliver", "export", "--status", "sent", "--event", "ev_demo", "--format", "json", "-o", &path,
    ];
    let found = eventually("both to be sent", || async {
        assert!(run(machine, &filtered).success);
        let text = std::fs::read_to_string(&file).unwrap();
        (text.lines().count() == 2).then_some(text)
    })
    .await;
    let first: Value = serde_json::from_str(found.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["id"], &first["status"]),
        (&Value::from(id), &Value::from("sent"))
    );
    for none in [
        ["deliver", "export", "--status", "read"],
        ["deliver", "export", "--month", "2020-01"],
        ["deliver", "export", "--template", "another"],
    ] {
        let ran = run(machine, &none);
        assert_eq!(ran.out.lines().count(), 1, "the heading alone: {}", ran.out);
    }
    let wrong = run(machine, &["deliver", "export", "--month", "november"]);
    assert!(!wrong.success && wrong.err.contains("2026-11"), "{}", wrong.err);
}
