/** What is pushed piece by piece, to be pulled. */

/**
 * The pieces that `give` sends, as they are read; whoever reads no further ends it.
 *
 * @param give sends each piece once the one before was taken
 */
export async function* pulled(
  give: (send: (piece: Uint8Array) => Promise<void>) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const given = give((piece) => writer.write(piece)).then(
    () => writer.close(),
    (error: unknown) => writer.abort(error),
  )
  // Of what nobody reads to its end only its giver hears.
  given.catch(() => undefined)
  yield* readable
  await given
}
