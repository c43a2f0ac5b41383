#!/bin/sh
# Makes a stack of what an earlier one left, so that the next `make deploy` goes on with it:
#
#   infra/adopt.sh STACK TABLE BUCKET [WEBHOOK_MASTER_ARN]
#   infra/adopt.sh --settings TABLE        only sets what a restored table lacks
#
# `sam delete` keeps the table, the bucket and the webhook master. This imports them under the names that template.yaml has
# for them, with nothing else; a stack of that name must not exist. Without the master the stack makes a new one, into which
# the old one's value can be put. A table that was restored from a backup has no stream, no expiry, no backups and no
# protection: they are set first, since the next deployment finds nothing to change in what is imported. Needs the AWS CLI.
set -eu
[ $# -ge 2 ] && [ $# -le 4 ] || { sed -n '2,11p' "$0" >&2; exit 2; }

# Sets what the table lacks of what template.yaml says, and waits until it has it.
set_what_is_lacking() {
    of_table() { aws dynamodb describe-table --table-name "$1" --output text --query "Table.$2"; }
    if [ "$(of_table "$1" StreamSpecification.StreamViewType)" != NEW_AND_OLD_IMAGES ]; then
        aws dynamodb update-table --table-name "$1" --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES > /dev/null
        aws dynamodb wait table-exists --table-name "$1"
        echo "$1: stream set"
    fi
    if [ "$(of_table "$1" DeletionProtectionEnabled)" != True ]; then
        aws dynamodb update-table --table-name "$1" --deletion-protection-enabled > /dev/null
        aws dynamodb wait table-exists --table-name "$1"
        echo "$1: protection set"
    fi
    case $(aws dynamodb describe-time-to-live --table-name "$1" --output text --query TimeToLiveDescription.TimeToLiveStatus) in
        ENABLED | ENABLING) ;;
        *)
            aws dynamodb update-time-to-live --table-name "$1" --time-to-live-specification Enabled=true,AttributeName=ttl > /dev/null
            echo "$1: expiry set"
            ;;
    esac
    backups=ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus
    if [ "$(aws dynamodb describe-continuous-backups --table-name "$1" --output text --query "$backups")" != ENABLED ]; then
        aws dynamodb update-continuous-backups --table-name "$1" \
            --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true > /dev/null
        echo "$1: backups set"
    fi
}

if [ "$1" = --settings ]; then
    set_what_is_lacking "$2"
    exit
fi
[ $# -ge 3 ] || { sed -n '2,11p' "$0" >&2; exit 2; }
stack=$1 table=$2 bucket=$3 master=${4:-}
resources="Table Bucket${master:+ WebhookMaster}"
root=$(dirname "$0")/..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

set_what_is_lacking "$table"

# The three resources as they stand in the template. Only what template.yaml says is imported, so that the next
# deployment finds nothing to change in them.
{
    printf 'AWSTemplateFormatVersion: "2010-09-09"\nResources:\n'
    for resource in $resources; do
        awk -v name="  $resource:" '
            $0 == name { inside = 1; print; next }
            inside && /^  [^ ]/ { exit }
            inside { print }' "$root/template.yaml"
    done
} > "$work/template.yaml"
for resource in $resources; do
    grep -q "^  $resource:" "$work/template.yaml" || { echo "template.yaml has no $resource" >&2; exit 1; }
done
entry() { # type, name in the template, identifier, its value
    printf '{"ResourceType": "%s", "LogicalResourceId": "%s", "ResourceIdentifier": {"%s": "%s"}}' "$@"
}
{
    printf '['
    entry AWS::DynamoDB::Table Table TableName "$table"
    printf ','
    entry AWS::S3::Bucket Bucket BucketName "$bucket"
    [ -z "$master" ] || { printf ','; entry AWS::SecretsManager::Secret WebhookMaster Id "$master"; }
    printf ']'
} > "$work/resources.json"
aws cloudformation create-change-set --change-set-type IMPORT --change-set-name adopt --stack-name "$stack" \
    --template-body "file://$work/template.yaml" --resources-to-import "file://$work/resources.json" > "$work/made.json"
aws cloudformation wait change-set-create-complete --change-set-name adopt --stack-name "$stack"
aws cloudformation describe-change-set --change-set-name adopt --stack-name "$stack" --output table \
    --query 'Changes[].ResourceChange.[Action,LogicalResourceId,PhysicalResourceId]'
aws cloudformation execute-change-set --change-set-name adopt --stack-name "$stack"
aws cloudformation wait stack-import-complete --stack-name "$stack"
echo "$stack holds them; deploy it now"
