#!/bin/sh
# Installs the steadfast program for this user: finds the archive of this machine, checks its sum, and
# copies the program to ~/.local/bin. STEADFAST_INSTALL_DIR names another directory, STEADFAST_DOWNLOADS
# another place to download from.
set -eu

version="{{version}}"
downloads=${STEADFAST_DOWNLOADS:-{{url}}}
directory=${STEADFAST_INSTALL_DIR:-$HOME/.local/bin}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

case "$(uname -s)" in
Linux) ;;
*) fail "there is no package for $(uname -s): build it from source with cargo" ;;
esac
case "$(uname -m)" in
x86_64 | amd64) arch=x86_64 ;;
aarch64 | arm64) arch=aarch64 ;;
*) fail "there is no package for $(uname -m): build it from source with cargo" ;;
esac
name=steadfast-$version-$arch-unknown-linux-musl

if command -v curl >/dev/null; then
    get() { curl --fail --silent --show-error --location --output "$2" "$1"; }
elif command -v wget >/dev/null; then
    get() { wget --quiet --output-document "$2" "$1"; }
else
    fail "curl or wget is needed"
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
get "$downloads/$name.tar.gz" "$scratch/$name.tar.gz" || fail "cannot download $downloads/$name.tar.gz"
get "$downloads/SHA256SUMS" "$scratch/SHA256SUMS" || fail "cannot download $downloads/SHA256SUMS"
grep -F "  $name.tar.gz" "$scratch/SHA256SUMS" >"$scratch/sum" || fail "SHA256SUMS does not name $name.tar.gz"
(cd "$scratch" && sha256sum --check --quiet sum) || fail "$name.tar.gz is damaged: its sum differs"

tar -xzf "$scratch/$name.tar.gz" -C "$scratch"
mkdir -p "$directory"
# Renamed, because a running program cannot be overwritten.
cp "$scratch/$name/steadfast" "$directory/.steadfast.new"
mv "$directory/.steadfast.new" "$directory/steadfast"
"$directory/steadfast" --version
case ":$PATH:" in
*":$directory:"*) echo "next: steadfast demo" ;;
*) echo "next: $directory/steadfast demo (add $directory to your PATH)" ;;
esac
