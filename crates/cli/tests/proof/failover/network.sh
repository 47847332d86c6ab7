# Three machines as namespaces of the network, on one switch, each with a small disk for PostgreSQL.
#
# Parameters: up or down, prefix of all names, network (its first three numbers), directory, owner of
# the disks, bytes of a disk. Needs root.
set -u
action=$1 name=$2 net=$3 directory=$4

up() {
    set -e
    ip link add "$name" type bridge
    ip address add "$net.1/24" dev "$name"
    ip link set "$name" up
    for number in 1 2 3; do
        machine=$name-$number
        ip netns add "$machine"
        ip link add "$machine" type veth peer name eth0 netns "$machine"
        ip link set "$machine" master "$name" up
        ip -n "$machine" address add "$net.1$number/24" dev eth0
        ip -n "$machine" link set eth0 up
        ip -n "$machine" link set lo up
        mkdir -p "$directory/$number/disk"
        mount -t tmpfs -o size="$2" tmpfs "$directory/$number/disk"
        chown -R "$1" "$directory/$number"
    done
}

down() {
    for number in 1 2 3; do
        for process in $(ip netns pids "$name-$number"); do
            kill -KILL "$process"
        done
    done
    for number in 1 2 3; do
        # Its last process may not be gone yet.
        until umount "$directory/$number/disk" || ! mountpoint -q "$directory/$number/disk"; do
            sleep 0.1
        done
        ip netns delete "$name-$number"
    done
    ip link delete "$name"
    rm -rf "$directory"
}

case $action in
up) up "$5" "$6" ;;
down) down 2> /dev/null ;;
esac
