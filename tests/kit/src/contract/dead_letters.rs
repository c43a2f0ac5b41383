//! Dead letters.

use super::items::put_unreadable;
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, correlation, fresh, newest};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::ids::Ordinal;
use recado_domain::reason::Reason;
use recado_ports::ports::{PageRequest, Store};
use recado_ports::records::dead_letters::{
    DeadLetterFilter, count_dead_letters, find_dead_letter, find_failure_time, list_dead_letters,
    put_dead_letter, remove_dead_letter,
};
use recado_ports::table::Record;
use serde_json::{Value, json};

/// More pages than any list here has.
const PAGES_MAX: usize = 100;

fn of_instance(fixture: &Fixture) -> DeadLetterFilter {
    DeadLetterFilter {
        tenant: Some(fixture.bound.tenant.id.clone()),
        instance: Some(fixture.instance().clone()),
        ..DeadLetterFilter::default()
    }
}

async fn listed<S: Store>(store: &S, filter: &DeadLetterFilter, limit: usize) -> Vec<DeadLetter> {
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let page = succeed(list_dead_letters(store, filter, &PageRequest { limit, cursor })).await;
        assert!(page.items.len() <= limit, "a page holds at most {limit}");
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return all;
        }
    }
    panic!("the list does not end");
}

/// What is listed, once it is as expected.
async fn settled<S: Store>(store: &S, filter: &DeadLetterFilter, limit: usize, expected: &[DeadLetter]) {
    let read = async || listed(store, filter, limit).await;
    let found = eventually(INDEX, read, |found| found == expected).await;
    let ids = |dead_letters: &[DeadLetter]| {
        dead_letters
            .iter()
            .map(|dead_letter| dead_letter.at)
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&found), ids(expected), "{filter:?} by {limit}");
    assert_eq!(found, expected);
}

async fn count<S: Store>(store: &S, fixture: &Fixture, expected: u64) {
    let read = async || {
        succeed(count_dead_letters(store, None))
            .await
            .count_of(Some(fixture.instance()))
    };
    assert_eq!(
        eventually(INDEX, read, |found| *found == expected).await,
        expected
    );
}

/// Six dead letters of one instance, two of each queue, the newest first.
async fn six<S: Store>(store: &S, fixture: &Fixture) -> Vec<DeadLetter> {
    let mut dead_letters = Vec::new();
    for (index, minutes) in [4, 1, 6, 3, 2, 5].into_iter().enumerate() {
        let dead_letter = DeadLetter {
            queue: QueueName::ALL[index % 3],
            reason: [Reason::Poison, Reason::WindowClosed][index / 3],
            at: at(minutes * 60_000),
            ..fixture.dead_letter()
        };
        succeed(put_dead_letter(store, &dead_letter)).await;
        dead_letters.push(dead_letter);
    }
    dead_letters.sort_by_key(|dead_letter| std::cmp::Reverse(dead_letter.at));
    dead_letters
}

pub async fn a_dead_letter_is_kept_as_it_is<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let message = fixture.conversation(1).id.message_id(Ordinal(3));
    let outgoing = DeadLetter {
        id: message.to_string(),
        queue: QueueName::Outbound,
        last_error: None,
        what: DeadLetterContent::Message { message },
        ..fixture.dead_letter()
    };
    let unreadable = DeadLetter {
        what: DeadLetterContent::Unreadable {
            body: "{\"half\": \u{1F33B}\u{0}".to_owned(),
        },
        instance: None,
        ..fixture.dead_letter()
    };
    let of_turns = |job: Value| DeadLetter {
        id: fresh("job"),
        queue: QueueName::Turns,
        what: DeadLetterContent::Turns(Box::new(serde_json::from_value(job).unwrap())),
        ..fixture.dead_letter()
    };
    let (conversation, tenant) = (fixture.conversation(1).id, &fixture.bound.tenant.id);
    let turn = of_turns(json!({
        "job": "turn", "conversation": conversation, "tenant": tenant, "ordinal": 1, "correlation": "k", "due": 60_000,
    }));
    let batch =
        of_turns(json!({"job": "batch", "tenant": tenant, "batch": "b", "from": 40, "correlation": "k"}));
    for dead_letter in [fixture.dead_letter(), outgoing, unreadable, turn, batch] {
        assert_eq!(succeed(find_dead_letter(store, &dead_letter.id)).await, None);
        succeed(put_dead_letter(store, &dead_letter)).await;
        assert_eq!(
            succeed(find_dead_letter(store, &dead_letter.id)).await,
            Some(dead_letter.clone())
        );
        assert!(succeed(remove_dead_letter(store, &dead_letter.id, dead_letter.at)).await);
    }
}

