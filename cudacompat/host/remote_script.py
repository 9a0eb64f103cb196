"""The one script that asks a machine over ssh everything that ``local`` would ask it here: POSIX sh, read only."""

from __future__ import annotations

import shlex

from cudacompat.host import cdi, container, docker, jetson, mismatch, proc, stack, toolkit, wsl

COMMANDS: tuple[tuple[str, ...], ...] = (
    ("nvidia-smi", "-q", "-x"),
    ("nvidia-smi", "-L"),
    ("docker", *docker.INFO),
    ("dockerd", "--version"),
    *((program, "--version") for program in toolkit.PROGRAMS),
)
FILES: tuple[str, ...] = (
    proc.WHERE,
    jetson.RELEASE,
    jetson.MODEL,
    container.CGROUP,
    container.MOUNTS,
    *docker.DAEMON_FILES,
    *toolkit.CONFIGS,
    *stack.APPTAINER_CONFIGS,
)
FOLDERS: tuple[str, ...] = (*cdi.FOLDERS, *mismatch.FOLDERS, container.LINKER_FOLDER, stack.PODMAN_HOOKS)
MARKS: tuple[str, ...] = (*container.MARKS, wsl.DEVICE, *wsl.LIBRARIES, stack.GKE)
PROGRAMS: tuple[str, ...] = ("docker", "dockerd", *toolkit.PROGRAMS, *stack.OTHERS, stack.CDI_HOOK)
VARIABLES: tuple[str, ...] = (*container.VARIABLES, "DOCKER_HOST")

# Each answer stands between two lines that begin with a token nobody there could have foreseen. A command's
# stdout goes straight through; its stderr is kept in a variable, since the two must not mix.
_HEAD = """\
T={token}
LC_ALL=C; export LC_ALL
PATH="$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:/usr/lib/wsl/lib:/usr/local/nvidia/toolkit:/usr/local/nvidia/bin"
export PATH
unset CUDACOMPAT_HOST CUDACOMPAT_DRIVER CUDACOMPAT_GPU CUDACOMPAT_FORMAT CUDACOMPAT_OUTPUT CUDACOMPAT_CONFIG
cd /
begin() {{ printf '\\n%s begin %s\\n' "$T" "$*"; }}
end() {{ printf '\\n%s end %s %s\\n' "$T" "$1" "$(printf %s "$2" | tr '\\n' ' ' | cut -c1-300)"; }}
ask() {{
  limit=$1; shift
  command -v "$1" >/dev/null 2>&1 || return 127
  begin cmd "$*"
  if command -v timeout >/dev/null 2>&1; then set -- timeout -k 1 "$limit" "$@"; fi
  {{ err=$("$@" 2>&1 >&4 4>&- </dev/null); rc=$?; }} 4>&1
  end "$rc" "$err"
  return "$rc"
}}
file() {{
  [ -e "$1" ] || return 0
  begin file "$1"
  {{ err=$(head -c 4000000 "$1" 2>&1 >&4 4>&-); rc=$?; }} 4>&1
  end "$rc" "$err"
}}
folder() {{
  [ -d "$1" ] || return 0
  begin folder "$1"
  {{ err=$(ls -1 "$1" 2>&1 >&4 4>&-); rc=$?; }} 4>&1
  end "$rc" "$err"
}}
mark() {{ if [ -e "$1" ] || [ -L "$1" ]; then begin mark "$1"; end 0 ''; fi; }}
program() {{ if command -v "$1" >/dev/null 2>&1; then begin program "$1"; command -v "$1"; end 0 ''; fi; }}
variable() {{ begin variable "$1"; printf %s "$2"; end 0 ''; }}
begin arch; uname -m; end 0 ''
ask 60 cudacompat host --format json && exit 0
"""


def script(token: str) -> str:
    """The script, with its answers marked by ``token``."""
    lines = [f"ask 10 {shlex.join(command)}" for command in COMMANDS]
    lines += [f"file {path}" for path in FILES]
    lines += [f"folder {path}" for path in FOLDERS]
    lines += [f'for f in {folder}/*.yaml {folder}/*.yml {folder}/*.json; do file "$f"; done' for folder in cdi.FOLDERS]
    lines += ['[ -n "$HOME" ] && file "$HOME/.config/docker/daemon.json"']
    lines += [f"mark {path}" for path in MARKS]
    lines += [f"program {name}" for name in PROGRAMS]
    lines += [f'variable {name} "${{{name}-}}"' for name in VARIABLES]
    lines += ['variable HOME "$HOME"', "exit 0"]
    return _HEAD.format(token=token) + "\n".join(lines) + "\n"
