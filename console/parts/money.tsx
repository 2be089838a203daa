import styles from "./parts.module.css"

const MICROS = 1_000_000

/**
 * Dollars as text: `$1,234.50`, a minus before the sign.
 *
 * @param micros millionths of a dollar
 * @param decimals 2 to 6; what lies behind is rounded
 */
export function dollarsText(micros: number, decimals = 2): string {
  const text = (Math.abs(micros) / MICROS).toLocaleString("en-US", {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  })
  return `${micros < 0 ? "−" : ""}$${text}`
}

/** How many decimals a column needs so that each of its amounts is shown whole: 2 to 6. */
export function decimalsOf(amounts: readonly (number | null)[]): number {
  let most = 2
  for (const micros of amounts) {
    while (most < 6 && micros !== null && micros % 10 ** (6 - most) !== 0) most += 1
  }
  return most
}

/** An amount as somebody types it into a form: `12.5`. */
export function typedDollars(micros: number): string {
  return String(micros / MICROS)
}

/** Micros of an amount of dollars, as the API answers it. */
export function dollarMicros(dollars: number): number {
  return Math.round(dollars * MICROS)
}

interface MoneyProps {
  /** Millionths of a dollar; null shows a dash. */
  readonly micros: number | null
  readonly decimals?: number
}

/** An amount: dollars, and micro-dollars on hover. */
export function Money({ micros, decimals }: MoneyProps) {
  if (micros === null) return <span className={styles.money}>–</span>
  return (
    <span className={styles.money} title={`${micros.toLocaleString("en-US")} micro-dollars`}>
      {dollarsText(micros, decimals ?? decimalsOf([micros]))}
    </span>
  )
}
