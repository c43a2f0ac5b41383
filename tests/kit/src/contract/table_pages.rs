//! The pages of a partition of the table: in order, within bounds, and apart from every other partition.

use super::items::{delete_key, page_all, page_names, put_slip, put_slips, save_note, tenant, write_all};
use crate::builders::{far_ahead, fresh, long_ago};
use crate::own_kinds::{Note, Slip};
use crate::ports::succeed;
use recado_domain::ids::TenantId;
use recado_ports::ports::Store;
use recado_ports::table::{Condition, Key, Partition, Query, Record, Version, Write};

/// Places that stores stumble over: marks of patterns and of texts, characters of one to four bytes, long ones.
fn odd_names() -> Vec<String> {
    let mut names = [
        "#",
        "##",
        "a",
        "a#",
        "a#1",
        "a#10",
        "a#2",
        "a%",
        "a_b",
        "aa",
        "A",
        "%",
        "_",
        "*",
        "?",
        "'",
        "''",
        "\"",
        "\\",
        "\\u0000",
        "`",
        "; --",
        " ",
        "\u{1}",
        "\n",
        "\t",
        "~",
        "\u{7f}",
        "{\"a\":1}",
        "../x",
        "e\u{301}",
        "\u{e9}",
        "\u{e9}#",
        "\u{2028}",
        "\u{ff5e}",
        "\u{1F33B}",
        "\u{1F468}\u{200D}\u{1F469}",
        "日本",
        "123",
        "1e3",
    ]
    .map(str::to_owned)
    .to_vec();
    names.extend(["z".repeat(900), "\u{e9}".repeat(450), "\u{1F33B}".repeat(225)]);
    names
}

fn slips_of(tenant: &TenantId) -> Partition {
    Partition::new(Slip::KIND, Some(tenant))
}

/// Asserts that a query finds these places, by several limits, from both ends, and that as many are counted.
async fn assert_found<S: Store, N: AsRef<str>>(store: &S, query: &Query, expected: &[N]) {
    let expected: Vec<&str> = expected.iter().map(N::as_ref).collect();
    for limit in [1, 2, 7, expected.len().max(1), 90] {
        let query = Query {
            limit,
            ..query.clone()
        };
        assert_eq!(page_names(store, &query).await, expected, "{query:?}");
        let mut backwards = page_names(store, &query.clone().in_reverse()).await;
        backwards.reverse();
        assert_eq!(backwards, expected, "backwards: {query:?}");
        let count = succeed(store.count(&query)).await;
        assert_eq!(usize::try_from(count).unwrap(), expected.len(), "{query:?}");
    }
}

pub async fn pages_hold_each_item_once_in_the_order_of_the_bytes<S: Store>(store: &S) {
    let (tenant, empty) = (tenant(), tenant());
    let mut names = odd_names();
    put_slips(store, Some(&tenant), &names).await;
    names.sort_unstable();
    assert_found(store, &Query::new(slips_of(&tenant), 1), &names).await;
    assert_found(store, &Query::new(slips_of(&empty), 1), &[""; 0]).await;
}

pub async fn an_item_with_an_odd_place_and_text_is_found_by_it<S: Store>(store: &S) {
    let tenant = tenant();
    for name in odd_names() {
        let slip = Slip::new(Some(&tenant), &name, &format!("text of {name}\u{0}"));
        put_slip(store, &slip).await;
        let found = succeed(store.get(&slip.key())).await.unwrap();
        assert_eq!(
            (&found.key, Slip::from_body(&found.body).unwrap()),
            (&slip.key(), slip)
        );
        let many = succeed(store.get_many(std::slice::from_ref(&found.key))).await;
        assert_eq!(many, std::slice::from_ref(&found));
        let changed = Slip::new(Some(&tenant), &name, "another");
        write_all(store, &[changed.put(Condition::Version(found.version))]).await;
        let exact = Query {
            from: Some(name.clone()),
            to: Some(name),
            ..Query::new(slips_of(&tenant), 10)
        };
        let found = page_all(store, &exact).await;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(Slip::from_body(&found[0].body).unwrap(), changed);
        let gone = Write::Delete(changed.key(), Condition::Version(found[0].version));
        write_all(store, &[gone]).await;
        assert_found(store, &exact, &[""; 0]).await;
    }
}

fn letters(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}

/// Stores slips whose names are the characters of a text.
async fn put_letters<S: Store>(store: &S, text: &str) -> TenantId {
    let tenant = tenant();
    put_slips(store, Some(&tenant), &letters(text)).await;
    tenant
}

fn bounded(tenant: &TenantId, from: Option<&str>, to: Option<&str>) -> Query {
    Query {
        from: from.map(str::to_owned),
        to: to.map(str::to_owned),
        ..Query::new(slips_of(tenant), 1)
    }
}

pub async fn bounds_belong_to_what_is_found<S: Store>(store: &S) {
    let tenant = put_letters(store, "abcdefgh").await;
    for (from, to, expected) in [
        (None, None, "abcdefgh"),
        (Some("c"), None, "cdefgh"),
        (None, Some("c"), "abc"),
        (Some("c"), Some("e"), "cde"),
        (Some("bb"), Some("dd"), "cd"),
        (Some("c"), Some("c"), "c"),
        (Some("cc"), Some("cd"), ""),
        (Some("e"), Some("c"), ""),
        (Some("x"), None, ""),
        (None, Some("A"), ""),
    ] {
        assert_found(store, &bounded(&tenant, from, to), &letters(expected)).await;
    }
}

