/** Formats a US number: `+1 415 555 0123`, without a line break; other numbers stay as they are. */
export function phoneText(number: string | null): string {
  if (number === null) return "–"
  const parts = /^(\+1)(\d{3})(\d{3})(\d{4})$/.exec(number)
  return parts === null ? number : parts.slice(1).join("\u00a0")
}
