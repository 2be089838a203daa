import { Group, NumberInput, Select, SimpleGrid, Stack, TextInput, Textarea } from "@mantine/core"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { curlOfChange } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { FilterBar } from "../../parts/filter-bar.tsx"
import { useFilters } from "../../parts/filters.ts"
import { CopyIconButton } from "../../parts/id.tsx"
import { TruncatedText } from "../../parts/truncated-text.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { ExportZone } from "./zone-file.tsx"

type Domain = Schema<"Domain">
type DnsRecord = Schema<"DnsRecord">

const PATH = "/api/v1/domain"

/** The writable types; others are read-only. */
const WRITABLE = ["A", "AAAA", "CNAME", "MX", "TXT"] as const
const TYPES = [...WRITABLE, "CAA", "SRV", "NS"] as const

const SOURCES = {
  copied: "Copied",
  added: "Added",
  email: "For mail",
  app: "For your app",
} as const

/** The domain's records, as served. */
export function Records({ domain }: { readonly domain: Domain }) {
  const [{ type, source }] = useFilters()
  const rows = domain.records
    .filter((one) => type === undefined || one.type === type)
    .filter((one) => source === undefined || one.source === source)
  return (
    <Section
      title="Records"
      description="Served when the registrar uses our name servers."
      actions={
        <Group gap="xs">
          <ExportZone domain={domain} />
          <WriteRecord domain={domain} />
        </Group>
      }
    >
      <Stack>
        <FilterBar
          filters={[
            { name: "type", label: "Type", options: TYPES.map((one) => [one, one]) },
            { name: "source", label: "Source", options: Object.entries(SOURCES) },
          ]}
        />
        <DataTable
          label="Records"
          columns={columnsOf(domain)}
          rows={rows}
          rowKey={({ id }) => id}
          empty={
            <EmptyState
              title="No records"
              description="Records that were copied, that you add, or that we create for mail and your app appear here."
              command={curlOfChange({
                method: "POST",
                path: PATH,
                body: {
                  action: "add_record",
                  domainId: domain.id,
                  record: { type: "TXT", name: "@", content: "hello", priority: null },
                },
              })}
            />
          }
        />
      </Stack>
    </Section>
  )
}

function columnsOf(domain: Domain): readonly TableColumn<DnsRecord>[] {
  return [
    { title: "Type", cell: ({ type }) => type, sortBy: ({ type }) => type },
    {
      title: "Name",
      cell: ({ name }) => <TruncatedText text={shortName(name, domain.domain)} width={220} />,
      sortBy: ({ name }) => name,
    },
    {
      title: "Content",
      cell: ({ content, priority }) => (
        <Group gap={4} wrap="nowrap" maw={{ base: 130, sm: 340 }}>
          <TruncatedText text={priority === null ? content : `${priority} ${content}`} />
          <CopyIconButton text={content} what={`the content of ${content.slice(0, 20)}`} />
        </Group>
      ),
    },
    { title: "Source", isHiddenOnNarrow: true, cell: ({ source }) => SOURCES[source] },
    {
      title: "Change",
      isNumber: true,
      isHiddenOnNarrow: true,
      cell: (record) =>
        record.source === "email" || record.source === "app" ? null : (
          <Group gap={0} justify="flex-end" wrap="nowrap">
            {isWritable(record.type) ? <WriteRecord domain={domain} record={record} /> : null}
            <RemoveRecord domain={domain} record={record} />
          </Group>
        ),
    },
  ]
}

/** A name relative to the domain; `@` for the domain itself. */
function shortName(name: string, apex: string): string {
  return name === apex ? "@" : name.replace(new RegExp(`\\.${apex.replaceAll(".", "\\.")}$`), "")
}

const isWritable = (type: string): boolean => WRITABLE.some((one) => one === type)

type Values = {
  readonly type: string
  readonly name: string
  readonly content: string
  readonly priority: number | string
}

interface WriteProps {
  readonly domain: Domain
  /** The record to change; a new one without. */
  readonly record?: DnsRecord
}

function WriteRecord({ domain: { id, domain }, record }: WriteProps) {
  const isNew = record === undefined
  const which = isNew ? { action: "add_record" } : { action: "update_record", id: record.id }
  return (
    <ApiCallButton<Values>
      label={isNew ? "Add a record" : "Change"}
      title={isNew ? "Add a record" : "Change the record"}
      variant={isNew ? "default" : "subtle"}
      description="Served immediately. Resolvers may cache the old record for a while."
      initialValues={{
        type: record?.type ?? "TXT",
        name: isNew ? "@" : shortName(record.name, domain),
        content: record?.content ?? "",
        priority: record?.priority ?? 10,
      }}
      validators={{
        name: (text) => (text.trim() === "" ? "Enter a name; @ for the domain itself" : null),
        content: (text) => (text.trim() === "" ? "Enter the content" : null),
      }}
      changeOf={({ type, name, content, priority }) => ({
        method: "POST",
        path: PATH,
        body: {
          ...which,
          domainId: id,
          record: {
            type,
            name: name.trim(),
            content: content.trim(),
            priority: type === "MX" ? Number(priority) : null,
          },
        },
      })}
      fields={(form) => (
        <>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <Select
              label="Type"
              allowDeselect={false}
              data={[...WRITABLE]}
              {...form.getInputProps("type")}
            />
            <TextInput
              label="Name"
              description={`@ is ${domain}`}
              inputWrapperOrder={["label", "input", "description", "error"]}
              {...form.getInputProps("name")}
            />
          </SimpleGrid>
          <Textarea
            label="Content"
            autosize
            minRows={2}
            data-autofocus
            {...form.getInputProps("content")}
          />
          {form.values.type === "MX" ? (
            <NumberInput
              label="Priority"
              description="The lowest value is tried first"
              min={0}
              max={65_535}
              allowDecimal={false}
              {...form.getInputProps("priority")}
            />
          ) : null}
        </>
      )}
      submitLabel={isNew ? "Add" : "Save"}
      successMessage={isNew ? "The record was added." : "The record was changed."}
    />
  )
}

function RemoveRecord({ domain: { id }, record }: Required<WriteProps>) {
  return (
    <ApiCallButton
      label="Remove"
      title={`Remove ${record.type} ${record.name}`}
      variant="subtle"
      isDangerous
      description="The record is no longer served. You can add it again."
      changeOf={() => ({
        method: "POST",
        path: PATH,
        body: { action: "remove_record", domainId: id, id: record.id },
      })}
      submitLabel="Remove"
      successMessage="The record was removed."
    />
  )
}
