/** Changing a row that anybody else may change at the same time, without holding it. */

/** A row, as statements see it. */
export interface ChangedRow<T> {
  /** What stands there; null where nothing does. */
  readonly find: () => Promise<T | null>
  /** Writes it where nothing stands; false where something does by now. */
  readonly insert: (content: T) => Promise<boolean>
  /** Writes it where `known` stands; false where something else does by now. */
  readonly replace: (known: T, content: T) => Promise<boolean>
}

/**
 * Changes a row; nobody else changes it in between. `change` is given what stands there and may be asked
 * again; where it gives the same object, nothing is written. Answers what stands there then.
 */
export async function compareAndSet<T>(
  row: ChangedRow<T>,
  change: (known: T | null) => T,
): Promise<T> {
  for (;;) {
    const known = await row.find()
    const content = change(known)
    if (known === content) return content
    const isDone = known === null ? await row.insert(content) : await row.replace(known, content)
    if (isDone) return content
    // Somebody else was quicker: what stands there now is looked at anew.
  }
}