pub async fn one_of_the_same_id_is_replaced<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let first = fixture.dead_letter();
    assert!(succeed(put_dead_letter(store, &first)).await);
    let second = DeadLetter {
        queue: QueueName::Turns,
        reason: Reason::Stale,
        at: at(60_000),
        attempts: 9,
        ..first
    };
    assert!(succeed(put_dead_letter(store, &second)).await);
    assert_eq!(
        succeed(find_dead_letter(store, &second.id)).await,
        Some(second.clone())
    );
    settled(store, &of_instance(&fixture), 10, std::slice::from_ref(&second)).await;
    let before = DeadLetterFilter {
        queue: Some(QueueName::Inbound),
        ..of_instance(&fixture)
    };
    settled(store, &before, 10, &[]).await;
    count(store, &fixture, 1).await;
}

pub async fn one_that_replaces_anothers_leaves_nothing_of_it<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let of_nobody = DeadLetter {
        tenant: None,
        instance: None,
        ..fixture.dead_letter()
    };
    assert!(succeed(put_dead_letter(store, &of_nobody)).await);
    let owned = DeadLetter {
        at: at(60_000),
        tenant: Some(fixture.bound.tenant.id.clone()),
        instance: Some(fixture.instance().clone()),
        ..of_nobody.clone()
    };
    assert!(succeed(put_dead_letter(store, &owned)).await);
    let nobodys = DeadLetterFilter {
        of_nobody: true,
        ..DeadLetterFilter::default()
    };
    for filter in [nobodys, DeadLetterFilter::default()] {
        let found = listed(store, &filter, 100).await;
        assert!(!found.contains(&of_nobody), "{filter:?}");
    }
    settled(store, &of_instance(&fixture), 10, std::slice::from_ref(&owned)).await;
    count(store, &fixture, 1).await;
    let removed = succeed(remove_dead_letter(store, &of_nobody.id, of_nobody.at)).await;
    assert!(!removed, "it is gone");
    assert!(succeed(remove_dead_letter(store, &owned.id, owned.at)).await);
    count(store, &fixture, 0).await;
}

pub async fn one_that_is_replaced_meanwhile_is_found<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let first = fixture.dead_letter();
    let later = |time| DeadLetter {
        at: at(time),
        ..first.clone()
    };
    let letters: Vec<DeadLetter> = (0..40).map(later).collect();
    succeed(put_dead_letter(store, &letters[0])).await;
    let replacing = async {
        for later in &letters[1..] {
            assert!(succeed(put_dead_letter(store, later)).await);
        }
    };
    let finding = async {
        for _ in &letters {
            let found = succeed(find_dead_letter(store, &first.id)).await;
            assert!(found.is_some());
        }
    };
    futures::join!(replacing, finding);
    let found = succeed(find_dead_letter(store, &first.id)).await;
    assert_eq!(found.as_ref(), letters.last());
    let time = succeed(find_failure_time(store, &first.id)).await;
    assert_eq!(time, found.map(|found| found.at));
}

pub async fn an_unreadable_body_is_kept_whatever_its_characters<S: Store>(store: &S) {
    for character in ["a", "\"", "\\", "\u{0}", "\n", "é", "\u{1F33B}"] {
        let body = character.repeat(400_000);
        let error = "it is no JSON".to_owned();
        let unreadable =
            DeadLetter::from_unreadable_body(QueueName::Inbound, &body, at(1), error, correlation());
        let letter = DeadLetter {
            id: fresh("unreadable"),
            ..unreadable
        };
        succeed(put_dead_letter(store, &letter)).await;
        let DeadLetterContent::Unreadable { body: kept } = &letter.what else {
            panic!("{:?}", letter.kind_name())
        };
        assert!(body.starts_with(kept.as_str()) && kept.len() >= 50_000);
        let found = succeed(find_dead_letter(store, &letter.id)).await;
        assert!(found.as_ref() == Some(&letter), "{character:?}");
        assert!(succeed(remove_dead_letter(store, &letter.id, letter.at)).await);
    }
}

