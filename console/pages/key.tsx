import { Code, Group, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core"
import { useNavigate, useParams } from "@tanstack/react-router"
import type { Key, KeyList, LimitList } from "../api/answers.ts"
import { groupOperations } from "../api/key-operations.ts"
import { useNames } from "../api/names.ts"
import { useOperationQuery, useCanRun } from "../api/operations.ts"
import { isAdmin, useMe } from "../api/session.ts"
import { ActionButton } from "../parts/action-button.tsx"
import { EmptyState } from "../parts/empty-state.tsx"
import { DetailList } from "../parts/detail-list.tsx"
import { OperationFormButton, dollarsFault } from "../parts/operation-form-button.tsx"
import { Id } from "../parts/id.tsx"
import { KeyStatusBadge } from "../parts/key-status.tsx"
import { LimitBar } from "../parts/limit-bar.tsx"
import { TextLink, usePagePath } from "../parts/link.tsx"
import { QueryView } from "../parts/query-view.tsx"
import { Money, typedDollars } from "../parts/money.tsx"
import { OperationChoice } from "../parts/operation-choice.tsx"
import { useNow } from "../parts/use-now.ts"
import { limitForecast } from "../parts/limit-forecast.ts"
import { PageLayout, Section } from "../parts/page-layout.tsx"
import { Time } from "../parts/time.tsx"

/** One key: what it may, what it spent of its limit, and stopping it. */
export default function KeyPage() {
  const { keyId } = useParams({ strict: false })
  const list = useOperationQuery<KeyList>("key-list")
  return (
    <QueryView query={list}>
      {({ keys }) => {
        const found = keys.find((one) => one.keyId === keyId)
        return found === undefined ? (
          <EmptyState
            title="There is no such key"
            description="It may be another person's, or deleted."
          />
        ) : (
          <KeyContent found={found} />
        )
      }}
    </QueryView>
  )
}

function KeyContent({ found }: { readonly found: Key }) {
  const { person } = useNames()
  const { keyId, label, personId, status, operations, createdAt, lastUsedAt } = found
  return (
    <PageLayout
      title={label ?? keyId}
      description={<Id id={keyId} />}
      actions={status === "deleted" ? undefined : <Actions found={found} />}
    >
      <DetailList
        items={[
          ["Status", <KeyStatusBadge key="status" status={status} />],
          ["Of", personId === null ? "The company's app" : person(personId)],
          ["Created", <Time key="created" at={createdAt} isWhole />],
          [
            "Last used",
            lastUsedAt === null ? "Never" : <Time key="used" at={lastUsedAt} isWhole />,
          ],
          ["May add funds", <AddFundsTerms key="funds" {...found} />],
          ["Spent this month", <Money key="spent" micros={found.spentThisMonthMicros} />],
          [
            "Spending",
            <TextLink key="spending" to="spending" search={{ key: keyId }}>
              What it spent
            </TextLink>,
          ],
          [
            "Refusals",
            <TextLink key="refusals" to="refusals" search={{ key: keyId }}>
              What it was refused
            </TextLink>,
          ],
        ]}
      />
      <OwnLimit keyId={keyId} />
      <Section title={`Operations: ${operations.length}`}>
        <Stack gap="xs">
          {groupOperations(operations).map(({ title, operations: names }) => (
            <Group key={title} gap={4} align="flex-start">
              <Text size="sm" w={{ base: "100%", sm: 150 }}>
                {title}
              </Text>
              <Group gap={4} flex="1 1 200px">
                {names.map((name) => (
                  <Code key={name}>{name}</Code>
                ))}
              </Group>
            </Group>
          ))}
        </Stack>
      </Section>
    </PageLayout>
  )
}

const MODES = { on: "", needs_owner_review: ", each time an owner agrees", off: "" } as const

function AddFundsTerms({ addFunds }: Pick<Key, "addFunds">) {
  if (addFunds === null || addFunds.mode === "off") return <>No</>
  return (
    <>
      <Money micros={addFunds.perPurchaseMicros} /> at a time,{" "}
      <Money micros={addFunds.perMonthMicros} /> a month{MODES[addFunds.mode]}
    </>
  )
}

function OwnLimit({ keyId }: { readonly keyId: string }) {
  const seesLimits = useCanRun("limit-list")
  const now = useNow()
  const limits = useOperationQuery<LimitList>("limit-list", {}, seesLimits).data?.limits ?? []
  const limit = limits.find(({ holderId }) => holderId === keyId)
  if (!seesLimits) return null
  return (
    <Section
      title="Its own limit"
      description="It counts all that the key spends, whatever it buys."
    >
      <Stack maw={560}>
        {limit === undefined ? (
          <Text size="sm">
            It has none: the limits of its person and of the company hold.{" "}
            <TextLink to="limits">Set one</TextLink>
          </Text>
        ) : (
          <LimitBar limit={limit} whose="This key" forecast={limitForecast(limit, now)} />
        )}
      </Stack>
    </Section>
  )
}

function Actions({
  found: { keyId, status, operations, label, personId, addFunds },
}: {
  readonly found: Key
}) {
  const me = useMe()
  const navigate = useNavigate()
  const placeOf = usePagePath()
  const isOwn = personId === me.personId
  return (
    <>
      <OperationFormButton<{ operations: readonly string[] }, unknown>
        operation="key-change"
        label="Change"
        title="Change what it may do"
        description="What is not chosen any more is refused from its next call on."
        {...{ isOwn, initialValues: { operations } }}
        inputOf={({ operations: chosen }) => ({ keyId, operations: chosen })}
        fields={(form) => (
          <OperationChoice
            chosen={form.values.operations}
            onChoose={(chosen) => form.setFieldValue("operations", chosen)}
          />
        )}
        submitLabel="Change"
        successMessage="The key was changed."
      />
      {isAdmin(me) ? <ChangeAddFunds keyId={keyId} now={addFunds} /> : null}
      {status === "paused" ? (
        <ActionButton
          operation="key-resume"
          {...{ isOwn, input: { keyId } }}
          label="Resume"
          description="Its calls are let in again at once."
          successMessage="The key works again."
          undo={{
            operation: "key-pause",
            input: { keyId },
            successMessage: "The key is paused again.",
          }}
        />
      ) : (
        <ActionButton
          operation="key-pause"
          {...{ isOwn, input: { keyId } }}
          label="Pause"
          description="Pausing this key refuses its calls at once; it can be resumed."
          successMessage="The key is paused."
          undo={{
            operation: "key-resume",
            input: { keyId },
            successMessage: "The key works again.",
          }}
        />
      )}
      <ActionButton
        operation="key-delete"
        {...{ isOwn, input: { keyId } }}
        confirmationText={label ?? keyId}
        label="Delete"
        description="Its calls are refused from now on, for ever. Pausing stops it for a time."
        successMessage="The key was deleted."
        isDangerous
        onDone={() => void navigate({ to: placeOf("keys") })}
      />
    </>
  )
}

type AddFundsValues = {
  readonly purchases: string
  readonly perPurchase: string
  readonly perMonth: string
}

/** As the operation names them. */
const CHOICES = { on: "on", needs_owner_review: "review", off: "off" } as const

function termsOf(now: Key["addFunds"]): AddFundsValues {
  if (now === null) return { purchases: "off", perPurchase: "", perMonth: "" }
  const [perPurchase, perMonth] = [
    typedDollars(now.perPurchaseMicros),
    typedDollars(now.perMonthMicros),
  ]
  return { purchases: CHOICES[now.mode], perPurchase, perMonth }
}

/** A key that may not needs no sums. */
function sumFault(text: string, { purchases }: AddFundsValues): string | null {
  return purchases === "off" && text.trim() === "" ? null : dollarsFault(text)
}

/** Lets a key add funds, so much at a time and a month. */
function ChangeAddFunds({ keyId, now }: { readonly keyId: string; readonly now: Key["addFunds"] }) {
  return (
    <OperationFormButton<AddFundsValues, unknown>
      operation="key-change"
      label="Adding funds"
      title="Whether it may add funds"
      description="What it buys is paid from the company's card."
      initialValues={termsOf(now)}
      validators={{ perPurchase: sumFault, perMonth: sumFault }}
      inputOf={({ purchases, perPurchase, perMonth }) => ({
        keyId,
        purchases,
        addFundsPerPurchase: perPurchase.trim(),
        addFundsPerMonth: perMonth.trim(),
      })}
      fields={(form) => (
        <>
          <Select
            label="It may add funds"
            allowDeselect={false}
            data={[
              { value: "on", label: "Yes" },
              { value: "review", label: "Each time an owner agrees" },
              { value: "off", label: "No" },
            ]}
            {...form.getInputProps("purchases")}
          />
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput label="Dollars at a time" {...form.getInputProps("perPurchase")} />
            <TextInput label="Dollars a month" {...form.getInputProps("perMonth")} />
          </SimpleGrid>
        </>
      )}
      submitLabel="Save"
      successMessage="It holds from the key's next purchase on."
    />
  )
}
