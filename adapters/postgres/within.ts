/** What a promise comes to, or `late` where it takes longer than so many milliseconds. */
export async function within<T, L>(ms: number, promise: Promise<T>, late: L): Promise<T | L> {
  const over = Promise.withResolvers<L>()
  const timer = setTimeout(() => over.resolve(late), ms)
  try {
    return await Promise.race([promise, over.promise])
  } finally {
    clearTimeout(timer)
  }
}
