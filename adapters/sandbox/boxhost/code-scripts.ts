/** The git scripts of a box; branch, ids, names and messages are only passed as arguments. */
import type { BoxHandle } from "./port.ts"
import { WORKSPACE, PackTruncated } from "./port.ts"

/**
 * Runs git without hooks, file system monitor and signing, whatever the box's repository is set to.
 * Filters that a worker set up do run, inside the box.
 */
const GIT_PRELUDE = `cd ${WORKSPACE} 2> /dev/null || { echo "The folder ${WORKSPACE} does not exist." >&2; exit 1; }
git() {
  command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false "$@"
}
set -e`

/**
 * Creates a box's repository from a pack on its input: `$1` the branch, `$2` its commit (empty:
 * none), `$3` and `$4` the committer's name and email. Idempotent, so that work in the box is kept.
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
 * Commits all changes in the folder to the branch `$1` with the message `$2`, and prints the
 * branch's commit; nothing if it has none.
 */
export const COMMIT_SCRIPT = `${GIT_PRELUDE}
[ -e .git ] || { echo "The repository in ${WORKSPACE} was deleted. Start a new box." >&2; exit 1; }
if [ "$(git symbolic-ref -q HEAD)" != "refs/heads/$1" ]; then
  echo "The branch $1 is not checked out. Switch to it and try again." >&2
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
 * Packs the objects that the commit `$1` has and `$2` (empty: none) lacks into a file; prints its
 * size, a space and its path.
 */
export const PACK_SCRIPT = `${GIT_PRELUDE}
f=$(mktemp)
trap 'rm -f -- "$f"' EXIT
if [ -n "$2" ]; then printf '%s\\n^%s\\n' "$1" "$2"; else printf '%s\\n' "$1"; fi |
  git pack-objects --revs --stdout --thin -q > "$f"
trap - EXIT
printf '%s %s' "$(stat -c %s -- "$f")" "$f"`

/** Prints at most `$3` bytes of the file `$1` from offset `$2`. */
export const READ_CHUNK_SCRIPT = `tail -c +$(($2 + 1)) -- "$1" | head -c "$3"`

/** Deletes the packed file `$1`. */
export const DELETE_FILE_SCRIPT = `rm -f -- "$1"`

/** A chunk is held in memory. */
const CHUNK_BYTES = 8 * 1024 * 1024
const TIMEOUT_MS = 600_000

/**
 * Reads a file whose size the sandbox reported, and deletes it.
 *
 * @throws PackTruncated if the file is shorter; errors of `BoxHandle.run`
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
      const limit = Math.min(CHUNK_BYTES, bytes - at)
      const { exitCode, stdout } = await run(READ_CHUNK_SCRIPT, [String(at), String(limit)], limit)
      if (exitCode !== 0 || stdout.length === 0 || stdout.length > limit) {
        throw new PackTruncated(`the file of ${box.boxId} ended at ${at} of ${bytes} bytes`)
      }
      at += stdout.length
      yield stdout
    }
  } finally {
    await run(DELETE_FILE_SCRIPT, [], 0)
  }
}
