use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::servers::ConnectionState;
use recado_testkit::webhooks::{evolution_connection, evolution_text};
use serde_json::json;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpSocket, TcpStream};

const MARIA: &str = "5511900000001@s.whatsapp.net";
const JOAO: &str = "5511900000002@s.whatsapp.net";

/// A provider's address. Nobody listens there until it opens, so that connections are refused; nobody else gets its port.
struct ReservedPort(TcpSocket);

impl ReservedPort {
    fn reserve() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket)
    }

    fn url(&self) -> String {
        format!("http://{}", self.0.local_addr().unwrap())
    }

    /// Leads to the server at `url` from now on.
    fn forward_to(self, url: &str) {
        let there = url.strip_prefix("http://").unwrap().to_owned();
        let listener = self.0.listen(64).unwrap();
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut to = TcpStream::connect(&there).await.unwrap();
                tokio::spawn(async move { copy_bidirectional(&mut from, &mut to).await });
            }
        });
    }
}

#[tokio::test]
async fn without_a_credential_messages_wait_and_leave_once_it_is_there() {
    let mut machine = Machine::prepared(&[("RECADO_SIMULATION", "off")]);
    machine.unset("EVOLUTION_API_KEY");
    machine.start("serve");
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "W1", "Oi", seconds()))
        .await;
    eventually("needs_credentials", || async {
        let health = machine.get("/health/whatsapp").await.to_string();
        health.contains("needs_credentials").then_some(())
    })
    .await;
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
    assert_eq!(
        machine.get("/v1/dead-letters").await["items"],
        json!([]),
        "waiting is not failing"
    );
    machine.stop("-TERM");
    machine.set("EVOLUTION_API_KEY", "evolution-key");
    machine.start("serve");
    let state = evolution_connection(INSTANCE, "open", "2026-01-05T12:00:00.000Z");
    machine.evolution(&state).await;
    assert_eq!(machine.phone(1).await[0].text, "echo: Oi");
}

#[tokio::test]
async fn a_disconnected_instances_messages_are_parked_and_released_in_order() {
    let machine = Machine::serving(&[("RECADO_DEBOUNCE_SECONDS", "0")]);
    machine.stand_ins.evolution.set_connection(ConnectionState::Close);
    for number in 0..3 {
        let body = evolution_text(
            INSTANCE,
            MARIA,
            &format!("C{number}"),
            &format!("parte {number}"),
            seconds(),
        );
        machine.evolution(&body).await;
        machine
            .stand_ins
            .anthropic
            .wait_for_requests(number + 1, crate::machine::PATIENCE)
            .await;
    }
    eventually("the instance to be closed", || async {
        machine
            .get("/health/whatsapp")
            .await
            .to_string()
            .contains("closed")
            .then_some(())
    })
    .await;
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
    machine.stand_ins.evolution.set_connection(ConnectionState::Open);
    machine
        .evolution(&evolution_connection(
            INSTANCE,
            "open",
            "2026-01-05T12:00:01.000Z",
        ))
        .await;
    let got = machine.phone(3).await;
    let texts: Vec<&str> = got.iter().map(|got| got.text.as_str()).collect();
    assert_eq!(texts, ["echo: parte 0", "echo: parte 1", "echo: parte 2"]);
    assert_eq!(machine.get("/v1/dead-letters").await["items"], json!([]));
}

#[tokio::test]
async fn what_comes_in_while_the_provider_is_down_is_answered_in_order_once_it_is_up() {
    let port = ReservedPort::reserve();
    let machine = Machine::serving(&[
        ("RECADO_DEBOUNCE_SECONDS", "0"),
        ("EVOLUTION_API_URL", &port.url()),
    ]);
    for (number, jid) in [MARIA, JOAO, MARIA, JOAO, MARIA, JOAO].into_iter().enumerate() {
        let text = format!("parte {number}");
        let body = evolution_text(INSTANCE, jid, &format!("D{number}"), &text, seconds());
        machine.evolution(&body).await;
        machine
            .stand_ins
            .anthropic
            .wait_for_requests(number + 1, crate::machine::PATIENCE)
            .await;
    }
    eventually("the instance to be unreachable", || async {
        let health = machine.get("/health/whatsapp").await.to_string();
        health.contains("unreachable").then_some(())
    })
    .await;
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.requests(), []);
    assert_eq!(machine.get("/v1/dead-letters").await["items"], json!([]));
    port.forward_to(&machine.stand_ins.evolution.url());
    // The provider tells of its start. Without that the probe of the next minute finds it.
    let state = evolution_connection(INSTANCE, "open", "2026-01-05T12:00:02.000Z");
    machine.evolution(&state).await;
    let got = machine.phone(6).await;
    for (jid, expected) in [(MARIA, [0, 2, 4]), (JOAO, [1, 3, 5])] {
        let to = jid.split('@').next().unwrap();
        let texts: Vec<&str> = got
            .iter()
            .filter(|got| got.to.contains(to))
            .map(|got| got.text.as_str())
            .collect();
        assert_eq!(texts, expected.map(|number| format!("echo: parte {number}")));
    }
    machine.quiet().await;
    assert_eq!(machine.get("/v1/dead-letters").await["items"], json!([]));
    let health = machine.get("/health/whatsapp").await.to_string();
    assert!(!health.contains("unreachable"), "{health}");
}

#[tokio::test]
async fn out_of_hours_the_turn_waits_for_the_opening() {
    let mut machine = Machine::prepared(&[]);
    // Open on one weekday only, three days from now: closed today, whatever the day.
    let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let weekday = jiff::Timestamp::now()
        .to_zoned(jiff::tz::TimeZone::UTC)
        .weekday()
        .to_monday_zero_offset();
    let opens = days[usize::try_from((weekday + 3) % 7).unwrap()];
    machine.configure(&format!(
        r#"
        [[tenants]]
        id = "t"
        [[agents]]
        id = "a"
        tenant = "t"
        model = "claude-sonnet-4-5"
        system_prompt = "p"
        [[instances]]
        id = "{INSTANCE}"
        tenant = "t"
        agent = "a"
        provider = "evolution"
        [instances.opening_hours]
        {opens} = ["09:00-10:00"]
        "#
    ));
    machine.start("serve");
    machine
        .evolution(&evolution_text(INSTANCE, MARIA, "H1", "Oi", seconds()))
        .await;
    eventually("the turn to be put off", || async {
        machine.log().contains(r#""opens":"#).then_some(())
    })
    .await;
    assert!(machine.stand_ins.anthropic.requests().is_empty());
    let id = machine.conversation().await;
    assert_eq!(machine.messages(&id).await.len(), 1);
}
