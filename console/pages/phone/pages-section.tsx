import { Alert, Stack } from "@mantine/core"
import { useState } from "react"
import type { ApiChange } from "../../api/api-change.ts"
import type { Schema } from "../../api/api-client.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { curlOfChange } from "../../parts/copy-command.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"
import { Time } from "../../parts/time.tsx"
import { WebLink } from "../../parts/web-link.tsx"
import { PagesForm } from "./pages-form.tsx"
import { Problems } from "./problems.tsx"

type Pages = Schema<"TextingPages">

interface PagesProps {
  readonly pages: Pages
  /** When they passed their check; null for never. */
  readonly passedAt: string | null
  readonly mayPrepare: boolean
}

/** What a program saves them by. */
const EXAMPLE: ApiChange = {
  method: "PUT",
  path: "/api/v1/phone/pages",
  body: {
    mode: "hosted",
    services: "appointments and repairs",
    offers: true,
    offersPerMonth: 4,
    optinPhone: false,
    optinPaper: false,
    supportPhone: "+14155550100",
    supportEmail: "help@acme.example",
  },
}

/** The second step: where people agree, and read the terms. */
export function PagesSection({ pages, passedAt, mayPrepare }: PagesProps) {
  const [check, setCheck] = useState<Schema<"PagesCheck"> | null>(null)
  const isSaved = pages.mode !== null
  return (
    <Section
      title="2. Pages"
      description="Where people agree to be texted, the terms, and the privacy policy: hosted here, or your own."
      actions={
        mayPrepare ? (
          <>
            <PagesForm pages={pages} />
            {isSaved ? <CheckNow onChecked={setCheck} /> : null}
          </>
        ) : undefined
      }
    >
      <Stack>
        {check === null ? null : <CheckResult check={check} />}
        {isSaved ? (
          <SavedPages pages={pages} passedAt={passedAt} />
        ) : (
          <EmptyState
            title="No pages are saved"
            description="Hosted pages are made from what you say here; own ones are looked at. A program saves them by:"
            command={curlOfChange(EXAMPLE)}
          />
        )}
      </Stack>
    </Section>
  )
}

function CheckNow({ onChecked }: { readonly onChecked: (check: Schema<"PagesCheck">) => void }) {
  return (
    <ApiCallButton<Record<string, never>, Schema<"PagesCheck">>
      label="Check now"
      title="Check the pages"
      description="The pages are read now, as a reviewer of the carriers does. What would be refused is shown."
      changeOf={() => ({ method: "POST", path: "/api/v1/phone/pages/check" })}
      submitLabel="Check"
      successMessage={({ passed }) =>
        passed ? "The pages passed." : "Something would be refused."
      }
      onDone={onChecked}
    />
  )
}

const PAGE_LABELS = { texts: "Where people agree", terms: "Terms", privacy: "Privacy" } as const

const DOMAIN_MESSAGES: Readonly<Record<string, string>> = {
  not_connected: "The host name is under no connected domain.",
  waiting_dns: "The host name does not lead here yet.",
  waiting_certificate: "Nobody opened the host name by https yet.",
  failed: "The host name does not lead here any more.",
}

function CheckResult({ check }: { readonly check: Schema<"PagesCheck"> }) {
  const { passed, problems, domainStatus, domainError } = check
  const ofDomain = domainStatus === null ? undefined : DOMAIN_MESSAGES[domainStatus]
  if (passed && ofDomain === undefined) {
    return (
      <Alert color="green" variant="light" title="The pages passed">
        A reviewer would find nothing to refuse.
      </Alert>
    )
  }
  const own = problems.map(({ page, message }) => ({ where: PAGE_LABELS[page], message }))
  const domain =
    ofDomain === undefined ? [] : [{ where: "Host name", message: domainError ?? ofDomain }]
  return <Problems title="A reviewer would refuse" problems={[...own, ...domain]} />
}

function SavedPages({
  pages,
  passedAt,
}: {
  readonly pages: Pages
  readonly passedAt: string | null
}) {
  const urls = pages.liveUrls ?? pages.previewUrls
  const isPreview = pages.liveUrls === null
  return (
    <DetailList
      items={[
        ["Served", pages.mode === "hosted" ? "From here" : "By your own site"],
        ["Host name", pages.hostname],
        [
          "Check",
          passedAt === null ? (
            <StatusBadge key="check" tone="quiet">
              Not passed
            </StatusBadge>
          ) : (
            <span key="check">
              <StatusBadge tone="good">Passed</StatusBadge> <Time at={passedAt} />
            </span>
          ),
        ],
        ["Texted about", pages.services],
        ["Offers", pages.offers === true ? `Up to ${pages.offersPerMonth} a month` : "None"],
        ["Help", `${pages.supportEmail}, ${phoneText(pages.supportPhone)}`],
        ...Object.entries(PAGE_LABELS).map(
          ([name, word]) =>
            [
              isPreview ? `${word} (preview)` : word,
              <WebLink key={name} address={urls?.[name as keyof typeof PAGE_LABELS] ?? null} />,
            ] as const,
        ),
      ]}
    />
  )
}
