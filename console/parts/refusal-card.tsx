import { Group, Stack, Text } from "@mantine/core"
import type { ReactNode } from "react"
import type { Refused } from "../api/refused.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { Bar, limitWords } from "./limit-bar.tsx"
import type { Standing } from "./limit-bar.tsx"
import { TextLink } from "./link.tsx"
import { Money, dollarsText } from "./money.tsx"
import { useNow } from "./now.ts"
import styles from "./parts.module.css"
import { Time, Until } from "./time.tsx"

const MICROS = 1_000_000

/** A no to a charge, with what stood against it. */
export interface Refusal {
  readonly code: string
  /** What was asked, in words; null where that is not known. */
  readonly asked: string | null
  readonly askedMicros: number
  readonly limit: Standing | null
  readonly fundsMicros: number | null
}

/** Routes say of which kind the holder is; which one they leave to who is asked. */
type LimitInAnswer = Omit<Standing, "holderId"> &
  Partial<Pick<Standing, "holderId">> & { readonly askedMicros?: number }

/** The refusal of a charge that an answer holds; null where it holds none. */
export function refusalIn({ code, body }: Refused): Refusal | null {
  const found = body["limit"] as LimitInAnswer | undefined
  if (found !== undefined) {
    const limit = { holderId: null, ...found }
    return { code, asked: null, askedMicros: found.askedMicros ?? 0, limit, fundsMicros: null }
  }
  // The sums of a refusal for funds are dollars; a locked account's has none.
  const { needed, balance } = body as Record<string, number | undefined>
  if (code !== "payment_required" || needed === undefined || balance === undefined) return null
  const [askedMicros, fundsMicros] = [Math.round(needed * MICROS), Math.round(balance * MICROS)]
  return { code, asked: null, askedMicros, limit: null, fundsMicros }
}

const HOLDERS = { company: "The company", person: "A person", key: "A key" } as const

interface RefusalCardProps {
  readonly refusal: Refusal
  /** The server's own sentence, where there is one. */
  readonly says?: string
  /** Whose limit it is, where the page knows their name. */
  readonly whose?: string
  /** Of a question, by which nothing was refused: what of the same would fit. */
  readonly wouldFit?: WouldFit
  readonly children?: ReactNode
}

/** How many of a thing fit, by what is left. */
export interface WouldFit {
  /** Null where it is not for want of money. */
  readonly count: number | null
  readonly unitPriceMicros: number
}

/** A refusal: what was asked, what stood against it, what would fit, when it resets, who can change it. */
export function RefusalCard({ refusal, says, whose, wouldFit, children }: RefusalCardProps) {
  const { limit, asked, askedMicros, fundsMicros } = refusal
  return (
    <Stack className={styles.card} gap="sm" role="group" aria-label="A refused charge">
      {says === undefined ? null : <Text size="sm">{says}</Text>}
      <Text size="sm">
        {asked === null ? "Asked for" : `${asked}, which costs`} <Money micros={askedMicros} />
      </Text>
      {limit === null ? (
        <Funds {...{ fundsMicros, askedMicros, wouldFit }} />
      ) : (
        <Against {...{ limit, askedMicros, wouldFit }} whose={whose ?? HOLDERS[limit.holder]} />
      )}
      {children}
    </Stack>
  )
}

interface AgainstProps {
  readonly limit: Standing
  readonly askedMicros: number
  readonly whose: string
  readonly wouldFit: WouldFit | undefined
}

function Against({ limit, askedMicros, whose, wouldFit }: AgainstProps) {
  const { usedMicros, amountMicros, remainingMicros, resetsAt } = limit
  return (
    <>
      <Group justify="space-between" gap="xs">
        <Text size="sm" fw={500}>
          {whose}: {limitWords(limit)}
        </Text>
        <Text size="sm" c="dimmed">
          <Money micros={usedMicros} /> used of <Money micros={amountMicros} />
        </Text>
      </Group>
      <Bar
        label={`${whose}: ${dollarsText(askedMicros)} asked beyond ${dollarsText(remainingMicros)} left`}
        {...{ usedMicros, amountMicros, askedMicros }}
      />
      <Text size="sm">
        <Money micros={Math.max(0, remainingMicros)} />{" "}
        {wouldFit === undefined ? "would have fitted" : "would fit"}
        <Enough {...wouldFit} />. <Resets at={resetsAt} /> <WhoChanges holderId={limit.holderId} />
      </Text>
    </>
  )
}

/** For how many of what was asked that is enough. */
function Enough({ count = null, unitPriceMicros = 0 }: Partial<WouldFit>) {
  if (count === null) return null
  return (
    <>
      , enough for {count === 0 ? "none" : count.toLocaleString("en-US")} at{" "}
      <Money micros={unitPriceMicros} /> each
    </>
  )
}

/** When the limit begins anew; of a refusal that was long ago, when it did. */
function Resets({ at }: { readonly at: string }) {
  if (new Date(at).getTime() <= useNow()) {
    return (
      <>
        It was reset on <Time at={at} />.
      </>
    )
  }
  return (
    <>
      It resets in <Until at={at} />, on <Time at={at} />.
    </>
  )
}

function WhoChanges({ holderId }: Pick<Standing, "holderId">) {
  const me = useMe()
  if (!isAdmin(me)) return <>An owner or admin can change it.</>
  return (
    <TextLink to="limits" search={holderId === null ? {} : { holder: holderId }}>
      Change the limit
    </TextLink>
  )
}

interface FundsProps {
  readonly fundsMicros: number | null
  readonly askedMicros: number
  readonly wouldFit: WouldFit | undefined
}

function Funds({ fundsMicros, askedMicros, wouldFit }: FundsProps) {
  const { role } = useMe()
  if (fundsMicros === null) return null
  return (
    <>
      <Bar
        label={`Funds of ${dollarsText(fundsMicros)}, ${dollarsText(askedMicros)} asked`}
        usedMicros={0}
        amountMicros={Math.max(0, fundsMicros)}
        askedMicros={askedMicros}
      />
      <Text size="sm">
        <Money micros={fundsMicros} /> of funds {wouldFit === undefined ? "were" : "are"} there
        <Enough {...wouldFit} />.{" "}
        {role === "owner" ? (
          <TextLink to="billing" search={{ add: "funds" }}>
            Add funds
          </TextLink>
        ) : (
          <>An owner can add funds.</>
        )}
      </Text>
    </>
  )
}