pub async fn a_page_begins_behind_its_cursor_wherever_that_is<S: Store>(store: &S) {
    let tenant = put_letters(store, "abcdefgh").await;
    for (after, forwards, backwards) in [
        ("A", "cdef", ""),
        ("b", "cdef", ""),
        ("c", "def", ""),
        ("dd", "ef", "dc"),
        ("f", "", "edc"),
        ("g", "", "fedc"),
        ("zz", "", "fedc"),
    ] {
        let query = Query {
            after: Some(after.to_owned()),
            ..bounded(&tenant, Some("c"), Some("f"))
        };
        for limit in [1, 3, 50] {
            let query = Query {
                limit,
                ..query.clone()
            };
            assert_eq!(page_names(store, &query).await, letters(forwards), "{query:?}");
            let query = query.in_reverse();
            assert_eq!(page_names(store, &query).await, letters(backwards), "{query:?}");
        }
    }
}

pub async fn a_prefix_is_taken_as_it_is_written<S: Store>(store: &S) {
    let tenant = tenant();
    let names = [
        "%",
        "%a",
        "A#1",
        "_",
        "_a",
        "a",
        "a!",
        "a#",
        "a#1",
        "a#1#2",
        "a#\u{e9}",
        "a#\u{1F33B}",
        "a$",
        "b",
        "\u{e9}",
        "\u{e9}a",
        "\u{ea}",
    ];
    put_slips(store, Some(&tenant), &names.map(str::to_owned)).await;
    for (prefix, expected) in [
        ("a#", vec!["a#", "a#1", "a#1#2", "a#\u{e9}", "a#\u{1F33B}"]),
        ("a#1", vec!["a#1", "a#1#2"]),
        ("%", vec!["%", "%a"]),
        ("_", vec!["_", "_a"]),
        ("\u{e9}", vec!["\u{e9}", "\u{e9}a"]),
        ("c", vec![]),
    ] {
        let query = Query::new(slips_of(&tenant), 1).with_prefix(prefix);
        assert_found(store, &query, &expected).await;
    }
}

pub async fn what_has_expired_is_neither_listed_nor_counted<S: Store>(store: &S) {
    let tenant = tenant();
    let slips: Vec<Slip> = (0..30)
        .map(|number| Slip {
            expires: Some(if number % 5 == 3 { far_ahead() } else { long_ago() }),
            ..Slip::new(Some(&tenant), &format!("{number:02}"), "text")
        })
        .collect();
    let writes: Vec<Write> = slips.iter().map(|slip| slip.put(Condition::Always)).collect();
    write_all(store, &writes).await;
    let all = Query::new(slips_of(&tenant), 1);
    assert_found(store, &all, &["03", "08", "13", "18", "23", "28"]).await;
}

pub async fn pages_of_large_items_lose_none<S: Store>(store: &S) {
    let tenant = tenant();
    let names: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    let text = "\u{1F33B}".repeat(85_000);
    for name in &names {
        put_slip(store, &Slip::new(Some(&tenant), name, &text)).await;
    }
    assert_found(store, &Query::new(slips_of(&tenant), 1), &names).await;
    let keys: Vec<Key> = names
        .iter()
        .map(|name| Key::new(Slip::KIND, Some(&tenant), name))
        .collect();
    let many = succeed(store.get_many(&keys)).await;
    assert_eq!(many.len(), keys.len());
}

/// Lists the partitions of a tenant's slips and notes. The name of the one begins as that of the other.
fn list_partitions(tenant: Option<&TenantId>) -> [Partition; 2] {
    [Slip::KIND, Note::KIND].map(|name| Partition::new(name, tenant))
}

pub async fn partitions_do_not_mix<S: Store>(store: &S) {
    let tenant = tenant();
    let longer = TenantId::parse(&format!("{tenant}1")).unwrap();
    let beginning = fresh("name");
    let names = ["a", "b", "c"].map(|end| format!("{beginning}-{end}"));
    let owners = [None, Some(&tenant), Some(&longer)];
    for owner in owners {
        put_slips(store, owner, &names).await;
        for name in &names {
            save_note(store, Note::new(owner, name)).await;
        }
    }
    let of_name = |partition: Partition| Query::new(partition, 1).with_prefix(&beginning);
    let mut filled: Vec<Partition> = owners.iter().flat_map(|owner| list_partitions(*owner)).collect();
    for partition in &filled {
        assert_found(store, &of_name(partition.clone()), &names).await;
    }
    for owner in owners {
        let listed = Query::new(Partition::new(Note::ALL, None), 1);
        let listed = listed.with_prefix(&format!("{}{beginning}", Note::list_prefix(owner)));
        let places = names
            .each_ref()
            .map(|name| format!("{}{name}", Note::list_prefix(owner)));
        assert_found(store, &listed, &places).await;
    }
    while let Some(gone) = filled.pop() {
        for name in &names {
            delete_key(store, Key::new(gone.name, gone.owner.as_ref(), name)).await;
        }
        assert_found(store, &of_name(gone), &[""; 0]).await;
        for partition in &filled {
            assert_found(store, &of_name(partition.clone()), &names).await;
        }
    }
}

pub async fn a_version_of_one_partition_means_nothing_in_another<S: Store>(store: &S) {
    let (one, other) = (tenant(), tenant());
    let put = async |tenant: &TenantId| put_slip(store, &Slip::new(Some(tenant), "a", "text")).await;
    let versions: [Version; 2] = [put(&one).await, put(&other).await];
    assert_ne!(versions[0], versions[1]);
    let swapped = Slip::new(Some(&one), "a", "changed").put(Condition::Version(versions[1]));
    let own = Slip::new(Some(&other), "a", "changed").put(Condition::Version(versions[1]));
    let refused = succeed(store.write(&[swapped, own])).await.unwrap_err();
    assert_eq!(refused.0, [0]);
}