pub async fn an_id_that_no_letter_has_leads_to_none<S: Store>(store: &S) {
    let long = "9".repeat(3_000);
    for id in ["", "#", "a/b", &long] {
        assert_eq!(succeed(find_dead_letter(store, id)).await, None);
        assert_eq!(succeed(find_failure_time(store, id)).await, None);
        assert!(!succeed(remove_dead_letter(store, id, at(0))).await);
    }
}

pub async fn a_removed_tenant_has_none<S: Store>(store: &S) {
    let (gone, stays) = (Fixture::new(), Fixture::new());
    let theirs = six(store, &gone).await;
    let others = six(store, &stays).await;
    put_unreadable(store, theirs[0].key()).await;
    while succeed(store.delete_tenant_records(&gone.bound.tenant.id, &[], 2)).await >= 2 {}
    settled(store, &of_instance(&gone), 10, &[]).await;
    settled(store, &of_instance(&stays), 10, &others).await;
    count(store, &gone, 0).await;
    count(store, &stays, 6).await;
    for letter in &theirs {
        assert_eq!(succeed(find_failure_time(store, &letter.id)).await, None);
    }
}

pub async fn one_of_the_same_or_an_earlier_death_replaces_none<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let later = DeadLetter {
        at: at(60_000),
        ..fixture.dead_letter()
    };
    assert!(succeed(put_dead_letter(store, &later)).await);
    for failed_at in [0, 59_999, 60_000] {
        let earlier = DeadLetter {
            at: at(failed_at),
            attempts: 9,
            ..later.clone()
        };
        assert!(!succeed(put_dead_letter(store, &earlier)).await, "{failed_at}");
        assert_eq!(
            succeed(find_dead_letter(store, &later.id)).await,
            Some(later.clone())
        );
    }
    assert!(!succeed(remove_dead_letter(store, &later.id, at(59_999))).await);
    settled(store, &of_instance(&fixture), 10, std::slice::from_ref(&later)).await;
    count(store, &fixture, 1).await;
}

pub async fn a_removed_one_is_gone<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let dead_letter = fixture.dead_letter();
    assert!(
        !succeed(remove_dead_letter(store, &dead_letter.id, dead_letter.at)).await,
        "there is none"
    );
    succeed(put_dead_letter(store, &dead_letter)).await;
    assert!(succeed(remove_dead_letter(store, &dead_letter.id, dead_letter.at)).await);
    assert_eq!(succeed(find_dead_letter(store, &dead_letter.id)).await, None);
    assert!(
        !succeed(remove_dead_letter(store, &dead_letter.id, dead_letter.at)).await,
        "it is gone"
    );
    settled(store, &of_instance(&fixture), 10, &[]).await;
    count(store, &fixture, 0).await;
}

pub async fn one_of_another_death_is_not_removed<S: Store>(store: &S) {
    let dead_letter = Fixture::new().dead_letter();
    succeed(put_dead_letter(store, &dead_letter)).await;
    for other in [-1, 1] {
        let removed = remove_dead_letter(store, &dead_letter.id, at(other)).await;
        assert!(!removed.unwrap(), "{other} ms beside it");
    }
    assert_eq!(
        succeed(find_dead_letter(store, &dead_letter.id)).await,
        Some(dead_letter)
    );
}

pub async fn of_ten_removals_at_once_one_counts<S: Store>(store: &S) {
    let dead_letter = Fixture::new().dead_letter();
    succeed(put_dead_letter(store, &dead_letter)).await;
    let removal = || remove_dead_letter(store, &dead_letter.id, dead_letter.at);
    let removed = join_all((0..10).map(|_| removal())).await;
    let removed: Vec<bool> = removed.into_iter().map(Result::unwrap).collect();
    assert_eq!(removed.iter().filter(|removed| **removed).count(), 1);
    assert_eq!(succeed(find_dead_letter(store, &dead_letter.id)).await, None);
}

