#!/bin/sh
# Shows on a real account what no emulator can, in about an hour for less than a dollar: infra/smoke.sh --help.
# On the emulator, as far as that goes: make smoke.
exec "$(dirname "$0")/smoke.py" "$@"
