/** Closing what was opened, in the reverse order. */

/** What is to be closed, in the order it was opened. */
export type Closers = (() => Promise<void> | void)[]

/** Closes the last first, whatever one of them says. @throws AggregateError of what went wrong */
export async function closeAll(closers: Closers): Promise<void> {
  const errors: unknown[] = []
  for (const close of closers.splice(0).toReversed()) {
    try {
      await close()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "not everything could be closed")
}
