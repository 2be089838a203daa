import { Box, Group, Stack, Text } from "@mantine/core"
import { Money, decimalsOf } from "./money.tsx"
import styles from "./parts.module.css"
import { TimeUntil } from "./time.tsx"

/** Used share of a limit from which its bar warns. */
const WARNING_SHARE = 0.8
const MICROS = 1_000_000

/** A spending limit with its usage. */
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

/** Decimals for amounts of these limits; small limits need more than cents. */
export function limitDecimals(limits: readonly Pick<LimitStatus, "amountMicros" | "usedMicros">[]) {
  const small = limits.filter(({ amountMicros }) => amountMicros < MICROS)
  return decimalsOf(small.flatMap(({ usedMicros, amountMicros }) => [usedMicros, amountMicros]))
}

/** Class and period of a limit: `AI a week`. */
export function limitLabel(limit: Pick<LimitStatus, "class" | "period">): string {
  return `${CLASS_LABELS[limit.class]} a ${limit.period}`
}

interface BarProps {
  readonly label: string
  readonly usedMicros: number
  readonly amountMicros: number
  /** Rejected amount, drawn after the end of the limit. */
  readonly requestedMicros?: number
}

/** A bar of the used and the rejected amount of a limit. */
export function UsageBar({ label, usedMicros, amountMicros, requestedMicros = 0 }: BarProps) {
  const total = Math.max(amountMicros, usedMicros + requestedMicros, 1)
  const share = amountMicros === 0 ? 1 : usedMicros / amountMicros
  const color = share >= 1 ? styles.over : share >= WARNING_SHARE ? styles.near : styles.used
  const width = (micros: number): string => `${(100 * micros) / total}%`
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
      <Box className={color} w={width(usedMicros)} />
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
  readonly whose: string
  /** When the limit is used up at the current pace; null if it lasts until its reset. */
  readonly forecast?: string | null
}

/** A limit: holder, class, usage, reset and forecast. */
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
      <UsageBar
        label={`${whose}: ${limitLabel(limit)}`}
        usedMicros={usedMicros}
        amountMicros={amountMicros}
      />
      <Text size="xs" c="dimmed">
        <Money micros={remainingMicros} decimals={decimals} /> left, resets in{" "}
        <TimeUntil at={resetsAt} />
        {forecast === undefined ? null : ` · ${forecast ?? "lasts until then at this pace"}`}
      </Text>
    </Stack>
  )
}
