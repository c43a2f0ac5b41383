#!/bin/sh
# Fails unless every built function is a binary for the given processor.
#
#   infra/check-architecture.sh x86_64|arm64 [directory, by default target/lambda]
#
# Lambda only finds out when it runs the function, with an error that names no cause.
set -eu

architecture=${1:-}
directory=${2:-target/lambda}

# e_machine of the ELF header, bytes 18 and 19, little endian.
case $architecture in
    x86_64) wanted=3e00 ;;
    arm64) wanted=b700 ;;
    *)
        echo "usage: $0 x86_64|arm64 [directory]" >&2
        exit 2
        ;;
esac

bytes() { # file, offset, count -> hex
    od -An -tx1 -j "$2" -N "$3" "$1" | tr -d ' \n'
}

built_for() { # file -> what it is
    [ "$(bytes "$1" 0 4)" = 7f454c46 ] || { echo "not a Linux binary"; return; }
    case $(bytes "$1" 18 2) in
        3e00) echo x86_64 ;;
        b700) echo arm64 ;;
        *) echo "another processor" ;;
    esac
}

# The functions are those that the template deploys, so that one that was not built is noticed too.
root=$(dirname "$0")/..
functions=$(sed -n 's|^ *CodeUri: *target/lambda/\([a-z-]*\)/* *$|\1|p' "$root/template.yaml")
[ -n "$functions" ] || { echo "template.yaml names no function" >&2; exit 1; }

failed=0
for function in $functions; do
    binary=$directory/$function/bootstrap
    if [ ! -f "$binary" ]; then
        echo "$binary is missing" >&2
        failed=1
    elif [ "$(bytes "$binary" 0 4)$(bytes "$binary" 18 2)" != "7f454c46$wanted" ]; then
        echo "$binary: $(built_for "$binary"), but the parameter Architecture is $architecture" >&2
        failed=1
    fi
done
if [ "$failed" -ne 0 ]; then
    [ "$architecture" = arm64 ] && flag=--arm64 || flag=--x86-64
    packages=$(for function in $functions; do printf -- '--package %s ' "$function"; done)
    echo "build them with: cargo lambda build --release $flag $packages" >&2
fi
exit "$failed"
