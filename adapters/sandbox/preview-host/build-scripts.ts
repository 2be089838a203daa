/** What is done in the sandbox of a build, as scripts; commands, folders and sizes are only ever arguments. */

/** Unpacks the commit on its input. */
export const UNPACK = `exec tar -x -f - 2>&1`

/**
 * Runs what installs (`$1`) and what builds (`$2`; empty: nothing), and writes what they write. On the
 * error output stands which of them was begun last, and in a line of its own what it failed with.
 */
export const BUILD = `step() {
  [ -n "$2" ] || return 0
  echo "$1" >&2
  sh -c "$2" 2>&1 < /dev/null
  code=$?
  [ "$code" = 0 ] || { echo "$code" >&2; exit 1; }
}
step install "$1"
step build "$2"`

/** How PACK ends where there is nothing to pack. */
export const PACKED = {
  missing: 20,
  link: 21,
  noFolder: 22,
  tooLarge: 23,
  full: 24,
  unread: 25,
} as const

/**
 * Ends whatever the build left running, and packs what is in the folder `$1`, `$2` bytes at most, into a
 * file: writes its size and, behind a space, its path.
 */
export const PACK = `kill -KILL -1 2> /dev/null
[ ! -L "$1" ] || exit ${PACKED.link}
[ -e "$1" ] || exit ${PACKED.missing}
cd -- "$1" 2> /dev/null || exit ${PACKED.noFolder}
f=$(mktemp) || exit ${PACKED.full}
trap 'rm -f -- "$f" "$f.code"' EXIT
{ tar -c -f - . ; echo "$?" > "$f.code"; } | head -c "$(($2 + 1))" > "$f" || exit ${PACKED.full}
size=$(stat -c %s -- "$f") || exit ${PACKED.unread}
[ "$size" -le "$2" ] || exit ${PACKED.tooLarge}
# A file that changed meanwhile is 1.
code=$(cat "$f.code")
[ "\${code:-2}" -le 1 ] || exit ${PACKED.unread}
rm -f -- "$f.code"
trap - EXIT
printf '%s %s' "$size" "$f"`
