import styles from "./parts.module.css"

const MICROS = 1_000_000

/**
 * Formats dollars: `$1,234.50`, with a minus before the sign.
 *
 * @param micros micro-dollars
 * @param decimals 2 to 6; the rest is rounded
 */
export function dollarsText(micros: number, decimals = 2): string {
  const text = (Math.abs(micros) / MICROS).toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
  return `${micros < 0 ? "−" : ""}$${text}`
}

/** Decimals that show each amount exactly: 2 to 6. */
export function decimalsOf(amounts: readonly (number | null)[]): number {
  let most = 2
  for (const micros of amounts) {
    while (most < 6 && micros !== null && micros % 10 ** (6 - most) !== 0) most += 1
  }
  return most
}

/** An amount as typed into a form: `12.5`. */
export function typedDollars(micros: number): string {
  return String(micros / MICROS)
}

/** Converts dollars of the API to micro-dollars. */
export function dollarMicros(dollars: number): number {
  return Math.round(dollars * MICROS)
}

interface MoneyProps {
  /** Micro-dollars; null shows a dash. */
  readonly micros: number | null
  readonly decimals?: number
}

/** An amount in dollars, with micro-dollars on hover. */
export function Money({ micros, decimals }: MoneyProps) {
  if (micros === null) return <span className={styles.money}>–</span>
  return (
    <span className={styles.money} title={`${micros.toLocaleString("en-US")} micro-dollars`}>
      {dollarsText(micros, decimals ?? decimalsOf([micros]))}
    </span>
  )
}
