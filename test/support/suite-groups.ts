/** Which files of tests are run in the same processes. */

/** What is left out of every group. */
const NEVER = "**/node_modules/**"

/** Files that get a process of their own each: they put others in the place of modules of the program. */
const APART = ["test/simulation/faulty-cores.test.ts"]

/**
 * The others, by the first letters of their folders. Each group has processes of its own: they grow with the
 * files they run, and the larger one is, the longer it takes to begin another program.
 */
const TOGETHER = ["a-c", "d-l", "m-o", "p-z"]

/** Files of tests, by patterns from the folder of the project. */
export interface SuiteGroup {
  readonly name: string
  readonly include: readonly string[]
  readonly exclude: readonly string[]
  /** Whether each file has a process of its own. */
  readonly isApart: boolean
}

/** All of them: each file is in one. */
export const SUITE_GROUPS: readonly SuiteGroup[] = [
  { name: "apart", include: APART, exclude: [NEVER], isApart: true },
  ...TOGETHER.map((letters) => ({
    name: `folders ${letters}`,
    include: [`{test,bench}/[${letters}]*/**/*.test.ts`, `{test,bench}/[${letters}]*.test.ts`],
    exclude: [NEVER, ...APART],
    isApart: false,
  })),
]
