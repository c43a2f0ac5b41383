//! Restarts under a service manager, which holds the listening socket.

use crate::machine::{INSTANCE, Machine, PATIENCE, seconds};
use futures::future::join_all;
use recado_testkit::webhooks::evolution_text;
use reqwest::StatusCode;
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// The number of clients that post one webhook after the other.
const CLIENTS: usize = 8;

/// A machine that listens on a socket that it is given.
fn handed() -> Machine {
    let mut machine = Machine::prepared(&[
        ("RECADO_DEBOUNCE_SECONDS", "0"),
        ("RECADO_RATE_PER_SECOND", "200"),
        ("RECADO_RATE_BURST", "200"),
    ]);
    machine.socket = Some(TcpListener::bind("127.0.0.1:0").unwrap());
    machine.start("serve");
    machine
}

/// Evolution API 1 never repeats a webhook. So a connection without a request gets a second for it before the stop.
#[tokio::test]
async fn no_webhook_is_refused_lost_or_doubled_while_recado_is_started_anew() {
    let mut machine = handed();
    let address = machine.socket.as_ref().unwrap().local_addr().unwrap();
    let url = format!("http://{address}/webhooks/evolution");
    assert_eq!(
        machine.url("/webhooks/evolution"),
        url,
        "it listens on that socket"
    );
    let (posted, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (http, secret) = (machine.http.clone(), machine.secret(INSTANCE));
    let write_webhooks = || async {
        while !ended.load(Ordering::Relaxed) {
            let number = posted.fetch_add(1, Ordering::Relaxed);
            let contact = format!("55119{number:08}@s.whatsapp.net");
            let body = evolution_text(INSTANCE, &contact, &format!("M{number}"), "Oi", seconds());
            // Each on a connection of its own, as Evolution makes them.
            let request = http.post(&url).header("connection", "close");
            let request = request.header("apikey", &secret).json(&body);
            let answer = request.send().await;
            assert_eq!(answer.expect("no connection is refused").status(), StatusCode::OK);
        }
    };
    let restart = async {
        for signal in ["-HUP", "-TERM"] {
            wait_for_more(&posted, 40).await;
            machine.signal(signal);
            machine = tokio::task::spawn_blocking(move || {
                assert_eq!(machine.stopped().code(), Some(0), "{signal}");
                machine.start("serve");
                machine
            })
            .await
            .unwrap();
        }
        wait_for_more(&posted, 40).await;
        ended.store(true, Ordering::Relaxed);
        machine
    };
    let (machine, _) = tokio::join!(restart, join_all((0..CLIENTS).map(|_| write_webhooks())));
    let count = posted.load(Ordering::Relaxed);
    machine.quiet().await;
    let mut got = BTreeMap::<String, usize>::new();
    for delivered in machine.phone(count).await {
        *got.entry(delivered.to).or_default() += 1;
    }
    assert_eq!(got.len(), count, "each contact got its reply");
}

#[tokio::test]
async fn the_service_manager_is_told_when_recado_is_ready_and_when_it_stops() {
    let mut machine = Machine::prepared(&[]);
    let path = machine.data().with_file_name("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let told = || {
        let mut text = [0; 200];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8_lossy(&text[..length]).trim().to_owned()
    };
    machine.set("NOTIFY_SOCKET", path.to_str().unwrap());
    machine.start("serve");
    assert_eq!(told(), "READY=1");
    assert_eq!(machine.stop("-TERM").code(), Some(0));
    assert_eq!(told(), "STOPPING=1");
}

/// Waits until so many more webhooks were posted.
async fn wait_for_more(posted: &AtomicUsize, more: usize) {
    let before = posted.load(Ordering::Relaxed);
    while posted.load(Ordering::Relaxed) < before + more {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
