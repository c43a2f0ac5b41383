use super::super::records::tests::outgoing;
use super::*;
use recado_domain::ids::Nonce;
use recado_domain::millis::from_unix_millis;

fn sending(nonce: &str) -> Message {
    let mut message = outgoing();
    let out = message.out.as_mut().unwrap();
    out.claim_attempt(
        Nonce::parse(nonce).unwrap(),
        from_unix_millis(7),
        from_unix_millis(8),
    )
    .unwrap();
    message
}

#[test]
fn a_claim_that_finds_itself_is_ours_even_if_the_conversation_was_taken_over_since() {
    let ours = sending("n1");
    let found = records::open_message_item("test", &ours).unwrap();
    let refusals = FailedConditions::from(vec![
        Some(ConditionFailed(Some(found.clone()))),
        Some(ConditionFailed(None)),
        None,
    ]);
    assert_eq!(claim_outcome(&ours, &refusals), ClaimOutcome::Claimed);
    assert_eq!(
        claim_outcome(&sending("n2"), &refusals),
        ClaimOutcome::Conflict,
        "another's nonce"
    );
}

#[test]
fn a_claim_that_finds_its_nonce_in_a_later_revision_is_a_conflict() {
    let ours = sending("n1");
    let mut later = ours.clone();
    later.out.as_mut().unwrap().record_slot(from_unix_millis(9));
    let found = records::open_message_item("test", &later).unwrap();
    assert_eq!(
        claim_outcome(
            &ours,
            &FailedConditions::from(vec![Some(ConditionFailed(Some(found)))])
        ),
        ClaimOutcome::Conflict
    );
}

#[test]
fn a_guard_stops_a_claim_only_if_the_message_is_as_it_was_read() {
    let ours = sending("n1");
    assert_eq!(
        claim_outcome(
            &ours,
            &FailedConditions::from(vec![None, Some(ConditionFailed(None)), None])
        ),
        ClaimOutcome::Stopped
    );
    assert_eq!(
        claim_outcome(
            &ours,
            &FailedConditions::from(vec![
                Some(ConditionFailed(None)),
                Some(ConditionFailed(None)),
                None
            ])
        ),
        ClaimOutcome::Conflict
    );
}
