//! Reads at the start of a function what its first run needs, side by side. So its connections are open when the run begins. A start has
//! a whole processor, whatever the memory of the function.

use crate::required_variables::FunctionNeeds;
use futures::future::join;
use recado_aws::{AwsSecrets, DynamoStore, OsSystem};
use recado_pipeline::steps::queue_message::format_error_chain;
use std::time::Duration;

/// Longest time for these reads, of the 10 seconds that Lambda allows for a start.
const READ_LIMIT: Duration = Duration::from_secs(3);

/// Reads what a function with these needs reads first. After a failure the function starts all the same, and its run reads again.
pub(crate) async fn read_ahead(
    needs: &FunctionNeeds,
    store: &DynamoStore<OsSystem>,
    secrets: &AwsSecrets<OsSystem>,
) {
    let format = async {
        if needs.reads_format {
            store.check_format().await
        } else {
            Ok(())
        }
    };
    let masters = async {
        if needs.proves_webhooks {
            secrets.webhook_masters().await.map(drop)
        } else {
            Ok(())
        }
    };
    let Ok((format, masters)) = tokio::time::timeout(READ_LIMIT, join(format, masters)).await else {
        tracing::warn!("the reads at the start took too long");
        return;
    };
    for error in [format, masters].into_iter().filter_map(Result::err) {
        tracing::warn!(error = %format_error_chain(&error), "a read at the start failed");
    }
}

#[cfg(test)]
mod tests;
