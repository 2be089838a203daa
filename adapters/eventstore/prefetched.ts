/**
 * Gives pages one after another and fetches the next one while the reader is busy with this one, so
 * that reading and the work on what was read overlap. At most one page is fetched ahead.
 *
 * `fetch` is given the page before (null for the first) and answers null behind the last.
 */
export async function* prefetched<Page>(
  fetch: (previous: Page | null) => Promise<Page> | null,
): AsyncGenerator<Page> {
  let next = fetch(null)
  while (next !== null) {
    const page = await next
    next = fetch(page)
    // The page ahead may fail while the reader is busy. It is told when it asks for that page, and
    // never when it leaves before: without this handler the process would end over it.
    next?.catch(() => undefined)
    // A reader that works without a pause would keep the question from being sent until it asks.
    if (next !== null) await new Promise(setImmediate)
    yield page
  }
}
