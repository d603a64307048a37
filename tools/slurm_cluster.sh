#!/bin/bash
# A Slurm of four nodes with eight GPUs each, all of them on this machine and none of them real.
#
#   tools/slurm_cluster.sh COMMAND...      runs the command beside it, then takes everything down
#
# For trying examples/slurm without a cluster; needs root and Debian's slurm-wlm and munge. All of it
# lives in mount, network and process namespaces of its own: nothing outside is changed.
set -eu
if [ "${1:-}" != --inside ]; then
  [ $# -gt 0 ] || { sed -n '2,7s/^# \?//p' "$0"; exit 2; }
  for program in slurmctld slurmd munged; do
    PATH=$PATH:/usr/sbin command -v "$program" >/dev/null || { echo "$program is missing: apt-get install slurm-wlm munge" >&2; exit 2; }
  done
  exec unshare --mount --net --pid --fork --kill-child --mount-proc "$0" --inside "$@"
fi
shift
PATH=$PATH:/usr/sbin
cluster=$(mktemp -d)
host=$(hostname)
mount -t tmpfs none "$cluster"

# Slurm resolves no name to a loopback address, so the loopback device gets another one.
ip link set lo up
ip address add 10.88.0.1/32 dev lo
printf '127.0.0.1 localhost\n10.88.0.1 %s n1 n2 n3 n4\n' "$host" >"$cluster/hosts"
mount --bind "$cluster/hosts" /etc/hosts

# slurmd wants control groups of the first version; it only makes folders in them.
mount -t tmpfs none /sys/fs/cgroup
mkdir /sys/fs/cgroup/{systemd,freezer,cpuset,memory,cpuacct,devices}

mkdir "$cluster"/{etc,state,log,munge}
for gpu in 0 1 2 3 4 5 6 7; do
  mknod "$cluster/gpu$gpu" c 1 3
done
cat >"$cluster/etc/slurm.conf" <<END
ClusterName=here
SlurmctldHost=$host
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool-%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd-%n.pid
SlurmctldLogFile=$cluster/log/slurmctld
SlurmdLogFile=$cluster/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=2
MpiDefault=none
GresTypes=gpu
KillWait=5
MinJobAge=600
NodeName=n[1-4] NodeHostname=$host Port=[17001-17004] CPUs=64 RealMemory=8000 Gres=gpu:8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
echo "CgroupPlugin=cgroup/v1" >"$cluster/etc/cgroup.conf"
echo "NodeName=n[1-4] Name=gpu File=$cluster/gpu[0-7]" >"$cluster/etc/gres.conf"
export SLURM_CONF=$cluster/etc/slurm.conf

head -c 1024 /dev/urandom >"$cluster/munge/key"
chmod 400 "$cluster/munge/key"
munged --force --key-file "$cluster/munge/key" --socket "$cluster/munge/socket" \
  --pid-file "$cluster/munge/pid" --seed-file "$cluster/munge/seed" --log-file "$cluster/log/munged"
slurmctld
for node in n1 n2 n3 n4; do
  slurmd -N "$node"
done
for _ in $(seq 60); do
  [ "$(sinfo -h -t idle -o %D | head -1)" = 4 ] && break
  sleep 1
done
if [ "$(sinfo -h -t idle -o %D | head -1)" != 4 ]; then
  echo "the nodes did not come up:" >&2
  sinfo >&2
  tail -n 20 "$cluster"/log/* >&2
  exit 1
fi
code=0
"$@" || code=$?
scancel --user root --quiet 2>/dev/null || true
exit "$code"
