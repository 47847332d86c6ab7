# Installs Patroni and etcd into the folder $1: `etcd` is the program, `python` has the packages.
#
# The etcd of Debian 12 has a fault that makes a cluster lose what it acknowledged when a machine was
# paused (etcd issue 15247). So that of Debian 13 is taken, and nothing is installed on the system.
# Package lists and keys are those of the system's own sources. PostgreSQL's client library and Python
# are those of the system.
set -eu
rm -rf "$1"
mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/packages" "$1/root"
cd "$1"
address=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null \
    | sed -n 's/^URIs: *\([^ ]*\).*/\1/p; s/^deb \(\[.*\] \)*\([a-z]*:[^ ]*\) .*/\2/p' \
    | grep -v security | head -n 1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $address trixie main" > sources.list
touch status
apt() {
    apt-get -q -o APT::Sandbox::User=root -o Dir::Etc::sourcelist="$PWD/../sources.list" \
        -o Dir::Etc::sourceparts=- -o Dir::State="$PWD/.." -o Dir::State::lists="$PWD/../lists" \
        -o Dir::State::status="$PWD/../status" -o Dir::Cache="$PWD/../cache" "$@"
}
cd packages
apt update
apt download etcd-server
dpkg-deb -x etcd-server_*.deb ../root
cd ..
python3 -m venv --clear venv
venv/bin/pip install --quiet --target python 'patroni[etcd3]==4.1.5' psycopg==3.3.9
PYTHONPATH=python /usr/bin/python3 -m patroni --version
root/usr/bin/etcd --version
mv root/usr/bin/etcd etcd.new
rm -rf lists cache packages root venv status sources.list
mv etcd.new etcd
