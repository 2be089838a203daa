/**
 * The scripts that run in the sandbox of a company's apps. Each holds a lock while it lives: if
 * several programs start the same one, the first continues and the others exit with 75.
 */

/** Paths in the sandbox; the volume survives a sleep. */
const VERSIONS_PATH = "/data/versions"
const DATABASE_PATH = "/data/pg"
const STORAGE_PATH = "/data/storage"
const PASSWORD_PATH = "/data/password"
/** The folder of PostgreSQL's programs. */
export const POSTGRES_PATH = "/opt/postgresql"
/** Another program's process already does this work. */
export const LOCKED_EXIT_CODE = 75
/** The app crashed too often. */
export const CRASH_LOOP_EXIT_CODE = 70

const lockCommand = (name: string) =>
  `exec 9> /tmp/.${name}.lock\nflock -n 9 || exit ${LOCKED_EXIT_CODE}\n`

/** Tests whether the database accepts connections; files of an earlier start are ignored. */
const DATABASE_READY_TEST = `[ -e /tmp/.database-begun ] && grep -q '^ready' ${DATABASE_PATH}/postmaster.pid 2> /dev/null`

export const AWAIT_DATABASE_SCRIPT = `until ${DATABASE_READY_TEST}; do sleep 0.02; done`

/** Waits for a child that ends on TERM, and keeps its exit code. */
const WAIT_FOR_CHILD = `while :; do
    wait "$child"; code=$?
    kill -0 "$child" 2> /dev/null || break
  done
  child=
  [ -z "$ended" ] || exit 0`

const POSTGRES_SETTINGS = [
  "listen_addresses = '127.0.0.1'",
  "unix_socket_directories = ''",
  "port = 5432",
  "shared_buffers = 8MB",
  "max_connections = 20",
  "dynamic_shared_memory_type = mmap",
  "io_method = sync",
  "max_logical_replication_workers = 0",
  "wal_level = minimal",
  "max_wal_senders = 0",
  "min_wal_size = 32MB",
  "max_wal_size = 64MB",
  "jit = off",
]

/** First words of the database process's command line. */
export const DATABASE_MARKER = ": database"

/**
 * Creates the database if it is missing, and keeps it running until it gets TERM. A new
 * database is synced to disk as a whole before it gets its final name.
 */
export const RUN_DATABASE_SCRIPT = `${DATABASE_MARKER}
exec 2>&1
${lockCommand("database")}
mkdir -p ${STORAGE_PATH}
if [ ! -d ${DATABASE_PATH} ]; then
  rm -rf ${DATABASE_PATH}.new
  (umask 077; head -c 18 /dev/urandom | od -An -v -tx1 | tr -d ' \\n' > ${PASSWORD_PATH}) || exit 1
  ${POSTGRES_PATH}/bin/initdb --no-sync -D ${DATABASE_PATH}.new -U app --pwfile=${PASSWORD_PATH} \\
    --auth=scram-sha-256 --encoding=UTF8 --no-locale > /tmp/.initdb || { cat /tmp/.initdb; exit 1; }
  cat >> ${DATABASE_PATH}.new/postgresql.conf << 'END' || exit 1
${POSTGRES_SETTINGS.join("\n")}
END
  echo 'CREATE DATABASE app' |
    ${POSTGRES_PATH}/bin/postgres --single -c fsync=off -D ${DATABASE_PATH}.new postgres > /dev/null || exit 1
  sync -f ${DATABASE_PATH}.new && mv -T ${DATABASE_PATH}.new ${DATABASE_PATH} || exit 1
fi
child= ended=
trap 'ended=1; [ -z "$child" ] || kill -INT "$child" 2> /dev/null' TERM
while :; do
  rm -f ${DATABASE_PATH}/postmaster.pid
  : > /tmp/.database-begun
  (exec 9>&-; exec ${POSTGRES_PATH}/bin/postgres -D ${DATABASE_PATH}) & child=$!
  ${WAIT_FOR_CHILD}
  sleep 1
done`

const quoteForShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/**
 * Builds a command with its variables as one shell text. The service's own variables cannot be
 * overridden.
 */
function withVariables(command: string, { env, port, url }: VersionScriptOptions): string {
  const ours = { PORT: String(port), STORAGE_DIR: STORAGE_PATH, PREVIEW_URL: url }
  const theirs = Object.entries(env).filter(([name]) => name !== "DATABASE_URL")
  const variables = { ...Object.fromEntries(theirs), ...ours }
  const lines = Object.entries(variables).map(
    ([name, value]) => `export ${name}=${quoteForShell(value)}`,
  )
  // First, because an app's own PATH may not contain `cat`.
  const database = `export DATABASE_URL="postgres://app:$(cat ${PASSWORD_PATH})@127.0.0.1:5432/app"`
  return [database, ...lines, command].join("\n")
}

