#!/usr/bin/env bash
# Runs the units of infra/systemd under a real systemd, in a container of systemd-nspawn: started, restarted by two signals, killed,
# upgraded under load, backed up, stopped. As root:
#
#   tests/systemd.sh NEW [OLD] [-- ARGUMENTS OF benches/restart.py]
#
# NEW and OLD are programs; OLD runs until the upgrade. Needs debootstrap and systemd-container, and fetches Debian once, into
# .tools/debian. It is no part of `make test`: few machines that build have both root and cgroups.
set -euo pipefail
cd "$(dirname "$0")/.."
new=$(realpath "$1")
shift
old=$new
if [ "${1:---}" != -- ]; then
  old=$(realpath "$1")
  shift
fi
[ "${1:-}" = -- ] && shift
root=${DEBIAN_ROOT:-$PWD/.tools/debian}
if [ ! -x "$root/usr/bin/python3" ]; then
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,python3-minimal,libpython3-stdlib bookworm "$root"
fi
rm -rf "$root/tried"
mkdir "$root/tried"
cp "$old" "$root/tried/old"
cp "$new" "$root/tried/new"
cp -r benches infra/systemd "$root/tried"
cp infra/systemd/* "$root/etc/systemd/system/"
cat > "$root/tried/run.sh" <<EOF
#!/bin/sh
# Everything that is done inside. The first command that fails ends it.
set -eux
id recado 2>/dev/null || useradd --system --home-dir /var/lib/recado --shell /usr/sbin/nologin recado
install /tried/old /usr/local/bin/recado
systemctl --version | head -n 1
systemd-analyze verify /etc/systemd/system/recado*
systemctl enable recado.socket recado.service recado-backup.timer
python3 -B /tried/benches/restart.py --systemd --before /tried/old --binary /tried/new $*
# The end of that was a stop. Now a start by the first connection, a backup beside it, and a stop.
systemctl start recado.socket
python3 -c 'import urllib.request; print(urllib.request.urlopen("http://127.0.0.1:8080/health").read())'
systemctl is-active recado.service
systemctl start recado-backup.service
/usr/local/bin/recado backup /var/lib/recado-backups/* --check
systemctl show recado.service --property=NRestarts --property=Result --property=MainPID
systemctl stop recado.socket recado.service
systemctl show recado.service --property=ActiveState --property=Result
journalctl --unit=recado.service --no-pager --output=cat | tail -n 20
EOF
cat > "$root/etc/systemd/system/tried.service" <<'EOF'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c '/bin/sh /tried/run.sh > /tried/log 2>&1; echo $? > /tried/status'
ExecStopPost=/bin/systemctl poweroff --no-block
TimeoutStartSec=1200
[Install]
WantedBy=default.target
EOF
mkdir -p "$root/etc/systemd/system/default.target.wants"
ln -sf ../tried.service "$root/etc/systemd/system/default.target.wants/tried.service"
systemd-nspawn --quiet --directory="$root" --boot --register=no --keep-unit --private-network --machine=recado-tried \
  > "$root/tried/console" 2>&1 < /dev/null || true
cat "$root/tried/log"
exit "$(cat "$root/tried/status")"
