//! What people do by the command line every day: write as a customer, find out what became of a message, answer, follow.

use crate::command_line::simulated;
use crate::commands::run;
use crate::machine::{INSTANCE, Machine, PATIENCE, TOKEN, seconds};
use recado_testkit::webhooks::evolution_text;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

#[tokio::test]
async fn a_message_is_found_by_whatever_is_known_of_it() {
    let machine = simulated();
    let said = run(
        &machine,
        &[
            "say",
            "Pergunta 33",
            "--as",
            "+55 11 98660-0033",
            "--name",
            "Bia",
            "--json",
        ],
    );
    let told: Value = serde_json::from_str(&said.out).unwrap_or_else(|_| panic!("{}{}", said.out, said.err));
    let message = &told["message"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let event = machine
        .get(&format!("/v1/trace?message={}", text(&message["id"])))
        .await["events"][0]["id"]
        .clone();
    for known in [
        "+55 (11) 98660-0033".to_owned(),
        "98660-0033".to_owned(),
        "0033".to_owned(),
        "bia".to_owned(),
        text(&message["conversation_id"]),
        text(&message["id"]),
        text(&message["provider_message_id"]),
        text(&message["correlation_id"]),
        text(&told["reply"]["id"]),
        text(&event),
    ] {
        let found = run(&machine, &["find", &known]);
        assert!(found.success, "{known}: {}", found.err);
        assert!(found.out.contains("→ Bia: Pergunta 33"), "{known}: {}", found.out);
        assert!(found.out.contains("answered "), "{known}: {}", found.out);
        assert!(
            found.out.contains("← agent: [simulated] I read 1 message."),
            "{known}: {}",
            found.out
        );
    }
    let by_provider = run(&machine, &["find", &text(&message["provider_message_id"])]).out;
    assert!(
        by_provider.contains("\nreceived ") && by_provider.contains("\nsent "),
        "{by_provider}"
    );
    assert!(by_provider.contains("webhook ") && by_provider.contains(": message applied, correlation "));
    let unknown = run(&machine, &["find", "+55 11 97777-0000"]);
    assert!(
        !unknown.success && unknown.err.contains("nothing is found for +55 11 97777-0000"),
        "{}",
        unknown.err
    );
}

#[tokio::test]
async fn a_message_without_an_answer_says_the_one_reason() {
    let machine = simulated();
    let old = evolution_text(
        INSTANCE,
        "5511986600033@s.whatsapp.net",
        "OLD1",
        "Pergunta 33",
        seconds() - 7_200,
    );
    assert_eq!(machine.evolution(&old).await, 200);
    let conversation = machine.conversation().await;
    for known in ["5511986600033", "OLD1"] {
        let found = run(&machine, &["find", known]);
        let said = "Pergunta 33\n                 NOT answered: it was too old when it came (stale)";
        assert!(found.out.contains(said), "{known}: {}{}", found.out, found.err);
    }
    // A token that only reads finds the same, though it may not look for contacts.
    let (_, token) = machine
        .api(
            reqwest::Method::POST,
            "/v1/tokens",
            Some(json!({"name": "desk", "role": "viewer"})),
        )
        .await;
    let token = token["secret"].as_str().unwrap();
    let found = run(&machine, &["find", "5511986600033", "--token", token]);
    assert!(
        found.out.contains(&conversation) && found.out.contains("(stale)"),
        "{}{}",
        found.out,
        found.err
    );
}

#[tokio::test]
async fn a_person_answers_and_the_agent_is_silent_until_it_has_the_conversation_again() {
    let machine = simulated();
    assert!(run(&machine, &["say", "Oi"]).success);
    let id = machine.conversation().await;
    let answered = run(&machine, &["conversations", "answer", &id, "Aqui é a Carla."]);
    assert!(
        answered.out.contains("← installation: Aqui é a Carla."),
        "{}{}",
        answered.out,
        answered.err
    );
    let said = run(&machine, &["say", "Qual é o endereço?"]);
    assert!(
        said.success
            && said
                .out
                .contains("NOT answered: people have the conversation since"),
        "{}{}",
        said.out,
        said.err
    );
    let waiting = run(&machine, &["conversations", "--waiting"]);
    assert!(waiting.out.contains(&id), "{}", waiting.out);
    let status = run(&machine, &["status"]);
    assert!(
        status
            .out
            .contains("People         1 conversation waits for a person"),
        "{}",
        status.out
    );
    let back = run(&machine, &["conversations", "give-back", &id]);
    assert!(
        back.success && back.out.contains("the agent has it"),
        "{}{}",
        back.out,
        back.err
    );
    machine.quiet().await;
    let shown = run(&machine, &["conversations", "show", &id]);
    let arrows: String = shown
        .out
        .chars()
        .filter(|letter| "→←".contains(*letter))
        .collect();
    assert_eq!(arrows, "→←←→←", "{}", shown.out);
    assert!(!shown.out.contains("NOT answered"), "{}", shown.out);
    let unknown = run(
        &machine,
        &["conversations", "show", "c_00000000000000000000000000000000-1"],
    );
    assert!(
        unknown.err.contains("there is no such conversation"),
        "{}",
        unknown.err
    );
}

#[tokio::test]
async fn each_message_in_and_out_appears_as_it_comes() {
    let mut machine = simulated();
    assert!(run(&machine, &["say", "before"]).success);
    let mut tail = machine
        .command(&["tail", "--every", "0.1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut begun = String::new();
    BufReader::new(tail.stderr.take().unwrap())
        .read_line(&mut begun)
        .unwrap();
    assert!(begun.contains("Each message of http://"), "{begun}");
    let said = run(
        &machine,
        &[
            "say",
            "Vocês",
            "abrem hoje?",
            "--as",
            "5511986600033",
            "--name",
            "Bia",
        ],
    );
    assert!(said.success, "{}", said.err);
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    let came = next();
    assert!(
        came.ends_with("→ Bia +5511986600033 on suporte-01: Vocês abrem hoje?"),
        "{came}"
    );
    let went = next();
    assert!(
        went.contains("← agent to Bia +5511986600033 on suporte-01: [simulated]"),
        "{went}"
    );
    // The stream ends with the server, and is opened again where it stopped.
    let address = machine.url("").replace("http://", "");
    machine.set("RECADO_ADDR", &address);
    machine.kill();
    machine.start("serve");
    let said = run(
        &machine,
        &["say", "E amanhã?", "--as", "5511986600033", "--name", "Bia"],
    );
    assert!(said.success, "{}", said.err);
    let mut after = lines.by_ref().map(Result::unwrap);
    assert!(after.any(|line| line.contains("→ Bia") && line.ends_with("E amanhã?")));
    assert!(after.any(|line| line.contains("← agent to Bia")));
    drop(lines);
    assert!(tail.wait().unwrap().success(), "it ends once nobody reads");
}

#[test]
fn nothing_is_said_to_a_real_number() {
    let machine = Machine::serving(&[]);
    let none = run(&machine, &["say", "Oi"]);
    assert!(
        !none.success && none.err.contains("no instance is simulated here"),
        "{}",
        none.err
    );
    let real = run(&machine, &["say", "Oi", "--instance", INSTANCE]);
    assert!(
        !real.success && real.err.contains("suporte-01 is not simulated"),
        "{}",
        real.err
    );
    let short = run(&machine, &["say", "Oi", "--as", "12"]);
    assert!(
        short.err.contains("no number with its country code"),
        "{}",
        short.err
    );
}

fn exit_code(machine: &Machine, arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let mut child = machine
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that reads nothing may have ended.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn one_request_to_the_api_ends_with_the_class_of_its_answer() {
    let machine = simulated();
    let ask =
        |arguments: &[&str], input: &str| exit_code(&machine, &[&["api"][..], arguments].concat(), input);
    let (code, out, err) = ask(&["get", "/v1/instances?limit=1"], "");
    assert_eq!(code, Some(0), "{err}");
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let (code, out, err) = ask(&["GET", "v1/conversations/c_0"], "");
    assert_eq!(code, Some(4));
    assert!(
        out.contains("there is no such conversation") && err.contains("404"),
        "{out}{err}"
    );
    let body = r#"{"to": "+55 11 90000-0007", "text": "Seu pedido saiu."}"#;
    let sends = [
        "POST",
        "/v1/instances/suporte-01/messages",
        "-H",
        "Idempotency-Key: order-7",
        "--body",
    ];
    let (code, first, err) = ask(&[&sends[..], &[body][..]].concat(), "");
    assert_eq!(code, Some(0), "{err}");
    let file = machine.data().with_file_name("body.json");
    std::fs::write(&file, body).unwrap();
    let at_file = format!("@{}", file.display());
    let (code, again, _) = ask(&[&sends[..], &[at_file.as_str()][..]].concat(), "");
    let (third_code, third, _) = ask(&[&sends[..], &["@-"][..]].concat(), body);
    assert_eq!((code, third_code), (Some(0), Some(0)));
    let id = |text: &str| serde_json::from_str::<Value>(text).unwrap()["id"].clone();
    assert!(
        id(&first) == id(&again) && id(&first) == id(&third),
        "{first}{again}{third}"
    );
    assert_eq!(ask(&["POST", "/v1/tokens", "--body", "no JSON"], "").0, Some(4));
    assert_eq!(ask(&["FETCH", "/v1/tokens"], "").0, Some(2));
    let (code, _, err) = ask(&["POST", "/v1/tokens", "--body", "@none"], "");
    assert!(code == Some(1) && err.contains("cannot read none"), "{err}");
    let (code, text, _) = ask(&["GET", "/metrics"], "");
    assert!(code == Some(0) && text.contains("recado_build_info"), "{text}");
}

#[tokio::test]
async fn answered_questions_make_a_configuration_that_is_applied() {
    let machine = simulated();
    let folder = machine.data().with_file_name("new");
    std::fs::create_dir_all(&folder).unwrap();
    let apply = |file: &str| {
        let url = machine.url("");
        run(&machine, &["apply", file, "--url", &url, "--token", TOKEN])
    };
    for (provider, number) in [
        ("evolution", "caixa"),
        ("meta", "100000000000077"),
        ("360dialog", "100000000000078"),
    ] {
        let file = folder.join(format!("{provider}.toml")).display().to_string();
        // The first answers about the provider and the time zone are none.
        let answers =
            format!("Clínica \"São José\"\nphone\n{provider}\n{number}\nMars/Base\nAmerica/Sao_Paulo\n\n\n");
        let (code, out, err) = exit_code(&machine, &["init", &file], &answers);
        assert_eq!(code, Some(0), "{err}");
        assert!(err.contains("there is no provider `phone`"), "{err}");
        assert!(err.contains("there is no time zone `Mars/Base`"), "{err}");
        assert!(out.contains(&format!("recado connect {number}")), "{out}");
        let applied = apply(&file);
        assert!(
            applied.success && applied.out.contains(&format!("instance {number}")),
            "{}",
            applied.err
        );
        let before = std::fs::read_to_string(&file).unwrap();
        for written in [
            "id = \"clinica-sao-jose\"",
            "time_zone = \"America/Sao_Paulo\"",
            "Você atende por Clínica",
        ] {
            assert!(before.contains(written), "{before}");
        }
        let (code, _, err) = exit_code(&machine, &["init", &file], &answers);
        assert!(
            code == Some(1) && err.contains("is there already, and stays as it is"),
            "{err}"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
    }
    let file = folder.join("options.toml").display().to_string();
    let options = [
        "init",
        &file,
        "--business",
        "Loja",
        "--provider",
        "evolution",
        "--number",
        "balcão",
        "--zone",
        "Europe/Lisbon",
        "--language",
        "pt",
        "--vendor",
        "anthropic",
    ];
    let (code, _, err) = exit_code(&machine, &options, "");
    assert!(code == Some(0) && err.is_empty(), "{err}");
    assert!(apply(&file).success);
    let unanswered = folder.join("unanswered.toml").display().to_string();
    let (code, _, err) = exit_code(&machine, &["init", &unanswered], "");
    assert!(code == Some(1) && err.contains("there is no answer to"), "{err}");
    assert!(!std::path::Path::new(&unanswered).exists());
}

#[tokio::test]
async fn the_status_is_drawn_again_and_tells_of_a_server_that_is_gone() {
    let mut machine = simulated();
    let mut watch = machine
        .command(&["status", "--watch", "--every", "1"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
    assert!(lines.any(|line| line.starts_with("Last 24 hours")));
    assert!(lines.any(|line| line.starts_with("Recado ")), "a second screen");
    machine.kill();
    let began = std::time::Instant::now();
    assert!(lines.any(|line| line.starts_with("No Recado at http://")));
    assert!(began.elapsed() < PATIENCE);
    drop(lines);
    assert!(watch.wait().unwrap().success());
}
