/** A count with its noun: `1 call`, `6 calls`. */
export function countText(count: number, one: string): string {
  return `${count.toLocaleString("en-US")} ${one}${count === 1 ? "" : "s"}`
}
