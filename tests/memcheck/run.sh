#!/bin/sh
# run.sh PROGRAM SOURCE_DIR MEMCHECK...: a run of two steps with a checkpoint and plotfiles, and a restart of it, each under
# memcheck. Exit status 0: neither has a finding.
set -eu
program=$1 source=$2
shift 2
out=$(mktemp -d)
trap 'rm -rf -- "$out"' EXIT
"$@" "$program" run "$source/configs/quickstart.toml" --out "$out/run" --quiet --set run.steps=2 --set run.stages_per_step=2 \
  --set mesh.max_level=1 --set mesh.block=4 --set fields.variables=3 --set output.checkpoint=1 --set output.plotfile=1
rm -- "$out/run/run.json" "$out/run/run.csv"
"$@" "$program" run --restart "$out/run" --quiet --set run.steps=3
grep -q '"restart_step": 2' "$out/run/run.json"
