/** Formats figures and texts for a page. */

const THOUSAND = 1_000

/** Three significant digits: `0.0362`, `4.71`, `1,230,000`. */
export function formatNumber(value: number): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: 3 })
}

/** A short value for an axis: `20k`, `1M`, `0.5`. */
export function formatCompact(value: number): string {
  if (value >= THOUSAND ** 3) return `${formatNumber(value / THOUSAND ** 3)}G`
  if (value >= THOUSAND ** 2) return `${formatNumber(value / THOUSAND ** 2)}M`
  if (value >= THOUSAND) return `${formatNumber(value / THOUSAND)}k`
  return formatNumber(value)
}

/** A share as a percentage: `67 %`. */
export function formatPercent(part: number): string {
  return `${Math.round(part * 100)} %`
}

/** Escapes text for HTML and SVG. */
export function escapeHtml(text: string): string {
  const names: Readonly<Record<string, string>> = { "&": "amp", "<": "lt", ">": "gt", '"': "quot" }
  return text.replaceAll(/[&<>"]/gu, (sign) => `&${names[sign]};`)
}
