# Sourced by the other scripts: the Debian packages and the Python environment they need.
# After sourcing: $root is the checkout, $python its environment's interpreter (after make_venv).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
python=$venv/bin/python

say() { printf '%s\n' "$*" >&2; }

# Does this C compiler find its headers? (gcc without libc6-dev does not.)
compiles() {
  command -v "$1" >/dev/null && echo '#include <stdio.h>' | "$1" -x c -fsyntax-only - 2>/dev/null
}

# Does this C compiler find the sanitizers' libraries?
sanitises() {
  command -v "$1" >/dev/null && [ -n "$(compgen -G "$("$1" -print-runtime-dir 2>/dev/null)/libclang_rt.asan*")" ]
}

# One line per missing Debian package among those that the given needs stand for.
missing_packages() {
  local need
  for need in "$@"; do
    case $need in
      venv) python3 -c 'import ensurepip, venv' 2>/dev/null || echo "python3-venv" ;;
      cc) compiles cc || echo "gcc libc6-dev" ;;
      arm64) compiles aarch64-linux-gnu-gcc || echo "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
      armv7) compiles arm-linux-gnueabihf-gcc || echo "gcc-arm-linux-gnueabihf libc6-dev-armhf-cross" ;;
      # Armv7 whose floats are passed in integer registers, as on Android: 31 MB to load.
      armel) compiles arm-linux-gnueabi-gcc || echo "gcc-arm-linux-gnueabi libc6-dev-armel-cross" ;;
      arm64cxx) command -v aarch64-linux-gnu-g++ >/dev/null || echo "g++-aarch64-linux-gnu" ;;
      # With what -fsanitize links, which the compiler's package only recommends.
      clang) sanitises clang || echo "clang libclang-rt-dev" ;;
      qemu) command -v qemu-aarch64 >/dev/null && command -v qemu-arm >/dev/null || echo "qemu-user" ;;
      # Without newlib, which tests go without: 67 MB to load, half a minute.
      cortexm)
        command -v arm-none-eabi-gcc >/dev/null && command -v qemu-system-arm >/dev/null ||
          echo "gcc-arm-none-eabi qemu-system-arm"
        ;;
      *) command -v "$need" >/dev/null || echo "$need" ;;
    esac
  done
}

# install NEED...: brings what is missing when this is root on a Debian; else names the packages and fails.
install() {
  local packages
  packages=$(missing_packages "$@")
  packages=${packages//$'\n'/ }
  [ -n "$packages" ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "missing: apt install --no-install-recommends $packages"
    return 1
  fi
  say "installing $packages"
  apt-get -qq update || true
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $packages >/dev/null
}

# make_venv [EXTRAS]: .venv with the project installed editable; quick when nothing has changed.
make_venv() {
  local extras=${1:-} state
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    say "python3 is $(python3 --version 2>&1); tvm_megcc needs Python 3.10 or later"
    return 1
  }
  if ! "$python" -m pip --version >/dev/null 2>&1; then
    install venv || return 1
    say "making $venv"
    python3 -m venv --clear "$venv" || return 1
  fi
  state="$root [$extras] $(cksum <"$root/pyproject.toml")"
  grep -qsxF "$state" "$venv/installed" && return 0
  say "installing tvm_megcc and what it needs (TVM is about 100 MB)"
  "$python" -m pip install --quiet --disable-pip-version-check --editable "$root${extras:+[$extras]}" || return 1
  # Another pyproject.toml makes every earlier line stale; other extras only add.
  grep -sF "$(cksum <"$root/pyproject.toml")" "$venv/installed" >"$venv/installed.new" || true
  printf '%s\n' "$state" >>"$venv/installed.new"
  mv "$venv/installed.new" "$venv/installed"
}

# The packages of many models share kernels; ccache, where it is, compiles each once. Debug information
# names the directory, which would make every sanitised package one of its own: that is left out of account.
# Not CCACHE_DEPEND, although it takes 18 % less where nothing is cached: it does not see that an object has the
# bytes of a file in it (.incbin), and gives a package the weights of another one.
use_ccache() {
  [ ! -d /usr/lib/ccache ] || export PATH="/usr/lib/ccache:$PATH" CCACHE_NOHASHDIR=1
}

# run EXTRAS [ARGUMENTS...]: goes on as the Python script beside this one, of the same name.
run() {
  make_venv "$1"
  use_ccache
  exec "$python" "$root/scripts/$(basename "$0").py" "${@:2}"
}
