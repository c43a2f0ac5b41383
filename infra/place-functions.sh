#!/bin/sh
# Puts the functions of a debug build where the template looks for them, without their symbols:
#
#   infra/place-functions.sh webhook processor …
#
# For the emulator, which runs them on this machine. What is deployed to AWS is built by cargo lambda.
set -eu
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-target}/debug
for function in "$@"; do
    folder=target/lambda/$function
    mkdir -p "$folder"
    strip -o "$folder/bootstrap.new" "$built/$function"
    mv "$folder/bootstrap.new" "$folder/bootstrap"
done
