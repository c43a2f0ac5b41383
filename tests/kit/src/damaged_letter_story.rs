//! What a store shows of a dead letter whose record cannot be read.

use crate::builders::{Fixture, at};
use crate::ports::succeed;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_ports::ports::{PageRequest, Store};
use recado_ports::records::dead_letters::{
    DeadLetterFilter, find_dead_letter, list_dead_letters, put_dead_letter, remove_dead_letter,
};
use recado_ports::table::{Condition, NewItem, Record, Write};

/// What may be left of a record.
const DAMAGED: [&str; 3] = [
    "{",
    "{\"attempts\": 3, \"reason\": \"of another version\"}",
    "null",
];

/// Lists three dead letters of one tenant, of which the second is damaged; then deletes that one. The store has no others.
pub async fn a_damaged_letter_is_listed_and_deleted<S: Store>(store: &S) {
    for body in DAMAGED {
        let fixture = Fixture::new();
        let letters = [1, 2, 3].map(|time| DeadLetter {
            at: at(time),
            ..fixture.dead_letter()
        });
        for letter in &letters {
            assert!(succeed(put_dead_letter(store, letter)).await);
        }
        damage(store, &letters[1], body).await;
        assert_listed(store, &letters).await;
        let damaged = succeed(find_dead_letter(store, &letters[1].id)).await.unwrap();
        assert!(matches!(damaged.what, DeadLetterContent::Damaged { .. }));
        assert!(
            damaged.build_redrive_payload(None).unwrap().is_none(),
            "nothing of it can be redriven"
        );
        for letter in [&damaged, &letters[0], &letters[2]] {
            assert!(succeed(remove_dead_letter(store, &letter.id, letter.at)).await);
            assert_eq!(succeed(find_dead_letter(store, &letter.id)).await, None);
        }
    }
}

async fn damage<S: Store>(store: &S, letter: &DeadLetter, body: &str) {
    let item = NewItem {
        key: letter.key(),
        body: body.to_owned(),
        expires: None,
        due: None,
    };
    let writes = [Write::Put(item, Condition::Always)];
    assert!(succeed(store.write(&writes)).await.is_ok());
}

async fn assert_listed<S: Store>(store: &S, letters: &[DeadLetter; 3]) {
    let page = PageRequest::first(10);
    let of_tenant = DeadLetterFilter {
        tenant: letters[0].tenant.clone(),
        ..DeadLetterFilter::default()
    };
    for filter in [DeadLetterFilter::default(), of_tenant] {
        let found = succeed(list_dead_letters(store, &filter, &page)).await.items;
        let ids: Vec<&str> = found.iter().map(|letter| letter.id.as_str()).collect();
        let expected: Vec<&str> = letters.iter().rev().map(|letter| letter.id.as_str()).collect();
        assert_eq!(ids, expected, "the newest first, and none is missing");
        assert_eq!((&found[0], &found[2]), (&letters[2], &letters[0]));
        assert!(
            matches!(found[1].what, DeadLetterContent::Damaged { .. }),
            "{found:?}"
        );
        assert_eq!(found[1].tenant, letters[1].tenant);
        assert_eq!(found[1].instance, letters[1].instance);
        assert_eq!((found[1].at, found[1].kind_name()), (letters[1].at, "damaged"));
    }
}
