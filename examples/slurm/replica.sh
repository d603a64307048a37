#!/bin/bash
# One server of the model on one GPU (or as many as Slurm has bound to this task).
#
# It writes its address into a file of its own in the folder $ADDRESSES as soon as it answers, and
# takes the file away before it stops: evaluate.py reads the folder all the time, so servers may
# come and go while a run goes on. One file an address needs no lock on a shared disk.
#
#   MODEL       the checkpoint
#   MODEL_NAME  the name under which it is served (default: my-model)
#   ADDRESSES   a folder on a disk that all nodes see
#   SERVE       what starts the server in place of vLLM; gets --host and --port
#   DRAIN_S     seconds for what is in flight, between leaving the folder and stopping (default 10)
set -u
host=$(hostname -f)
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
address_file=$ADDRESSES/$host-$port

# Several tasks on a node that share its GPUs take one each, unless Slurm has dealt them out.
if [ -z "${SLURM_GPUS_PER_TASK:-}" ] && [ "${SLURM_NTASKS_PER_NODE:-1}" -gt 1 ]; then
  export CUDA_VISIBLE_DEVICES=${SLURM_LOCALID:-0}
fi

${SERVE:-vllm serve "$MODEL" --served-model-name "${MODEL_NAME:-my-model}"} --host 0.0.0.0 --port "$port" &
server=$!

stop() {
  rm -f "$address_file"
  sleep "${DRAIN_S:-10}"
  kill -TERM "$server" 2>/dev/null
}
trap stop TERM INT

until python3 -c "import urllib.request as r; r.urlopen('http://$host:$port/health', timeout=5)" 2>/dev/null; do
  if ! kill -0 "$server" 2>/dev/null; then
    echo "replica on $host: the server ended while it was loading" >&2
    exit 1
  fi
  sleep 2
done

mkdir -p "$ADDRESSES"
echo "http://$host:$port/v1?model=${MODEL_NAME:-my-model}" >"$ADDRESSES/.$host-$port"
mv "$ADDRESSES/.$host-$port" "$address_file" # whole, or not there
while kill -0 "$server" 2>/dev/null; do
  wait "$server" # a signal ends this wait, not the server
done
rm -f "$address_file"
