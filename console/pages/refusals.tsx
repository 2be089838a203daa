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

/** Every no, with its evidence. */
export default function RefusalsPage() {
  const [filters] = useFilters()
  const { keys } = useNames()
  const { key, before } = filters
  // Whoever does not see the company's bill sees what their own keys were refused.
  const isWanted = useCanRun("refusals-list") || key !== undefined
  const cursor = before === undefined ? undefined : Number(before)
  const list = useOperationQuery<RefusalList>(
    "refusals-list",
    { key, limit: PAGE_ROWS, before: cursor },
    isWanted,
  )
  return (
    <PageLayout
      title="Refusals"
      description="Charges that were not made, and the limit or the funds that stood against them."
      actions={
        <CopyCommandButton
          what="curl"
          command={curlOf(`/api/v1/refusals${key === undefined ? "" : `?key=${key}`}`)}
        />
      }
    >
      <ChargeCheckForm />
      <Section title="What was refused">
        <Stack>
          <FilterBar filters={[{ name: "key", label: "Key", options: keys }]} />
          {isWanted ? (
            <QueryView query={list}>{(found) => <List {...found} />}</QueryView>
          ) : (
            <EmptyState
              title="Choose a key"
              description="You see what your own keys were refused."
            />
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
      title="Nothing was refused"
      description="What does not fit the funds or a limit is listed here, with the numbers that stood against it."
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
        {times === 1 ? "" : `; ${times} times like it, the last `}
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

/** Asks the ledger what it would decide. Nothing is charged. */
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
      title="What would fit?"
      description="Asks the ledger for a decision; nothing is charged."
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
            label="Who spends"
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
            Ask
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
            "It would not fit at any later time either."
          ) : (
            <>
              It would fit from <Time at={fitsAt} /> on if nothing else were spent.
            </>
          )}
        </Text>
      </RefusalCard>
    </Stack>
  )
}

/** How many would fit what is left of the limit and of the funds, by what the ledger says of them. */
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
