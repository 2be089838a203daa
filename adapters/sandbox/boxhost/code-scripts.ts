/** What git does in a box, as scripts; branch, ids, names and messages are only ever arguments. */
import type { BoxHandle } from "./port.ts"
import { WORKSPACE, PackTruncated } from "./port.ts"

/**
 * Git as it runs here, whatever the repository of a box is set to: with no hook, no file system monitor
 * and no signing. Filters that a worker set up do run, in the box.
 */
const GIT_PRELUDE = `cd ${WORKSPACE} 2> /dev/null || { echo "There is no folder ${WORKSPACE}." >&2; exit 1; }
git() {
  command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false "$@"
}
set -e`

/**
 * Makes the repository of a box of a pack on its input: `$1` the branch, `$2` the commit it points to
 * (empty: none so far), `$3` and `$4` name and email of who commits. What was brought once stays as
 * somebody has worked on it.
 */
export const CHECKOUT_SCRIPT = `${GIT_PRELUDE}
if [ "$(git config --local --get box.brought 2> /dev/null)" = "$1 $2" ]; then cat > /dev/null; exit 0; fi
rm -rf .git
git init -q --template=
git symbolic-ref HEAD "refs/heads/$1"
git config core.autocrlf false
[ -z "$3" ] || git config user.name "$3"
[ -z "$4" ] || git config user.email "$4"
if [ -n "$2" ]; then
  git index-pack --stdin > /dev/null
  git update-ref "refs/heads/$1" "$2"
  git reset -q --hard
fi
git config box.brought "$1 $2"`

/**
 * Commits all that is in the folder onto the branch `$1` with the message `$2`, where there is anything,
 * and writes the branch's commit: nothing where it has none.
 */
export const COMMIT_SCRIPT = `${GIT_PRELUDE}
[ -e .git ] || { echo "There is no repository in ${WORKSPACE} any more: start a new box." >&2; exit 1; }
if [ "$(git symbolic-ref -q HEAD)" != "refs/heads/$1" ]; then
  echo "The branch $1 is not checked out: switch to it, and try again." >&2
  exit 1
fi
git add -A
tip=$(git rev-parse -q --verify HEAD || true)
if [ -z "$tip" ] && [ -z "$(git ls-files | head -c 1)" ]; then exit 0; fi
if [ -z "$tip" ] || ! git diff-index --cached --quiet HEAD --; then
  git commit -q --no-verify --allow-empty-message --cleanup=verbatim -m "$2"
fi
git rev-parse HEAD`

/**
 * Packs what the commit `$1` has and `$2` (empty: none) has not, into a file: writes its size and, behind a
 * space, its path.
 */
export const PACK_SCRIPT = `${GIT_PRELUDE}
f=$(mktemp)
trap 'rm -f -- "$f"' EXIT
if [ -n "$2" ]; then printf '%s\\n^%s\\n' "$1" "$2"; else printf '%s\\n' "$1"; fi |
  git pack-objects --revs --stdout --thin -q > "$f"
trap - EXIT
printf '%s %s' "$(stat -c %s -- "$f")" "$f"`

/** Writes the bytes of the file `$1` from `$2` on, `$3` at most. */
export const READ_CHUNK_SCRIPT = `tail -c +$(($2 + 1)) -- "$1" | head -c "$3"`

/** Takes the packed file `$1` away. */
export const DELETE_FILE_SCRIPT = `rm -f -- "$1"`

/** A piece is held in memory. */
const CHUNK_BYTES = 8 * 1024 * 1024
const TIMEOUT_MS = 600_000

/**
 * Reads a file that a sandbox said to have so many bytes, and takes it away.
 *
 * @throws PackTruncated where it has fewer; what `Box.run` does
 */
export async function* readAndDeleteFile(
  box: BoxHandle,
  path: string,
  bytes: number,
): AsyncGenerator<Uint8Array, void> {
  const run = (script: string, args: readonly string[], maxOutputBytes: number) =>
    box.run(["sh", "-c", script, "sh", path, ...args], {
      cwd: "/",
      timeoutMs: TIMEOUT_MS,
      maxOutputBytes,
      isActivity: false,
    })
  try {
    for (let at = 0; at < bytes;) {
      const most = Math.min(CHUNK_BYTES, bytes - at)
      const { exitCode, stdout } = await run(READ_CHUNK_SCRIPT, [String(at), String(most)], most)
      if (exitCode !== 0 || stdout.length === 0 || stdout.length > most) {
        throw new PackTruncated(`the file of ${box.boxId} ended at ${at} of ${bytes} bytes`)
      }
      at += stdout.length
      yield stdout
    }
  } finally {
    await run(DELETE_FILE_SCRIPT, [], 0)
  }
}
