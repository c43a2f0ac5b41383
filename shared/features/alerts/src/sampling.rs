//! Stores a sample of each minute, from which trends are made.

use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::ids::InstanceId;
use recado_domain::millis::add_duration;
use recado_domain::sample::SAMPLE_RETENTION;
use recado_pipeline::Deps;
use recado_pipeline::hooks::reconcile_pass::{PassMinute, ReconcilePass, is_every_minute};
use recado_pipeline::reconcile::SIDE_BY_SIDE;
use recado_pipeline::steps::installation_reading::InstallationReading;
use recado_ports::ports::PortResult;
use recado_ports::records::samples::put_samples;
use std::collections::BTreeMap;

/// Maximum number of tenants whose samples are stored in one minute. So a large installation does not write more and more.
const TENANTS_MAX: usize = 99;

/// Maximum number of instances whose states are read for their rate.
const RATES_MAX: usize = 100;

/// Each minute has one sample of the installation, which keeps the checks of connections, and samples of its tenants.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "samples",
    failure_message: "no sample was stored",
    is_due_at: is_every_minute,
    works_on_reading: true,
    run: |deps, minute| Box::pin(record_samples(deps, minute)),
};

/// Stores the sample of the installation, with the checks of connections, and those of tenants, the worst first.
async fn record_samples(deps: &Deps, minute: &mut PassMinute) -> PortResult<usize> {
    let Some(reading) = &minute.reading else {
        return Ok(0);
    };
    let looks = std::mem::take(&mut minute.looks);
    let slots = read_slots(deps, reading).await?;
    let mut installation = reading.to_sample(&slots);
    installation.looks = looks;
    let mut samples = reading.to_tenant_samples(&slots);
    // A tenant with an instance that cannot send goes first: its uptime is counted from the samples.
    samples.sort_by_key(|sample| {
        std::cmp::Reverse((sample.disconnected > 0, sample.depth, sample.dead_letters))
    });
    if samples.len() > TENANTS_MAX {
        tracing::warn!(
            tenants = samples.len(),
            most = TENANTS_MAX,
            "not every tenant's sample is stored"
        );
        installation.tenants_left_out = (samples.len() - TENANTS_MAX) as u64;
        samples.truncate(TENANTS_MAX);
    }
    samples.push(installation.clone());
    let expires = add_duration(deps.system().now(), SAMPLE_RETENTION);
    put_samples(deps.store(), &samples, expires).await?;
    minute.sample = Some(installation);
    Ok(1)
}

/// Reads the numbers of send slots of the instances for which messages wait.
async fn read_slots(deps: &Deps, reading: &InstallationReading) -> PortResult<BTreeMap<InstanceId, u64>> {
    let mut waiting: Vec<_> = reading.instances.iter().filter(|one| one.depth > 0).collect();
    waiting.sort_by_key(|one| std::cmp::Reverse(one.depth));
    waiting.truncate(RATES_MAX);
    let ids: Vec<InstanceId> = waiting.into_iter().map(|one| one.instance.id.clone()).collect();
    stream::iter(ids)
        .map(|id| async move {
            let state = deps.store().read_instance_state(&id).await?;
            Ok((id, state.slots))
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .try_collect()
        .await
}
