import type { PoolClient } from "pg"

/**
 * Lends a pool's connection for some work. One on which that failed is destroyed: whatever state it is
 * in, nobody gets it again.
 *
 * @throws what the work throws; the driver's errors
 */
export async function onConnection<T>(
  pool: { readonly connect: () => Promise<PoolClient> },
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let failed = true
  try {
    const result = await work(client)
    failed = false
    return result
  } finally {
    client.release(failed)
  }
}
