/** A full number as people read it: `+1 415 555 0123`, in one line; one of another country as it is. */
export function phoneText(number: string | null): string {
  if (number === null) return "–"
  const parts = /^(\+1)(\d{3})(\d{3})(\d{4})$/.exec(number)
  return parts === null ? number : parts.slice(1).join("\u00a0")
}
