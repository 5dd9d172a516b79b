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

# Results of the compiler cache are shared by all checkouts of the same sources: paths below the checkout do not count.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root} CCACHE_NOHASHDIR=1

# Where NVIDIA's own packages put the toolkit; they leave PATH alone.
if [[ -z ${CUDACXX:-} && -x /usr/local/cuda/bin/nvcc ]] && ! command -v nvcc >/dev/null; then
  export CUDACXX=/usr/local/cuda/bin/nvcc
fi

# gpu_choice: whether a build has the CUDA back end, as AMRBENCH_CUDA says, and what AUTO goes by: the GPUs of this machine.
gpu_choice() {
  local choice=${AMRBENCH_CUDA:-AUTO} gpus=() device
  [[ $choice =~ ^(AUTO|ON|OFF)$ ]] || die 2 "AMRBENCH_CUDA is '$choice' in the environment; use AUTO, ON or OFF"
  for device in /dev/nvidia[0-9]*; do
    if [[ -e $device ]]; then gpus+=("$device"); fi
  done
  printf '%s, GPUs: %s' "$choice" "${#gpus[@]}"
}

# configure PRESET [CMAKE-ARGUMENT...]: configures build/PRESET unless that is done for the same arguments. Prints the log only
# on failure.
configure() {
  local preset=$1 dir=$build_root/$1 log launcher=() wanted
  shift
  log=$dir/configure.log
  # A folder that was configured for another place (a moved or copied checkout) is of no use to CMake.
  if [[ -f $dir/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    rm -rf -- "$dir"
  fi
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  wanted="$* ${launcher[*]}"
  [[ -f $dir/build.ninja && -f $dir/configured && $(<"$dir/configured") == "$wanted" ]] && return
  mkdir -p -- "$dir" || die 1 "cannot create $dir"
  if ! (cd -- "$root" && cmake --preset "$preset" -B "$dir" "${launcher[@]}" "$@") >"$log" 2>&1; then
    tail -n 40 -- "$log" >&2
    die 1 "cmake failed; its log is $log"
  fi
  printf '%s\n' "$wanted" >"$dir/configured"
}

# show_progress NAME LOG: reads ninja's lines, keeps them in LOG and says on standard error which share is done: one live line
# on a terminal, else a line every tenth or ten seconds. Nothing where all is done within a second (SECONDS may go up by 1 in it).
show_progress() {
  local name=$1 line part='' begin=$SECONDS said=$SECONDS tenth=0 text='' live=no
  if [[ -t 2 && ${TERM:-dumb} != dumb ]]; then live=yes; fi
  exec 8>"$2"
  while true; do
    if IFS= read -r -t 1 line; then
      line=$part$line
      part=
      printf '%s\n' "$line" >&8
      if [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]]; then
        text="Building $name: $((100 * BASH_REMATCH[1] / BASH_REMATCH[2])) %, ${BASH_REMATCH[1]} of ${BASH_REMATCH[2]} steps"
        if ((10 * BASH_REMATCH[1] / BASH_REMATCH[2] > tenth && SECONDS - begin > 1)) && [[ $live == no ]]; then
          tenth=$((10 * BASH_REMATCH[1] / BASH_REMATCH[2])) said=$SECONDS
          say "$text, $((SECONDS - begin)) s"
        fi
      fi
    else
      (($? > 128)) || break  # the end, not a pause
      part+=$line
    fi
    if [[ $live == yes && -n $text ]] && ((SECONDS - begin > 1)); then
      printf '\r\033[K%s, %d s' "$text" $((SECONDS - begin)) >&2
    elif [[ $live == no ]] && ((SECONDS - said >= 10)); then
      said=$SECONDS
      say "${text:-Building $name}, $((SECONDS - begin)) s"
    fi
  done
  if [[ $live == yes ]] && ((SECONDS - begin > 1)); then printf '\r\033[K' >&2; fi
  exec 8>&-
}

# build PRESET [TARGET...]: builds in build/PRESET and shows how far it is; the compiler's messages only on failure. Two scripts
# at once in one folder take turns.
build() {
  local preset=$1 dir=$build_root/$1 log status=0
  shift
  log=$dir/build.log
  exec 9>"$dir/.lock"
  flock 9
  NINJA_STATUS='[%f/%t] ' ninja -C "$dir" -j "$(nproc)" "$@" 2>&1 9>&- </dev/null | show_progress "$preset" "$log" 9>&- || status=$?
  exec 9>&-
  if ((status)); then
    tail -n 60 -- "$log" >&2
    die 1 "the build failed; its log is $log"
  fi
}
