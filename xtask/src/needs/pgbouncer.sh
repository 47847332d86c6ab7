# Installs PgBouncer into the folder $1, with a script `run` that starts it.
#
# The packages of Debian 12 have 1.18, which does not know prepared statements. So the packages of
# Debian 13 are unpacked into the folder, with the libraries that they need, and nothing is installed on
# the system. Package lists and keys are those of the system's own sources.
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
apt download pgbouncer libc6 libcares2 libevent-2.1-7t64 libpam0g libssl3t64 libsystemd0 libaudit1 \
    libcap-ng0 libcap2 libzstd1 zlib1g libgcc-s1
for package in *.deb; do
    dpkg-deb -x "$package" ../root
done
cd ..
rm -rf lists cache packages
libraries=$(dirname "$(find root -name 'libc.so.6' | head -n 1)")
loader=$(find root -name 'ld-linux*.so*' | head -n 1)
cat > run.new <<END
#!/bin/sh
here=\$(dirname "\$0")
exec "\$here/$loader" --library-path "\$here/$libraries" "\$here/root/usr/sbin/pgbouncer" "\$@"
END
chmod +x run.new
rm -rf root/usr/share root/usr/lib/*/gconv
./run.new --version
mv run.new run
