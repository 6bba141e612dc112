#!/usr/bin/env bash
# run VERB: what can be done with the unpacked bundle, on any x86-64 Linux with glibc as old as `./dev bundle` printed.
#   test [null|cpu|nvrtc|gpu|fail]   all that this machine can run, or one label
#   bench [NAME ARG...]              all benchmarks, or one with its arguments
#   demo                             handwritten digits
#   fuzz [ARG...]                    random graphs on every executor: --graphs N --seed S --backend cpu|cuda --jobs J
#   python [test [PYTEST_ARG...]]    builds the Python module against this bundle, then runs its tests, those of the GPU first
#   python build                     only builds it (JITFUSE_PYTHON=build insists on it, =prebuilt takes the bundle's own)
#   python compare [ARG...]          the same as: compare [ARG...]
#   python [SCRIPT | -c CODE] ...    python3 with the package jitfuse
#   compare [ARG...]                 bench/compare: Jitfuse beside torch, CuPy, JAX ... (--help)
#   sanitize [GTEST_FILTER]          compute-sanitizer (memcheck, racecheck, initcheck) on the GPU tests
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export JITFUSE_TEST_DATA=$root/share/jitfuse PATH=$root/bin:$PATH
cores=$(nproc)

have_gpu() { command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; }

run_label() {  # one test program, in as many shards as the machine carries; prints what failed
  local label=$1 shards=1 shard failed=0 log
  log=$(mktemp -d)
  if [ "$label" = fail ]; then
    python3 "$JITFUSE_TEST_DATA/tests/fail/check_fail.py" "$root/bin/jitfuse" "$JITFUSE_TEST_DATA"/tests/fail/*.jf
    return
  fi
  [ "$label" = gpu ] || shards=$(((cores + 1) / 2))
  [ "$label" = gpu ] || local -x OMP_NUM_THREADS=2  # of this label alone
  local pids=()
  for ((shard = 0; shard < shards; shard++)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard "$root/bin/jf_tests_$label" --gtest_brief=1 >"$log/$shard" 2>&1 &
    pids+=($!)
  done
  for shard in "${!pids[@]}"; do
    wait "${pids[shard]}" || { cat "$log/$shard"; failed=1; }
  done
  local passed skipped
  passed=$(cat "$log"/* | awk '/^\[  PASSED  \]/ {n += $4} END {print n + 0}')
  skipped=$(cat "$log"/* | awk '/^\[  SKIPPED \] [0-9]+ test/ {n += $4} END {print n + 0}')
  [ "$passed" -gt 0 ] || { cat "$log/0" | tail -5; failed=1; }  # a label that skips everything has shown nothing
  echo "$label: $passed tests passed, $skipped skipped$([ $failed = 0 ] || echo ', FAILED')"
  rm -rf "$log"
  return $failed
}

python_lacks() {  # prints what is missing for a build of the Python module here
  local headers
  command -v cmake >/dev/null || { echo "cmake is"; return; }
  command -v c++ >/dev/null || command -v g++ >/dev/null || { echo "a C++ compiler is"; return; }
  headers=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
  [ -e "$headers/Python.h" ] || echo "$headers/Python.h (of the package python3-dev) is"
  [ -d "$root/python/nanobind" ] || echo "nanobind (left out of this bundle) is"
}

build_python() {  # build_python FOLDER: the module against this bundle's headers and library; nothing is fetched
  local generator=() log=$1.log begin=$SECONDS
  ! command -v ninja >/dev/null || generator=(-G Ninja)
  {
    cmake "${generator[@]}" -S "$root/python" -B "$1" -DCMAKE_PREFIX_PATH="$root" -Dnanobind_DIR="$root/python/nanobind/cmake" \
      -DPython_EXECUTABLE="$(python3 -c 'import sys; print(sys.executable)')" -DCMAKE_BUILD_RPATH="$root/lib" &&
      cmake --build "$1" -j"$cores"
  } >"$log" 2>&1 || { tail -40 "$log" >&2; echo "python: the build failed (all of it: $log)" >&2; return 1; }
  echo "python: module built for Python $(python3 -c 'import platform; print(platform.python_version())') against this bundle in $((SECONDS - begin)) s"
}

need_python() {  # sets PYTHONPATH to a folder with the package jitfuse and its module
  command -v python3 >/dev/null || { echo "python: python3 was not found" >&2; exit 1; }
  local way=${JITFUSE_PYTHON:-auto} folder lacks version
  case $way in
    auto | build | prebuilt) ;;
    *) echo "python: JITFUSE_PYTHON=$way: expected build or prebuilt; the variable counts as not set" >&2 ;;
  esac
  version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  folder=$root/build/python$version
  mkdir -p "$folder" 2>/dev/null || { folder=${TMPDIR:-/tmp}/jitfuse-python$version-$UID; mkdir -p "$folder"; }
  if [ "$way" != prebuilt ]; then
    lacks=$(python_lacks)
    if [ -z "$lacks" ] && build_python "$folder"; then
      export PYTHONPATH=$folder/python${PYTHONPATH:+:$PYTHONPATH}
      return
    fi
    [ -z "$lacks" ] || echo "python: $lacks missing, so that the module cannot be built here"
    [ "$way" != build ] || exit 1
  fi
  export PYTHONPATH=$root/python${PYTHONPATH:+:$PYTHONPATH}
  python3 -c 'import jitfuse._core' || { echo "python: the bundle has no module for Python $version" >&2; exit 1; }
  echo "python: the module that was built with the bundle is used: $(cd "$root/python/jitfuse" && python3 -c 'import jitfuse._core as c; print(c.__file__)')"
}

test_python() {
  exec python3 "$JITFUSE_TEST_DATA/tests/python/run_tests.py" "$@"
}

run_python() {
  local what=${1:-test}
  [ "$what" != build ] || JITFUSE_PYTHON=build
  if [ "$what" = test ] && command -v python3 >/dev/null; then
    python3 -c 'import numpy, pytest' || { echo "python: the tests need numpy and pytest (pip install numpy pytest)" >&2; exit 1; }
  fi
  need_python
  [ $# = 0 ] || shift
  case $what in
    build) ;;
    test) test_python "$@" ;;
    compare) exec python3 "$JITFUSE_TEST_DATA/bench/compare/compare.py" "$@" ;;
    *) exec python3 "$what" "$@" ;;
  esac
}

verb=${1:-help}
[ $# = 0 ] || shift
case $verb in
  test)
    labels=("$@") bad=()
    if [ $# = 0 ]; then
      labels=(null cpu nvrtc)
      if have_gpu; then labels+=(gpu); else echo "no NVIDIA GPU here: the label gpu is left out"; fi
      if command -v python3 >/dev/null && [ -x "$root/bin/jitfuse" ]; then labels+=(fail); fi
    fi
    for label in "${labels[@]}"; do run_label "$label" || bad+=("$label"); done
    echo "${#labels[@]} labels run, ${#bad[@]} failed${bad:+: ${bad[*]}}"
    [ ${#bad[@]} = 0 ] ;;
  bench)
    if [ $# -gt 0 ]; then
      name=$1; shift
      [ ! -e "$JITFUSE_TEST_DATA/bench/$name.py" ] || exec python3 "$JITFUSE_TEST_DATA/bench/$name.py" "$@"  # torch_chains
      exec "$root/bin/bench_$name" "$@"
    fi
    status=0
    for binary in "$root"/bin/bench_*; do echo "== $(basename "$binary")"; "$binary" || status=1; done
    exit $status ;;
  demo) exec "$root/bin/demo" "${1:-$JITFUSE_TEST_DATA/examples/data}" ;;
  python) run_python "$@" ;;
  compare) run_python compare "$@" ;;
  fuzz) exec "$root/bin/jf_fuzz" "$@" ;;
  sanitize)
    sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -1)
    [ -n "$sanitizer" ] || { echo "run: compute-sanitizer was not found (PATH, /usr/local/cuda*/bin)" >&2; exit 1; }
    for tool in memcheck racecheck initcheck; do
      echo "== $tool"
      "$sanitizer" --tool $tool --error-exitcode 9 "$root/bin/jf_tests_gpu" --gtest_brief=1 --gtest_filter="${1:-*}" || exit 1
    done ;;
  *) sed -n '2,13s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; [ "$verb" = help ] || exit 2 ;;
esac
