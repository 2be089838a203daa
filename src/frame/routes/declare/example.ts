/** A right request to a route, as the route itself shows it. */
export interface Example {
  /** By the path's `:names`. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  /** JSON; bytes where the route takes those. */
  readonly body?: object
  /** The field of the body that tests leave out, because the request would do too much with it. */
  readonly leavesOut?: string
}

/** An example; where only the time makes it right, one for a time in UTC milliseconds. */
export type RouteExample = Example | ((at: number) => Example)
