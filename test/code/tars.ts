/** What stands in a tar archive, as far as archives of code have it. */

/** An entry: `2` is a link, `5` a folder, `0` a file. */
export interface TarEntry {
  readonly name: string
  readonly type: string
  readonly target: string
  readonly size: number
}

const BLOCK = 512

/** The entries of an archive, without what only tells of others; long names and targets are left short. */
export function entriesOfTar(tar: Buffer): readonly TarEntry[] {
  const entries: TarEntry[] = []
  const text = (from: number, length: number) =>
    tar.toString("utf8", from, from + length).replace(/\0.*$/s, "")
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8)
    const type = text(at + 156, 1)
    if (type !== "g" && type !== "x") {
      entries.push({ name: text(at, 100), type, target: text(at + 157, 100), size })
    }
    at += BLOCK * (1 + Math.ceil(size / BLOCK))
  }
  return entries
}
