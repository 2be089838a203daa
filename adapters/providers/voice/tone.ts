/** Sound of some length, in place of what would have been said. */

/** As many bytes as MP3 of this length has, none of which is sound. */
export function* toneMp3(seconds: number): Iterable<Uint8Array> {
  for (let second = 0; second < seconds; second += 1) yield new Uint8Array(3_000)
}
