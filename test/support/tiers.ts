/** The tiers of tests. A test file's name determines its tier. */

/** Resources that a test file opened and started. */
export interface Counters {
  /** Installations opened in the worker process. */
  readonly worlds: number
  /** Databases created. */
  readonly databases: number
  /** Child processes started. */
  readonly processes: number
  /** SQL statements sent by the worker process. */
  readonly statements: number
  /** Connections of the worker process to the run's PostgreSQL. */
  readonly connections: number
}

/** A group of test files that share worker processes, by patterns relative to the project's folder. */
export interface Tier {
  readonly name: string
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** Whether each file has a worker process of its own. */
  readonly isIsolated: boolean
}

const FOLDERS = "{test,bench}/**"
const PACKAGES = "**/node_modules/**"
/** Mocks modules of the program, so it must not share a process with other files. */
const ISOLATED = "test/simulation/faulty-cores.test.ts"

/** All tiers; each test file is in exactly one. */
export const TIERS: readonly Tier[] = [
  {
    name: "isolated",
    include: [ISOLATED],
    exclude: [],
    isIsolated: true,
  },
  {
    name: "fast",
    include: [`${FOLDERS}/*.test.ts`],
    exclude: [PACKAGES, `${FOLDERS}/*.{postgres,outside}.test.ts`, ISOLATED],
    isIsolated: false,
  },
  ...["postgres", "outside"].map((name) => ({
    name,
    include: [`${FOLDERS}/*.${name}.test.ts`],
    exclude: [PACKAGES],
    isIsolated: false,
  })),
]

/**
 * Checks the resources that a test file used against its tier.
 *
 * @returns the error message; null if the file is in the right tier
 */
export function tierFault(file: string, used: Counters): string | null {
  if (file.endsWith(".outside.test.ts")) return null
  if (used.processes > 0) {
    return `${file} starts processes: end its name in .outside.test.ts`
  }
  if (file.endsWith(".postgres.test.ts")) return null
  return used.databases + used.statements + used.connections > 0
    ? `${file} opens databases: end its name in .postgres.test.ts`
    : null
}
