//! What a store shows of a dead letter whose record cannot be read.

use crate::ports::succeed;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent};
use recado_ports::ports::{DeadLetterFilter, PageRequest, Store};

/// Lists three dead letters of one tenant, of which the second is damaged; then deletes that one.
pub async fn a_damaged_letter_is_listed_and_deleted<S: Store>(store: &S, letters: &[DeadLetter; 3]) {
    let page = PageRequest {
        limit: 10,
        cursor: None,
    };
    let of_tenant = DeadLetterFilter {
        tenant: letters[0].tenant.clone(),
        ..DeadLetterFilter::default()
    };
    for filter in [DeadLetterFilter::default(), of_tenant] {
        let found = succeed(store.list_dead_letters(&filter, &page)).await.items;
        let ids: Vec<&str> = found.iter().map(|letter| letter.id.as_str()).collect();
        let expected: Vec<&str> = letters.iter().rev().map(|letter| letter.id.as_str()).collect();
        assert_eq!(ids, expected, "the newest first, and none is missing");
        assert_eq!((&found[0], &found[2]), (&letters[2], &letters[0]));
        assert!(
            matches!(found[1].what, DeadLetterContent::Damaged { .. }),
            "{found:?}"
        );
        assert_eq!(found[1].tenant, letters[1].tenant);
        assert_eq!((found[1].at, found[1].kind_name()), (letters[1].at, "damaged"));
    }
    let damaged = succeed(store.find_dead_letter(&letters[1].id)).await.unwrap();
    assert!(matches!(damaged.what, DeadLetterContent::Damaged { .. }));
    assert!(
        damaged.build_redrive_payload(None).unwrap().is_none(),
        "nothing of it can be redriven"
    );
    assert!(succeed(store.remove_dead_letter(&damaged.id, damaged.at)).await);
    assert_eq!(succeed(store.find_dead_letter(&damaged.id)).await, None);
}
