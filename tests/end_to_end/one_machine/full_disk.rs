//! A disk that has no room left, and has some again.

use crate::machine::{INSTANCE, Machine, PATIENCE, eventually, eventually_within, seconds};
use recado_testkit::webhooks::evolution_text;
use reqwest::StatusCode;
use std::time::{Duration, Instant};

/// How large a file may become while the disk counts as full, in bytes.
const ROOM: u64 = 1_500_000;

/// On a full disk each queue is tried once a second.
#[tokio::test]
async fn a_full_disk_is_503_and_what_was_acknowledged_is_answered_once_there_is_room() {
    let mut machine = Machine::prepared(&[("RECADO_RATE_PER_SECOND", "100"), ("RECADO_RATE_BURST", "200")]);
    machine.before = Some("trap '' XFSZ".to_owned());
    machine.start("serve");
    machine.limit_files(Some(ROOM));
    let text = "palavra ".repeat(500);
    let body = |number: usize| {
        let jid = format!("55119000{number:05}@s.whatsapp.net");
        evolution_text(INSTANCE, &jid, &format!("FULL{number}"), &text, seconds())
    };
    // The first refusal need not be the last: the database's log may be copied into the database, which makes room once
    // more. The disk is full when work fails, too.
    let failures = || machine.log().matches("the queue cannot be read").count();
    let mut taken = 0;
    let began = Instant::now();
    loop {
        match machine.evolution(&body(taken)).await {
            StatusCode::OK => taken += 1,
            refusal => {
                assert_eq!(refusal, StatusCode::SERVICE_UNAVAILABLE);
                if failures() > 0 {
                    break;
                }
            }
        }
        assert!(began.elapsed() < 2 * PATIENCE, "the disk is never full");
    }
    // Work may go on to fail, and the log does not fill what is left of the disk.
    let (before, began) = (failures(), Instant::now());
    tokio::time::sleep(Duration::from_secs(2)).await;
    let more = u64::try_from(failures() - before).unwrap();
    // Each of the five queues once a second.
    assert!(more <= 10 * (began.elapsed().as_secs() + 2), "{more} failures");
    machine.limit_files(None);
    let sent_again = || async { (machine.evolution(&body(taken)).await == StatusCode::OK).then_some(()) };
    eventually("room", sent_again).await;
    // What a worker began and could not end comes back when its time is over.
    let all = || async {
        let got = machine.stand_ins.evolution.phone();
        (got.len() > taken).then_some(got)
    };
    let got = eventually_within(4 * PATIENCE, "a reply for each", all).await;
    let contacts: std::collections::BTreeSet<_> = got.iter().map(|message| &message.to).collect();
    assert_eq!(
        (got.len(), contacts.len()),
        (taken + 1, taken + 1),
        "one reply for each"
    );
}
