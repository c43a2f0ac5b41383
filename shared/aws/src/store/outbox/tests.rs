use super::super::records::tests::outgoing;
use super::*;
use recado_domain::ids::Nonce;
use recado_domain::millis::instant;

fn sending(nonce: &str) -> Message {
    let mut message = outgoing();
    let out = message.out.as_mut().unwrap();
    out.claim(Nonce::parse(nonce).unwrap(), instant(7), instant(8))
        .unwrap();
    message
}

#[test]
fn a_claim_that_finds_itself_is_ours_even_if_the_conversation_was_taken_over_since() {
    let ours = sending("n1");
    let found = records::open("test", &ours).unwrap();
    let refusals = Refusals::from(vec![
        Some(Refused(Some(found.clone()))),
        Some(Refused(None)),
        None,
    ]);
    assert_eq!(claimed(&ours, &refusals), Claimed::Yes);
    assert_eq!(
        claimed(&sending("n2"), &refusals),
        Claimed::Conflict,
        "another's nonce"
    );
}

#[test]
fn a_claim_that_finds_its_nonce_in_a_later_revision_is_a_conflict() {
    let ours = sending("n1");
    let mut later = ours.clone();
    later.out.as_mut().unwrap().hold_slot(instant(9));
    let found = records::open("test", &later).unwrap();
    assert_eq!(
        claimed(&ours, &Refusals::from(vec![Some(Refused(Some(found)))])),
        Claimed::Conflict
    );
}

#[test]
fn a_guard_stops_a_claim_only_if_the_message_is_as_it_was_read() {
    let ours = sending("n1");
    assert_eq!(
        claimed(&ours, &Refusals::from(vec![None, Some(Refused(None)), None])),
        Claimed::Stopped
    );
    assert_eq!(
        claimed(
            &ours,
            &Refusals::from(vec![Some(Refused(None)), Some(Refused(None)), None])
        ),
        Claimed::Conflict
    );
}