/** A version, as its scripts need it. */
export interface VersionScriptOptions {
  readonly publishId: string
  readonly port: number
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  /** The delay after the first crash, milliseconds; each further one is twice as long. */
  readonly crashPauseMs: number
  /** How long a crash counts, milliseconds. */
  readonly crashWindowMs: number
}

const versionMarker = (publishId: string): string => `: version ${publishId}`

/** The version that a process runs, by its command line; null for another process. */
export function publishIdFromCommand(command: string): string | null {
  return /^: version (pub_\w+)\n/.exec(command)?.[1] ?? null
}

/**
 * Keeps a version running until it gets TERM. A crashed version restarts after 1, 2, 4 …
 * seconds; five crashes within ten minutes end it.
 */
export function runVersionScript(version: VersionScriptOptions, start: string): string {
  const { crashPauseMs, crashWindowMs, publishId } = version
  const centiseconds = (ms: number) => String(Math.max(1, Math.round(ms / 10)))
  return `${versionMarker(publishId)}
exec 2>&1
${lockCommand(`version-${publishId}`)}
start=${quoteForShell(withVariables(start, version))}
child= ended= crashes=
trap 'ended=1; [ -z "$child" ] || kill -TERM -- "-$child" 2> /dev/null || kill -TERM "$child"' TERM
until ${DATABASE_READY_TEST} || [ -n "$ended" ]; do sleep 0.02; done
cd ${VERSIONS_PATH}/${publishId} || exit 1
while :; do
  [ -z "$ended" ] || exit 0
  (exec 9>&-; exec setsid sh -c "$start") & child=$!
  ${WAIT_FOR_CHILD}
  read -r now _ < /proc/uptime; now=\${now%.*}\${now#*.}
  recent= count=1 pause=${centiseconds(crashPauseMs)}
  for crash in $crashes; do
    [ "$((now - crash))" -lt ${centiseconds(crashWindowMs)} ] || continue
    recent="$recent $crash" count=$((count + 1)) pause=$((pause * 2))
  done
  crashes="$recent $now"
  if [ "$count" -ge 5 ]; then
    echo "[the app ended with $code, $count times in a short time; it is not restarted]"
    exit ${CRASH_LOOP_EXIT_CODE}
  fi
  echo "[the app ended with $code; it is restarted]"
  sleep "$((pause / 100)).$(printf %02d $((pause % 100)))" & child=$!
  wait "$child"
  child=
done`
}

/** Runs the release command of a version once, before its first start. */
export function releaseScript(version: VersionScriptOptions, release: string): string {
  const { publishId } = version
  const marker = `${VERSIONS_PATH}/${publishId}.released`
  return `exec 2>&1
exec 9> /tmp/.release-${publishId}.lock
flock 9
[ ! -e ${marker} ] || exit 0
cd ${VERSIONS_PATH}/${publishId} || exit 1
(exec 9>&-; exec sh -c ${quoteForShell(withVariables(release, version))}) < /dev/null || exit
: > ${marker}`
}

/**
 * Prints whether the files of version `$1` are unpacked and its release has run, and the sizes of
 * database and storage in KiB.
 */
export const STATUS_SCRIPT = `[ ! -e ${VERSIONS_PATH}/"$1".complete ] || echo there
[ ! -e ${VERSIONS_PATH}/"$1".released ] || echo released
du -skx ${DATABASE_PATH} ${STORAGE_PATH} 2> /dev/null
exit 0`

/**
 * Unpacks the files of version `$1` from standard input; they exist once all are synced to disk.
 */
export const UNPACK_SCRIPT = `exec 2>&1
mkdir -p ${VERSIONS_PATH} || exit
d=$(mktemp -d ${VERSIONS_PATH}/"$1".XXXXXX) || exit
tar -x -f - -C "$d" || { code=$?; rm -rf -- "$d"; exit "$code"; }
chmod 755 "$d" && sync -f "$d" || exit
mv -T -- "$d" ${VERSIONS_PATH}/"$1" 2> /dev/null || rm -rf -- "$d"
: > ${VERSIONS_PATH}/"$1".complete`

/** Removes the files of every version that is older than `$1` and not among the arguments. */
export const CLEANUP_SCRIPT = `for path in ${VERSIONS_PATH}/*; do
  name=\${path##*/}; name=\${name%%.*} kept=
  for one; do [ "$one" != "$name" ] || kept=1; done
  [ -n "$kept" ] || [ "$path" -nt ${VERSIONS_PATH}/"$1".complete ] || rm -rf -- "$path"
done`

/** Removes the files of version `$1`. */
export const REMOVE_SCRIPT = `rm -rf -- ${VERSIONS_PATH}/"$1" ${VERSIONS_PATH}/"$1".*`
