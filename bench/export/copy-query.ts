/** `COPY … TO STDOUT` through pg, which knows the messages but does not support them itself. */
import type { Pool } from "pg"

/** The methods that pg calls while a statement runs; its other calls have no effect. */
interface CopyStatement {
  readonly submit: (connection: { readonly query: (text: string) => void }) => void
  readonly handleCopyData: (message: { readonly chunk: Buffer }) => void
  readonly handleReadyForQuery: () => void
  readonly handleError: (error: Error) => void
}

/** Copies the rows of a query; returns its lines and bytes. */
export async function copyQuery(
  pool: Pool,
  select: string,
): Promise<{ lines: number; bytes: number }> {
  const client = await pool.connect()
  const found = { lines: 0, bytes: 0 }
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const nothing = () => undefined
  const copying: CopyStatement & Record<string, unknown> = {
    submit: (connection) => connection.query(`copy (${select}) to stdout`),
    handleCopyData: ({ chunk }) => {
      found.lines += 1
      found.bytes += chunk.length
    },
    handleReadyForQuery: resolve,
    handleError: reject,
    handleCopyOutResponse: nothing,
    handleCommandComplete: nothing,
  }
  try {
    client.query(copying)
    await promise
  } finally {
    client.release()
  }
  return found
}
