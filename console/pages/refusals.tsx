import { Alert, Button, Group, NumberInput, Select, SimpleGrid, Stack, Text } from "@mantine/core"
import { useState } from "react"
import type { PriceList, RefusalList, RefusedCharge, ChargeCheck } from "../api/answers.ts"
import { itemText, useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { curlOf, CopyCommandButton } from "../parts/copy-command.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { QueryView } from "../parts/query-view.tsx"
import { Money } from "../parts/money.tsx"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { Pager } from "../parts/pager.tsx"
import { RefusalCard } from "../parts/refusal-card.tsx"
import { Time } from "../parts/time.tsx"

const PAGE_ROWS = 20

/** All refused charges with their evidence. */
export default function RefusalsPage() {
  const [filters] = useFilters()
  const { keys } = useNames()
  const { key, before } = filters
  // Readers without access to billing see the refusals of their own keys.
  const canList = useCanRun("refusals-list") || key !== undefined
  const cursor = before === undefined ? undefined : Number(before)
  const list = useOperationQuery<RefusalList>(
    "refusals-list",
    { key, limit: PAGE_ROWS, before: cursor },
    canList,
  )
  return (
    <PageLayout
      title="Refusals"
      description="Charges that were refused, with the limit or the funds that they exceeded."
      actions={
        <CopyCommandButton
          what="curl"
          command={curlOf(`/api/v1/refusals${key === undefined ? "" : `?key=${key}`}`)}
        />
      }
    >
      <ChargeCheckForm />
      <Section title="Refused charges">
        <Stack>
          <FilterBar filters={[{ name: "key", label: "Key", options: keys }]} />
          {canList ? (
            <QueryView query={list}>{(found) => <List {...found} />}</QueryView>
          ) : (
            <EmptyState title="Choose a key" description="You see the refusals of your own keys." />
          )}
        </Stack>
      </Section>
    </PageLayout>
  )
}

function List({ refusals, next }: RefusalList) {
  return (
    <Stack>
      {refusals.length === 0 ? <NoRefusals /> : null}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {refusals.map((refusal) => (
          <RefusalItem key={refusal.chargeId} refusal={refusal} />
        ))}
      </SimpleGrid>
      <Pager count={refusals.length} next={next} />
    </Stack>
  )
}

function NoRefusals() {
  return (
    <EmptyState
      title="No refusals"
      description="Charges that exceed the funds or a limit appear here, with the numbers."
    />
  )
}

function RefusalItem({ refusal }: { readonly refusal: RefusedCharge }) {
  const { holder, key, person } = useNames()
  const { limit, keyId, personId, times, item, quantity } = refusal
  const by = keyId === null ? person(personId) : `Key ${key(keyId)}`
  return (
    <RefusalCard
      refusal={{
        ...refusal,
        requested: `${quantity} × ${itemText(item)}`,
        requestedMicros: refusal.amountMicros,
      }}
      {...(limit === null ? {} : { whose: holder(limit) })}
    >
      <Text size="xs" c="dimmed">
        {by}, <Time at={refusal.at} />
        {times === 1 ? "" : `; ${times} similar refusals, the last `}
        {times === 1 ? null : <Time at={refusal.lastAt} />}
      </Text>
    </RefusalCard>
  )
}

interface Question {
  readonly key: string | undefined
  readonly item: string
  readonly quantity: number
}

/** A form that asks the ledger for a decision without charging. */
function ChargeCheckForm() {
  const { keys } = useNames()
  const asksForAll = useCanRun("ask")
  const prices = useOperationQuery<PriceList>("price-list").data?.prices ?? []
  const [key, setKey] = useState<string | null>(null)
  const [item, setItem] = useState("text_segment")
  const [quantity, setQuantity] = useState(1)
  const [question, setQuestion] = useState<Question | null>(null)
  const answer = useOperationQuery<ChargeCheck>("ask", { ...question }, question !== null)
  return (
    <Section
      title="Check a charge"
      description="Asks the ledger whether a charge would fit. Nothing is charged."
    >
      <Stack>
        <Group
          component="form"
          align="flex-end"
          gap="xs"
          onSubmit={(event: { preventDefault: () => void }) => {
            event.preventDefault()
            setQuestion({ key: key ?? undefined, item, quantity })
          }}
        >
          <Select
            label="Spender"
            placeholder={asksForAll ? "The company" : "A key"}
            w={{ base: "100%", xs: 190 }}
            clearable={asksForAll}
            data={keys.map(([value, label]) => ({ value, label: `Key ${label}` }))}
            value={key}
            onChange={setKey}
          />
          <Select
            label="Item"
            w={{ base: "100%", xs: 220 }}
            searchable
            allowDeselect={false}
            data={prices.map(({ item: value }) => ({ value, label: itemText(value) }))}
            value={item}
            onChange={(chosen) => setItem(chosen ?? item)}
          />
          <NumberInput
            label="Quantity"
            w={{ base: "55%", xs: 110 }}
            min={1}
            allowDecimal={false}
            value={quantity}
            onChange={(value) => setQuantity(Math.max(1, Number(value)))}
          />
          <Button type="submit" variant="default" disabled={!asksForAll && key === null}>
            Check
          </Button>
        </Group>
        {question === null ? null : (
          <QueryView query={answer} lines={2}>
            {(found) => <ChargeCheckResult question={question} found={found} />}
          </QueryView>
        )}
      </Stack>
    </Section>
  )
}

function ChargeCheckResult({
  question,
  found,
}: {
  readonly question: Question
  readonly found: ChargeCheck
}) {
  const { holder } = useNames()
  const { fits, amountMicros, limit, fitsAt } = found
  if (fits) {
    return (
      <Alert color="green" variant="light" title="It fits" maw={640}>
        It would cost <Money micros={amountMicros} /> of <Money micros={found.fundsMicros} />.
      </Alert>
    )
  }
  const requested = `${question.quantity} × ${itemText(question.item)}`
  return (
    <Stack maw={640}>
      <RefusalCard
        refusal={{ ...found, code: found.code ?? "", requested, requestedMicros: amountMicros }}
        {...(limit === null ? {} : { whose: holder(limit) })}
        wouldFit={affordableCount(found)}
      >
        <Text size="sm">
          {fitsAt === null ? (
            "It would not fit later, either."
          ) : (
            <>
              It would fit from <Time at={fitsAt} /> if nothing else is spent.
            </>
          )}
        </Text>
      </RefusalCard>
    </Stack>
  )
}

/** How many units fit the rest of the limit and of the funds. */
function affordableCount({
  unitPriceMicros,
  limit,
  fundsMicros,
  creditLineMicros,
  shortMicros,
}: ChargeCheck) {
  const fundsLeft = fundsMicros + creditLineMicros
  const left = Math.max(0, limit === null ? fundsLeft : Math.min(limit.remainingMicros, fundsLeft))
  const isForMoney = unitPriceMicros > 0 && (limit !== null || shortMicros > 0)
  return { count: isForMoney ? Math.floor(left / unitPriceMicros) : null, unitPriceMicros }
}
