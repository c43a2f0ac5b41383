//! What every backend must do: each sentence of the ports' documentation as a test, written once.
//!
//! A backend runs all of it with `store_contract!(make)` and `queues_contract!(make)`. `make` is an async function, or a
//! closure that returns a future, without arguments. It returns the store (or the queues): a new one each time, or a
//! handle to one that all cases share. The store has the kinds of [`crate::own_kinds::list_all_kinds`]. A second argument, an async function, is called with the store after each case. The calling crate needs `tokio` with `macros`, `rt` and `time`. Each `pub async fn`
//! of a file in this folder is a case: `build.rs` lists them, so none can be forgotten.
//!
//! Every case makes ids of its own and looks only at what bears them, so all can run at once on one store, and again on
//! the same store. Times are passed in and fixed; where a store looks at its own clock (expiry), the times are decades
//! away from it. Lists and indexes may be some seconds old, so they are asked again until they are as they should be, for
//! a while.

pub mod alerts;
pub mod aliases;
pub mod audit;
pub mod batches;
pub mod bookings;
pub mod calendars;
pub mod catching_up;
pub mod claims;
pub mod commits;
pub mod contents;
pub mod conversations;
pub mod cursors;
pub mod dead_letters;
pub mod dead_queues;
pub mod deliveries;
pub mod directory;
pub mod downloads;
pub mod effects;
pub mod endpoint_records;
pub mod entries;
pub mod erasure;
pub mod files;
pub mod gauges;
pub mod guests;
pub mod held_cells;
pub mod identity;
pub mod inbox;
pub mod instances;
pub mod invitation_log;
pub mod invitations;
pub mod joint_writes;
pub mod knowledge;
pub mod lists;
pub mod notices;
pub mod openings;
pub mod opt_outs;
pub mod outbox;
pub mod overdue;
pub mod overdue_files;
pub mod parked;
pub mod payloads;
pub mod published_events;
pub mod replies;
pub mod retention;
pub mod samples;
pub mod scheduled;
pub mod sessions;
pub mod settlements;
pub mod stored_messages;
pub mod table;
pub mod table_kinds;
pub mod table_pages;
pub mod table_records;
pub mod tenant_records;
pub mod tenants;
pub mod tokens;
pub mod tools;
pub mod traces;
pub mod turn_places;
pub mod typing;
pub mod unacknowledged;
pub mod usage;
pub mod waiting;
pub mod yielding;

pub(crate) mod given;
pub(crate) mod items;
mod patience;

/// Is what follows each case where nothing else is said.
pub fn check_nothing_more<S>(_: &S) -> std::future::Ready<()> {
    std::future::ready(())
}

/// Makes a module of each list, and a test of each of its cases.
#[doc(hidden)]
#[macro_export]
macro_rules! contract_tests {
    ($make:expr, $after:expr; $($list:ident { $($case:ident,)* })+) => {
        $(
            mod $list {
                #[allow(unused_imports, reason = "`make` may be a path that needs no import")]
                use super::*;

                $(
                    #[tokio::test]
                    async fn $case() {
                        let store = ($make)().await;
                        $crate::contract::$list::$case(&store).await;
                        ($after)(&store).await;
                    }
                )*
            }
        )+
    };
}

include!(concat!(env!("OUT_DIR"), "/contract_cases.rs"));
