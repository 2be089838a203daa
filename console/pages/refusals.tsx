import { Alert, Button, Group, NumberInput, Select, SimpleGrid, Stack, Text } from "@mantine/core"
import { useState } from "react"
import type { PriceList, RefusalList, RefusedCharge, WouldFit } from "../api/answers.ts"
import { itemText, useNames } from "../api/names.ts"
import { useAnswer, useMay } from "../api/operations.ts"
import { curlOf, CopyAs } from "../parts/copy-as.tsx"
import { Empty } from "../parts/empty.tsx"
import { FilterBar } from "../parts/filter-bar.tsx"
import { useFilters } from "../parts/filters.ts"
import { Loaded } from "../parts/loaded.tsx"
import { Money } from "../parts/money.tsx"
import { Page, Section } from "../parts/page.tsx"
import { Pager } from "../parts/pager.tsx"
import { RefusalCard } from "../parts/refusal-card.tsx"
import { Time } from "../parts/time.tsx"

const PAGE = 20

/** Every no, with its evidence. */
export default function Refusals() {
  const [filters] = useFilters()
  const { keys } = useNames()
  const { key, before } = filters
  // Whoever does not see the company's bill sees what their own keys were refused.
  const isWanted = useMay("refusals-list") || key !== undefined
  const cursor = before === undefined ? undefined : Number(before)
  const list = useAnswer<RefusalList>(
    "refusals-list",
    { key, limit: PAGE, before: cursor },
    isWanted,
  )
  return (
    <Page
      title="Refusals"
      says="Charges that were not made, and the limit or the funds that stood against them."
      actions={
        <CopyAs
          what="curl"
          command={curlOf(`/api/v1/refusals${key === undefined ? "" : `?key=${key}`}`)}
        />
      }
    >
      <Ask />
      <Section title="What was refused">
        <Stack>
          <FilterBar filters={[{ name: "key", label: "Key", options: keys }]} />
          {isWanted ? (
            <Loaded of={list}>{(found) => <List {...found} />}</Loaded>
          ) : (
            <Empty title="Choose a key" says="You see what your own keys were refused." />
          )}
        </Stack>
      </Section>
    </Page>
  )
}

function List({ refusals, next }: RefusalList) {
  return (
    <Stack>
      {refusals.length === 0 ? <None /> : null}
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {refusals.map((refusal) => (
          <OneRefusal key={refusal.chargeId} refusal={refusal} />
        ))}
      </SimpleGrid>
      <Pager count={refusals.length} next={next} />
    </Stack>
  )
}

function None() {
  return (
    <Empty
      title="Nothing was refused"
      says="What does not fit the funds or a limit is listed here, with the numbers that stood against it."
    />
  )
}

function OneRefusal({ refusal }: { readonly refusal: RefusedCharge }) {
  const { holder, key, person } = useNames()
  const { limit, keyId, personId, times, item, quantity } = refusal
  const by = keyId === null ? person(personId) : `Key ${key(keyId)}`
  return (
    <RefusalCard
      refusal={{
        ...refusal,
        asked: `${quantity} × ${itemText(item)}`,
        askedMicros: refusal.amountMicros,
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
function Ask() {
  const { keys } = useNames()
  const asksForAll = useMay("ask")
  const prices = useAnswer<PriceList>("price-list").data?.prices ?? []
  const [key, setKey] = useState<string | null>(null)
  const [item, setItem] = useState("text_segment")
  const [quantity, setQuantity] = useState(1)
  const [question, setQuestion] = useState<Question | null>(null)
  const answer = useAnswer<WouldFit>("ask", { ...question }, question !== null)
  return (
    <Section title="What would fit?" says="Asks the ledger for a decision; nothing is charged.">
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
          <Loaded of={answer} lines={2}>
            {(found) => <Verdict question={question} found={found} />}
          </Loaded>
        )}
      </Stack>
    </Section>
  )
}

function Verdict({ question, found }: { readonly question: Question; readonly found: WouldFit }) {
  const { holder } = useNames()
  const { fits, amountMicros, limit, fitsAt } = found
  if (fits) {
    return (
      <Alert color="green" variant="light" title="It fits" maw={640}>
        It would cost <Money micros={amountMicros} /> of <Money micros={found.fundsMicros} />.
      </Alert>
    )
  }
  const asked = `${question.quantity} × ${itemText(question.item)}`
  return (
    <Stack maw={640}>
      <RefusalCard
        refusal={{ ...found, code: found.code ?? "", asked, askedMicros: amountMicros }}
        {...(limit === null ? {} : { whose: holder(limit) })}
        wouldFit={unitsOf(found)}
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
function unitsOf({ unitPriceMicros, limit, fundsMicros, creditLineMicros, shortMicros }: WouldFit) {
  const fundsLeft = fundsMicros + creditLineMicros
  const left = Math.max(0, limit === null ? fundsLeft : Math.min(limit.remainingMicros, fundsLeft))
  const isForMoney = unitPriceMicros > 0 && (limit !== null || shortMicros > 0)
  return { count: isForMoney ? Math.floor(left / unitPriceMicros) : null, unitPriceMicros }
}
