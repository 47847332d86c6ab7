#!/usr/bin/env bash
# Installs the Debian package into a fresh Debian, boots that with systemd, and looks at the service:
# it is ready, hardened and closed to callers without a key, keeps its key over an upgrade, stops by
# itself, and leaves the jobs behind when it is purged.
#
#   packaging/boot.sh target/packages/steadfast_VERSION_amd64.deb
#
# Needs root, debootstrap and systemd-nspawn (Debian: debootstrap systemd-container); some minutes the
# first time, for the fresh Debian, which is kept in target/boot.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
package=$1
base=target/boot/bookworm
root=target/boot/root

if [ ! -e "$base.complete" ]; then
    rm -rf "$base"
    mkdir -p target/boot
    debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,curl bookworm "$base"
    touch "$base.complete"
fi
rm -rf "$root"
cp --archive "$base" "$root"
cp "$package" "$root/steadfast.deb"

# What is looked at, inside. The last line tells that it came to the end.
cat >"$root/look.sh" <<'LOOK'
set -eu
# Everything is installed while systemd runs, as on a machine in use.
dpkg --install /steadfast.deb
[ "$(stat -c %a:%U /etc/steadfast/steadfast.env)" = 600:root ]
key=$(sed -n 's/^STEADFAST_ADMIN_KEY=//p' /etc/steadfast/steadfast.env)
node=http://127.0.0.1:7373
curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors "$node/readyz" >/dev/null
[ "$(curl --silent --output /dev/null --write-out '%{http_code}' "$node/api/v1/jobs")" = 401 ]
STEADFAST_API_KEY=$key steadfast keys list
[ "$(stat -c %a:%U /var/lib/steadfast/steadfast.db)" = 600:steadfast ]
systemctl is-enabled steadfast
systemd-analyze security --threshold=20 steadfast | tail -1
# Again, as an upgrade.
dpkg --install /steadfast.deb
curl --silent --fail --retry 30 --retry-delay 1 --retry-all-errors "$node/readyz" >/dev/null
grep --quiet "$key" /etc/steadfast/steadfast.env
STEADFAST_API_KEY=$key steadfast jobs list
dpkg --purge steadfast
! systemctl is-active --quiet steadfast
[ ! -e /etc/steadfast ]
[ -e /var/lib/steadfast/steadfast.db ]
echo complete
LOOK
cat >"$root/etc/systemd/system/look.service" <<'UNIT'
[Service]
Type=oneshot
StandardOutput=file:/look.log
StandardError=file:/look.trace
ExecStart=/bin/sh -x /look.sh
ExecStopPost=/bin/systemctl poweroff --no-block
[Install]
WantedBy=multi-user.target
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../look.service "$root/etc/systemd/system/multi-user.target.wants/look.service"

timeout 300 systemd-nspawn --quiet --directory "$root" --boot --register=no --keep-unit \
    --private-network >target/boot/console.log 2>&1 || true
cat "$root/look.log"
if ! grep --quiet --line-regexp complete "$root/look.log"; then
    tail -30 "$root/look.trace"
    exit 1
fi
