# Shared by the scripts of this folder; sourced, not run. Needs bash, coreutils and util-linux only.
# Callers set `me`, the name under which messages are printed.
# shellcheck shell=bash

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build_root=${AMRBENCH_BUILD_ROOT:-$root/build}

# die STATUS TEXT: one line on standard error, then exit.
die() {
  printf '%s: %s\n' "$me" "$2" >&2
  exit "$1"
}

# need_value OPTION COUNT MEANING: bad input unless the option is followed by something. COUNT = arguments left after it.
need_value() {
  (($2 > 0)) || die 2 "$1 needs a value: $3"
}

# check_number OPTION VALUE LOW HIGH: prints VALUE as a plain decimal, or ends with one line. Use as x=$(check_number ...) || exit.
check_number() {
  local value=$2
  if [[ ! $value =~ ^[0-9]{1,9}$ ]] || ((10#$value < $3 || 10#$value > $4)); then
    die 2 "$1 must be a whole number from $3 to $4, not '$value'"
  fi
  printf '%d' "$((10#$value))"
}

# say TEXT: a line of progress. On standard error, so that a program's standard output stays its own.
say() { printf '%s\n' "$1" >&2; }

# configure PRESET [CMAKE-ARGUMENT...]: configures build/PRESET unless that is done. Prints the log only on failure.
configure() {
  local preset=$1 dir=$build_root/$1 log
  shift
  log=$dir/configure.log
  # A folder that was configured for another place (a moved or copied checkout) is of no use to CMake.
  if [[ -f $dir/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    rm -rf -- "$dir"
  fi
  [[ -f $dir/build.ninja ]] && return
  mkdir -p -- "$dir" || die 1 "cannot create $dir"
  local launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  if ! (cd -- "$root" && cmake --preset "$preset" -B "$dir" "${launcher[@]}" "$@") >"$log" 2>&1; then
    tail -n 40 -- "$log" >&2
    die 1 "cmake failed; its log is $log"
  fi
}

# build PRESET [TARGET...]: builds in build/PRESET. One line when that takes more than a moment, the compiler's messages only
# on failure. Two scripts at once in one folder take turns.
build() {
  local preset=$1 dir=$build_root/$1 log notice status=0
  shift
  log=$dir/build.log
  exec 9>"$dir/.lock"
  flock 9
  # The read waits for input that never comes: a pause without a process that would outlive us.
  { read -r -t 1 <> <(:) || say "Building $preset with $(nproc) jobs (log: $log)"; } &
  notice=$!
  ninja --quiet -C "$dir" -j "$(nproc)" "$@" >"$log" 2>&1 9>&- || status=$?
  kill "$notice" 2>/dev/null || true
  wait "$notice" 2>/dev/null || true
  exec 9>&-
  if ((status)); then
    tail -n 60 -- "$log" >&2
    die 1 "the build failed; its log is $log"
  fi
}
