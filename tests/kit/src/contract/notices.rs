//! Notices of accounts: the newest are shown, each once.

use crate::builders::{at, far_ahead, fresh, long_ago};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::notice::{NOTICES_MAX, NewNotice, Notice, NoticeKind};
use recado_domain::provider::Provider;
use recado_ports::ports::Store;
use recado_ports::records::notices::{delete_notices, list_notices, put_notice};
use serde_json::json;

/// A notice of second `second` of an account.
fn notice(account: &str, second: i64) -> Notice {
    let told = NewNotice {
        kind: NoticeKind::TemplateStatus,
        summary: "template lembrete (pt_BR): approved".to_owned(),
        at: Some(at(second * 1_000)),
        details: json!({"event": "APPROVED", "reason": "NONE", "tiers": [1, 0.5, 1e300, null, {"deep": true, "": {}}], "empty": ""}),
    };
    Notice::with_derived_id(Provider::Meta, account, told, at(0))
}

async fn shown<S: Store>(store: &S, account: &str) -> Vec<Notice> {
    succeed(list_notices(store, Provider::Meta, account)).await
}

pub async fn an_account_of_which_nothing_was_told_has_none<S: Store>(store: &S) {
    assert!(shown(store, &fresh("account")).await.is_empty());
}

pub async fn a_notice_comes_back_as_it_was_put<S: Store>(store: &S) {
    let notice = notice(&fresh("account"), 7);
    succeed(put_notice(store, &notice, far_ahead())).await;
    assert_eq!(shown(store, &notice.account).await, [notice]);
}

pub async fn the_newest_are_first_in_whatever_order_they_come<S: Store>(store: &S) {
    let account = fresh("account");
    for second in [3, 9, 5, 1] {
        succeed(put_notice(store, &notice(&account, second), far_ahead())).await;
    }
    let seconds: Vec<i64> = shown(store, &account)
        .await
        .iter()
        .map(|notice| notice.at.as_second() - at(0).as_second())
        .collect();
    assert_eq!(seconds, [9, 5, 3, 1]);
}

pub async fn a_notice_that_is_repeated_is_kept_once_as_it_first_came<S: Store>(store: &S) {
    let account = fresh("account");
    let first = notice(&account, 7);
    // Where the provider says no time, a repetition has that of its own arrival.
    let again = Notice {
        at: at(99_000),
        ..first.clone()
    };
    succeed(put_notice(store, &first, far_ahead())).await;
    succeed(put_notice(store, &again, far_ahead())).await;
    join_all((0..8).map(|_| put_notice(store, &again, far_ahead())))
        .await
        .into_iter()
        .for_each(Result::unwrap);
    assert_eq!(shown(store, &account).await, [first]);
}

pub async fn at_most_the_newest_fifty_are_shown<S: Store>(store: &S) {
    let account = fresh("account");
    let count = i64::try_from(NOTICES_MAX).unwrap() + 5;
    let put: Vec<Notice> = (0..count).map(|second| notice(&account, second)).collect();
    join_all(put.iter().map(|notice| put_notice(store, notice, far_ahead())))
        .await
        .into_iter()
        .for_each(Result::unwrap);
    let expected: Vec<Notice> = put.into_iter().rev().take(NOTICES_MAX).collect();
    assert_eq!(shown(store, &account).await, expected);
}

pub async fn accounts_do_not_mix<S: Store>(store: &S) {
    let (one, other) = (fresh("account"), fresh("account"));
    let notices = [notice(&one, 1), notice(&other, 2)];
    for notice in &notices {
        succeed(put_notice(store, notice, far_ahead())).await;
    }
    assert_eq!(shown(store, &one).await, notices[..1]);
    assert_eq!(shown(store, &other).await, notices[1..]);
    let elsewhere = succeed(list_notices(store, Provider::Evolution, &one)).await;
    assert!(elsewhere.is_empty());
}

pub async fn an_expired_notice_is_gone_and_may_come_anew<S: Store>(store: &S) {
    let notice = notice(&fresh("account"), 7);
    succeed(put_notice(store, &notice, long_ago())).await;
    assert!(shown(store, &notice.account).await.is_empty());
    succeed(put_notice(store, &notice, far_ahead())).await;
    assert_eq!(shown(store, &notice.account).await, [notice]);
}

pub async fn the_notices_of_an_account_are_deleted_and_those_of_others_stay<S: Store>(store: &S) {
    let (one, other) = (fresh("account"), fresh("account"));
    for second in 1..=5 {
        succeed(put_notice(store, &notice(&one, second), far_ahead())).await;
    }
    let kept = notice(&other, 1);
    succeed(put_notice(store, &kept, far_ahead())).await;
    for expected in [2, 2, 1, 0] {
        let deleted = succeed(delete_notices(store, Provider::Meta, &one, 2)).await;
        assert_eq!(deleted, expected);
    }
    assert!(shown(store, &one).await.is_empty());
    assert_eq!(shown(store, &other).await, [kept]);
    // Nothing is left of it that would keep it from coming anew.
    let again = notice(&one, 1);
    succeed(put_notice(store, &again, far_ahead())).await;
    assert_eq!(shown(store, &one).await, [again]);
}
