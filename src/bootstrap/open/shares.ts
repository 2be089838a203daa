/** How the connections to PostgreSQL that an installation may open are shared out. */

/**
 * The event store appends by one connection, listens by one and reads by four; the process has two,
 * the watch one.
 */
const OTHER_CONNECTIONS = 9

/** What the pools may open each. What is written behind has most: each read model writes by itself. */
export function sharesOf(connections: number) {
  const shared = connections - OTHER_CONNECTIONS
  const owner = Math.floor(shared * 0.31)
  return { owner, api: owner, behind: shared - 2 * owner }
}