pub async fn the_newest_come_first_by_pages<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let dead_letters = six(store, &fixture).await;
    for limit in [1, 2, 4, 6, 50] {
        settled(store, &of_instance(&fixture), limit, &dead_letters).await;
    }
}

pub async fn those_of_one_time_are_paged_too<S: Store>(store: &S) {
    let fixture = Fixture::new();
    for _ in 0..5 {
        succeed(put_dead_letter(store, &fixture.dead_letter())).await;
    }
    let read = async || {
        let mut ids: Vec<String> = listed(store, &of_instance(&fixture), 2)
            .await
            .into_iter()
            .map(|dead_letter| dead_letter.id)
            .collect();
        ids.sort_unstable();
        ids
    };
    let mut found = eventually(INDEX, read, |ids| ids.len() == 5).await;
    found.dedup();
    assert_eq!(found.len(), 5);
}

pub async fn a_list_is_narrowed_by_queue_reason_and_instance<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let dead_letters = six(store, &fixture).await;
    let of_another_instance = DeadLetter {
        instance: Some(other.instance().clone()),
        ..fixture.dead_letter()
    };
    succeed(put_dead_letter(store, &of_another_instance)).await;
    let queues = [
        None,
        Some(QueueName::Inbound),
        Some(QueueName::Turns),
        Some(QueueName::Outbound),
    ];
    let reasons = [
        None,
        Some(Reason::Poison),
        Some(Reason::WindowClosed),
        Some(Reason::Purged),
    ];
    for queue in queues {
        for reason in reasons {
            let filter = DeadLetterFilter {
                queue,
                reason,
                ..of_instance(&fixture)
            };
            let fits =
                |l: &&DeadLetter| queue.is_none_or(|q| q == l.queue) && reason.is_none_or(|r| r == l.reason);
            let expected: Vec<DeadLetter> = dead_letters.iter().filter(fits).cloned().collect();
            for limit in [1, 50] {
                settled(store, &filter, limit, &expected).await;
            }
        }
    }
}

pub async fn a_list_is_narrowed_by_when_they_died<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let dead_letters = six(store, &fixture).await;
    let minute = |minute: i64| at(minute * 60_000);
    let (three, five) = (Some(minute(3)), Some(minute(5)));
    for (since, until) in [
        (None, None),
        (three, None),
        (None, five),
        (three, five),
        (five, three),
    ] {
        let filter = DeadLetterFilter {
            since,
            until,
            ..of_instance(&fixture)
        };
        let fits = |l: &&DeadLetter| since.is_none_or(|at| l.at >= at) && until.is_none_or(|at| l.at < at);
        let expected: Vec<DeadLetter> = dead_letters.iter().filter(fits).cloned().collect();
        for limit in [1, 50] {
            settled(store, &filter, limit, &expected).await;
        }
    }
}

pub async fn a_list_without_an_instance_holds_all<S: Store>(store: &S) {
    let (mut known, mut unknown) = (Fixture::new().dead_letter(), Fixture::new().dead_letter());
    (known.at, unknown.at) = (newest(), newest());
    unknown.instance = None;
    for dead_letter in [&known, &unknown] {
        succeed(put_dead_letter(store, dead_letter)).await;
    }
    let page = PageRequest::first(100);
    for queue in [None, Some(QueueName::Inbound)] {
        let filter = DeadLetterFilter {
            queue,
            ..DeadLetterFilter::default()
        };
        let read = async || succeed(list_dead_letters(store, &filter, &page)).await.items;
        let there = |found: &Vec<DeadLetter>| found.contains(&known) && found.contains(&unknown);
        assert!(there(&eventually(INDEX, read, there).await));
    }
    for dead_letter in [&known, &unknown] {
        assert!(succeed(remove_dead_letter(store, &dead_letter.id, dead_letter.at)).await);
    }
}

pub async fn they_are_counted_by_instance_and_in_all<S: Store>(store: &S) {
    let fixture = Fixture::new();
    count(store, &fixture, 0).await;
    let dead_letters = six(store, &fixture).await;
    count(store, &fixture, 6).await;
    assert!(succeed(count_dead_letters(store, None)).await.count_of(None) >= 6);
    assert!(succeed(remove_dead_letter(store, &dead_letters[0].id, dead_letters[0].at)).await);
    count(store, &fixture, 5).await;
}
