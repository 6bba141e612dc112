#!/usr/bin/env bash
# check_install.sh BUILD_DIR CMAKE CXX NINJA: installs BUILD_DIR into a fresh folder and uses only that, as a stranger would:
# every header alone under every compiler found (C++17, warnings are errors), no header that reaches Abseil, LLVM
# or oneDNN, and examples/find_package configured, built and run with those packages out of reach.
set -euo pipefail
build=$1 cmake=$2 cxx=$3 ninja=$4
source=$(cd "$(dirname "$0")/../.." && pwd)
work=$build/install_test
rm -rf "$work" && mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/tree" >"$work/install.log" || { cat "$work/install.log"; exit 1; }

compilers=("$cxx")
for other in g++ clang++ clang++-{14..20}; do
  command -v "$other" >/dev/null && [ "$(command -v "$other")" != "$(command -v "$cxx")" ] && compilers+=("$other")
done
count=0
for header in "$work"/tree/include/jitfuse/*.h; do
  for compiler in "${compilers[@]}"; do
    "$compiler" -x c++ -std=c++17 -Wall -Wextra -Werror -pedantic -fsyntax-only -I"$work/tree/include" \
      -include "$header" -include "$header" /dev/null || { echo "FAILED: $(basename "$header") alone, $compiler"; exit 1; }
    count=$((count + 1))
  done
  if "$cxx" -x c++ -std=c++17 -M -I"$work/tree/include" "$header" | grep -E '/(absl|llvm|oneapi|nlohmann|cuda)[/_.]'; then
    echo "FAILED: $(basename "$header") reaches a header that a user may not have"; exit 1
  fi
done
[ $count -gt 0 ] || { echo "FAILED: no public headers were installed"; exit 1; }
echo "$count header checks passed (${compilers[*]})"

"$cmake" -G Ninja -DCMAKE_MAKE_PROGRAM="$ninja" -S "$source/examples/find_package" -B "$work/example" -DCMAKE_PREFIX_PATH="$work/tree" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON \
  -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
"$cmake" --build "$work/example"
deps=$("$ninja" -C "$work/example" -t deps)
grep -q "$work/tree/include/jitfuse/" <<<"$deps" || { echo "FAILED: no record of the headers that were used"; exit 1; }
if grep -E '/(absl|llvm|oneapi)/' <<<"$deps"; then echo "FAILED: the example saw a header of a hidden package"; exit 1; fi
if grep -F "$source/api" <<<"$deps"; then echo "FAILED: the example saw the source tree"; exit 1; fi
JITFUSE_BACKEND=cpu "$work/example/example"
if [ -x "$work/tree/bin/jitfuse" ]; then "$work/tree/bin/jitfuse" --help >/dev/null; fi
