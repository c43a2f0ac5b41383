//! Asks once an hour how WhatsApp judges each number: its quality, and to how many people its business may write first.

use futures::stream::{self, StreamExt};
use jiff::Timestamp;
use recado_domain::ids::{InstanceId, hash_parts};
use recado_domain::instance::{ConnectionStatus, InstanceChange};
use recado_pipeline::Deps;
use recado_pipeline::hooks::reconcile_pass::{PassMinute, ReconcilePass, is_every_minute};
use recado_pipeline::reconcile::SIDE_BY_SIDE;
use recado_pipeline::steps::enabled_instance::change_unread_state;
use recado_pipeline::steps::installation_reading::InstanceReading;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::find_config_by_id;

/// Number of minutes within which each number is asked for once.
const MINUTES: u64 = 60;

/// The quality and the limit of each number are asked for once an hour, where its provider tells them.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "standings",
    failure_message: "numbers were not asked for",
    is_due_at: is_every_minute,
    works_on_reading: true,
    run: |deps, minute| Box::pin(ask_standings(deps, minute)),
};

/// Returns `true` if this is the minute of the hour in which this instance's number is asked for.
fn is_in_turn(instance: &InstanceId, now: Timestamp) -> bool {
    let hash = u64::from_str_radix(&hash_parts(&["standing", instance.as_str()], 4), 16).unwrap_or_default();
    now.as_second().div_euclid(60).unsigned_abs() % MINUTES == hash % MINUTES
}

/// Asks for the numbers whose turn it is, and stores what was told. Returns their number.
async fn ask_standings(deps: &Deps, minute: &mut PassMinute) -> PortResult<usize> {
    let Some(reading) = &minute.reading else {
        return Ok(0);
    };
    let now = deps.system().now();
    let is_asked = |one: &&InstanceReading| {
        let has_limit = deps
            .providers()
            .capabilities(one.instance.provider)
            .has_service_window;
        has_limit && one.connection == ConnectionStatus::Open && is_in_turn(&one.instance.id, now)
    };
    let asked: Vec<InstanceId> = reading
        .instances
        .iter()
        .filter(is_asked)
        .map(|one| one.instance.id.clone())
        .collect();
    let told: Vec<PortResult<bool>> = stream::iter(asked)
        .map(|instance| async move { ask_standing(deps, &instance).await })
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let mut count = 0;
    for one in told {
        count += usize::from(one?);
    }
    Ok(count)
}

async fn ask_standing(deps: &Deps, instance: &InstanceId) -> PortResult<bool> {
    let Some(bound) = find_config_by_id(deps.store(), instance).await? else {
        return Ok(false);
    };
    let Some(seen) = deps.providers().query_standing(&bound).await else {
        return Ok(false);
    };
    let now = deps.system().now();
    change_unread_state(deps, instance, &InstanceChange::Standing { seen, now }).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_one_minute_of_every_hour() {
        for name in ["meta-01", "meta-02", "a", "b"] {
            let instance = InstanceId::parse(name).expect("an id");
            for hour in 0..3 {
                let minutes = (0..60).filter(|minute| {
                    let at = Timestamp::from_second(1_700_000_000 + hour * 3_600 + minute * 60);
                    is_in_turn(&instance, at.expect("a time"))
                });
                assert_eq!(minutes.count(), 1, "{name}");
            }
        }
    }
}
