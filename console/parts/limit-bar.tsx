import { Box, Group, Stack, Text } from "@mantine/core"
import { Money, decimalsOf } from "./money.tsx"
import styles from "./parts.module.css"
import { TimeUntil } from "./time.tsx"

/** A share of the limit from which on its bar warns. */
const WARNING_SHARE = 0.8
const MICROS = 1_000_000

/** How a limit stands. */
export interface LimitStatus {
  readonly holder: "company" | "person" | "key"
  readonly holderId: string | null
  readonly class: "ai" | "general" | "all"
  readonly period: "day" | "week" | "month"
  readonly amountMicros: number
  readonly usedMicros: number
  readonly remainingMicros: number
  readonly resetsAt: string
}

const CLASS_LABELS = { ai: "AI", general: "general spending", all: "all spending" } as const

/** How many decimals amounts of these limits need: of one of cents, a rounded number would be a wrong one. */
export function limitDecimals(limits: readonly Pick<LimitStatus, "amountMicros" | "usedMicros">[]) {
  const ofCents = limits.filter(({ amountMicros }) => amountMicros < MICROS)
  return decimalsOf(ofCents.flatMap(({ usedMicros, amountMicros }) => [usedMicros, amountMicros]))
}

/** Of which spending it is, and for how long: `AI a week`. */
export function limitLabel(limit: Pick<LimitStatus, "class" | "period">): string {
  return `${CLASS_LABELS[limit.class]} a ${limit.period}`
}

interface BarProps {
  readonly label: string
  readonly usedMicros: number
  readonly amountMicros: number
  /** What was asked beyond what is left, drawn behind the limit's end. */
  readonly requestedMicros?: number
}

/** A limit as a bar: what is used of it, and what was asked beyond its end. */
export function UsageBar({ label, usedMicros, amountMicros, requestedMicros = 0 }: BarProps) {
  const whole = Math.max(amountMicros, usedMicros + requestedMicros, 1)
  const share = amountMicros === 0 ? 1 : usedMicros / amountMicros
  const colour = share >= 1 ? styles.over : share >= WARNING_SHARE ? styles.near : styles.used
  const width = (micros: number): string => `${(100 * micros) / whole}%`
  return (
    <Box
      className={styles.bar}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={Math.max(amountMicros, usedMicros)}
      aria-valuenow={usedMicros}
      aria-valuetext={`${Math.round(share * 100)} % used`}
    >
      <Box className={colour} w={width(usedMicros)} />
      {requestedMicros === 0 ? null : (
        <>
          <Box className={styles.asked} w={width(requestedMicros)} />
          <Box className={styles.end} left={width(amountMicros)} />
        </>
      )}
    </Box>
  )
}

interface LimitBarProps {
  readonly limit: LimitStatus
  /** Whose it is. */
  readonly whose: string
  /** When it is used up if spending goes on as it did; null for not before it resets. */
  readonly forecast?: string | null
}

/** A limit: whose, of what, used, left, when it resets, and how that will end. */
export function LimitBar({ limit, whose, forecast }: LimitBarProps) {
  const { usedMicros, amountMicros, remainingMicros, resetsAt } = limit
  const decimals = limitDecimals([limit])
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500}>
          {whose} <Text span c="dimmed" fw={400}>{`· ${limitLabel(limit)}`}</Text>
        </Text>
        <Text size="sm">
          <Money micros={usedMicros} decimals={decimals} />{" "}
          <Text span c="dimmed">
            of <Money micros={amountMicros} decimals={decimals} />
          </Text>
        </Text>
      </Group>
      <UsageBar label={`${whose}: ${limitLabel(limit)}`} {...{ usedMicros, amountMicros }} />
      <Text size="xs" c="dimmed">
        <Money micros={remainingMicros} decimals={decimals} /> left, resets in{" "}
        <TimeUntil at={resetsAt} />
        {forecast === undefined ? null : ` · ${forecast ?? "lasts until then at this pace"}`}
      </Text>
    </Stack>
  )
}
