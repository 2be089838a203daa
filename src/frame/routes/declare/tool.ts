/** Routes as tools of AI clients (the Model Context Protocol). */

/**
 * What AI clients call a route by, and what of it they give. Each argument's form and description are
 * those of the route's schemas; all its schemas describe it by `.describe()`.
 */
export interface Tool {
  /** Unique in a program, such as `run_command`. */
  readonly name: string
  /** What people are shown. */
  readonly title: string
  /** What a model reads to know when to call it, and how. */
  readonly description: string
  /** In the order in which they are listed: of the path, of the query, of the body. */
  readonly arguments: {
    /** The path's `:names` by what the arguments are called: `{ box: "id" }`; all of them are required. */
    readonly path?: Readonly<Record<string, string>>
    /** Parameters of the query. */
    readonly query?: readonly string[]
    /** Fields of the body. */
    readonly body?: readonly string[]
  }
  readonly annotations: {
    /** Whether it changes nothing. */
    readonly readOnlyHint: boolean
    /** Whether what it changes may be lost by it. */
    readonly destructiveHint: boolean
  }
}
