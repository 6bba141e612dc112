#!/usr/bin/env bash
# tools/bundle.sh BUILD_DIR DIST_DIR [--folder]: brings the build up to date and makes DIST_DIR/bundle and, unless only
# the folder is asked for, DIST_DIR/jitfuse-bundle.tar.xz of it.
# The bundle is relocatable and needs of the machine only glibc, libstdc++ and, for the GPU, NVIDIA's driver and NVRTC:
# what else the binaries need lies in its lib/, found through RPATH=$ORIGIN. libstdc++ is left out on purpose: an older
# one, loaded first, would break other libraries of the process.
set -euo pipefail
build=$1 dist=$2
source=$(cd "$(dirname "$0")/.." && pwd)
bundle=$dist/bundle
limit_mb=60
glibc_limit=2.39  # Ubuntu 24.04, where it has to run
if [ "$(. /etc/os-release && echo "$ID$VERSION_ID")" = debian12 ]; then glibc_limit=2.36; fi

cmake --build "$build" | tail -1  # what it says of its commit has to be so of its programs
rm -rf "$bundle" "$dist/jitfuse-bundle.tar.xz"
mkdir -p "$bundle"
cmake --install "$build" --prefix "$bundle" --strip >/dev/null
cmake --install "$build" --prefix "$bundle" --strip --component bundle >/dev/null

# Every library that ours need, as deep as it goes, with its licence.
system='^(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so'
mkdir -p "$bundle/licenses"
keep_licence() {  # of the Debian package that owns a file (which may know it by /lib or by /usr/lib)
  local package real
  real=$(realpath "$1")
  package=$({ dpkg-query -S "$real" "${real#/usr}" 2>/dev/null || true; } | head -1 | cut -d: -f1)
  [ -z "$package" ] || [ ! -e "/usr/share/doc/$package/copyright" ] || cp "/usr/share/doc/$package/copyright" "$bundle/licenses/$package"
}
while read -r name path; do
  [[ $name =~ $system ]] && continue
  [[ $path == */* ]] || { echo "bundle: $name is needed but was not found" >&2; exit 1; }
  [ -e "$bundle/lib/$name" ] || cp -L "$path" "$bundle/lib/$name"
  keep_licence "$path"
done < <(ldd "$build"/bin/* "$build"/lib/*.so 2>/dev/null | awk '$2 == "=>" {print $1, $3}' | grep -v '^libjitfuse' | sort -u)
keep_licence /usr/lib/llvm-19/lib/libLLVMCore.a
keep_licence /usr/include/xxhash.h
cp "$source/LICENSE" "$source/THIRD_PARTY_NOTICES" "$bundle/"

# What tests, demo and benchmarks read: the same paths as in the repository, under JITFUSE_TEST_DATA.
data=$bundle/share/jitfuse
mkdir -p "$data"
(cd "$source" && git ls-files -co --exclude-standard tests examples bench docs README.md pyproject.toml ir/support/float_bits.h ':!*.cc' ':!*CMakeLists.txt' |
  tar -cf - --files-from=- --ignore-failed-read) | tar -xf - -C "$data"
(cd "$source" && git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown) >"$data/commit"  # what benchmarks record

# The Python package: its sources, which `run python` builds against this bundle, with nanobind and the command for that;
# and the module that was built here, for machines without Python's headers.
(cd "$source" && git ls-files -co --exclude-standard python 'tools/cli/*.h' | tar -cf - --files-from=-) | tar -xf - -C "$bundle"
ln -s ../../python "$data/python"
nanobind=$(sed -n 's/^NB_DIR:[A-Z]*=//p' "$build/CMakeCache.txt")
if [ -n "$nanobind" ]; then
  mkdir "$bundle/python/nanobind"
  (cd "$nanobind" && tar -cf - --exclude='*/tests' cmake include src ext) | tar -xf - -C "$bundle/python/nanobind"
  cp "$nanobind"/../nanobind-*.dist-info/licenses/LICENSE "$bundle/licenses/nanobind"
  cp "$build"/*/libjf_cli.a "$bundle/lib/"
  echo "Python: nanobind, and the module for this machine's: $(cd "$bundle/python/jitfuse" && echo _core.*.so)"
else
  echo "Python: no module and no nanobind, as this build has none"
fi
cp "$source/tools/bundle_run.sh" "$bundle/run"
chmod +x "$bundle/run"

# The oldest glibc it runs on: the newest symbol version that anything shipped asks for.
newest() { { xargs -d '\n' objdump -T 2>/dev/null || true; } | grep -o "$1_[0-9.]*" | sort -uV | tail -1; }
elfs() { find "$bundle/bin" "$bundle/lib" "$bundle/python/jitfuse" -type f \( -name '*.so*' -o -perm -u+x \); }
floor=$(elfs | newest GLIBC)
echo "glibc floor: ${floor#GLIBC_} (limit $glibc_limit); libstdc++ floor: $(elfs | newest GLIBCXX)"
if [ "$(printf '%s\n' "${floor#GLIBC_}" "$glibc_limit" | sort -V | tail -1)" != "$glibc_limit" ]; then
  elfs | while read -r elf; do echo "$(newest GLIBC <<<"$elf") $elf"; done | sort -V | tail -5 >&2
  echo "bundle: needs a newer glibc than $glibc_limit" >&2
  exit 1
fi

[ "${3:-}" != --folder ] || exit 0
# Libraries side by side and a dictionary that spans both, so that LLVM, which is in two of them, is packed once.
(cd "$dist" && tar --sort=name -cf - bundle | xz -T1 -6 --lzma2=preset=6,dict=192MiB >jitfuse-bundle.tar.xz)
bytes=$(stat -c %s "$dist/jitfuse-bundle.tar.xz")
echo "$dist/jitfuse-bundle.tar.xz: $((bytes / 1000000)) MB (limit $limit_mb), unpacked $(du -sm "$bundle" | cut -f1) MB"
[ $((bytes / 1000000)) -lt $limit_mb ] || { echo "bundle: larger than $limit_mb MB" >&2; exit 1; }
